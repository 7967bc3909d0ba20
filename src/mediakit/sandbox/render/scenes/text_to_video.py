"""Text to video: a calm landscape in the colours that the prompt suggests."""

import re

from mediakit.sandbox.render.film.film_file import FPS, Film, write_film
from mediakit.sandbox.render.film.scenery import scene_shots, scene_sound
from mediakit.sandbox.render.protocol import Rendered, RenderRequest
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, frame_size

_SHOT_MARK = re.compile(r"(?:^|\s)(?:shot|scene)\s*\d+\s*[:.)-]\s*", re.IGNORECASE)
_MOST_SHOTS = 3


def render(request: RenderRequest) -> Rendered:
    """Render the scene of spec 4.17."""
    size = frame_size(
        request.choice("resolution", SHORT_SIDES_PX, "720p"),
        request.ratio("aspect_ratio", "16:9"),
    )
    frames = round(request.number("duration", 5) * FPS)
    prompt = request.text("prompt")
    captions = shot_captions(prompt, frames) if request.flag("multi_shot") else [prompt]
    shots = scene_shots(captions, request.seed, size, frames)
    audible = request.text("audio", "off") == "native"
    sound = scene_sound(prompt, request.seed, frames) if audible else None
    return write_film(Film(size, shots, sound), request.output, sketch=request.sketch)


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
