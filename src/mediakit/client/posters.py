"""Poster images of results, cached in memory and on disk."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.client.download_targets import write_private
from mediakit.clock import Clock
from mediakit.media import POSTER_MAX_PX, poster_jpeg
from mediakit.private_folders import make_private_folder

if TYPE_CHECKING:
    from mediakit.client.media_inputs import RemoteMedia


POSTER = ".jpg"
"""The suffix of a result's poster, which all views of the result share."""
MAX_BYTES = 256 * 1024 * 1024


class PreviewCache:
    """Caches small files of jobs on disk, if a folder can be written."""

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def read(self, job_id: str, suffix: str) -> bytes | None:
        """Return a job's file with a suffix; None if it is not cached."""
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
        """Store a small file of a job atomically; evict the least recently used."""
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


# -- cached posters --------------------------------------------------------------------


POSTERS_AT_ONCE = 4
MOST_IN_MEMORY = 1_000
AGAIN_AFTER_S = 60.0
"""How long to wait before trying a failed poster again."""


class Posters:
    """Makes posters of results; each is made once and shared.

    The kernel fetches them, not the browser, because a page full of players would use
    up the browser's connections to the server.
    """

    def __init__(self, media: RemoteMedia, cache: PreviewCache, clock: Clock) -> None:
        self._media = media
        self._cache = cache
        self._clock = clock
        self._known: dict[tuple[str, int], bytes] = {}
        self._failed_s: dict[str, float] = {}
        self._finding: dict[tuple[str, int], asyncio.Task[bytes | None]] = {}
        self._turn = asyncio.Semaphore(POSTERS_AT_ONCE)

    def known(self, job_id: str | None, max_px: int) -> bytes | None:
        """Return a poster that is in memory, else None."""
        return self._known.get((job_id or "", max_px))

    async def find(self, job_id: str, url: str, max_px: int) -> bytes | None:
        """Return the poster of a job's clip or picture as JPEG; None if that fails."""
        key = (job_id, max_px)
        if key in self._known:
            return self._known[key]
        if key not in self._finding:
            finding = asyncio.ensure_future(self._found(job_id, url, max_px))
            self._finding[key] = finding
            finding.add_done_callback(lambda _: self._finding.pop(key, None))
        # A caller that stops waiting must not cancel the search that others wait for.
        return await asyncio.shield(self._finding[key])

    async def _found(self, job_id: str, url: str, max_px: int) -> bytes | None:
        async with self._turn:
            picture = await to_thread.run_sync(self._cache.read, job_id, POSTER)
            if picture is None:
                picture = await self._made(job_id, url)
            if picture is None:
                return None
            small = await to_thread.run_sync(_scaled, picture, max_px)
        if small is not None:
            self._known[job_id, max_px] = small
            if len(self._known) > MOST_IN_MEMORY:
                del self._known[next(iter(self._known))]
        return small

    async def _made(self, job_id: str, url: str) -> bytes | None:
        now_s = self._clock.monotonic_s()
        if now_s - self._failed_s.get(job_id, -AGAIN_AFTER_S) < AGAIN_AFTER_S:
            return None
        poster = await self._media.poster(url, POSTER_MAX_PX)
        if poster is None:
            self._failed_s[job_id] = now_s
            return None
        self._failed_s.pop(job_id, None)
        await to_thread.run_sync(self._cache.keep, job_id, POSTER, poster)
        return poster


def _scaled(picture: bytes, max_px: int) -> bytes | None:
    try:
        return poster_jpeg(BytesIO(picture), max_px)
    except (OSError, ValueError):  # the file on the disk is broken
        return None
