"""Scenes for any function, whose body is read by common field names."""

import re
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mediakit.sandbox.render.film.common_fields import LONGEST_S, Medium, OpenBody
from mediakit.sandbox.render.film.film_file import (
    FPS,
    HIGH_CRF,
    STANDARD_CRF,
    Film,
    sync,
    write_film,
)
from mediakit.sandbox.render.film.reference_reel import (
    Given,
    Reel,
    Task,
    chosen_seconds,
    film_of,
    own_sound,
    samples_of,
    source_ratio,
)
from mediakit.sandbox.render.film.scenery import scene_sound
from mediakit.sandbox.render.film.shots import ClipShot
from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.inputs.clips import Clip, check_total, read_clip
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, frame_size
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.sound.references import fitted_sound, read_sounds

_FINAL = "1080p"
_DEFAULT_S = 5
_CHOSEN_S = range(4, 11)


def render_film(
    request: RenderRequest, *, resolution: str = "720p", audible: bool = False
) -> Rendered:
    """Render a video of the references that a body names, else a scene.

    Args:
        request: The request.
        resolution: The resolution that an omitted one means.
        audible: Whether there is sound where the body says nothing about it.
    """
    reel = reel_of(request, resolution=resolution, audible=audible)
    return write_film(film_of(reel), request.output, sketch=request.sketch)


def render_final(request: RenderRequest) -> Rendered:
    """Render a draft at 1080p: the clip that the body names (spec 4.4)."""
    clips = _clips(request, _Media.of(request).videos[:1])
    if not clips:
        reel = reel_of(request, resolution=_FINAL, audible=True, fixed=True)
        return write_film(film_of(reel), request.output, sketch=request.sketch)
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
    return write_film(Film(size, shots, sound), request.output, sketch=request.sketch)


def render_sound(request: RenderRequest) -> Rendered:
    """Write a wav file: the sounds that the body names, else a melody."""
    body, media = OpenBody(request), _Media.of(request)
    frames = round(_seconds(body) * FPS)
    samples = samples_of(frames)
    given = _sound(request, media.sounds, samples)
    sound = scene_sound(body.prompt, request.seed, frames) if given is None else given
    levels = np.rint(fitted_sound(sound, samples) * 32767).astype("<i2")
    with wave.open(str(request.output), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes(levels.T.tobytes())
    sync(request.output)
    seconds = samples / SAMPLE_RATE_HZ
    return Rendered(
        content_type="audio/wav",
        width=None,
        height=None,
        duration_ms=round(seconds * 1000),
        output_seconds=round(seconds, 3),
    )


def reel_of(
    request: RenderRequest,
    *,
    resolution: str,
    audible: bool,
    fixed: bool = False,
    task: Task = "reference",
) -> Reel:
    """Read the content of a film.

    Args:
        request: The request.
        resolution: The resolution that an omitted one means.
        audible: Whether there is sound where the body says nothing about it.
        fixed: Take that resolution whatever the body says.
        task: What is done with the first clip.
    """
    body, media = OpenBody(request), _Media.of(request)
    clips = _clips(request, media.videos)
    asked_px = None if fixed else body.short_side_px
    shown = media.pictures if task == "reference" else []
    seconds = clips[0].seconds if task == "edit" else _seconds(body)
    return Reel(
        prompt=body.prompt,
        seed=request.seed,
        size=frame_size(
            asked_px or SHORT_SIDES_PX[resolution],
            body.ratio or source_ratio(shown, clips),
        ),
        seconds=seconds,
        pictures=media.pictures,
        clips=clips,
        sound=_sound(request, media.sounds, round(seconds * SAMPLE_RATE_HZ)),
        audible=body.audible(default=audible),
        watermark=body.watermark,
        task=task,
        container="mov" if body.output_format == "mov" else "mp4",
        crf=HIGH_CRF if body.high_bitrate else STANDARD_CRF,
    )


@dataclass(frozen=True)
class _Media:
    """The media of a body, by media type."""

    pictures: Sequence[Given]
    videos: Sequence[Given]
    sounds: Sequence[Given]

    @classmethod
    def of(cls, request: RenderRequest) -> "_Media":
        found: dict[Medium, list[Given]] = {"picture": [], "video": [], "sound": []}
        for medium, given in OpenBody(request).media():
            found[medium].append(given)
        return cls(found["picture"], found["video"], found["sound"])


def _seconds(body: OpenBody) -> float:
    if body.automatic:
        return chosen_seconds(body.prompt, _CHOSEN_S)
    return body.seconds or _DEFAULT_S


def _field(given: Given) -> str:
    return re.split(r"[.\[]", given.field)[0]


def _clips(request: RenderRequest, given: Sequence[Given]) -> list[Clip]:
    clips: list[Clip] = []
    for field, named in groupby(given, _field):
        limits = request.limits_of(field)
        together = [read_clip(*each, limits) for each in named]
        check_total(together, field, limits)
        clips += together
    return clips


def _sound(
    request: RenderRequest, given: Sequence[Given], enough: int
) -> Floats | None:
    """Decode sounds one after the other until there are `enough` samples.

    All are decoded where their length together is limited.
    """
    parts: list[Floats] = []
    for field, named in groupby(given, _field):
        limits, sounds = request.limits_of(field), list(named)
        if limits.total_s is not None:
            parts.append(read_sounds([*sounds], limits))
            continue
        for each in sounds:
            if sum(part.shape[1] for part in parts) < enough:
                parts.append(read_sounds([each], limits))
    return np.concatenate(parts, axis=1) if parts else None
