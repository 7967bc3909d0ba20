"""Which files a field accepts, by name, type and size."""

from __future__ import annotations

from collections.abc import Mapping
from mimetypes import guess_type
from pathlib import PurePath

from mediakit.media import size_text
from mediakit.media_limits import MediaName
from mediakit.rules import any_of
from mediakit.schema import FieldSpec

_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "mp4": (".mp4", ".m4v"),
    "mov": (".mov", ".qt"),
    "wav": (".wav",),
    "mp3": (".mp3",),
    "png": (".png",),
    "jpeg": (".jpg", ".jpeg"),
    "webp": (".webp",),
}
_ANY: Mapping[MediaName, tuple[str, ...]] = {
    "image": (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"),
    "video": (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts"),
    "audio": (".wav", ".mp3", ".m4a", ".aac", ".ogg", ".flac"),
}
_NAMES: Mapping[MediaName, str] = {
    "image": "a picture",
    "video": "a video",
    "audio": "a sound file",
}
# Fields for sounds also accept the sound of a clip.
_TYPES: Mapping[MediaName, tuple[str, ...]] = {
    "image": ("image/",),
    "video": ("video/",),
    "audio": ("audio/", "video/"),
}


def suffixes(spec: FieldSpec) -> tuple[str, ...]:
    """Return the file suffixes that a media field accepts."""
    formats = _formats(spec)
    if not formats:
        return _ANY[_medium(spec)]
    return tuple(suffix for each in formats for suffix in _SUFFIXES[each])


def accept_text(spec: FieldSpec) -> str:
    """Return the `accept` attribute of a media field's file dialog."""
    return ",".join(suffixes(spec)) if _formats(spec) else f"{_medium(spec)}/*"


def refusal(
    spec: FieldSpec, name: str, size_bytes: int, content_type: str
) -> str | None:
    """Return why a field rejects a file, from facts known before it is sent."""
    if not _is_accepted(spec, name, content_type):
        formats, kind = _formats(spec), _medium(spec)
        wanted = any_of(formats) if formats else f"such as {any_of(_ANY[kind][:2])}"
        return f"{name} is not {_NAMES[kind]} that this field accepts ({wanted})."
    if size_bytes == 0:
        return f"{name} is empty. Choose another file."
    limits = spec.limits
    most = limits.max_size_bytes if limits else None
    if most is not None and size_bytes > most:
        return (
            f"{name} is {size_text(size_bytes)}. "
            f"This field takes files of up to {most / 1e6:g} MB."
        )
    return None


def _formats(spec: FieldSpec) -> tuple[str, ...]:
    return spec.limits.formats if spec.limits else ()


def _medium(spec: FieldSpec) -> MediaName:
    kind = (spec.item or spec).media_kind
    if kind is None:
        raise TypeError(f"{spec.name} does not say which medium it takes")
    return kind


def _is_accepted(spec: FieldSpec, name: str, content_type: str) -> bool:
    if _formats(spec) and PurePath(name).suffix:
        return PurePath(name).suffix.lower() in suffixes(spec)
    guess = content_type or guess_type(name)[0]
    return guess is None or guess.startswith(_TYPES[_medium(spec)])
