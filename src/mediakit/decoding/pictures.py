"""Opens untrusted pictures: known formats and limits, upright, in eight bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from mediakit.decoding.errors import decoder_errors
from mediakit.media_limits import MAX_PICTURE_PIXELS, MediaInfo

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

# Pillow would run Ghostscript for PostScript, whatever the file is called.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF", "TIFF")

_PNG_START = b"\x89PNG\r\n\x1a\n"
_TIFF_WIDTH, _TIFF_HEIGHT, _ORIENTATION = 256, 257, 274
_SIDEWAYS_ORIENTATIONS = (5, 6, 7, 8)
_WHITE = 255
_DEEP_WHITE = 65_535
_LARGE_PIXELS = 4_000_000
_STRIP_PIXELS = 1_000_000
# What decoding takes in memory, in bytes a pixel, where it is more than four: WebP and
# AVIF decode beside Pillow's copy, and a progressive JPEG is kept as coefficients.
_BYTES_A_PIXEL = {"WEBP": 17, "AVIF": 14, "GIF": 6, "TIFF": 8}
_PROGRESSIVE_BYTES_A_PIXEL = 6
_MOST_BYTES = 220_000_000
# Python's filters of warnings belong to all threads.
_one_filter = Lock()
# However many threads make posters, one large picture is in memory.
_one_large = Lock()


@contextmanager
def opened_picture(file: BinaryIO) -> Iterator[PILImage]:
    """Open a picture of a known format, without decoding it.

    Raises:
        PIL.UnidentifiedImageError: It is no picture of these formats.
        ValueError: It has too many pixels.
        OSError: It is broken.
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
                image.info.update(_late_exif(file))
            _orientation(image)
            return image
    except Image.DecompressionBombError as error:
        raise ValueError(
            f"its pixels are more than {MAX_PICTURE_PIXELS / 1e6:g} megapixels"
        ) from error


def _late_exif(file: BinaryIO) -> dict[str, bytes]:
    """Find the EXIF data after the pixels of a PNG file, without decoding them."""
    position = file.tell()
    file.seek(len(_PNG_START))
    try:
        while len(head := file.read(8)) == 8:
            length, kind = int.from_bytes(head[:4]), head[4:]
            if kind == b"eXIf":
                return {"exif": b"Exif\x00\x00" + file.read(length)}
            file.seek(length + 4, 1)
        return {}
    finally:
        file.seek(position)


def _orientation(image: PILImage) -> int:
    """Return the EXIF orientation; for a PNG, before its pixels are read."""
    from PIL import Image

    orientation: int = Image.Image.getexif(image).get(_ORIENTATION, 1)
    return orientation


def picture_info(file: BinaryIO, size_bytes: int) -> MediaInfo:
    """Read the format and displayed size of a picture, without decoding it."""
    from PIL import Image

    with opened_picture(file) as image:
        width, height = image.size
        orientation = _orientation(image)
        if image.format == "TIFF":  # Pillow turns its size, the newer versions
            tags: Any = image
            width, height = tags.tag_v2[_TIFF_WIDTH], tags.tag_v2[_TIFF_HEIGHT]
        if orientation in _SIDEWAYS_ORIENTATIONS:
            width, height = height, width
        # A JPEG file with several pictures, as phones write, is a JPEG file.
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
    orientation = _orientation(image)
    levels = _levels(image)
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
    return _turned(small, orientation).convert(mode)


def _turned(image: PILImage, orientation: int) -> PILImage:
    from PIL.Image import Transpose

    method = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if method is None else image.transpose(method)


# -- modes -------------------------------------------------------------------------

Levels = tuple[float, float]
"""The values of black and white."""


def _levels(image: PILImage) -> Levels:
    """Return the values of black and white in a mode with more than eight bits.

    Numbers without a scale are stretched to their actual range.
    """
    if image.mode.startswith("I;16"):
        return 0, _DEEP_WHITE
    if image.mode not in ("I", "F"):
        return 0, _WHITE
    extrema: Any = image.getextrema()
    darkest, brightest = extrema
    scales = [1.0] if image.mode == "F" else []
    for white in (*scales, float(_WHITE), float(_DEEP_WHITE)):
        if darkest >= 0 and brightest <= white:
            return 0, white
    return darkest, brightest


def in_srgb(image: PILImage) -> PILImage:
    """Convert a picture with a colour profile to sRGB.

    The result has no profile, which would not fit another mode.
    """
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if not profile:
        return image
    if image.mode == "P":
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.mode not in ("RGB", "RGBA", "CMYK", "L", "LA"):
        return image
    image.info.pop("icc_profile")
    alpha = image.getchannel("A") if image.mode == "LA" else None
    colours = image if alpha is None else image.getchannel("L")
    mode = "RGBA" if image.mode == "RGBA" else "RGB"
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    try:
        converted = ImageCms.profileToProfile(
            colours, BytesIO(profile), srgb, outputMode=mode
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image  # viewers ignore a profile that they cannot read
    assert converted is not None  # it is not converted in place
    converted.info.pop("icc_profile", None)
    if alpha is not None:
        converted.putalpha(alpha)
    return converted


def eight_bits(image: PILImage, levels: Levels | None = None) -> PILImage:
    """Convert a picture to L, RGB or RGBA; deeper pixels are scaled, not clipped."""
    import numpy as np
    from PIL import Image

    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        black, white = levels or _levels(image)
        share = (np.asarray(image, np.float32) - black) / ((white - black) or 1)
        clean = np.nan_to_num(share).clip(0, 1)
        return Image.fromarray(np.rint(clean * _WHITE).astype(np.uint8))
    if image.mode == "La":
        image = image.convert("LA")
    if image.mode in ("L", "RGB") and not image.has_transparency_data:
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def on_white(image: PILImage) -> PILImage:
    """Composite a transparent picture on white."""
    from PIL import Image

    if image.mode != "RGBA":
        return image
    paper = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(paper, image).convert("RGB")
