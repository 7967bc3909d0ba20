"""The purpose of a function: declared, or derived from its name and media."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mediakit.catalog.function import Function
from mediakit.schema import FieldSpec, MediaName, Purpose

_ENLARGES = re.compile(r"upscal|enlarg|super-?res", re.IGNORECASE)
_MADE = {"image": Purpose.PICTURE, "audio": Purpose.SOUND}


def purpose_of(function: Function) -> Purpose:
    """Return the purpose of a function.

    Args:
        function: The function. If its declaration has no purpose, such as one from a
            service's schema, the purpose follows from its name and its media.
    """
    declared = function.declared.purpose
    if declared is not None:
        return declared
    if _ENLARGES.search(function.path) or _ENLARGES.search(function.kind):
        return Purpose.ENLARGE
    if function.media_type in _MADE:
        return _MADE[function.media_type]
    specs = function.fields.values()
    return _of_video(set(_media_of(specs)), needed=_needed(specs))


def _of_video(taken: set[MediaName], *, needed: set[MediaName]) -> Purpose:
    if "video" in needed:
        return Purpose.CHANGE
    if taken - {"image"}:
        return Purpose.REFERENCES
    return Purpose.PICTURES if taken else Purpose.WORDS


def _needed(specs: Iterable[FieldSpec]) -> set[MediaName]:
    return {each for spec in specs if spec.required for each in _media_of([spec])}


def _media_of(specs: Iterable[FieldSpec]) -> Iterator[MediaName]:
    """Yield the media of fields, at any depth."""
    for spec in specs:
        if spec.media_kind is not None:
            yield spec.media_kind
        inner = [*spec.fields.values(), *spec.variants.values()]
        yield from _media_of(inner if spec.item is None else [*inner, spec.item])
