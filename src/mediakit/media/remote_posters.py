"""Small pictures of media behind URLs, from as few of their bytes as will do."""

from __future__ import annotations

import logging
from io import BufferedReader
from threading import Event

import httpx
from anyio import move_on_after, to_thread

from mediakit.media.posters import poster_jpeg
from mediakit.media.remote import LIMIT_S, RemoteFile, http_for

log = logging.getLogger("mediakit.media")


async def poster_at(url: str, max_px: int, *, limit_s: float = LIMIT_S) -> bytes | None:
    """Make a small JPEG of a clip or a picture behind a URL.

    It takes at most about 4 MB, and carries no key and no cookies.

    Args:
        url: Where it is.
        max_px: The most pixels on the longer side.
        limit_s: Seconds that it may take in all.

    Returns:
        The picture; None, whatever the reason, when it cannot be made.
    """
    given_up = Event()
    try:
        with move_on_after(limit_s):
            return await to_thread.run_sync(
                _poster, url, max_px, given_up, abandon_on_cancel=True
            )
    finally:
        given_up.set()
    log.debug("there is no picture of a medium behind a URL: no answer in time")
    return None


def _poster(url: str, max_px: int, given_up: Event) -> bytes | None:
    from PIL.Image import DecompressionBombError

    try:
        with http_for(url) as http:
            file = BufferedReader(RemoteFile(http, url, given_up))
            return poster_jpeg(file, max_px)
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        OSError,
        ValueError,
        DecompressionBombError,
    ) as error:
        # Neither the URL nor the error's words: both may hold a signature.
        name = type(error).__name__
        log.debug("there is no picture of a medium behind a URL: %s", name)
        return None
