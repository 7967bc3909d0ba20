"""The frame of a clip that a mask is painted on."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from anyio import to_thread

from mediakit.client.media_inputs import RemoteMedia
from mediakit.errors import InputError
from mediakit.media import is_url, poster_jpeg, probe
from mediakit.media_limits import MediaInfo

FRAME_MAX_PX = 960


@dataclass(frozen=True)
class Frame:
    """A frame of a clip."""

    jpeg: bytes = field(repr=False)  # at most `FRAME_MAX_PX` on its longer side
    size: tuple[int, int]  # of the clip itself, in pixels


async def frame_of(value: str, remote: RemoteMedia) -> Frame | None:
    """Return a frame of a clip at a path or URL; None when it cannot be read."""
    if not is_url(value):
        return await to_thread.run_sync(_frame_of_file, Path(value))
    jpeg = await remote.poster(value, FRAME_MAX_PX)
    if jpeg is None:
        return None
    info = (await remote.probe([("video", value)]))["video", value]
    return Frame(jpeg, _size(info, jpeg))


def _frame_of_file(path: Path) -> Frame | None:
    try:
        path = path.expanduser()
        info = probe(path, "video", "")
        jpeg = poster_jpeg(path, FRAME_MAX_PX)
    except (InputError, OSError, RuntimeError, ValueError):
        return None
    return Frame(jpeg, _size(info, jpeg))


def _size(info: MediaInfo | None, jpeg: bytes) -> tuple[int, int]:
    from PIL import Image

    if info is not None and info.width and info.height:
        return info.width, info.height
    with Image.open(BytesIO(jpeg), formats=("JPEG",)) as image:
        return image.size
