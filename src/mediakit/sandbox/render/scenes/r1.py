"""Reference to video, family R1: the given pictures, clips and sounds in one film."""

import hashlib
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Literal

from mediakit.sandbox.render.clips import (
    Clip,
    ClipLimits,
    check_total,
    last_frame,
    read_clip,
)
from mediakit.sandbox.render.film import (
    FPS,
    HIGH_CRF,
    STANDARD_CRF,
    Film,
    Shot,
    write_film,
)
from mediakit.sandbox.render.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.orders import Order, Rendered, RenderError
from mediakit.sandbox.render.palettes import look_of
from mediakit.sandbox.render.pictures import on_white, picture_size, read_picture
from mediakit.sandbox.render.planes import Floats, Still
from mediakit.sandbox.render.scenes.text_to_video import scene_shots, scene_sound
from mediakit.sandbox.render.shots import ClipShot, Mark, PictureShot
from mediakit.sandbox.render.sizes import (
    SHORT_SIDES_PX,
    Size,
    cover_box,
    frame_size,
)
from mediakit.sandbox.render.sounds import (
    SoundLimits,
    fitted_sound,
    read_sound,
    read_sounds,
)
from mediakit.sandbox.render.text import Caption, Label

Task = Literal["reference", "edit", "extend"]
ShotMaker = Callable[[int], Shot]

# Spec 4.4.
CLIP_LIMITS = ClipLimits(2, 30, 30, 200_000_000, 24, 60, 407_696, 8_295_044)
SOUND_LIMITS = SoundLimits(2, 30, 30, 15_000_000)

WITHOUT_VISUALS = Fraction(16, 9)

_AUTO_SECONDS = (4, 5, 6, 7, 8, 9, 10)
_EXTEND_WORDS = re.compile(r"\b(extend|continu|prolong)", re.IGNORECASE)
_EDIT_WORDS = re.compile(r"\b(edit|replac|remov|chang|restyl|recolou?r)", re.IGNORECASE)


def render(order: Order) -> Rendered:
    """Render the film of spec 4.4."""
    clips = _read_clips(order)
    task = task_of(order)
    size = _size(order, clips, task)
    frames = round(_seconds(order, clips, task) * FPS)
    film = Film(
        size=size,
        shots=_shots(order, clips, task, size, frames),
        sound=_sound(order, clips, task, frames),
        container="mov" if order.text("output_format") == "mov" else "mp4",
        crf=HIGH_CRF if order.text("bitrate_mode") == "high" else STANDARD_CRF,
    )
    return write_film(film, order.output)


def task_of(order: Order) -> Task:
    """Tell what is asked for; `auto` is decided by the words of the prompt.

    Raises:
        RenderError: `invalid_input` when there is no clip to edit or to extend.
    """
    asked = order.text("omni_reference_task_type", "auto")
    if asked in ("edit", "extend") and not order.texts("video_urls"):
        raise RenderError.invalid(
            f"video_urls: {asked} needs at least one reference video."
        )
    match asked:
        case "edit" | "extend" | "reference":
            return asked
        case _:
            return _classified(order)


def _classified(order: Order) -> Task:
    """Choose edit or extend only where the other fields would allow it."""
    adaptive = order.text("ratio", "adaptive") == "adaptive"
    if not (adaptive and order.texts("video_urls")):
        return "reference"
    automatic = order.body.get("duration") == "auto"
    if automatic and _EDIT_WORDS.search(order.text("prompt")):
        return "edit"
    if not automatic and _EXTEND_WORDS.search(order.text("prompt")):
        return "extend"
    return "reference"


def _read_clips(order: Order) -> list[Clip]:
    clips = [
        read_clip(order.file(url), f"video_urls[{index}]", CLIP_LIMITS)
        for index, url in enumerate(order.texts("video_urls"))
    ]
    check_total(clips, "video_urls", CLIP_LIMITS)
    return clips


def _size(order: Order, clips: list[Clip], task: Task) -> Size:
    short_side_px = SHORT_SIDES_PX["480p"]
    if not order.flag("draft"):
        short_side_px = order.choice("resolution", SHORT_SIDES_PX, "720p")
    pictures = order.texts("image_urls")
    if order.text("ratio", "adaptive") != "adaptive":
        return frame_size(short_side_px, order.ratio("ratio", "16:9"))
    if pictures and task == "reference":
        first = picture_size(order.file(pictures[0]), "image_urls[0]")
        return frame_size(short_side_px, first.ratio)
    if clips:
        return frame_size(short_side_px, clips[0].size.ratio)
    return frame_size(short_side_px, WITHOUT_VISUALS)


def _seconds(order: Order, clips: list[Clip], task: Task) -> float:
    if task == "edit":
        return clips[0].seconds
    if order.body.get("duration") == "auto":
        digest = hashlib.sha256(order.text("prompt").encode("utf-8", "replace"))
        return _AUTO_SECONDS[digest.digest()[0] % len(_AUTO_SECONDS)]
    return order.number("duration", 5)


def _shots(
    order: Order, clips: list[Clip], task: Task, size: Size, frames: int
) -> list[Shot]:
    marks = list(_marks(order, size))
    if task == "edit":
        tint = look_of(order.text("prompt"), order.seed).palette.sky[1]
        return [ClipShot(clips[0], size, frames, marks, tint)]
    if task == "extend":
        return [PictureShot(partial(_last_still, clips[0], size), frames, marks)]
    makers = [
        *_picture_makers(order, size, marks),
        *_clip_makers(clips, size, marks),
    ][:frames]
    if not makers:
        return scene_shots(order.text("prompt"), order.seed, size, frames)
    bounds = [frames * number // len(makers) for number in range(len(makers) + 1)]
    return [
        make(last - first)
        for make, first, last in zip(makers, bounds[:-1], bounds[1:], strict=True)
    ]


def _marks(order: Order, size: Size) -> Iterator[Mark]:
    yield Caption(order.text("prompt"), size)
    if order.flag("watermark"):
        yield Label("mediakit sandbox", size, right=True)


def _picture_makers(order: Order, size: Size, marks: list[Mark]) -> Iterator[ShotMaker]:
    for index, url in enumerate(order.texts("image_urls")):
        field = f"image_urls[{index}]"
        read = partial(_read_still, order, url, field, size)
        labels = [*marks, Label(f"@Image{index + 1}", size)]
        yield partial(PictureShot, read, marks=labels)


def _clip_makers(
    clips: list[Clip], size: Size, marks: list[Mark]
) -> Iterator[ShotMaker]:
    for index, clip in enumerate(clips):
        labels = [*marks, Label(f"@Video{index + 1}", size)]
        yield partial(ClipShot, clip, size, marks=labels)


def _read_still(order: Order, url: str, field: str, size: Size) -> Still:
    picture = on_white(read_picture(order.file(url), field, enough=size))
    return Still.of_picture(picture, size, cover_box(Size(*picture.size), size))


def _last_still(clip: Clip, size: Size) -> Still:
    return Still.of_planes(last_frame(clip, size))


def _sound(order: Order, clips: list[Clip], task: Task, frames: int) -> Floats | None:
    """Take the given sounds, else an edited clip's own, else a melody."""
    samples = frames * SAMPLE_RATE_HZ // FPS
    given = [
        (order.file(url), f"audio_urls[{index}]")
        for index, url in enumerate(order.texts("audio_urls"))
    ]
    if given:
        return fitted_sound(read_sounds(given, SOUND_LIMITS), samples)
    if not order.flag("generate_audio"):
        return None
    if task == "edit" and clips[0].has_sound:
        clip = clips[0]
        own = read_sound(clip.path, clip.field, clip.seconds, "video")
        return fitted_sound(own, samples)
    return scene_sound(order.text("prompt"), order.seed, frames)
