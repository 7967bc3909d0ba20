"""Layers: pictures and clips on top of each other, each shown completely."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Protocol

from PIL import Image

from mediakit.sandbox.render.film.film_file import FPS
from mediakit.sandbox.render.film.pictures import read_picture
from mediakit.sandbox.render.frames.planes import Planes, Stamp, Still
from mediakit.sandbox.render.inputs.clips import Clip, clip_frames
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Box, Size

# The rendered length of a segment without motion, which is then repeated.
_STILL_UNIT_FRAMES = 2 * FPS


class Layer(Protocol):
    """Something that is visible during a part of a film."""

    @property
    def span(self) -> range:
        """The frames of the film in which it is visible."""

    @property
    def still_from(self) -> int:
        """The first frame of the film from which it no longer changes."""

    def open(self) -> None:
        """Prepare to draw; nothing is in memory before that."""

    def draw(self, planes: Planes) -> None:
        """Draw the next frame over the layers below."""

    def close(self) -> None:
        """Release files and memory."""


class PictureLayer:
    """A picture; the layers below show through its transparent parts.

    Args:
        path: The file.
        field: Where the body names it.
        size: The film's size.
        span: The frames during which it is seen.
    """

    def __init__(self, path: Path, field: str, size: Size, span: range) -> None:
        self.span = span
        self.still_from = span.start
        self._path = path
        self._field = field
        self._size = size
        self._shown: _Shown | None = None

    def open(self) -> None:
        """Decode the picture."""
        picture = read_picture(self._path, self._field, enough=self._size)
        self._shown = _shown(picture, self._size)

    def draw(self, planes: Planes) -> None:
        """Draw the picture."""
        if self._shown is not None:
            self._shown.draw(planes)

    def close(self) -> None:
        """Release the picture."""
        self._shown = None


class ClipLayer:
    """A clip, cut where its span ends.

    A clip that is shorter than its span is held on its last frame, as editing
    programs do: a gap of black would hide the layers' timing and beginning again
    would show unwanted frames.

    Args:
        clip: The clip.
        size: The film's size.
        span: The frames during which it is seen.
    """

    def __init__(self, clip: Clip, size: Size, span: range) -> None:
        self.span = span
        self.still_from = span.start + round(clip.seconds * FPS)
        self._clip = clip
        self._place = Place.of(clip.size, size)
        self._frames: Generator[Planes, None, None] | None = None
        self._shown: Planes | None = None

    def open(self) -> None:
        """Start decoding with the next frame that is drawn."""
        self._frames = self._played()

    def draw(self, planes: Planes) -> None:
        """Draw the clip's next frame, or its last one again."""
        if self._frames is not None:
            self._shown = next(self._frames, self._shown)
        if self._shown is None:
            raise RenderError.invalid(f"{self._clip.field}: no frame to show.")
        self._place.of_film(planes).copy_from(self._shown)

    def close(self) -> None:
        """Close the file."""
        if self._frames is not None:
            self._frames.close()
        self._frames = self._shown = None

    def _played(self) -> Generator[Planes, None, None]:
        # Whatever the file holds beyond the length it tells is not shown: from
        # there on a film's frames may be repeated.
        most = max(self.still_from - self.span.start, 1)
        yield from islice(clip_frames(self._clip, self._place.size, FPS), most)


@dataclass(frozen=True)
class Place:
    """Where in a film's frame a medium lies: whole, in the middle, all even."""

    left: int
    top: int
    size: Size

    @classmethod
    def of(cls, source: Size, film: Size) -> "Place":
        """Find the place of a medium of the size `source`."""
        scale = min(
            Fraction(film.width, source.width), Fraction(film.height, source.height)
        )
        size = Size(_even(source.width * scale), _even(source.height * scale))
        left = (film.width - size.width) // 4 * 2
        return cls(left, (film.height - size.height) // 4 * 2, size)

    def of_film(self, planes: Planes) -> Planes:
        """Return a view of this part of a frame."""
        return planes.crop(self.left, self.top, self.size)


@dataclass
class Segment:
    """A part of a film with the same visible layers, the lowest first.

    Attributes:
        span: Its frames of the film.
        layers: What is seen; black where there is nothing.
        moves: Whether its frames differ.
    """

    span: range
    layers: Sequence[Layer]
    moves: bool

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.span)

    @property
    def unit(self) -> int:
        """How many of them are rendered: without motion a few, however many."""
        return self.frames if self.moves else min(_STILL_UNIT_FRAMES, self.frames)

    def draw(self, planes: Planes, index: int) -> None:
        """Draw frame `index` of the segment."""
        for layer in self.layers:
            if index == 0 and layer.span.start == self.span.start:
                layer.open()
        _blacken(planes)
        for layer in self.layers:
            layer.draw(planes)
        for layer in self.layers:
            if index == self.unit - 1 and layer.span.stop == self.span.stop:
                layer.close()


def segments(layers: Sequence[Layer], frames: int) -> list[Segment]:
    """Split a film wherever a layer appears, stops moving or disappears.

    Args:
        layers: What is seen, the lowest first.
        frames: The film's length, within which the layers lie.
    """
    cuts = {0, frames}
    for layer in layers:
        cuts |= {layer.span.start, layer.span.stop}
        if layer.still_from in layer.span:
            cuts.add(layer.still_from)
    return [
        _segment(layers, range(first, stop)) for first, stop in pairwise(sorted(cuts))
    ]


def _segment(layers: Sequence[Layer], span: range) -> Segment:
    seen = [layer for layer in layers if span.start in layer.span]
    return Segment(span, seen, any(span.start < layer.still_from for layer in seen))


class _Shown(Protocol):
    def draw(self, planes: Planes) -> None:
        """Draw a picture in its place."""


@dataclass(frozen=True)
class _Opaque:
    still: Still
    place: Place

    def draw(self, planes: Planes) -> None:
        self.still.draw(self.place.of_film(planes))


@dataclass(frozen=True)
class _Transparent:
    stamp: Stamp
    place: Place

    def draw(self, planes: Planes) -> None:
        self.stamp.draw(planes, self.place.left, self.place.top)


def _shown(picture: Image.Image, film: Size) -> _Shown:
    source = Size(*picture.size)
    place = Place.of(source, film)
    if picture.mode == "RGBA":
        fitted = picture.resize(place.size, Image.Resampling.LANCZOS)
        return _Transparent(Stamp(fitted), place)
    return _Opaque(Still.of_picture(picture, place.size, Box(0, 0, *source)), place)


def _blacken(planes: Planes) -> None:
    planes.y.fill(16)
    planes.u.fill(128)
    planes.v.fill(128)


def _even(length: Fraction) -> int:
    return max(2 * round(length / 2), 2)
