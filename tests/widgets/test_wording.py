"""The page of everything that people read is current, and keeps to plain words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.widgets.wording import page

PAGE = Path(__file__).parents[2] / "docs" / "wording.md"


@cache
def written() -> str:
    return page()


def test_the_page_of_wording_is_current() -> None:
    assert PAGE.read_text("utf-8") == written(), "run: python tools/write_wording.py"


@pytest.mark.parametrize(
    "words",
    [
        "Price lines",
        "; accepted:",
        "(spec ",
        "it is not free",
        "can be spent",
        "none, not sent",
        "kernel is gone",
    ],
)
def test_nobody_reads_words_that_have_a_better_one(words: str) -> None:
    assert words.lower() not in written().lower()
