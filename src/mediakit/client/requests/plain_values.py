"""From what notebooks hold to what a body holds: text, numbers, lists, mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mediakit.catalog import Function
from mediakit.client.requests.job_inputs import Inputs
from mediakit.schema import FieldSpec, MediaName

Kept = Callable[[object, MediaName, str], str | Path | None]
"""Returns the path or URL of a medium that is an object; None for anything else.

It takes the object, what the field takes, and the field's name for errors.
"""


def plain_fields(
    function: Function, fields: Mapping[str, object], keep: Kept | None = None
) -> dict[str, object]:
    """Return fields as a body holds them; media as paths of files or as URLs.

    Args:
        function: The function, which tells where media are.
        fields: The fields as people wrote them.
        keep: Says where a medium is that is an object. Without it, media from memory
            are written to files, and a job stands for its output.

    Raises:
        InputError: An array stands for a picture and is none, or a job for a medium
            that it has not made.
    """
    keep = keep or Inputs().keep
    known = function.of(fields).fields
    return {
        name: _plain(value, known.get(name), name, keep)
        for name, value in fields.items()
    }


def _plain(value: object, spec: FieldSpec | None, label: str, keep: Kept) -> object:
    spec = None if spec is None else spec.option(value)
    medium = None if spec is None else _medium(spec)
    if medium is not None:
        place = keep(value, medium, label)
        if place is not None:
            return str(place)
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


def _medium(spec: FieldSpec) -> MediaName | None:
    # One picture where a list of them is wanted is refused by its path, later, and
    # not as a list of a million numbers.
    return spec.media_kind or (spec.item.media_kind if spec.item else None)


def full_names(function: Function, fields: Mapping[str, object]) -> dict[str, object]:
    """Return fields by the names that the function has for them.

    A medium may be given as `video`, where its field is `video_url`, and several as
    `images`, where it is `image_urls`.

    Args:
        function: The function.
        fields: The fields as people wrote them.
    """
    known = function.of(fields).fields
    return {_full_name(name, known, fields): each for name, each in fields.items()}


def _full_name(
    name: str, known: Mapping[str, FieldSpec], given: Mapping[str, object]
) -> str:
    if name in known:
        return name
    for full in (f"{name}_url", f"{name}_urls", f"{name.removesuffix('s')}_urls"):
        spec = known.get(full)
        if spec is not None and _medium(spec) is not None and full not in given:
            return full
    return name


def _scalar(value: object) -> object:
    """Turn a path or what comes out of an array into what JSON holds."""
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), None, "", _nothing_kept)
    return value


def _nothing_kept(_: object, __: MediaName, ___: str) -> None:
    return None
