"""The call in Python that makes the same request as a form; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from keyword import iskeyword

from mediakit.catalog import Catalog, Function

WIDTH = 88
INDENT = "    "
RESERVED = ("take", "webhook_url", "extra", "seconds")
"""What `submit` takes for its own, so that no field can be given by this name."""


def python_call(
    catalog: Catalog, function: Function, body: Mapping[str, object]
) -> str:
    """Write the call that makes a request.

    Fields that hold their default are left out: they are sent all the same.

    Args:
        catalog: The functions of the client, which knows a kind by its name alone
            where there is one function of it.
        function: The function.
        body: The request, its local files as paths.
    """
    given = {n: v for n, v in body.items() if not _is_default(function, n, v)}
    extra = {n: v for n, v in given.items() if is_extra(function, n, v)}
    alone = sum(each.kind == function.kind for each in catalog) == 1
    arguments = [_text(function.kind if alone else function.path)]
    arguments += [
        f"{name}={_literal(value, len(name) + 1)}"
        for name, value in given.items()
        if name not in extra
    ]
    if extra:
        arguments.append(f"extra={_literal(extra, len('extra='))}")
    return _call("client.submit", arguments)


def is_extra(function: Function, name: str, value: object) -> bool:
    """Tell whether `submit` takes a property only inside its argument `extra`.

    Args:
        function: The function.
        name: The property.
        value: Its value.
    """
    if name in function.fields:
        return False
    # Python would read other letters as their nearest plain ones.
    spoken = name.isascii() and name.isidentifier() and not iskeyword(name)
    return value is None or name in RESERVED or not spoken


def _is_default(function: Function, name: str, value: object) -> bool:
    spec = function.fields.get(name)
    if spec is None or spec.default is None:
        return False
    return type(spec.default) is type(value) and bool(spec.default == value)


def _call(callee: str, arguments: list[str]) -> str:
    line = f"{callee}({', '.join(arguments)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    lines = "".join(f"{_indented(argument)},\n" for argument in arguments)
    return f"{callee}(\n{lines})"


def _indented(text: str) -> str:
    return "\n".join(f"{INDENT}{line}" for line in text.split("\n"))


def _literal(value: object, taken: int = 0) -> str:
    """Write a value of a body; long lists and mappings over several lines.

    Args:
        value: The value.
        taken: How many characters stand before it.
    """
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
    """Write a text in double quotes, as far as it has none itself."""
    written = repr(str(text))
    has_quotes = "'" in text or '"' in text
    return written if has_quotes else f'"{written[1:-1]}"'
