"""Shots of given media: slowly magnified pictures, and clips."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from mediakit.sandbox.render.film.film_file import FPS
from mediakit.sandbox.render.frames.planes import Planes, Still, tinted
from mediakit.sandbox.render.inputs.clips import Clip, clip_frames
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

_ZOOM = 0.10


class Mark(Protocol):
    """Something that is drawn over every frame, such as a caption."""

    def draw(self, planes: Planes) -> None:
        """Draw the mark on a frame."""


class PictureShot:
    """A picture that is slowly magnified.

    Args:
        read: Gives the picture; called when the shot begins.
        frames: Length of the shot.
        marks: What is drawn over the picture.
    """

    def __init__(
        self, read: Callable[[], Still], frames: int, marks: Sequence[Mark]
    ) -> None:
        self.frames = self.unit = frames
        self._read = read
        self._marks = marks

    def draw(self, planes: Planes, index: int) -> None:
        """Draw frame `index`; the first one is the picture as it is."""
        if index == 0:
            self._still = self._read()
        self._still.zoomed(1 + _ZOOM * index / self.frames).draw(planes)
        for mark in self._marks:
            mark.draw(planes)
        if index == self.frames - 1:
            del self._still  # the next shots need the memory


class ClipShot:
    """A clip, repeated when it is shorter than the shot.

    Args:
        clip: The clip.
        size: The frame that it fills.
        frames: Length of the shot.
        marks: What is drawn over the clip.
        tint: A colour (`#rrggbb`) that is mixed into the clip's colours.
    """

    def __init__(
        self,
        clip: Clip,
        size: Size,
        frames: int,
        marks: Sequence[Mark],
        tint: str | None = None,
    ) -> None:
        self.frames = self.unit = frames
        self._clip = clip
        self._size = size
        self._marks = marks
        self._tint = tint

    def draw(self, planes: Planes, index: int) -> None:
        """Draw the next frame of the clip."""
        if index == 0:
            self._source = self._endless()
        planes.copy_from(next(self._source))
        if self._tint is not None:
            tinted(planes, self._tint)
        for mark in self._marks:
            mark.draw(planes)
        if index == self.frames - 1:
            self._source.close()

    def _endless(self) -> Generator[Planes, None, None]:
        while True:
            some = False
            for planes in clip_frames(self._clip, self._size, FPS):
                some = True
                yield planes
            if not some:
                raise RenderError.invalid(f"{self._clip.field}: no frame to show.")
