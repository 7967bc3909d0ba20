"""Tab completion inside client calls: functions, fields and choices."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any

from mediakit import client as core
from mediakit.catalog import Catalog, Function
from mediakit.client.functions import VERBS
from mediakit.errors import InputError
from mediakit.schema import FieldSpec

MATCHER_ID = "mediakit"
LOOKED_BACK = 20_000
_OPENING, _CLOSING = "([{", ")]}"
_CALLEE = re.compile(r"([A-Za-z_][\w.]*)\.([A-Za-z_]\w*)\s*\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=\s*[rRuU]?\Z")


@dataclass(frozen=True)
class Offer:
    """Completions for the text before the cursor.

    Args:
        typed: The part that is already typed.
        texts: The complete texts, in display order.
        kind: The kind of completion, in one word.
    """

    typed: str
    texts: tuple[str, ...]
    kind: str

    @classmethod
    def of(cls, typed: str, texts: Iterator[str], kind: str) -> Offer:
        """Return the texts that start with what is typed."""
        return cls(typed, tuple(t for t in texts if t.startswith(typed)), kind)


@dataclass(frozen=True)
class Call:
    """A call that is being typed.

    Args:
        callee: The code before the opening bracket.
        arguments: The code after it, up to the open string if there is one.
        text: The part of that string typed so far; None outside strings.
    """

    callee: str
    arguments: str
    text: str | None


def call_at(code: str) -> Call | None:
    """Find the innermost call that is still open at the end of the code.

    Args:
        code: The code up to the cursor.
    """
    code = code[-LOOKED_BACK:]
    opened, text_at, quote = _scanned(code)
    if not opened or code[opened[-1]] != "(":
        return None
    start = opened[-1]
    if text_at is None:
        return Call(code[:start], code[start + 1 :], None)
    return Call(code[:start], code[start + 1 : text_at], code[text_at + len(quote) :])


def _scanned(code: str) -> tuple[list[int], int | None, str]:
    """Return the positions of open brackets, and the start and quote of an open string.

    Incomplete code is not valid Python, so no parser can read it.
    """
    opened: list[int] = []
    at = 0
    while at < len(code):
        letter = code[at]
        if letter in "\"'":
            quote = letter * 3 if code.startswith(letter * 3, at) else letter
            end = _end_of_text(code, at + len(quote), quote)
            if end is None:
                return opened, at, quote
            at = end
            continue
        if letter == "#":
            at = code.find("\n", at)
            if at < 0:
                return [], None, ""
        elif letter in _OPENING:
            opened.append(at)
        elif letter in _CLOSING and opened:
            opened.pop()
        at += 1
    return opened, None, ""


def _end_of_text(code: str, at: int, quote: str) -> int | None:
    while at < len(code):
        if code[at] == "\\":
            at += 2
        elif code.startswith(quote, at):
            return at + len(quote)
        elif code[at] == "\n" and len(quote) == 1:
            return at  # an unterminated string ends with its line
        else:
            at += 1
    return None


def offer_at(code: str, names: Mapping[str, object]) -> Offer | None:
    """Return the completions at the end of the code.

    Args:
        code: The code up to the cursor.
        names: The user's variables; none of them is called.

    Returns:
        The completions; None outside the calls of a client.
    """
    call = call_at(code)
    callee = _CALLEE.search(call.callee) if call else None
    if call is None or callee is None or callee[2] not in VERBS:
        return None
    client = _found(callee[1], names)
    if not isinstance(client, core.Client | core.AsyncClient):
        return None
    return _offered(call, client.catalog)


def _found(dotted: str, names: Mapping[str, object]) -> object:
    first, *rest = dotted.split(".")
    found = names.get(first)
    for name in rest:
        found = getattr_static(found, name, None)
    return found


def _offered(call: Call, catalog: Catalog) -> Offer | None:
    if call.text is not None and not call.arguments.strip():
        return functions_offer(call.text, catalog)
    function = _function_of(call.arguments, catalog)
    if function is None:
        return None
    if call.text is not None:
        keyword = _KEYWORD.search(call.arguments)
        spec = function.fields.get(keyword[1]) if keyword else None
        offer = None if spec is None else choices_offer(call.text, spec)
        return offer if offer and offer.texts else None
    typed = _NAME.search(call.arguments)
    before = call.arguments[: typed.start()] if typed else call.arguments
    if not before.rstrip().endswith(","):
        return None
    given = set(re.findall(r"[,(\s](\w+)\s*=", before))
    fields = (f"{name}=" for name in function.fields if name not in given)
    return Offer.of(typed[0] if typed else "", fields, "field")


def _function_of(arguments: str, catalog: Catalog) -> Function | None:
    first = arguments.split(",", 1)[0].strip()
    try:
        name = literal_eval(first)
        return catalog.function(name) if isinstance(name, str) else None
    except (ValueError, SyntaxError, InputError):
        return None


def functions_offer(typed: str, catalog: Catalog) -> Offer:
    """Return the functions whose name starts with what is typed.

    Args:
        typed: The text so far; if it contains a slash, paths are offered.
        catalog: The functions.
    """
    if "/" in typed:
        return Offer.of(typed, (each.path for each in catalog), "function")
    kinds = iter(sorted({each.kind for each in catalog}))
    return Offer.of(typed, kinds, "function")


def choices_offer(typed: str, spec: FieldSpec) -> Offer:
    """Return the choices of a field, as text.

    Args:
        typed: The text so far.
        spec: The field.
    """
    choices = spec.choices or (spec.item.choices if spec.item else ())
    texts = (str(each) for each in choices if isinstance(each, str))
    return Offer.of(typed, texts, "choice")


FindOffer = Callable[[str, Mapping[str, object]], Offer | None]


def offer_in(shell: Any, find: FindOffer, name: str = MATCHER_ID) -> None:
    """Register completions with an IPython shell or a notebook kernel.

    IPython before 8.6, as in Colab, takes no such completions: nothing is offered.

    Args:
        shell: The running shell.
        find: Finds the completions at the end of the code.
        name: The matcher's name; an existing matcher of this name is replaced.
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
