"""A shot of one given clip, for functions that change a clip."""

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction

import av

from mediakit.sandbox.render.film.film_file import FPS
from mediakit.sandbox.render.film.shots import Mark
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.inputs.clips import Clip, clip_frames
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size


class SourceShot:
    """A clip as it is; its last frame stays when it ends before the shot.

    Args:
        clip: The clip.
        size: The frame that it fills.
        frames: Length of the shot.
        fps: Frames per second of the film.
        prepared: Changes each source frame before it is scaled.
        marks: What is drawn over the clip.
    """

    def __init__(
        self,
        clip: Clip,
        size: Size,
        frames: int,
        *,
        fps: Fraction | int = FPS,
        prepared: Callable[[av.VideoFrame], av.VideoFrame] | None = None,
        marks: Sequence[Mark] = (),
    ) -> None:
        self.frames = self.unit = frames
        self._clip = clip
        self._size = size
        self._fps = fps
        self._prepared = prepared
        self._marks = marks

    def draw(self, planes: Planes, index: int) -> None:
        """Draw the next frame of the clip."""
        if index == 0:
            self._source = self._held()
        planes.copy_from(next(self._source))
        for mark in self._marks:
            mark.draw(planes)
        if index == self.frames - 1:
            self._source.close()

    def _held(self) -> Generator[Planes, None, None]:
        last = None
        for planes in clip_frames(self._clip, self._size, self._fps, self._prepared):
            last = planes
            yield planes
        if last is None:
            raise RenderError.invalid(f"{self._clip.field}: no frame to show.")
        while True:
            yield last
