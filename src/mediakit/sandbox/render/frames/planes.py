"""Frames as three planes of bytes (YUV 4:2:0, BT.709), written in place.

Working in the encoder's own planes costs a fifth of the time and a quarter of the
memory of drawing RGB frames and converting each of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import av
import numpy as np
from av.video.plane import VideoPlane
from av.video.reformatter import Colorspace
from numpy.typing import NDArray
from PIL import Image

from mediakit.sandbox.render.sizes import Box, Size

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Colour = tuple[int, int, int]

# Red, green and blue (0 to 1) to luma and chroma in the limited range of video.
_YUV = np.array(
    [
        [219 * 0.2126, 219 * 0.7152, 219 * 0.0722],
        [-224 * 0.2126 / 1.8556, -224 * 0.7152 / 1.8556, 224 * 0.9278 / 1.8556],
        [224 * 0.7874 / 1.5748, -224 * 0.7152 / 1.5748, -224 * 0.0722 / 1.5748],
    ],
    dtype=np.float32,
)
_BAND_ROWS = 128
_OFFSET = np.array([16, 128, 128], dtype=np.float32)

# The same for bytes, as the matrix with offsets that Pillow takes.
_YUV_OF_BYTES = tuple(
    float(number)
    for row, offset in zip(_YUV / 255, _OFFSET, strict=True)
    for number in (*row, offset)
)


def to_yuv(rgb: Floats) -> Floats:
    """Convert colours (last axis: red, green, blue from 0 to 1) to video levels."""
    levels: Floats = rgb @ _YUV.T + _OFFSET
    return levels


def rgb_of(hexadecimal: str) -> Floats:
    """Return the colour `#rrggbb` as three numbers from 0 to 1."""
    channels = bytes.fromhex(hexadecimal.removeprefix("#"))
    return np.frombuffer(channels, dtype=np.uint8).astype(np.float32) / np.float32(255)


@dataclass(frozen=True)
class Planes:
    """One frame: luma at full size, both chroma planes at half of each side."""

    y: Bytes
    u: Bytes
    v: Bytes

    @classmethod
    def blank(cls, size: Size) -> "Planes":
        """Make a black frame."""
        half = (size.height // 2, size.width // 2)
        return cls(
            np.full((size.height, size.width), 16, dtype=np.uint8),
            np.full(half, 128, dtype=np.uint8),
            np.full(half, 128, dtype=np.uint8),
        )

    @classmethod
    def of(cls, frame: av.VideoFrame) -> "Planes":
        """Return a view of the planes of a yuv420p frame; writes change the frame."""
        return cls(*(_viewed(plane) for plane in frame.planes))

    @property
    def size(self) -> Size:
        """Width and height of the frame."""
        height, width = self.y.shape
        return Size(width, height)

    def __iter__(self) -> Iterator[Bytes]:
        return iter((self.y, self.u, self.v))

    def copy_from(self, other: "Planes") -> None:
        """Copy every pixel of a frame of the same size."""
        for mine, theirs in zip(self, other, strict=True):
            np.copyto(mine, theirs)

    def crop(self, left: int, top: int, size: Size) -> "Planes":
        """Return a view of a part of the frame; all four numbers are even."""
        rows, columns = slice(top, top + size.height), slice(left, left + size.width)
        half_rows = slice(top // 2, (top + size.height) // 2)
        half_columns = slice(left // 2, (left + size.width) // 2)
        return Planes(
            self.y[rows, columns],
            self.u[half_rows, half_columns],
            self.v[half_rows, half_columns],
        )


def tinted(planes: Planes, colour: str, share: float = 0.3) -> None:
    """Mix a colour (`#rrggbb`) into a frame; light and shade stay as they are."""
    _, *chroma = to_yuv(rgb_of(colour))
    levels = np.arange(256, dtype=np.float32)
    for plane, level in zip((planes.u, planes.v), chroma, strict=True):
        table = np.rint(levels * (1 - share) + level * share).astype(np.uint8)
        plane[...] = table[plane]


@dataclass(frozen=True)
class Still:
    """A picture ready to be shown, moved over and blended, plane by plane."""

    y: Image.Image
    u: Image.Image
    v: Image.Image

    @classmethod
    def of_picture(cls, picture: Image.Image, size: Size, box: Box) -> "Still":
        """Show the part `box` of an RGB picture at `size`."""
        fitted = picture.resize(size, Image.Resampling.LANCZOS, box)
        planes = Planes.blank(size)
        for top in range(0, size.height, _BAND_ROWS):  # less memory than all at once
            bottom = min(top + _BAND_ROWS, size.height)
            band = np.asarray(fitted.crop((0, top, size.width, bottom)))
            frame = av.VideoFrame.from_ndarray(band, "rgb24").reformat(
                format="yuv420p", dst_colorspace=Colorspace.ITU709
            )
            part = planes.crop(0, top, Size(size.width, bottom - top))
            part.copy_from(Planes.of(frame))
        return cls(*(Image.fromarray(plane) for plane in planes))

    @classmethod
    def of_planes(cls, planes: Planes) -> "Still":
        """Keep a copy of a frame."""
        return cls(*(Image.fromarray(plane.copy()) for plane in planes))

    def zoomed(self, zoom: float) -> "Still":
        """Magnify the picture around its middle; 1 gives the picture itself."""
        if zoom == 1:
            return self
        return Still(
            _magnified(self.y, zoom),
            _magnified(self.u, zoom),
            _magnified(self.v, zoom),
        )

    def blended(self, other: "Still", share: float) -> "Still":
        """Mix in `other`: 0 gives this picture, 1 the other one."""
        if share <= 0:
            return self
        if share >= 1:
            return other
        return Still(
            Image.blend(self.y, other.y, share),
            Image.blend(self.u, other.u, share),
            Image.blend(self.v, other.v, share),
        )

    def draw(self, planes: Planes) -> None:
        """Fill a frame of the same size with the picture."""
        for plane, image in zip(planes, (self.y, self.u, self.v), strict=True):
            np.copyto(plane, np.asarray(image))


def _viewed(plane: VideoPlane) -> Bytes:
    rows = np.frombuffer(memoryview(plane), dtype=np.uint8)
    return rows.reshape(-1, plane.line_size)[: plane.height, : plane.width]


def _magnified(image: Image.Image, zoom: float) -> Image.Image:
    width, height = image.width / zoom, image.height / zoom
    left, top = (image.width - width) / 2, (image.height - height) / 2
    box = (left, top, left + width, top + height)
    return image.resize(image.size, Image.Resampling.BILINEAR, box)


class Stamp:
    """A small picture with transparency, prepared to be laid on many frames.

    Args:
        picture: RGBA, with even sides.
    """

    def __init__(self, picture: Image.Image) -> None:
        self.width, self.height = picture.size
        alpha = picture.getchannel("A")
        luma, *chroma = picture.convert("RGB").convert("RGB", _YUV_OF_BYTES).split()
        self._layers = [_layer(luma, alpha)]
        self._layers += [_layer(band.reduce(2), alpha.reduce(2)) for band in chroma]

    def draw(self, planes: Planes, x: int, y: int) -> None:
        """Lay the stamp on a frame; what lies outside the frame is cut off.

        Args:
            planes: The frame that is drawn on.
            x: Left edge in pixels; rounded down to an even number.
            y: Top edge in pixels; rounded down to an even number.
        """
        for plane, (kept, added), step in zip(
            planes, self._layers, (1, 2, 2), strict=True
        ):
            left, top = 2 * (x // 2) // step, 2 * (y // 2) // step
            _blend(plane, kept, added, left, top)


def _blend(
    plane: Bytes, kept: NDArray[np.uint16], added: NDArray[np.uint16], x: int, y: int
) -> None:
    height, width = plane.shape
    rows = slice(max(y, 0), max(min(y + kept.shape[0], height), 0))
    columns = slice(max(x, 0), max(min(x + kept.shape[1], width), 0))
    inner = (
        slice(rows.start - y, max(rows.stop - y, 0)),
        slice(columns.start - x, max(columns.stop - x, 0)),
    )
    region = plane[rows, columns]
    mixed = np.multiply(region, kept[inner], dtype=np.uint16)
    mixed += added[inner]
    mixed >>= 8
    region[...] = mixed


def _layer(
    level: Image.Image, alpha: Image.Image
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the factors and summands of a plane for blending, times 256."""
    share = np.asarray(alpha).astype(np.uint16)
    share += share >> 7  # 0 to 256
    return 256 - share, np.asarray(level) * share + np.uint16(64)
