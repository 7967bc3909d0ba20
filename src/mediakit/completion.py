"""Tab completion inside client calls: functions, fields and choices."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from inspect import getattr_static
from typing import Any, NamedTuple

from mediakit.async_client import AsyncClient
from mediakit.blocking_client import Client
from mediakit.catalog import Catalog, Function
from mediakit.client.functions import VERBS
from mediakit.errors import InputError
from mediakit.schema import FieldSpec

MATCHER_ID = "mediakit"
LOOKED_BACK = 20_000
_TOKEN = re.compile(r"\"{3}|'{3}|[\"']|#[^\n]*|[()\[\]{}]")
_TEXT_END = {
    quote: re.compile(rf"(?:\\.|[^\\])*?{quote}", re.DOTALL) for quote in ('"""', "'''")
}
# A string in single quotes that is not closed ends with its line.
_TEXT_END |= {
    quote: re.compile(rf"(?:\\.|[^\\\n])*?[{quote}\n]", re.DOTALL) for quote in "\"'"
}
_CALLEE = re.compile(r"([A-Za-z_][\w.]*)\.([A-Za-z_]\w*)\s*\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=\s*[rRuU]?\Z")


class Completions(NamedTuple):
    """The completions of the text before the cursor."""

    typed: str
    texts: tuple[str, ...]
    kind: str

    @classmethod
    def of(cls, typed: str, texts: Iterable[str], kind: str) -> Completions:
        """Return the completions that start with the typed text."""
        return cls(typed, tuple(t for t in texts if t.startswith(typed)), kind)


class Call(NamedTuple):
    """A call that is being typed."""

    callee: str
    arguments: str
    text: str | None


def call_at(code: str) -> Call | None:
    """Find the innermost call that is still open at the end of the code.

    Incomplete code is not valid Python, so no parser can read it.
    """
    code = code[-LOOKED_BACK:]
    opened: list[int] = []
    at, text_from = 0, None
    while match := _TOKEN.search(code, at):
        mark, at = match[0], match.end()
        if mark in "([{":
            opened.append(match.start())
        elif mark in ")]}":
            del opened[-1:]
        elif mark[0] == "#":
            if at == len(code):
                return None
        elif end := _TEXT_END[mark].match(code, at):
            at = end.end()
        else:
            text_from = match.start()
            break
    if not opened or code[opened[-1]] != "(":
        return None
    start = opened[-1]
    text = None if text_from is None else code[at:]
    return Call(code[:start], code[start + 1 : text_from], text)


def offer_at(code: str, names: Mapping[str, object]) -> Completions | None:
    """Return the completions at the end of the code; None outside a client call."""
    call = call_at(code)
    callee = _CALLEE.search(call.callee) if call else None
    if call is None or callee is None or callee[2] not in VERBS:
        return None
    first, *rest = callee[1].split(".")
    client = names.get(first)
    for name in rest:
        client = getattr_static(client, name, None)
    if not isinstance(client, Client | AsyncClient):
        return None
    catalog = getattr(client, "catalog", None)
    if catalog is None:  # an AsyncClient that is not open yet
        return None
    if call.text is not None and not call.arguments.strip():
        return functions_offer(call.text, catalog)
    try:
        name = literal_eval(call.arguments.split(",", 1)[0].strip())
        function = catalog.function(name)
    except (ValueError, SyntaxError, InputError):
        return None
    return _offered(call, function)


def _offered(call: Call, function: Function) -> Completions | None:
    if call.text is not None:
        keyword = _KEYWORD.search(call.arguments)
        spec = function.fields.get(keyword[1]) if keyword else None
        offer = None if spec is None else choices_offer(call.text, spec)
        return offer if offer and offer.texts else None
    typed = _NAME.search(call.arguments)
    arguments = call.arguments[: typed.start()] if typed else call.arguments
    if not arguments.rstrip().endswith(","):
        return None
    keywords = re.findall(r"[,(\s](\w+)\s*=", arguments)
    fields = (f"{name}=" for name in function.fields if name not in keywords)
    return Completions.of(typed[0] if typed else "", fields, "field")


def functions_offer(typed: str, catalog: Catalog) -> Completions:
    """Return the functions whose kind or path starts with the typed text."""
    if "/" in typed:
        return Completions.of(typed, (each.path for each in catalog), "function")
    return Completions.of(typed, sorted({each.kind for each in catalog}), "function")


def choices_offer(typed: str, spec: FieldSpec) -> Completions:
    """Return the choices of a field, as text, that start with the typed text."""
    choices = spec.choices or (spec.item.choices if spec.item else ())
    return Completions.of(typed, (c for c in choices if isinstance(c, str)), "choice")


FindOffer = Callable[[str, Mapping[str, object]], Completions | None]


def offer_in(shell: Any, find: FindOffer, name: str = MATCHER_ID) -> None:
    """Register completions with an IPython shell or a notebook kernel.

    IPython before 8.6, as in Colab, does not support them: nothing is offered.
    """
    try:
        from IPython.core.completer import (
            CompletionContext,
            SimpleCompletion,
            SimpleMatcherResult,
            context_matcher,
        )
    except ImportError:
        return

    @context_matcher(identifier=name, priority=100)  # type: ignore[untyped-decorator]
    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        lines = context.full_text.split("\n")[: context.cursor_line]
        code = "\n".join([*lines, context.text_until_cursor])
        offer = find(code, shell.user_ns)
        if offer is None:
            return SimpleMatcherResult(completions=[])
        return SimpleMatcherResult(
            completions=[SimpleCompletion(t, type=offer.kind) for t in offer.texts],
            matched_fragment=offer.typed,
            ordered=True,
            suppress=True,
        )

    others = [
        each
        for each in shell.Completer.custom_matchers
        if getattr(each, "matcher_identifier", None) != name
    ]
    shell.Completer.custom_matchers[:] = [*others, matcher]
