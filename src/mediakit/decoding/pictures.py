"""Opens untrusted pictures: known formats and limits, upright, in eight bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from mediakit.decoding.colours import eight_bits, in_srgb, levels_of, on_white
from mediakit.decoding.errors import decoder_errors
from mediakit.decoding.orientation import (
    SIDEWAYS,
    exif_orientation,
    late_exif,
    upright,
)
from mediakit.media_limits import MAX_PICTURE_PIXELS, MediaInfo

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

# Pillow would run Ghostscript for PostScript, whatever the file is called.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF", "TIFF")

_TIFF_WIDTH, _TIFF_HEIGHT = 256, 257
_LARGE_PIXELS = 4_000_000
_STRIP_PIXELS = 1_000_000
# The memory for decoding, in bytes per pixel, if it is more than four: WebP and AVIF
# are decoded beside Pillow's copy, and a progressive JPEG is kept as coefficients.
_BYTES_A_PIXEL = {"WEBP": 17, "AVIF": 14, "GIF": 6, "TIFF": 8}
_PROGRESSIVE_BYTES_A_PIXEL = 6
_MOST_BYTES = 220_000_000
# Python's warning filters are shared by all threads.
_one_filter = Lock()
# Only one large picture is in memory at a time.
_one_large = Lock()


@contextmanager
def opened_picture(file: BinaryIO) -> Iterator[PILImage]:
    """Open a picture of a known format, without decoding it.

    Raises:
        PIL.UnidentifiedImageError: The file is not a picture in one of these formats.
        ValueError: The picture has too many pixels.
        OSError: The file is broken.
    """
    with decoder_errors(), _opened(file) as image:
        if image.width * image.height > MAX_PICTURE_PIXELS:
            raise ValueError(
                f"{image.width} x {image.height} pixels are more than "
                f"{MAX_PICTURE_PIXELS / 1e6:g} megapixels"
            )
        yield image


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress Pillow's warnings about readable files."""
    with _one_filter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _opened(file: BinaryIO) -> PILImage:
    from PIL import Image

    Image.init()
    formats = [name for name in FORMATS if name in Image.OPEN]  # AVIF may be missing
    try:
        with without_warnings():
            image = Image.open(file, formats=formats)
            if image.format == "PNG" and "exif" not in image.info:
                image.info.update(late_exif(file))
            exif_orientation(image)
            return image
    except Image.DecompressionBombError as error:
        raise ValueError(
            f"it has more than {MAX_PICTURE_PIXELS / 1e6:g} megapixels"
        ) from error


def picture_info(file: BinaryIO, size_bytes: int) -> MediaInfo:
    """Read the format and displayed size of a picture, without decoding it."""
    from PIL import Image

    with opened_picture(file) as image:
        width, height = image.size
        orientation = exif_orientation(image)
        if image.format == "TIFF":  # newer versions of Pillow rotate `image.size`
            tags: Any = image
            width, height = tags.tag_v2[_TIFF_WIDTH], tags.tag_v2[_TIFF_HEIGHT]
        if orientation in SIDEWAYS:
            width, height = height, width
        # MPO is a JPEG file with several pictures, as phones write.
        name = "JPEG" if image.format == "MPO" else image.format or ""
        image.verify()
    return MediaInfo("image", Image.MIME[name], size_bytes, width, height)


def is_picture(file: BinaryIO) -> bool:
    """Return whether a file is a picture of a known format, complete or not."""
    from PIL import UnidentifiedImageError

    position = file.tell()
    try:
        with opened_picture(file):
            return True
    except UnidentifiedImageError:
        return False
    finally:
        file.seek(position)


def small_picture(
    file: BinaryIO, max_px: int, mode: Literal["RGB", "L"] = "RGB"
) -> PILImage:
    """Decode a picture, upright, on white, at most `max_px` wide and high."""
    with opened_picture(file) as image:
        pixels = image.width * image.height
        if pixels * _bytes_a_pixel(image) > _MOST_BYTES:
            raise ValueError("a small copy of it would take too much memory")
        image.draft(mode, (max_px, max_px))
        if pixels <= _LARGE_PIXELS:
            return _small(image, max_px, mode)
        with _one_large:
            return _small(image, max_px, mode)


def _bytes_a_pixel(image: PILImage) -> int:
    if image.info.get("progressive"):
        return _PROGRESSIVE_BYTES_A_PIXEL
    return _BYTES_A_PIXEL.get(image.format or "", 4)


def _small(image: PILImage, max_px: int, mode: str) -> PILImage:
    """Shrink a picture in strips, because a full copy would double the memory."""
    from PIL import Image

    image.load()
    orientation = exif_orientation(image)
    levels = levels_of(image)
    factor = max(max(image.size) // (2 * max_px), 1)
    width, height = (-(-side // factor) for side in image.size)
    small = Image.new("RGB", (width, height))
    rows = max(_STRIP_PIXELS // image.width // factor, 1) * factor
    for top in range(0, image.height, rows):
        bottom = min(top + rows, image.height)
        strip = image.crop((0, top, image.width, bottom))
        if strip.mode in ("CMYK", "L", "LA"):  # their profiles do not fit RGB
            strip = in_srgb(strip)
        part = on_white(eight_bits(strip, levels)).convert("RGB")
        small.paste(part.reduce(factor), (0, top // factor))
    small.thumbnail((max_px, max_px), Image.Resampling.BOX)
    if image.mode in ("RGB", "RGBA", "P"):
        small.info = image.info
        small = in_srgb(small)
    return upright(small, orientation).convert(mode)
