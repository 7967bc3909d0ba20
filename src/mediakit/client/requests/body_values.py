"""Converts field values to what a body holds: text, numbers, lists, mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mediakit.catalog import Function
from mediakit.client.requests.job_inputs import Inputs
from mediakit.schema import FieldSpec, MediaName

Kept = Callable[[object, MediaName, str], str | Path | None]
"""Returns the path or URL of a medium that is an object; None for anything else.

Its arguments are the object, the field's medium, and the field's name for errors.
"""


def plain_fields(
    function: Function, fields: Mapping[str, object], keep: Kept | None = None
) -> dict[str, object]:
    """Return fields as a body holds them; media as paths of files or as URLs.

    Args:
        function: The function, which declares the media fields.
        fields: The fields as the user wrote them.
        keep: Returns the path or URL of a media object. Without it, media from memory
            are written to files, and a job is replaced by its output.

    Raises:
        InputError: An array is not an image, or a job has no output of that medium.
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
    # One image in a field for a list of them is rejected later by its path, and not as
    # a list of a million numbers.
    return spec.media_kind or (spec.item.media_kind if spec.item else None)


def full_names(function: Function, fields: Mapping[str, object]) -> dict[str, object]:
    """Return fields under the names that the function declares.

    `video` may stand in for `video_url`, and `images` for `image_urls`.

    Args:
        function: The function.
        fields: The fields as the user wrote them.
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
    """Convert a path or an array's scalar to a JSON value."""
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), None, "", _nothing_kept)
    return value


def _nothing_kept(_: object, __: MediaName, ___: str) -> None:
    return None
