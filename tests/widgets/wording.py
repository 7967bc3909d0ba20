"""The page of everything that people read, made from forms, jobs and the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import mediakit
from mediakit.catalog import Catalog, Function
from mediakit.records import Balance
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.messages import (
    problem_text,
    rule_text,
    sentence_case,
    title_of,
)
from mediakit.widgets.form.price.funds import Funds
from mediakit.widgets.form.price.price_bar import balance_html, price_html
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.view import FormView
from mediakit.widgets.job.card import card_text
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from tests.support.job_states import settled, state_of

SOURCES = Path(mediakit.__file__).parent
PARTS = (
    "widgets",
    "client",
    "public.py",
    "errors.py",
    "catalog",
    "rates.py",
    "media_limits.py",
)
"""Whose sentences people see in forms, jobs, the studio and errors."""
SENTENCE = re.compile(r"[A-Z{].*\w .*\w.*")
HOLE = re.compile(r"\{(:[^}]*)?\}")
NO_SENTENCE = re.compile(r"mk-|[;{]\s*[\w-]+:|^\{\w+\}$|^[A-Z_ ]+$")
HEAD = """# Wording

Everything that forms, jobs, the studio and errors say, to be read through.
`python tools/write_wording.py` writes this page, and a test fails when it is not
current. A name in braces or "…" means a value.
"""


def page() -> str:
    """Return the page."""
    parts = [
        HEAD,
        *_forms(Catalog.default()),
        "## Problems beside a field\n",
        *_lines(_problems(Catalog.default())),
        "## Rules\n",
        *_lines(_rules(Catalog.default())),
        "## Price and balance\n",
        *_lines(_prices(Catalog.default())),
        "## Jobs\n",
        *_lines(_jobs()),
        "## In the source\n",
        *_sources(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _lines(texts: Iterable[str]) -> list[str]:
    return [*(f"- {text}" for text in dict.fromkeys(texts)), ""]


def _plain(html: str) -> str:
    text = re.sub(r"<style>.*?</style>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


# Forms.


def _forms(catalog: Catalog) -> Iterator[str]:
    seen: set[str] = set()
    for function in catalog:
        yield f"## {title_of(function)}\n\n{function.doc}\n"
        new = [text for text in _shown(function) if text not in seen]
        seen |= set(new)
        yield from _lines(new)


def _shown(function: Function) -> Iterator[str]:
    context = WidgetContext(WidgetFactory(), guarded(_fail), lambda *_: None)
    view = FormView(
        function,
        context,
        meta=(),
        generate=_nothing,
        show_owned=_nothing,
        refresh=_nothing,
        code=str,
        sweep=_nothing,
    )
    for name, control in view.controls.items():
        yield from _words_of(control.widget, name)
    for widget in view.widget.children[1:]:
        yield from _words_of(widget, "")
    view.close()


def _words_of(widget: Any, name: str) -> Iterator[str]:
    label, hint = getattr(widget, "description", ""), getattr(widget, "tooltip", "")
    value = getattr(widget, "value", "")
    words = [label, hint, getattr(widget, "placeholder", "")]
    words += list(getattr(widget, "_options_labels", ()))[:8]
    if type(widget).__name__ == "HTML":
        words.append("" if "mk-fields-help" in value else _plain(value))
    words = [each for each in dict.fromkeys(words) if each and len(each) > 1]
    if words:
        yield " · ".join(words)
    for child in getattr(widget, "children", ()):
        yield from _words_of(child, name)


def _nothing(*_: object) -> None:
    return None


def _fail(text: str) -> None:
    raise AssertionError(text)


# What is wrong, and what it costs.


def _problems(catalog: Catalog) -> Iterator[str]:
    for function in catalog:
        for spec in function.fields.values():
            yield from _problems_of(spec)


def _problems_of(spec: FieldSpec) -> Iterator[str]:
    if spec.required:
        yield problem_text(Problem(spec.name, None, spec.accepted, required=""))
    yield problem_text(Problem(spec.name, 0, spec.accepted))
    inner = [*spec.fields.values(), *spec.variants.values()]
    for each in [*inner, *([spec.item] if spec.item else [])]:
        yield from _problems_of(each)


def _rules(catalog: Catalog) -> Iterator[str]:
    for function in catalog:
        for rule in function.rules:
            yield sentence_case(rule_text(rule.sentence))


def _prices(catalog: Catalog) -> Iterator[str]:
    for amount in (100_000_000, 250_000):
        funds = Funds(Balance(balance_micro_usd=amount), 34_000, 2)
        for function in catalog:
            state = FormState.start(function).with_balance(funds)
            yield _plain(price_html(state) + " " + balance_html(state))
    yield _plain(balance_html(FormState.start(catalog.function("text-to-video"))))


# Jobs.


def _jobs() -> Iterator[str]:
    failed = {"code": "content_moderation", "message": "Refused by moderation."}
    states = [
        state_of("queued"),
        state_of("processing"),
        state_of("completed"),
        state_of("completed", **settled(340_000)),
        state_of("completed", **settled(300_000)),
        state_of("failed", error=failed, **settled(0)),
    ]
    for state in states:
        yield " / ".join(card_text(state).split("\n"))


# Everything else that is written in the source.


def _sources() -> Iterator[str]:
    for part in PARTS:
        root = SOURCES / part
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            if path.name == "reference.py":
                continue  # it writes a page for those who have the interface
            found = list(dict.fromkeys(_sentences(path)))
            if found:
                yield f"### {path.relative_to(SOURCES).as_posix()}\n"
                yield from _lines(found)


def _sentences(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    skipped = set(_not_shown(tree))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        text = _plain(_text_of(node))
        if SENTENCE.fullmatch(text) and not NO_SENTENCE.search(text):
            yield text


def _not_shown(tree: ast.AST) -> Iterator[int]:
    """Give docstrings, and what is a part of a longer text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)
        if isinstance(node, ast.JoinedStr):
            yield from (id(each) for each in ast.walk(node) if each is not node)


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return HOLE.sub("…", node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(each) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        last = ast.unparse(node.value).split("(")[0].rsplit(".", 1)[-1]
        return "{" + re.sub(r"\W+", "_", last).strip("_") + "}"
    return ""
