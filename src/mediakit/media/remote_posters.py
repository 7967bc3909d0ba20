"""Small pictures of media behind URLs, from as few of their bytes as will do."""

from __future__ import annotations

from io import BufferedReader

from mediakit.media.posters import poster_jpeg
from mediakit.media.remote import LIMIT_S, Http, RemoteFile, read_remote


async def poster_at(
    url: str, max_px: int, http: Http, *, limit_s: float = LIMIT_S
) -> bytes | None:
    """Make a small JPEG of a clip or a picture behind a URL.

    It takes at most about 4 MB.

    Args:
        url: Where it is.
        max_px: The most pixels on the longer side.
        http: Asks for it.
        limit_s: Seconds that it may take in all.

    Returns:
        The picture; None, whatever the reason, when it cannot be made.
    """

    def poster(file: RemoteFile) -> bytes | None:
        from PIL.Image import DecompressionBombError

        try:
            return poster_jpeg(BufferedReader(file), max_px)
        except DecompressionBombError as error:
            raise ValueError from error

    return await read_remote(url, http, poster, limit_s=limit_s)
