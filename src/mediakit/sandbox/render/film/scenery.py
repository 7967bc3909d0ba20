"""Shots of landscapes in the colours that a prompt suggests, and their melody."""

from collections.abc import Sequence
from dataclasses import dataclass

from mediakit.sandbox.render.film.film_file import FPS, Shot
from mediakit.sandbox.render.film.shots import Mark
from mediakit.sandbox.render.frames.planes import Floats, Planes
from mediakit.sandbox.render.frames.text import Caption, Clock
from mediakit.sandbox.render.landscapes.landscape import Landscape, Motion
from mediakit.sandbox.render.landscapes.motifs import Figure
from mediakit.sandbox.render.landscapes.palettes import Look, look_of
from mediakit.sandbox.render.sizes import Size
from mediakit.sandbox.render.sound.melody import melody

# Above this many pixels a shot is rendered once for its loop and then repeated:
# 15 s of 4K would take seven seconds and more of a core.
_FULL_RENDER_PIXELS = 1920 * 1080
_LOOP_S = 4


def scene_shots(
    captions: Sequence[str],
    seed: int,
    size: Size,
    frames: int,
    *,
    mark: Mark | None = None,
) -> list[Shot]:
    """Make one shot for each caption, equally long.

    Args:
        captions: Their words choose colours, land and figure.
        seed: Another seed gives another scene.
        size: The frame's size.
        frames: The length of all shots.
        mark: What is drawn into the upper right corner instead of the time.
    """
    count = len(captions)
    bounds = [frames * number // count for number in range(count + 1)]
    return [
        SceneShot(
            words=words,
            look=look_of(words, seed + number),
            size=size,
            first=first,
            frames=last - first,
            mark=mark,
        )
        for number, (words, first, last) in enumerate(
            zip(captions, bounds[:-1], bounds[1:], strict=True)
        )
    ]


def scene_sound(prompt: str, seed: int, frames: int) -> Floats:
    """Compose the melody that belongs to a prompt."""
    return melody(frames / FPS, look_of(prompt, seed).random)


@dataclass
class SceneShot:
    """One view of a landscape.

    Drawing is prepared with the first frame, so that only one view is in memory.
    """

    words: str
    look: Look
    size: Size
    first: int
    frames: int
    mark: Mark | None = None

    @property
    def loops(self) -> bool:
        """Whether the shot is rendered for its loop only."""
        return self.size.pixels > _FULL_RENDER_PIXELS

    @property
    def unit(self) -> int:
        """The number of frames that are rendered."""
        return min(_LOOP_S * FPS, self.frames) if self.loops else self.frames

    def draw(self, planes: Planes, index: int) -> None:
        """Draw frame `index` of the shot."""
        if index == 0:
            self._prepare()
        time_s = index / FPS
        self._landscape.draw(planes, time_s)
        self._figure.draw(planes, time_s)
        self._caption.draw(planes)
        if self.mark is not None:
            self.mark.draw(planes)
        elif not self.loops:  # a repeated clock would lie
            self._clock.draw(planes, self.first + index)

    def _prepare(self) -> None:
        motion = Motion(loop_s=self.unit / FPS if self.loops else None)
        self._landscape = Landscape(self.look, self.size, motion)
        self._figure = Figure(self.look, self.size, motion)
        tall = self.size.height > self.size.width
        self._caption = Caption(self.words, self.size, max_lines=4 if tall else 2)
        self._clock = Clock(self.size, FPS)
