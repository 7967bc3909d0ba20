"""The display of video frames: mirroring, rotation and colours."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from mediakit.decoding.high_range import in_standard_range, is_high_range

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

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
# FFmpeg's numbers of matrices from RGB to stored levels (ITU-T H.273).
_BT709, _BT601, _UNSPECIFIED = 1, 5, 2
_LIMITED_RANGE = 1
# Players guess that what is not named and smaller is old.
_HD_LINES = 720


class Display(NamedTuple):
    """How stored frames are displayed.

    Attributes:
        mirrored: Whether left and right are exchanged, before the frame is turned.
        turns: How often it is turned by 90 degrees, counterclockwise.
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
            pixels = _rgb_pixels(frame, width, height)
            if pixel_format == "gray":
                pixels = np.round(pixels @ _LUMA).astype(np.uint8)
        return np.rot90(np.fliplr(pixels) if self.mirrored else pixels, self.turns)


def display_of(stream: VideoStream, frame: VideoFrame) -> Display:
    """Read how the frames of a track are displayed; `frame` is one of them.

    Phones store the frames of a portrait clip sideways, and those of the front camera
    mirrored, with a matrix for the display.
    """
    return Display(*_orientation(frame), _pixel_ratio(stream))


def as_bt709(frame: VideoFrame, width: int, height: int) -> VideoFrame:
    """Convert a frame to yuv420p in BT.709 and limited range, without rotation."""
    is_stored_so = _matrix(frame) == _BT709 and not frame.format.is_rgb
    if not is_stored_so or is_high_range(frame):
        return bt709_frame(_rgb_pixels(frame, width, height))
    return frame.reformat(
        width,
        height,
        "yuv420p",
        src_colorspace=_BT709,
        dst_colorspace=_BT709,
        dst_color_range=_LIMITED_RANGE,
        threads=1,
    )


def bt709_frame(pixels: NDArray[np.uint8]) -> VideoFrame:
    """Convert RGB pixels to yuv420p in BT.709 and limited range, as players expect."""
    import numpy as np
    from av import VideoFrame

    frame = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")
    return frame.reformat(
        format="yuv420p",
        dst_colorspace=_BT709,
        dst_color_range=_LIMITED_RANGE,
        threads=1,
    )


def _rgb_pixels(frame: VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
    """Return a frame as RGB for ordinary screens."""
    import numpy as np

    matrix = None if frame.format.is_rgb else _matrix(frame)
    small = frame.reformat(
        width,
        height,
        "rgb24",
        src_colorspace=matrix,
        interpolation="AREA",
        threads=1,
    )
    pixels = np.asarray(small.to_ndarray(), np.uint8)
    if is_high_range(frame):
        return in_standard_range(pixels, frame.color_trc)
    return pixels


def _matrix(frame: VideoFrame) -> int:
    if frame.colorspace != _UNSPECIFIED:
        return frame.colorspace
    return _BT709 if frame.height >= _HD_LINES else _BT601


def _orientation(frame: VideoFrame) -> tuple[bool, int]:
    from av.sidedata.sidedata import Type

    side_data: Any = frame.side_data  # its keys are types, whatever PyAV declares
    matrix = side_data.get(Type.DISPLAYMATRIX)
    if matrix is None:
        return False, 0
    right_x, right_y, _, down_x, down_y, *_ = _MATRIX.unpack_from(bytes(matrix))
    area = right_x * down_y - right_y * down_x
    if area == 0:  # it would show nothing; players ignore it
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
