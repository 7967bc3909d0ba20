"""Files that get their final name only when they are complete."""

from __future__ import annotations

import os
from contextlib import suppress
from glob import escape
from pathlib import Path
from uuid import uuid4

from mediakit.client.http.http_client import BLOCK_BYTES
from mediakit.client.transfers.checksum import Checksum
from mediakit.client.transfers.resumable_downloads import Version

# A running download writes more often than that.
ABANDONED_S = 86_400.0


class PartialFile:
    """The received bytes of a file, under a temporary name beside it.

    Args:
        target: The final path.

    Raises:
        OSError: It cannot be written there.
    """

    def __init__(self, target: Path) -> None:
        self.version: Version | None = None
        self.size_bytes = 0
        self._target = target
        self._path = target.with_name(part_name(target.name))
        self._file = self._path.open("xb+", buffering=0)
        self._checksum = Checksum()
        _remove_abandoned(target, self._path.stat().st_mtime)

    def start(self, version: Version) -> None:
        """Start over: the bytes of this version follow, from the first."""
        self.version = version
        self._keep(0, Checksum(version.size_bytes))

    def cut(self, size_bytes: int) -> None:
        """Truncate to a size; the remaining bytes follow."""
        if size_bytes != self.size_bytes:
            self._keep(size_bytes, Checksum(size_bytes))

    def _keep(self, size_bytes: int, checksum: Checksum) -> None:
        self._file.truncate(size_bytes)
        self._file.seek(0)
        while piece := self._file.read(BLOCK_BYTES):
            checksum.update(piece)
        self._checksum, self.size_bytes = checksum, size_bytes

    def write(self, piece: bytes) -> None:
        """Append the next bytes."""
        view = memoryview(piece)
        while view:
            view = view[self._file.write(view) :]
        self.size_bytes += len(piece)
        self._checksum.update(piece)

    @property
    def sha256(self) -> str | None:
        """Return the hash of the received bytes, in hex; None for a large file."""
        return self._checksum.hexdigest()

    def publish(self, *, overwrite: bool) -> None:
        """Rename the complete file to its name.

        Raises:
            FileExistsError: The name is taken by now, and may not be replaced.
            OSError: It cannot be renamed.
        """
        self._file.close()
        if overwrite:
            self._path.replace(self._target)
        else:
            _rename_to_free_name(self._path, self._target)

    def close(self) -> None:
        """Remove the file, unless it has been published."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def write_whole(target: Path, content: bytes) -> None:
    """Write a small file atomically, readable only by its owner.

    Raises:
        OSError: It cannot be written there.
    """
    part = target.with_name(part_name(target.name))
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _remove_abandoned(target: Path, now_s: float) -> None:
    """Remove the parts that killed processes left of a file."""
    for part in target.parent.glob(part_name(escape(target.name), "*")):
        with suppress(OSError):
            if now_s - part.stat().st_mtime > ABANDONED_S:
                part.unlink()


def part_name(name: str, unique: str | None = None) -> str:
    """Return a unique temporary name for an incomplete file."""
    return f".{name}.{unique or uuid4().hex[:8]}.part"


def _rename_to_free_name(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        if target.exists():
            raise FileExistsError from None
        path.replace(target)
    else:
        path.unlink(missing_ok=True)
