"""Functions whose request shape is not told, or that nobody declared to the sandbox."""

import re
import wave
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.film.film import FPS, Film, sync, write_film
from mediakit.sandbox.render.film.open_body import LONGEST_S, Medium, OpenBody
from mediakit.sandbox.render.film.reels import (
    Given,
    Reel,
    chosen_seconds,
    film_of,
    own_sound,
    samples_of,
    source_ratio,
)
from mediakit.sandbox.render.film.scenery import scene_sound
from mediakit.sandbox.render.film.shots import ClipShot
from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.inputs.clips import Clip, read_clip
from mediakit.sandbox.render.protocol import Order, Rendered, RenderError
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, frame_size
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.sound.references import fitted_sound, read_sounds

_FINAL = "1080p"
_DEFAULT_S = 5
_CHOSEN_S = range(4, 11)


def render_r3b(order: Order) -> Rendered:
    """Render R3b: its fields are known, what they accept is not (spec 4.7)."""
    return _render_film(order, "1080P", audible=False)


def render_r5b(order: Order) -> Rendered:
    """Render R5b, of which only the name is told, as R5 is rendered (spec 4.9)."""
    return _render_film(order, "2K", audible=True)


def render_video(order: Order) -> Rendered:
    """Render a video from whatever is understood of a body."""
    return _render_film(order, "720p", audible=False)


def render_final(order: Order) -> Rendered:
    """Render a draft at 1080p: the clip that the body names (spec 4.4)."""
    clips = _clips(order, _Media.of(order).videos[:1])
    if not clips:
        return _render_film(order, _FINAL, audible=True, fixed=True)
    clip = clips[0]
    if clip.seconds > LONGEST_S:
        raise RenderError.invalid(
            f"{clip.field}: the draft lasts {clip.seconds:.1f} s; the sandbox renders "
            f"at most {LONGEST_S} s."
        )
    size = frame_size(SHORT_SIDES_PX[_FINAL], clip.size.ratio)
    frames = max(round(clip.seconds * FPS), 1)
    shots = [ClipShot(clip, size, frames, marks=[])]
    sound = own_sound(clip, frames) if clip.has_sound else None
    return write_film(Film(size, shots, sound), order.output)


def render_sound(order: Order) -> Rendered:
    """Write a wav file: the sounds that the body names, else a melody."""
    body, media = OpenBody(order), _Media.of(order)
    frames = round(_seconds(body) * FPS)
    samples = samples_of(frames)
    given = _sound(order, media.sounds, samples)
    sound = scene_sound(body.prompt, order.seed, frames) if given is None else given
    levels = np.rint(fitted_sound(sound, samples) * 32767).astype("<i2")
    with wave.open(str(order.output), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes(levels.T.tobytes())
    sync(order.output)
    seconds = samples / SAMPLE_RATE_HZ
    return Rendered(
        content_type="audio/wav",
        width=None,
        height=None,
        duration_ms=round(seconds * 1000),
        output_seconds=round(seconds, 3),
    )


@dataclass(frozen=True)
class _Media:
    """The media of a body, by what they are."""

    pictures: Sequence[Given]
    videos: Sequence[Given]
    sounds: Sequence[Given]

    @classmethod
    def of(cls, order: Order) -> "_Media":
        found: dict[Medium, list[Given]] = {"picture": [], "video": [], "sound": []}
        for medium, given in OpenBody(order).media():
            found[medium].append(given)
        return cls(found["picture"], found["video"], found["sound"])


def _render_film(
    order: Order, resolution: str, *, audible: bool, fixed: bool = False
) -> Rendered:
    """Render a film of references; `fixed` takes the resolution whatever is asked."""
    body, media = OpenBody(order), _Media.of(order)
    clips = _clips(order, media.videos)
    asked_px = None if fixed else body.short_side_px
    ratio = body.ratio or source_ratio(media.pictures, clips)
    seconds = _seconds(body)
    reel = Reel(
        prompt=body.prompt,
        seed=order.seed,
        size=frame_size(asked_px or SHORT_SIDES_PX[resolution], ratio),
        seconds=seconds,
        pictures=media.pictures,
        clips=clips,
        sound=_sound(order, media.sounds, round(seconds * SAMPLE_RATE_HZ)),
        audible=body.audible(default=audible),
        watermark=body.watermark,
    )
    return write_film(film_of(reel), order.output)


def _seconds(body: OpenBody) -> float:
    if body.automatic:
        return chosen_seconds(body.prompt, _CHOSEN_S)
    return body.seconds or _DEFAULT_S


def _limits(order: Order, given: Given) -> MediaLimits:
    field = re.split(r"[.\[]", given.field)[0]
    return order.limits_of(field)


def _clips(order: Order, given: Sequence[Given]) -> list[Clip]:
    return [read_clip(*each, _limits(order, each)) for each in given]


def _sound(order: Order, given: Sequence[Given], enough: int) -> Floats | None:
    """Decode sounds one after the other until there are `enough` samples."""
    parts: list[Floats] = []
    for each in given:
        if sum(part.shape[1] for part in parts) < enough:
            parts.append(read_sounds([each], _limits(order, each)))
    return np.concatenate(parts, axis=1) if parts else None
