"""A cache of previews of results on this machine: posters and small copies."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from mediakit.client.download_targets import write_private
from mediakit.private_folders import make_private_folder

POSTER = ".jpg"
"""The suffix of the picture of a result, which everything that shows it shares."""
MAX_BYTES = 256 * 1024 * 1024


class PreviewCache:
    """Caches small files of jobs, where there is a folder that can be written."""

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def read(self, job_id: str, suffix: str) -> bytes | None:
        """Return a job's file with a suffix; None if there is none."""
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
        """Store a small file of a job, atomically; drop the longest unused ones."""
        if self._folder is None:
            return
        with suppress(OSError):
            make_private_folder(self._folder)
            write_private(self._folder / _name(job_id, suffix), content)
            files = [(path, path.stat()) for path in self._folder.iterdir()]
            files.sort(key=lambda each: each[1].st_mtime, reverse=True)
            total_bytes = 0
            for path, facts in files:
                total_bytes += facts.st_size
                if total_bytes > self._max_bytes:
                    path.unlink(missing_ok=True)

    def drop(self, job_id: str) -> None:
        """Remove all files of a job."""
        if self._folder is not None:
            with suppress(OSError):
                for path in self._folder.glob(f"{_name(job_id, '')}*"):
                    path.unlink()


def _name(job_id: str, suffix: str) -> str:
    # An id is untrusted input: it must not become a path.
    return sha256(job_id.encode()).hexdigest()[:32] + suffix
