"""Reads the properties of a file, measuring clips and sounds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from mediakit.decoding import A_MEDIUM, picture_info, recording_info
from mediakit.errors import InputError
from mediakit.media_limits import MediaInfo, MediaName

_WHAT = {
    "image": "a picture that can be read (png, jpeg, webp, ...)",
    "video": "a clip that can be read (mp4, mov, webm, ...)",
    "audio": "a sound that can be read (wav, mp3, m4a, ...)",
}


def probe(path: Path, expected: MediaName, label: str) -> MediaInfo:
    """Read the properties of a local file; see `probe_file`."""
    _refuse_what_is_no_file(path, expected, label)
    try:
        # Read the status first: a file that changes while it is read counts as another
        # file.
        stat = path.stat()
        info = _read(path, expected, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    except (OSError, ValueError) as error:
        text = f"{path} ({_reason(error, expected)})"
        raise InputError(label, got=text, accepted=_WHAT[expected]) from None
    return replace(info, changed_ns=stat.st_mtime_ns)


# A form prices a request at every edit, and counting the packets of a long clip takes
# a second.
@lru_cache(maxsize=256)
def _read(
    path: Path, expected: MediaName, size_bytes: int, changed_ns: int, inode: int
) -> MediaInfo:
    with path.open("rb") as file:
        return probe_file(file, expected, size_bytes)


def probe_file(
    file: BinaryIO, expected: MediaName, size_bytes: int, *, whole: bool = True
) -> MediaInfo:
    """Read the properties of an open, seekable file.

    Unless the whole file may be read, a length that only its header claims is unknown.
    """
    if expected == "image":
        return picture_info(file, size_bytes)
    return recording_info(file, expected, size_bytes, whole=whole)


def _reason(error: Exception, expected: MediaName) -> str:
    if type(error) is ValueError:  # raised by this module, so the text can be shown
        return str(error)
    if isinstance(error, PermissionError):
        return "permission denied"
    return f"it cannot be read as {A_MEDIUM[expected]}"


def _refuse_what_is_no_file(path: Path, expected: MediaName, label: str) -> None:
    accepted = f"{_WHAT[expected]}, as an http(s) URL or an existing file"
    if not _exists(path):
        raise InputError(label, got=f"{path} (no such file)", accepted=accepted)
    if not path.is_file():
        raise InputError(label, got=f"{path} (not a file)", accepted=accepted)
    if path.stat().st_size == 0:
        raise InputError(label, got=f"{path} (an empty file)", accepted=accepted)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long or has invalid characters
        return False
