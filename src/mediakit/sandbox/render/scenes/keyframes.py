"""Keyframes: a film that moves between the given pictures, in their order."""

import math
from dataclasses import dataclass

from mediakit.sandbox.render.film.film_file import FPS, Film, write_film
from mediakit.sandbox.render.film.pictures import on_white, read_picture
from mediakit.sandbox.render.frames.planes import Planes, Still
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, Size, cover_box, frame_size

_ZOOM = 0.08
# The dissolve is the middle of a transition; before and after it only one picture is
# visible, which also halves the work.
_DISSOLVE = (0.3, 0.7)


def render(request: RenderRequest) -> Rendered:
    """Render the transitions of spec 4.15."""
    urls = request.texts("images")
    loop = request.flag("loop")
    seconds = transition_seconds(request, len(urls) - 1 + loop)
    size, stills = read_stills(request, urls)
    ends = [*stills[1:], stills[0]] if loop else stills[1:]
    shots = [
        Transition(start, end, round(length * FPS))
        for start, end, length in zip(stills, ends, seconds, strict=False)
    ]
    return write_film(Film(size, shots), request.output, sketch=request.sketch)


def transition_seconds(request: RenderRequest, transitions: int) -> list[float]:
    """Return the length of each transition.

    Raises:
        RenderError: `invalid_input` when there is no transition, or when
            `transition_durations_s` does not have one length for each.
    """
    if transitions < 1:
        raise RenderError.invalid(
            "images: one picture alone needs loop = true, or there is no transition."
        )
    each = request.numbers("transition_durations_s")
    if each and len(each) != transitions:
        raise RenderError.invalid(
            f"transition_durations_s: got {len(each)} lengths, accepted are "
            f"{transitions}, one for each transition."
        )
    return each or [request.number("transition_duration_s", 5)] * transitions


def read_stills(request: RenderRequest, urls: list[str]) -> tuple[Size, list[Still]]:
    """Decode the pictures at the ratio of the first one."""
    short_side_px = request.choice("resolution", SHORT_SIDES_PX, "1080p")
    stills: list[Still] = []
    size = Size(short_side_px, short_side_px)
    for index, url in enumerate(urls):
        field = f"images[{index}]"
        picture = on_white(read_picture(request.file(url), field))
        if index == 0:
            size = frame_size(short_side_px, Size(*picture.size).ratio)
        box = cover_box(Size(*picture.size), size)
        stills.append(Still.of_picture(picture, size, box))
    return size, stills


@dataclass(frozen=True)
class Transition:
    """One picture becomes the next; its first and last frame are the pictures."""

    start: Still
    end: Still
    frames: int

    @property
    def unit(self) -> int:
        """Every frame is rendered."""
        return self.frames

    def draw(self, planes: Planes, index: int) -> None:
        """Draw frame `index` of the transition."""
        way = eased(index / max(self.frames - 1, 1))
        low, high = _DISSOLVE
        share = min(max((way - low) / (high - low), 0), 1)
        start = self.start.zoomed(1 + _ZOOM * way) if share < 1 else self.end
        end = self.end.zoomed(1 + _ZOOM * (1 - way)) if share > 0 else self.start
        start.blended(end, share).draw(planes)


def eased(share: float) -> float:
    """Start and stop slowly: 0 stays 0, 1 stays 1."""
    return (1 - math.cos(math.pi * share)) / 2
