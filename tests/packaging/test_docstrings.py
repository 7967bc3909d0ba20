"""What `help()` says of the methods that people call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mediakit as mk
from mediakit.client.events.listener import Listener
from mediakit.client.recovery.blocking_history_view import HistoryView
from mediakit.client.runtime.docstrings import explained_by
from mediakit.spend import Spend
from mediakit.widgets.deliveries.log import Deliveries

BLOCKING = (mk.Client, mk.Job, HistoryView, Spend, Deliveries, Listener)
AWAITED = re.compile(r"await|coroutine|event loop|Async", re.IGNORECASE)


def methods_of(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            yield f"{owner.__name__}.{name}", method


METHODS = dict(pair for owner in BLOCKING for pair in methods_of(owner))
UNTOLD = {"Client.owned"}  # plumbing between the two faces


def named_in(doc: str) -> set[str]:
    return set(re.findall(r"^ +(\w+):", doc, re.MULTILINE))


@pytest.mark.parametrize("name", sorted(set(METHODS) - UNTOLD))
def test_a_method_says_what_each_of_its_arguments_means(name: str) -> None:
    doc = inspect.getdoc(METHODS[name]) or ""
    arguments = set(inspect.signature(METHODS[name]).parameters) - {"self"}

    assert arguments - named_in(doc) == set()
    assert not AWAITED.search(doc)


def test_a_method_that_is_a_functions_own_says_what_it_takes(client: mk.Client) -> None:
    for function in (client.functions.text_to_video, client.functions.text_to_image):
        for method in (function.submit, function.run, function.estimate, function.form):
            doc = method.__doc__ or ""
            arguments = set(inspect.signature(method).parameters)

            assert arguments - named_in(doc) == set()
            assert "    function:" not in doc
            assert doc.count("Args:") == doc.count("Raises:") == 1


def test_the_first_line_is_the_methods_own_and_the_rest_its_sources() -> None:
    def source(many: int) -> None:
        """Await something.

        Args:
            many: How many.
        """

    @explained_by(source)
    def method(many: int) -> None:
        """Do something."""

    assert method.__doc__ == "Do something.\n\nArgs:\n    many: How many."
