"""Inspects files and URLs, on worker threads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anyio import to_thread

from mediakit.client.media_inputs import RemoteMedia
from mediakit.errors import InputError
from mediakit.media import THUMBNAIL_MAX_PX, poster_jpeg, probe
from mediakit.media_limits import MediaName
from mediakit.rules import Problem
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.uploads.upload_folder import note_use, own_name

Stamp = tuple[int, int]


class Inspector:
    """Inspects media; each version of a file is read once."""

    def __init__(self, remote: RemoteMedia) -> None:
        self._remote = remote
        self._seen: dict[tuple[MediaKey, Stamp], Inspection] = {}

    async def look(self, keys: Iterable[MediaKey]) -> dict[MediaKey, Inspection]:
        """Return the inspections of files, reading new or changed ones."""
        wanted = tuple(keys)
        if not wanted:
            return {}
        return await to_thread.run_sync(
            lambda: {key: self._look(key) for key in wanted}
        )

    async def measure(self, keys: Iterable[MediaKey]) -> dict[MediaKey, Inspection]:
        """Return the inspections of media at URLs; the others can be retried."""
        infos = await self._remote.probe(keys)
        return {key: Inspection(info) for key, info in infos.items() if info}

    def _look(self, key: MediaKey) -> Inspection:
        kind, text = key
        try:
            path = Path(text).expanduser()
            stat = path.stat()
        except (OSError, RuntimeError, ValueError):
            # No such file, no such user, or a name that no file can have.
            name = own_name(text)
            if name is not None:
                return _refused(name, "the upload is no longer kept; upload it again")
            return _refused(text, "no such file; enter a path or an http(s) URL")
        note_use(text)
        stamp = (stat.st_mtime_ns, stat.st_size)
        if (key, stamp) not in self._seen:
            self._seen[key, stamp] = _inspect(path, kind)
        return self._seen[key, stamp]


def _refused(name: str, reason: str) -> Inspection:
    # Without "got", the row shows the sentence unchanged.
    return Inspection(problem=Problem("", None, f"{name}: {reason}"))


def _inspect(path: Path, kind: MediaName) -> Inspection:
    try:
        info = probe(path, kind, "")
    except InputError as error:
        got = str(error.got).replace(str(path), "").strip(" ()")
        return _refused(path.name, f"{got}; use {error.accepted}")
    return Inspection(info=info, thumbnail=_thumbnail(path, kind))


def _thumbnail(path: Path, kind: MediaName) -> bytes | None:
    try:
        if kind != "audio":
            return poster_jpeg(path, THUMBNAIL_MAX_PX)
    except (OSError, ValueError):
        # The header is readable but the picture is not; the service decides.
        return None
    return None
