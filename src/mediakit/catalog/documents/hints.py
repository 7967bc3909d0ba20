"""Hints about fields beyond their types, from the document or from their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

from pydantic import TypeAdapter, ValidationError

from mediakit.catalog.documents.facts import is_bound
from mediakit.media_limits import CONTENT_TYPES, MediaLimits
from mediakit.schema import (
    FieldKind,
    MaskOf,
    MediaKind,
    MediaName,
    Prompt,
    Seed,
    Shape,
    Unit,
)

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


def medium_in(name: str) -> MediaName | None:
    """Return the medium in a name; the last one counts.

    Args:
        name: Such as "image-to-video", which makes a video.
    """
    words = _WORD.findall(name.lower())
    return _WORDS[words[-1]] if words else None


class Hints(Protocol):
    """The source of the markers of a field."""

    @property
    def item(self) -> Hints:
        """Return the hints for the items of a list."""

    def option(self, shape: Shape) -> Hints:
        """Return the hints for one of several shapes."""

    def marks(self, kind: FieldKind, schema: Mapping[str, Any]) -> Iterator[object]:
        """Yield the markers that fit a kind of field.

        Args:
            kind: The kind of the field.
            schema: The schema of the field.
        """


@dataclass(frozen=True)
class ExtensionHints:
    """Hints that the document gives under `x-mediakit`.

    Args:
        extension: The hints; those that do not fit are ignored.
    """

    extension: object = field(default_factory=dict)

    @property
    def item(self) -> ExtensionHints:
        """Return the hints for the items of a list."""
        return ExtensionHints(self._get("item"))

    def option(self, shape: Shape) -> ExtensionHints:
        """Return the hints for one of several shapes."""
        return ExtensionHints(self._get(shape))

    def _get(self, name: str) -> object:
        return self.extension.get(name) if isinstance(self.extension, dict) else None

    def marks(self, kind: FieldKind, schema: Mapping[str, Any]) -> Iterator[object]:
        """Yield the markers that fit a kind of field."""
        unit, medium = self._get("unit"), self._get("media_kind")
        if kind in NUMBERS and isinstance(unit, str) and _is_unit(unit):
            yield Unit(unit)
        if kind == "text" and medium in get_args(MediaName):
            yield MediaKind(medium)  # type: ignore[arg-type]
            masked = self._get("mask_of")
            if isinstance(masked, str):
                yield MaskOf(masked)
        if kind == "text" and self._get("multiline") is True:
            yield Prompt()
        if kind == "integer" and self._get("seed") is True:
            yield Seed()
        limits = _limits(self._get("limits"))
        if kind in ("text", "list") and limits is not None:
            yield limits


def _is_unit(unit: str) -> bool:
    return unit.isprintable() and 0 < len(unit) <= MAX_UNIT_LENGTH


_LIMITS = TypeAdapter(MediaLimits)


def _limits(table: object) -> MediaLimits | None:
    if not isinstance(table, dict):
        return None
    numbers = (value for name, value in table.items() if name != "formats")
    if not all(is_bound(number) and number >= 0 for number in numbers):
        return None
    try:
        limits = _LIMITS.validate_python(table)
    except ValidationError:
        return None
    # An unknown format cannot be distinguished from the others.
    return limits if set(limits.formats) <= set(CONTENT_TYPES) else None


@dataclass(frozen=True)
class NameHints:
    """Hints from a field's name, if the document gives none.

    Args:
        name: The name.
    """

    name: str

    @property
    def item(self) -> NameHints:
        """Return the hints for the items of a list, which have its name."""
        return self

    def option(self, shape: Shape) -> NameHints:
        """Return the hints for one of several shapes, which all have the name."""
        return self

    def marks(self, kind: FieldKind, schema: Mapping[str, Any]) -> Iterator[object]:
        """Yield the markers that fit a kind of field."""
        name = self.name.lower()
        if kind == "text":
            medium = medium_in(name) if _is_link(name, schema) else None
            if medium is not None:
                yield MediaKind(medium)
            elif name == "prompt" or name.endswith("_prompt"):
                yield Prompt()
        if kind == "integer" and name == "seed":
            yield Seed()
        unit = _unit_in(name)
        if kind in NUMBERS and unit is not None:
            yield Unit(unit)


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
