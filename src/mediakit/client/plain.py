"""From what notebooks hold to what a body holds: text, numbers, lists, mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mediakit.catalog import Function
from mediakit.media import file_of
from mediakit.schema import FieldSpec

Kept = Callable[[object, str], Path | None]
"""Writes what is held in memory to a file; None for anything else."""


def plain_fields(
    function: Function, fields: Mapping[str, object], keep: Kept = file_of
) -> dict[str, object]:
    """Return fields as a body holds them; media from memory as paths of files.

    Args:
        function: The function, which tells where media are.
        fields: The fields as people wrote them.
        keep: Writes a medium that is held in memory to a file.

    Raises:
        InputError: An array stands for a picture and is none.
    """
    known = function.of(fields).fields
    return {
        name: _plain(value, known.get(name), name, keep)
        for name, value in fields.items()
    }


def _plain(value: object, spec: FieldSpec | None, label: str, keep: Kept) -> object:
    spec = None if spec is None else spec.option(value)
    if spec is not None and _takes_media(spec):
        file = keep(value, label)
        if file is not None:
            return str(file)
    if isinstance(value, list | tuple):
        item = None if spec is None else spec.item
        each = enumerate(value)
        return [_plain(v, item, f"{label}[{place}]", keep) for place, v in each]
    if isinstance(value, Mapping):
        chosen = None if spec is None else spec.chosen(dict(value))
        inner = {} if chosen is None else chosen.fields
        return {
            name: _plain(each, inner.get(name), f"{label}.{name}", keep)
            for name, each in value.items()
        }
    return _scalar(value)


def _takes_media(spec: FieldSpec) -> bool:
    # One picture where a list of them is wanted is refused by its path, later, and
    # not as a list of a million numbers.
    return bool(spec.media_kind or (spec.item is not None and spec.item.media_kind))


def _scalar(value: object) -> object:
    """Turn a path or what comes out of an array into what JSON holds."""
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), None, "", lambda *_: None)
    return value
