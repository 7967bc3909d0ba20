"""Posters and thumbnails of local media."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mediakit.media.decoding import (
    decoder_errors,
    opened,
    picture_track,
    quarter_turns,
)
from mediakit.media.probing import duration_s

if TYPE_CHECKING:
    from av.container import InputContainer
    from PIL.Image import Image as PILImage

POSTER_AT_S = 1.0
POSTER_MAX_PX = 320
THUMBNAIL_MAX_PX = 160
JPEG_QUALITY = 78


def thumbnail_jpeg(path: Path, max_px: int = THUMBNAIL_MAX_PX) -> bytes:
    """Make a JPEG thumbnail of a picture, with a limit for its longer side.

    Raises:
        OSError: The picture cannot be read.
    """
    from PIL import Image

    with decoder_errors(), Image.open(path) as image:
        image.draft("RGB", (max_px, max_px))
        return _upright_jpeg(image, max_px)


def poster_jpeg(source: Path | BinaryIO, max_px: int = POSTER_MAX_PX) -> bytes:
    """Make a JPEG poster of a clip, from a frame at about one second.

    Args:
        source: A video or a picture, as a path or an open file.
        max_px: The limit for the longer side, in pixels.

    Raises:
        OSError: It cannot be read.
        ValueError: It has no picture.
    """
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, Path):
        with source.open("rb") as file:
            return poster_jpeg(file, max_px)
    with decoder_errors():
        try:
            with Image.open(source) as image:
                return _upright_jpeg(image, max_px)
        except UnidentifiedImageError:
            source.seek(0)
        with opened(source) as container:
            return _jpeg(_frame(container), max_px)


def _frame(container: InputContainer) -> PILImage:
    import numpy as np
    from PIL import Image

    stream = picture_track(container)
    at_s = min(POSTER_AT_S, (duration_s(container) or 0) / 2)
    chosen = None
    for frame in container.decode(stream):
        chosen = frame
        if frame.pts is None or frame.time >= at_s:
            break
    if chosen is None:
        raise ValueError("it has no frame")
    stored = chosen.to_ndarray(format="rgb24")
    return Image.fromarray(np.rot90(stored, quarter_turns(chosen)))


def _upright_jpeg(image: PILImage, max_px: int) -> bytes:
    from PIL import ImageOps

    return _jpeg(ImageOps.exif_transpose(image), max_px)


def _jpeg(image: PILImage, max_px: int) -> bytes:
    small = image.convert("RGB")
    small.thumbnail((max_px, max_px))
    out = BytesIO()
    small.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()
