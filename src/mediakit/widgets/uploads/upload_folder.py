"""The folder of uploaded files, so that code can use them again."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from mediakit.client.media_inputs import HASH_LENGTH, UPLOADS
from mediakit.clock import SystemClock
from mediakit.media import is_url, plain_name, size_text

# A file is at `uploads/<hash of its bytes>/<its own name>` in the folder that `home=`
# and `MEDIAKIT_HOME` name. So the path stays valid in other processes and on later
# days. Each new file evicts the files that no form has used for 90 days, and the least
# recently used files while there are more than 20 GB, but no file that was used within
# a day. People may delete the folder: files that were sent to the service stay there.
KEPT_DAYS = 90
MAX_BYTES = 20_000_000_000
DAY_S = 86_400.0
MIN_FREE_BYTES = 200_000_000
_HASH = re.compile(rf"[0-9a-f]{{{HASH_LENGTH}}}")


def own_name(value: str) -> str | None:
    """Return an upload's original file name; None for any other path or URL."""
    *_, folder, digest, name = ("", "", *value.replace("\\", "/").split("/"))
    is_kept = folder == UPLOADS and _HASH.fullmatch(digest) and not is_url(value)
    return name if is_kept else None


def shown_path(value: str) -> str:
    """Return a path for display: for an upload, its original name."""
    return own_name(value) or value


def note_use(value: str) -> None:
    """Mark an upload as used, so that it is kept."""
    if own_name(value) is not None:
        with suppress(OSError):
            # Set the folder's time; the file's time shows whether the file has changed.
            os.utime(Path(value).parent)


class UploadFolder:
    """Keeps uploaded files beside the history, under their original names."""

    def __init__(self, home: Path, max_bytes: int = MAX_BYTES) -> None:
        self._folder = home.absolute() / UPLOADS
        self._max_bytes = max_bytes

    def has_room(self, size_bytes: int) -> bool:
        """Return whether the disk has room for a file of this size."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return shutil.disk_usage(self._folder).free >= size_bytes + MIN_FREE_BYTES

    def new_part(self) -> Path:
        """Return a path to write an incomplete file to."""
        return self._folder / f"{uuid4().hex}.part"

    def publish(self, part: Path, name: str, digest: str) -> Path:
        """Move a complete file to its place, and make room."""
        folder = self._folder / digest[:HASH_LENGTH]
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / plain_name(name)
        if path.exists():
            part.unlink()
        else:
            part.replace(path)
        note_use(str(path))
        self._make_room()
        return path

    def _make_room(self) -> None:
        now_s = SystemClock().now().timestamp()
        entries = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process may have removed it
                entries.append((now_s - path.stat().st_mtime, path, _size(path)))
        total = 0
        for age_s, path, size_bytes in sorted(entries):
            total += size_bytes
            is_old = age_s > (KEPT_DAYS * DAY_S if path.is_dir() else DAY_S)
            if is_old or (total > self._max_bytes and age_s > DAY_S):
                _remove(path)


class IncomingFile:
    """A file that arrives in pieces; it is in the folder once it is complete."""

    def __init__(self, folder: UploadFolder, name: str, size_bytes: int) -> None:
        self.written_bytes = 0
        self._name = name
        self._size_bytes = size_bytes
        self._folder = folder
        self._part = folder.new_part()
        self._file: BinaryIO | None = None
        self._digest = sha256()

    def begin(self) -> None:
        """Make room for it, or raise an `OSError`."""
        if not self._folder.has_room(self._size_bytes):
            size = size_text(self._size_bytes)
            raise OSError(f"the disk has no room for it ({size})")
        self._file = self._part.open("xb")

    def write(self, content: bytes | memoryview) -> Path | None:
        """Write a piece; return the file's path once it is complete."""
        if self._file is None:
            raise ValueError("it has not begun")
        self._file.write(content)
        self._digest.update(content)
        self.written_bytes += len(content)
        if self.written_bytes < self._size_bytes:
            return None
        self._file.close()
        return self._folder.publish(self._part, self._name, self._digest.hexdigest())

    def discard(self) -> None:
        """Delete the received pieces; a complete file stays."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._part.unlink()


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):  # somebody else has removed it, or has it open
        path.unlink()
