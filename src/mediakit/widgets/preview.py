"""A first look at a result: a small picture of it, and whether it will play."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO

from anyio import to_thread

from mediakit.client import AsyncJob
from mediakit.errors import MediakitError
from mediakit.media import POSTER_MAX_PX, poster_jpeg

FETCH_MAX_BYTES = 64 * 1024 * 1024
POSTER_MAX_BYTES = 12_000
SMALLER_PX = (POSTER_MAX_PX, 256, 208, 160, 112)


@dataclass(frozen=True)
class Preview:
    """What was seen of a result.

    Args:
        poster: A small JPEG of it; None when there is no picture to show.
        codec: The codec of its picture; None when it is not known.
        trouble: Why there is no picture, as a sentence; None when nothing is wrong.
    """

    poster: bytes | None = field(default=None, repr=False)
    codec: str | None = None
    trouble: str | None = None


async def fetch_preview(job: AsyncJob) -> Preview:
    """Fetch a job's output once and look at it, decoding on another thread."""
    try:
        data = await job.fetch_output(FETCH_MAX_BYTES)
    except MediakitError as error:
        return Preview(trouble=f"There is no poster of the result: {error}")
    return await to_thread.run_sync(preview_of, data, job.state.media_type)


def preview_of(data: bytes, media_type: str) -> Preview:
    """Look at a file: a poster that is small enough to be saved twice in a notebook.

    Args:
        data: The whole file.
        media_type: "video", "image" or "audio".
    """
    if media_type == "audio":
        return Preview()
    from PIL.Image import DecompressionBombError

    try:
        codec = picture_codec(data) if media_type == "video" else None
        return Preview(poster=small_poster(data), codec=codec)
    except (OSError, ValueError, DecompressionBombError) as error:
        # PyAV's and Pillow's own errors are OSErrors or ValueErrors.
        return Preview(
            trouble="There is no poster of the result: the file cannot be read here "
            f"({type(error).__name__}). It may still open in another program."
        )


def small_poster(data: bytes) -> bytes:
    """Make a poster, smaller in pixels until it is small enough in bytes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no picture.
    """
    jpeg = b""
    for max_px in SMALLER_PX:
        jpeg = poster_jpeg(BytesIO(data), max_px)
        if len(jpeg) <= POSTER_MAX_BYTES:
            break
    return jpeg


def picture_codec(data: bytes) -> str | None:
    """Return the codec of a video's picture, such as "h264"; None without one.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no video.
    """
    import av

    with av.open(BytesIO(data), mode="r") as container:
        videos = container.streams.video
        return videos[0].codec_context.name if videos else None
