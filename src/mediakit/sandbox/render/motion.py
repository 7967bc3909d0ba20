"""Moving pictures: slow zooms and transitions."""

import math
from collections.abc import Sequence
from fractions import Fraction

import av
import numpy as np
from PIL import Image

from mediakit.decoding import on_white
from mediakit.sandbox.render.film import (
    Filters,
    Frames,
    Layer,
    plane_view,
    render_frames,
    still,
)
from mediakit.sandbox.render.input_files import Clip, InputFile, read_picture
from mediakit.sandbox.render.protocol import Size

# Luma and both planes of chroma, each as a picture in mode L: half the work of RGB.
Planes = Sequence[Image.Image]

_ZOOM, _TRANSITION_ZOOM = 0.10, 0.08
# The dissolve is the middle of a transition; before and after it only one picture is
# visible, which also halves the work.
_DISSOLVE = (0.3, 0.7)


def fitting(clip: Clip, size: Size) -> Filters:
    """Return the filters that fill a frame with an upright clip."""
    turned = Size(*clip.display._replace(pixel_ratio=Fraction(1)).size(*clip.decoded))
    return [*clip.display.filters, *_covering(clip.size, size, decoded=turned)]


def filling(source: InputFile, size: Size) -> av.VideoFrame:
    """Decode a picture and fill a frame with it."""
    picture = on_white(read_picture(source, enough=size))
    # Scale with libavfilter, which needs less memory than Pillow.
    filters = _covering(Size(*picture.size), size)
    return next(render_frames([Layer(still(picture), filters, fills=True)], size, 1))


def _covering(source: Size, size: Size, *, decoded: Size | None = None) -> Filters:
    """Return the filters that scale frames of size `source` to fill a frame.

    Decoded frames have another size if their pixels are not square.
    """
    covering, filters = source.covering(size), []
    if covering != (decoded or source):
        flags = "lanczos" if covering.width > source.width else "bilinear"
        scaled = f"{covering.width}:{covering.height}:flags={flags}+accurate_rnd"
        filters.append(("scale", scaled))
    if covering != size:
        filters.append(("crop", f"{size.width}:{size.height}"))
    return filters


def zooming(frame: av.VideoFrame, frames: int) -> Frames:
    """Zoom slowly into a picture, which the first frame shows unchanged."""
    planes = planes_of(frame)
    for index in range(frames):
        yield _frame(_zoomed(planes, 1 + _ZOOM * index / frames))


def transition(start: Planes, end: Planes, frames: int) -> Frames:
    """Morph a picture into the next; both ends show a picture unchanged."""
    low, high = _DISSOLVE
    for index in range(frames):
        way = (1 - math.cos(math.pi * index / max(frames - 1, 1))) / 2
        share = min(max((way - low) / (high - low), 0), 1)
        planes = _zoomed(start, 1 + _TRANSITION_ZOOM * way) if share < 1 else end
        if share > 0:
            other = _zoomed(end, 1 + _TRANSITION_ZOOM * (1 - way))
            planes = [
                Image.blend(one, two, share)
                for one, two in zip(planes if share < 1 else other, other, strict=True)
            ]
        yield _frame(planes)


def planes_of(frame: av.VideoFrame) -> Planes:
    """Copy the planes of a yuv420p frame."""
    return [Image.fromarray(plane_view(plane).copy()) for plane in frame.planes]


def _frame(planes: Planes) -> av.VideoFrame:
    frame = av.VideoFrame(*planes[0].size, "yuv420p")
    for plane, image in zip(frame.planes, planes, strict=True):
        plane_view(plane)[:] = np.asarray(image)
    return frame


def _zoomed(planes: Planes, zoom: float) -> Planes:
    if zoom == 1:
        return planes
    zoomed = []
    for image in planes:
        width, height = image.width / zoom, image.height / zoom
        left, top = (image.width - width) / 2, (image.height - height) / 2
        box = (left, top, left + width, top + height)
        zoomed.append(image.resize(image.size, Image.Resampling.BILINEAR, box))
    return zoomed
