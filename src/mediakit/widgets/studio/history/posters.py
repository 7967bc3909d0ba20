"""Posters of results for rows and walls: cached on this machine, or made again."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.history import Entry
from mediakit.media import poster_jpeg
from mediakit.widgets.job.player import web_url
from mediakit.widgets.job.preview import look_kept
from mediakit.widgets.studio.history.selection import has_result

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

SMALL = ".{max_px}.jpg"


class Posters:
    """Finds pictures of results, at first where they were kept.

    Args:
        client: The client whose results they are.
    """

    def __init__(self, client: Client) -> None:
        self._media = client.components.remote_media
        self._previews = client.components.jobs.outputs.preview_cache
        self._entries: dict[str, Entry] = {}

    def key_of(self, entry: Entry) -> str | None:
        """Return what names the picture of an entry; None where there is none."""
        if not has_result(entry) or entry.media_type == "audio":
            return None
        key = str(entry.job_id)
        self._entries[key] = entry
        return key

    async def bring(self, key: str, max_px: int) -> bytes | None:
        """Return a JPEG; None when none can be made.

        Args:
            key: As `key_of` gave it.
            max_px: The most pixels on the longer side of one that is made again.
        """
        kept = await to_thread.run_sync(self._kept, key, max_px)
        if kept is not None:
            return kept
        url = web_url(self._entries[key].output_url or "")
        made = await self._media.poster(url, max_px) if url else None
        if made is not None:
            name = SMALL.format(max_px=max_px)
            await to_thread.run_sync(self._previews.keep, key, name, made)
        return made

    def _kept(self, key: str, max_px: int) -> bytes | None:
        preview = look_kept(self._previews, key)
        if preview is None or preview.poster is None:
            return self._previews.read(key, SMALL.format(max_px=max_px))
        try:
            return poster_jpeg(BytesIO(preview.poster), max_px)
        except (OSError, ValueError):  # the file on the disk is broken
            return None
