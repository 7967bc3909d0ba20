"""What was seen of results, kept small on this machine: posters and previews."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

MAX_BYTES = 256 * 1024 * 1024


class PreviewCache:
    """Keeps small files about jobs; losing one costs only making it anew.

    Nothing here raises an OSError: a folder that cannot be read or written is one in
    which nothing is kept.

    Args:
        folder: Where they are kept; None keeps none.
        max_bytes: How much they may be in all; the longest unused go first.
    """

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def read(self, job_id: str, suffix: str) -> bytes | None:
        """Return what is kept of a job under a suffix; None when there is nothing."""
        if self._folder is None:
            return None
        path = self._folder / _name(job_id, suffix)
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return content

    def keep(self, job_id: str, suffix: str, content: bytes) -> None:
        """Keep a small file about a job; it is there whole or not at all."""
        if self._folder is None:
            return
        path = self._folder / _name(job_id, suffix)
        part = self._folder / f"{path.name}.{uuid4().hex}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            part.replace(path)
            self._make_room()
        except OSError:
            with suppress(OSError):
                part.unlink()

    def drop(self, job_id: str) -> None:
        """Forget everything that is kept of a job."""
        if self._folder is not None:
            with suppress(OSError):
                for path in self._folder.glob(f"{_name(job_id, '')}*"):
                    path.unlink()

    def _make_room(self) -> None:
        assert self._folder is not None
        files = [(path, path.stat()) for path in self._folder.iterdir()]
        files.sort(key=lambda each: each[1].st_mtime, reverse=True)
        total = 0
        for path, facts in files:
            total += facts.st_size
            if total > self._max_bytes:
                path.unlink(missing_ok=True)


def _name(job_id: str, suffix: str) -> str:
    # An id comes from outside: it names no path.
    return sha256(job_id.encode()).hexdigest()[:32] + suffix
