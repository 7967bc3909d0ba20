"""The frame of a clip on which a mask is painted."""

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
FIRST_AT_S = 1.0


@dataclass(frozen=True)
class Frame:
    """A frame of a clip."""

    jpeg: bytes = field(repr=False)  # at most `FRAME_MAX_PX` on its longer side
    size: tuple[int, int]  # of the clip itself, in pixels
    at_s: float
    duration_s: float | None  # of the clip; None where it is not known


async def frame_of(
    value: str, remote: RemoteMedia, at_s: float | None = None
) -> Frame | None:
    """Return a frame of a clip at a path or URL; None if it cannot be read."""
    if not is_url(value):
        return await to_thread.run_sync(_frame_of_file, Path(value), at_s)
    info = (await remote.probe([("video", value)]))["video", value]
    at_s = _time_s(info, at_s)
    jpeg = await remote.poster(value, FRAME_MAX_PX, at_s)
    return None if jpeg is None else _frame(info, jpeg, at_s)


def _frame_of_file(path: Path, at_s: float | None) -> Frame | None:
    try:
        path = path.expanduser()
        info = probe(path, "video", "")
        at_s = _time_s(info, at_s)
        jpeg = poster_jpeg(path, FRAME_MAX_PX, at_s)
    except (InputError, OSError, RuntimeError, ValueError):
        return None
    return _frame(info, jpeg, at_s)


def _time_s(info: MediaInfo | None, at_s: float | None) -> float:
    duration_s = info.duration_s if info else None
    if at_s is not None:
        return min(at_s, duration_s or 0.0)
    return round(min(FIRST_AT_S, (duration_s or 0.0) / 2), 1)


def _frame(info: MediaInfo | None, jpeg: bytes, at_s: float) -> Frame:
    from PIL import Image

    if info is not None and info.width and info.height:
        return Frame(jpeg, (info.width, info.height), at_s, info.duration_s)
    with Image.open(BytesIO(jpeg), formats=("JPEG",)) as image:
        return Frame(jpeg, image.size, at_s, None)
