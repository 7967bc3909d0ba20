"""The parameters of requests as typed columns; imported on first use."""

import json
from collections.abc import Container, Iterable, Sequence
from typing import Any

import pandas as pd

# Before pandas 3, "str" means NumPy strings, which turn None into "None".
TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"
LARGEST = 2**63 - 1
LONGEST_CATEGORY = 64
# It may hold a token.
LEFT_OUT = ("webhook_url",)


def columns_of(bodies: Sequence[bytes], taken: Container[str]) -> dict[str, Any]:
    """Return a column for each parameter, sorted by name.

    Whole numbers are Int64, other numbers float64, booleans boolean, short texts
    categories and longer texts str; lists and objects are JSON text. A parameter with
    both numbers and texts is text.

    Args:
        bodies: The bodies of the rows.
        taken: The names of other columns; a parameter with such a name has the prefix
            `param_`. The prompt is left out if a column has it.
    """
    values: dict[str, list[Any]] = {}
    for row, body in enumerate(bodies):
        for name, value in _parameters(body).items():
            if value is None:
                continue
            if name not in values:
                values[name] = [None] * len(bodies)
            values[name][row] = value
    for name in LEFT_OUT:
        values.pop(name, None)
    if "prompt" in taken and all(map(_is_text_or_none, values.get("prompt", ()))):
        values.pop("prompt", None)
    columns: dict[str, Any] = {}
    for name in sorted(values):
        columns[_free_name(name, taken, columns)] = _typed(values[name])
    return columns


def _parameters(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    return found if isinstance(found, dict) else {}


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _free_name(name: str, taken: Container[str], columns: Container[str]) -> str:
    while name in taken or name in columns:
        name = f"param_{name}"
    return name


def _typed(values: list[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.array(values, dtype="boolean")
    if kinds == {int} and all(v is None or abs(v) <= LARGEST for v in values):
        return pd.array(values, dtype="Int64")
    if kinds <= {int, float}:
        return pd.Series(values, dtype="float64").array
    texts = [value if _is_text_or_none(value) else _text(value) for value in values]
    short = all(text is None or len(text) <= LONGEST_CATEGORY for text in texts)
    column = text_array(texts)
    is_category = short and not kinds & {list, dict}
    return pd.Categorical(column) if is_category else column


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def text_array(values: Iterable[str | None]) -> Any:
    """Return texts as an array: str on pandas 3, object before it; None is missing."""
    return pd.array(list(values), dtype=TEXT)  # type: ignore[call-overload]
