"""Writes the Python code that does the same as a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING

from mediakit.catalog import Catalog, Function
from mediakit.estimates import Estimate
from mediakit.money import format_usd

if TYPE_CHECKING:
    from mediakit.widgets.form.state import FormState

WIDTH = 88
INDENT = "    "
RESERVED = ("take", "webhook_url", "extra", "seconds", "max_price")
"""The arguments of `submit` itself; a field of such a name needs `extra`."""


def python_call(
    catalog: Catalog,
    function: Function,
    body: Mapping[str, object],
    *,
    take: int = 1,
    price: Estimate | None = None,
) -> str:
    """Return the code of a request, without fields at their default.

    It names the take that it returns, and pays at most the price that was shown.
    """
    given = {n: v for n, v in body.items() if not is_default(function, n, v)}
    extra = {n: v for n, v in given.items() if is_extra(function, n, v)}
    fields = {n: v for n, v in given.items() if n not in extra}
    further: dict[str, object] = {"extra": extra} if extra else {}
    if take != 1:
        further["take"] = take
    further |= _max_price(price)
    return _written("client.submit", catalog, function, fields | further)


def code_of_form(catalog: Catalog, state: FormState) -> str:
    """Return the code of the request that a form shows.

    It returns the existing job of the request, or pays at most the price shown.
    """
    existing = state.existing
    return python_call(
        catalog,
        state.function,
        state.body(),
        take=1 if existing is None else existing.take,
        price=state.estimate if existing is None else None,
    )


def sweep_call(
    catalog: Catalog,
    function: Function,
    arguments: Mapping[str, object],
    *,
    is_draft: bool = False,
    budget: str = "",
    price: Estimate | None = None,
) -> str:
    """Return the code that plans and runs a sweep, within the panel's budget.

    Without a budget, it pays at most the price that was shown.
    """
    limits = {"budget": budget} if budget else _max_price(price)
    named = [f"{name}={_literal(value)}" for name, value in limits.items()]
    then = f"{'.drafts()' if is_draft else ''}.run({', '.join(named)})"
    return _written("client.sweep", catalog, function, arguments, then)


def _max_price(price: Estimate | None) -> dict[str, object]:
    if price is None or price.high is None:
        return {}
    return {"max_price": format_usd(price.high)}


def _written(
    callee: str,
    catalog: Catalog,
    function: Function,
    given: Mapping[str, object],
    then: str = "",
) -> str:
    alone = sum(each.kind == function.kind for each in catalog) == 1
    first = _text(function.kind if alone else function.path)
    plain = {name: value for name, value in given.items() if is_argument(name)}
    named = [f"{n}={_literal(v, len(n) + 1)}" for n, v in plain.items()]
    others = {name: value for name, value in given.items() if name not in plain}
    if others:
        # A service's field may have any name, so it is written as a string key.
        named.append(f"**{_literal(others, 2)}")
    return _call(callee, [first, *named], then)


def is_extra(function: Function, name: str, value: object) -> bool:
    """Return whether `submit` takes a property only in its argument `extra`."""
    if name in function.fields:
        return False
    return value is None or name in RESERVED or not is_argument(name)


def is_argument(name: str) -> bool:
    """Return whether a name is a valid keyword argument."""
    # Python normalises other letters in identifiers (NFKC).
    return name.isascii() and name.isidentifier() and not iskeyword(name)


def is_default(function: Function, name: str, value: object) -> bool:
    spec = function.fields.get(name)
    if spec is None or spec.default is None:
        return False
    return type(spec.default) is type(value) and bool(spec.default == value)


def _call(callee: str, arguments: list[str], then: str) -> str:
    line = f"{callee}({', '.join(arguments)}){then}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    lines = "".join(f"{_indented(argument)},\n" for argument in arguments)
    return f"{callee}(\n{lines}){then}"


def _indented(text: str) -> str:
    return "\n".join(f"{INDENT}{line}" for line in text.split("\n"))


def _literal(value: object, taken: int = 0) -> str:
    """Return a value as code; its first line begins after `taken` characters."""
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, list | tuple | dict) or not value:
        return repr(value)
    first, last = "{}" if isinstance(value, dict) else "[]"
    items = list(_items(value))
    line = f"{first}{', '.join(items)}{last}"
    if taken + len(line) + len(INDENT) < WIDTH and "\n" not in line:
        return line
    lines = "".join(f"{_indented(item)},\n" for item in items)
    return f"{first}\n{lines}{last}"


def _items(
    value: list[object] | tuple[object, ...] | dict[str, object],
) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield f"{_text(name)}: {_literal(item, len(name) + 4)}"
    else:
        for item in value:
            yield _literal(item)


def _text(text: str) -> str:
    """Return a string in double quotes, unless it contains some."""
    written = repr(str(text))
    has_quotes = "'" in text or '"' in text
    return written if has_quotes else f'"{written[1:-1]}"'
