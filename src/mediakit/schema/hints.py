"""Facts about fields beyond their types, from `x-mediakit` or from their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from mediakit.media_limits import CONTENT_TYPES, MediaLimits
from mediakit.schema.fields import FieldKind, FieldSpec, MediaName

MAX_UNIT_LENGTH = 16
NUMBERS: tuple[FieldKind, ...] = ("integer", "number", "choice")

_WORDS: Mapping[str, MediaName] = {
    "animation": "video",
    "audio": "audio",
    "frame": "image",
    "image": "image",
    "mask": "image",
    "music": "audio",
    "photo": "image",
    "picture": "image",
    "song": "audio",
    "sound": "audio",
    "speech": "audio",
    "video": "video",
    "voice": "audio",
}
# Keyframes are moments, not pictures.
_WORD = re.compile(f"(?<!key)(?:{'|'.join(_WORDS)})")
_LIMITS = TypeAdapter(MediaLimits)


def medium_in(name: str) -> MediaName | None:
    """Return the medium in a name; the last one counts.

    Args:
        name: Such as "image-to-video", which makes a video.
    """
    words = _WORD.findall(name.lower())
    return _WORDS[words[-1]] if words else None


def with_facts(spec: FieldSpec, said: object) -> FieldSpec:
    """Return a field with the facts in its `x-mediakit` that fit it."""
    known = said if isinstance(said, dict) else {}
    return _with(spec, dict(_facts(spec.kind, known)))


def _facts(kind: FieldKind, said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    unit = said.get("unit")
    if kind in NUMBERS and isinstance(unit, str) and _is_unit(unit):
        yield "unit", unit
    if kind == "text" and said.get("media_kind") in get_args(MediaName):
        yield "media_kind", said["media_kind"]
        if isinstance(said.get("mask_of"), str):
            yield "mask_of", said["mask_of"]
    if kind == "text" and said.get("multiline") is True:
        yield "multiline", True
    if kind == "integer" and said.get("seed") is True:
        yield "seed", True
    if kind in ("text", "list"):
        yield "limits", _limits(said.get("limits"))


def _is_unit(unit: str) -> bool:
    return unit.isprintable() and 0 < len(unit) <= MAX_UNIT_LENGTH


def _limits(table: object) -> MediaLimits | None:
    if not isinstance(table, dict):
        return None
    try:
        limits = _LIMITS.validate_python(table)
    except ValidationError:
        return None
    numbers = [v for v in vars(limits).values() if isinstance(v, int | float)]
    if not all(0 <= number < 2**64 for number in numbers):
        return None
    # An unknown format cannot be distinguished from the others.
    return limits if set(limits.formats) <= set(CONTENT_TYPES) else None


def hinted(spec: FieldSpec, name: str, schema: Mapping[str, Any]) -> FieldSpec:
    """Return a field with what its name hints at.

    Args:
        spec: The field.
        name: Its name, or the name of the list that it is in.
        schema: Its schema.
    """
    return _with(spec, dict(_hints(spec.kind, name.lower(), schema)))


def _hints(
    kind: FieldKind, name: str, schema: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    if kind == "text":
        medium = medium_in(name) if _is_link(name, schema) else None
        if medium is not None:
            yield "media_kind", medium
        elif name == "prompt" or name.endswith("_prompt"):
            yield "multiline", True
    if kind == "integer" and name == "seed":
        yield "seed", True
    if kind in NUMBERS and (unit := _unit_in(name)):
        yield "unit", unit


def _is_link(name: str, schema: Mapping[str, Any]) -> bool:
    return (
        name.endswith(("_url", "_urls"))
        or schema.get("format") in ("uri", "url")
        or str(schema.get("pattern")).startswith("^http")
    )


def _unit_in(name: str) -> str | None:
    if name.endswith("_ms"):
        return "ms"
    in_seconds = name in ("duration", "seconds") or name.endswith(("_s", "_seconds"))
    return "s" if in_seconds else None


def _with(spec: FieldSpec, facts: Mapping[str, Any]) -> FieldSpec:
    if not facts:
        return spec
    return replace(spec, **facts, kind="media" if "media_kind" in facts else spec.kind)
