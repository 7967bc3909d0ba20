"""Text to video: a calm landscape in the colours that the prompt suggests."""

import re
from dataclasses import dataclass

from mediakit.sandbox.render.film import FPS, Film, Shot, write_film
from mediakit.sandbox.render.landscape import Landscape, Motion
from mediakit.sandbox.render.melody import melody
from mediakit.sandbox.render.motifs import Figure
from mediakit.sandbox.render.orders import Order, Rendered
from mediakit.sandbox.render.palettes import Look, look_of
from mediakit.sandbox.render.planes import Floats, Planes
from mediakit.sandbox.render.sizes import (
    SHORT_SIDES_PX,
    Size,
    frame_size,
)
from mediakit.sandbox.render.text import Caption, Clock

# Above this many pixels a shot is rendered once for its loop and then repeated:
# 15 s of 4K would take seven seconds and more of a core.
_FULL_RENDER_PIXELS = 1920 * 1080
_LOOP_S = 4

_SHOT_MARK = re.compile(r"(?:^|\s)(?:shot|scene)\s*\d+\s*[:.)-]\s*", re.IGNORECASE)
_MOST_SHOTS = 3


def render(order: Order) -> Rendered:
    """Render the scene of spec 4.17."""
    size = frame_size(
        order.choice("resolution", SHORT_SIDES_PX, "720p"),
        order.ratio("aspect_ratio", "16:9"),
    )
    frames = round(order.number("duration", 5) * FPS)
    prompt = order.text("prompt")
    shots = scene_shots(
        prompt, order.seed, size, frames, multi_shot=order.flag("multi_shot")
    )
    audible = order.text("audio", "off") == "native"
    sound = scene_sound(prompt, order.seed, frames) if audible else None
    return write_film(Film(size, shots, sound), order.output)


def scene_shots(
    prompt: str, seed: int, size: Size, frames: int, *, multi_shot: bool = False
) -> list[Shot]:
    """Make the shots that illustrate a prompt.

    Args:
        prompt: Its words choose colours, land and figure, and it is the caption.
        seed: Another seed gives another scene.
        size: The frame's size.
        frames: The length of all shots.
        multi_shot: Whether to cut between two or three views.
    """
    captions = shot_captions(prompt, frames) if multi_shot else [prompt]
    count = len(captions)
    bounds = [frames * number // count for number in range(count + 1)]
    return [
        SceneShot(
            words=words,
            look=look_of(words, seed + number),
            size=size,
            first=first,
            frames=last - first,
        )
        for number, (words, first, last) in enumerate(
            zip(captions, bounds[:-1], bounds[1:], strict=True)
        )
    ]


def scene_sound(prompt: str, seed: int, frames: int) -> Floats:
    """Compose the melody that belongs to a prompt."""
    return melody(frames / FPS, look_of(prompt, seed).random)


def shot_captions(prompt: str, frames: int) -> list[str]:
    """Split a shot-scripted prompt (`Shot 1: ... Shot 2: ...`) into two or three.

    Args:
        prompt: A prompt without a script is the caption of every shot.
        frames: Less than five seconds have room for two shots only.
    """
    most = _MOST_SHOTS if frames >= 5 * FPS else 2
    scripted = [part.strip() for part in _SHOT_MARK.split(prompt) if part.strip()]
    if len(scripted) > 1:
        return scripted[:most]
    return [prompt] * most


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
        if not self.loops:  # a repeated clock would lie
            self._clock.draw(planes, self.first + index)

    def _prepare(self) -> None:
        motion = Motion(loop_s=self.unit / FPS if self.loops else None)
        self._landscape = Landscape(self.look, self.size, motion)
        self._figure = Figure(self.look, self.size, motion)
        tall = self.size.height > self.size.width
        self._caption = Caption(self.words, self.size, max_lines=4 if tall else 2)
        self._clock = Clock(self.size, FPS)
