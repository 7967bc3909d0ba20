"""The orientation of pictures and video frames: rotated and mirrored upright."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from mediakit.decoding.colours import is_high_range, rgb_pixels

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

_PNG_START = b"\x89PNG\r\n\x1a\n"
_ORIENTATION = 274
SIDEWAYS = (5, 6, 7, 8)
# FFmpeg's display matrix: nine numbers, of which the first, second, fourth and fifth
# turn and mirror.
_MATRIX = struct.Struct("=9i")
_TURNS: Sequence[Sequence[tuple[str, str]]] = (
    [],
    [("transpose", "cclock")],
    [("hflip", ""), ("vflip", "")],
    [("transpose", "clock")],
)
_WIDEST_PIXEL = 16
_LUMA = (0.299, 0.587, 0.114)

# -- pictures ------------------------------------------------------------------------


def late_exif(file: BinaryIO) -> dict[str, bytes]:
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


def exif_orientation(image: PILImage) -> int:
    """Return the EXIF orientation; for a PNG, before its pixels are read."""
    from PIL import Image

    orientation: int = Image.Image.getexif(image).get(_ORIENTATION, 1)
    return orientation


def upright(image: PILImage, orientation: int) -> PILImage:
    """Rotate and mirror a picture by its EXIF orientation."""
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


# -- video frames --------------------------------------------------------------------


class Display(NamedTuple):
    """How stored frames are displayed.

    Attributes:
        mirrored: Whether left and right are exchanged, before the frame is turned.
        turns: The number of 90-degree turns, counterclockwise.
        pixel_ratio: The width of a stored pixel over its height.
    """

    mirrored: bool = False
    turns: int = 0
    pixel_ratio: Fraction = Fraction(1)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the displayed width and height of a stored frame, in pixels."""
        wide = max(round(width * self.pixel_ratio), 1)
        return (height, wide) if self.turns % 2 else (wide, height)

    @property
    def filters(self) -> list[tuple[str, str]]:
        """FFmpeg filters that mirror and rotate a frame."""
        return [*([("hflip", "")] if self.mirrored else []), *_TURNS[self.turns]]

    def pixels(
        self, frame: VideoFrame, size: tuple[int, int], pixel_format: str
    ) -> NDArray[np.uint8]:
        """Return a frame as displayed, scaled to a width and a height."""
        import numpy as np

        width, height = size[::-1] if self.turns % 2 else size
        if pixel_format == "gray" and not is_high_range(frame):
            small = frame.reformat(width, height, "gray", interpolation="AREA")
            pixels = small.to_ndarray()
        else:
            pixels = rgb_pixels(frame, width, height)
            if pixel_format == "gray":
                pixels = np.round(pixels @ _LUMA).astype(np.uint8)
        return np.rot90(np.fliplr(pixels) if self.mirrored else pixels, self.turns)


def display_of(stream: VideoStream, frame: VideoFrame) -> Display:
    """Read how the frames of a track are displayed; `frame` is one of them.

    Phones store the frames of a portrait clip sideways, and those of the front camera
    mirrored, with a matrix for the display.
    """
    return Display(*_orientation(frame), _pixel_ratio(stream))


def _orientation(frame: VideoFrame) -> tuple[bool, int]:
    from av.sidedata.sidedata import Type

    side_data: Any = frame.side_data  # PyAV declares the wrong key type
    matrix = side_data.get(Type.DISPLAYMATRIX)
    if matrix is None:
        return False, 0
    right_x, right_y, _, down_x, down_y, *_ = _MATRIX.unpack_from(bytes(matrix))
    area = right_x * down_y - right_y * down_x
    if area == 0:  # a degenerate matrix, which players ignore
        return False, 0
    mirrored = area < 0
    across = (-right_x, -right_y) if mirrored else (right_x, right_y)
    clockwise = math.degrees(math.atan2(across[1], across[0]))
    return mirrored, round(-clockwise / 90) % 4


def _pixel_ratio(stream: VideoStream) -> Fraction:
    ratio = stream.sample_aspect_ratio
    if not ratio or not 1 / _WIDEST_PIXEL <= ratio <= _WIDEST_PIXEL:
        return Fraction(1)
    return Fraction(ratio)
