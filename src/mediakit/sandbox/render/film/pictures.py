"""Pictures from outside, which are untrusted until they are decoded."""

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import ExifTags, Image, ImageOps

from mediakit.sandbox.render.film.film_file import sync
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")
MAX_PIXELS = 50_000_000
MAX_SIZE_BYTES = 100_000_000
LONGEST_JPEG_SIDE_PX = 65_500

# The EXIF orientations of upright pictures.
_LYING = (5, 6, 7, 8)

_NAMES = "JPEG, PNG, WebP, GIF, BMP or AVIF"

Image.init()  # Pillow loads its WebP and AVIF readers only here.

# The errors of Pillow for broken files, which are more than OSError.
_BROKEN = (
    OSError,
    RuntimeError,
    SyntaxError,
    ValueError,
    EOFError,
    ArithmeticError,
    LookupError,
    TypeError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def read_picture(path: Path, field: str, *, enough: Size | None = None) -> Image.Image:
    """Decode a picture and rotate it by its EXIF orientation.

    Args:
        path: The file.
        field: Where the body names it, for the message.
        enough: A JPEG may be decoded smaller, but not below this size.

    Returns:
        A picture in mode RGB or RGBA.

    Raises:
        RenderError: `invalid_input` when it is no picture that can be decoded, or
            too large.
    """
    with opened_picture(path, field) as picture:
        size = Size(*picture.size)
        if size.pixels > MAX_PIXELS:
            raise RenderError.invalid(
                f"{field}: the picture has {size} pixels "
                f"({size.pixels / 1e6:.1f} megapixels), accepted are at most "
                f"{MAX_PIXELS / 1e6:g} megapixels."
            )
        if enough is not None:
            picture.draft("RGB", (max(enough), max(enough)))
        picture.load()
        ImageOps.exif_transpose(
            picture, in_place=True
        )  # a copy would double the memory
        return in_colour(picture)


def picture_size(path: Path, field: str) -> Size:
    """Read the displayed size of a picture without decoding it."""
    with opened_picture(path, field) as picture:
        width, height = picture.size
        orientation = picture.getexif().get(ExifTags.Base.Orientation, 1)
        return Size(height, width) if orientation in _LYING else Size(width, height)


def is_picture(path: Path) -> bool:
    """Return whether a file is a picture, complete or not."""
    try:
        with opened_picture(path, path.name):
            return True
    except RenderError:
        return False


@contextmanager
def opened_picture(path: Path, field: str) -> Iterator[Image.Image]:
    """Open a picture without decoding it; failures inside become `invalid_input`."""
    with _opened(path, field) as file, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(file, formats=FORMATS) as picture:
                yield picture
        except _BROKEN as problem:
            raise RenderError.invalid(
                f"{field}: the file cannot be decoded as a picture; accepted are "
                f"{_NAMES}."
            ) from problem


def in_colour(picture: Image.Image) -> Image.Image:
    """Convert any mode to RGB, or to RGBA with transparency."""
    if picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    return picture if picture.mode == mode else picture.convert(mode)


def on_white(picture: Image.Image) -> Image.Image:
    """Lay a picture with transparency on white."""
    if picture.mode != "RGBA":
        return picture
    paper = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(paper, picture).convert("RGB")


def save_picture(picture: Image.Image, path: Path, output_format: str) -> None:
    """Write a picture to disk.

    Args:
        picture: In mode RGB; png takes RGBA, too.
        path: The file to write; its name does not matter.
        output_format: `jpeg` or `png`.
    """
    with path.open("wb") as file:
        if output_format == "jpeg":
            picture.save(file, "JPEG", quality=93, subsampling=0)
        else:
            picture.save(file, "PNG", compress_level=3)
    sync(path)


@contextmanager
def _opened(path: Path, field: str) -> Iterator[BinaryIO]:
    try:
        size_bytes = path.stat().st_size
        file = path.open("rb")
    except OSError as problem:
        raise RenderError.internal(
            f"{field}: the file cannot be read from disk ({problem.strerror})."
        ) from problem
    with file:
        if size_bytes > MAX_SIZE_BYTES:
            raise RenderError.invalid(
                f"{field}: the file has {size_bytes / 1e6:.1f} MB, accepted are at "
                f"most {MAX_SIZE_BYTES / 1e6:g} MB."
            )
        yield file
