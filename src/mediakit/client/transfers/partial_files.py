"""A file that is not whole yet: kept when it breaks off, and gone on with later."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from mediakit.client.http.http_client import BLOCK_BYTES
from mediakit.client.transfers.digests import Digest
from mediakit.client.transfers.downloads import Version

if sys.platform != "win32":
    import fcntl


class PartialFile:
    """The bytes of a file that have arrived, beside where it will be.

    Whoever holds the lock of `.NAME.part` goes on with it; another process that
    fetches to the same name meanwhile uses a file of its own, which nobody goes on
    with. What the kept bytes are of stands in a note beside them.

    Args:
        target: Where the file will be.
        source: Names what is fetched, in the note.

    Raises:
        OSError: It cannot be written there.
    """

    def __init__(self, target: Path, source: str) -> None:
        self.version: Version | None = None
        self.size_bytes = 0
        self._target = target
        self._source = source
        self._digest = Digest()
        self._path, self._file, self._is_kept = _opened(target)
        self._note = self._path.with_name(f"{self._path.name}.json")
        if self._is_kept:
            self._take_up()

    def _take_up(self) -> None:
        """Go on with what an earlier process left, if it is of the same source."""
        self.version = _noted(self._note, self._source)
        if self.version is None:
            self._file.truncate(0)
            return
        self._read_again(self._file.seek(0, os.SEEK_END))

    def _read_again(self, size_bytes: int) -> None:
        """Hash so many bytes of what is there, and go on behind them."""
        self._digest, self.size_bytes = Digest(size_bytes), size_bytes
        if self._digest.hexdigest() is not None:
            self._file.seek(0)
            while piece := self._file.read(BLOCK_BYTES):
                self._digest.update(piece)
        self._file.seek(size_bytes)

    def start(self, version: Version) -> None:
        """Forget what is there: the bytes of this version follow, from the first."""
        self.cut(0)
        self.version = version
        self._digest = Digest(version.size_bytes)
        if self._is_kept:
            note = {"source": self._source, **asdict(version)}
            write_whole(self._note, json.dumps(note).encode())

    def cut(self, size_bytes: int) -> None:
        """Keep so many bytes of what is there; the others follow."""
        if size_bytes == self.size_bytes:
            return
        self._file.truncate(size_bytes)
        self._read_again(size_bytes)

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        view = memoryview(piece)
        while view:
            view = view[self._file.write(view) :]
        self.size_bytes += len(piece)
        self._digest.update(piece)

    @property
    def sha256(self) -> str | None:
        """Return the hash of all that arrived, in hex; None of a large file."""
        return self._digest.hexdigest()

    def publish(self, *, overwrite: bool) -> None:
        """Give the file its name, now that it is whole.

        Raises:
            FileExistsError: The name was taken meanwhile, and may not be replaced.
            OSError: It cannot be renamed.
        """
        if not self._is_kept:
            self._file.close()  # the shared one stays locked until it has its name
        if overwrite:
            self._path.replace(self._target)
        else:
            _rename_to_free_name(self._path, self._target)
        self._note.unlink(missing_ok=True)
        self._file.close()

    def close(self, *, keep: bool = True) -> None:
        """Let go of it; what arrived is kept where it can be gone on with.

        Args:
            keep: Keep it if possible.
        """
        can_go_on = self.version is not None and self.version.validator is not None
        if not self._is_kept:
            self._path.unlink(missing_ok=True)
        elif not self._file.closed and not (keep and can_go_on and self.size_bytes):
            self._note.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        self._file.close()


def write_whole(target: Path, content: bytes) -> None:
    """Write a small file whole or not at all, readable by its owner alone.

    Raises:
        OSError: It cannot be written there.
    """
    part = _own_name(target)
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _own_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")


def _opened(target: Path) -> tuple[Path, BinaryIO, bool]:
    """Open a part; tell whether it is the one that is kept and gone on with."""
    shared = target.with_name(f".{target.name}.part")
    file = _locked(shared)
    if file is not None:
        return shared, file, True
    own = _own_name(target)
    return own, own.open("xb+", buffering=0), False


def _locked(path: Path) -> BinaryIO | None:
    """Open a file for this process alone; None while another has it."""
    if sys.platform == "win32":
        return None
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        file = os.fdopen(descriptor, "rb+", buffering=0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another has it, or there are no locks on this disk
            file.close()
            return None
        if _is_same(path, file):
            return file
        # Its owner gave it its name between the two calls: it is no part any more.
        file.close()


def _is_same(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


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


def _noted(note: Path, source: str) -> Version | None:
    """Return which version the kept bytes are of; None if that is not known."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads(note.read_bytes())
        if said.pop("source") == source:
            return Version(**said)
    return None
