"""Posters of media at URLs, from a partial download."""

from __future__ import annotations

from io import BufferedReader

from mediakit.media.posters import poster_jpeg
from mediakit.media.remote import LIMIT_S, Http, RemoteFile, read_remote


async def poster_at(
    url: str, max_px: int, http: Http, *, limit_s: float = LIMIT_S
) -> bytes | None:
    """Make a JPEG poster of a clip or a picture at a URL.

    It downloads at most about 4 MB.

    Args:
        url: The URL.
        max_px: The limit for the longer side, in pixels.
        http: Sends the requests.
        limit_s: The time limit in seconds.

    Returns:
        The poster; None if it cannot be made for any reason.
    """

    def poster(file: RemoteFile) -> bytes | None:
        return poster_jpeg(BufferedReader(file), max_px)

    return await read_remote(url, http, poster, limit_s=limit_s)
