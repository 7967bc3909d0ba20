"""Films made of references: each one gets a time span and a label."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from mediakit.sandbox.render.film.film_file import (
    FPS,
    STANDARD_CRF,
    Container,
    Film,
    Shot,
)
from mediakit.sandbox.render.film.pictures import on_white, picture_size, read_picture
from mediakit.sandbox.render.film.scenery import scene_shots, scene_sound
from mediakit.sandbox.render.film.shots import ClipShot, Mark, PictureShot
from mediakit.sandbox.render.frames.planes import Floats, Still
from mediakit.sandbox.render.frames.text import Caption, Label
from mediakit.sandbox.render.inputs.clips import Clip, last_frame
from mediakit.sandbox.render.landscapes.palettes import look_of
from mediakit.sandbox.render.sizes import Size, cover_box
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.sound.references import fitted_sound, read_sound

Task = Literal["reference", "edit", "extend"]

WITHOUT_VISUALS = Fraction(16, 9)
MARK = "mediakit sandbox"

_ShotMaker = Callable[[int], Shot]


class Given(NamedTuple):
    """A file that the body names, and where it names it."""

    path: Path
    field: str


@dataclass(frozen=True)
class Reel:
    """The content of a film of references.

    Attributes:
        prompt: The caption; without references its words choose a scene.
        seed: Another seed gives another scene and another melody.
        size: The frame's size.
        seconds: The length.
        pictures: Cited as @Image1 and so on.
        clips: Cited as @Video1 and so on; at least one to edit or to extend.
        sound: The sounds that were given, one after the other.
        audible: Whether there is sound where none was given.
        watermark: Whether the film is marked.
        task: Whether the first clip is edited, is extended, or is just a reference.
        container: The file format.
        crf: Constant rate factor: less is better and larger.
    """

    prompt: str
    seed: int
    size: Size
    seconds: float
    pictures: Sequence[Given] = ()
    clips: Sequence[Clip] = ()
    sound: Floats | None = None
    audible: bool = False
    watermark: bool = False
    task: Task = "reference"
    container: Container = "mp4"
    crf: int = STANDARD_CRF

    @property
    def frames(self) -> int:
        """The length in frames; a film has at least one."""
        return max(round(self.seconds * FPS), 1)


def source_ratio(pictures: Sequence[Given], clips: Sequence[Clip]) -> Fraction:
    """Return the ratio of the first reference, for `adaptive` (spec 4.4).

    Raises:
        RenderError: `invalid_input` when the first picture cannot be read.
    """
    if pictures:
        return picture_size(*pictures[0]).ratio
    return clips[0].size.ratio if clips else WITHOUT_VISUALS


def chosen_seconds(prompt: str, lengths_s: Sequence[int]) -> int:
    """Choose a length as a model does, always the same for a prompt."""
    digest = hashlib.sha256(prompt.encode("utf-8", "replace")).digest()
    return lengths_s[digest[0] % len(lengths_s)]


def samples_of(frames: int) -> int:
    """Return the number of sound samples of a number of frames."""
    return frames * SAMPLE_RATE_HZ // FPS


def own_sound(clip: Clip, frames: int) -> Floats:
    """Decode a clip's own sound at a film's length.

    Raises:
        RenderError: `invalid_input` when it cannot be decoded.
    """
    sound = read_sound(clip.path, clip.field, clip.seconds, "video")
    return fitted_sound(sound, samples_of(frames))


def film_of(reel: Reel) -> Film:
    """Lay out the film; pictures and clips are decoded when they are drawn.

    Raises:
        RenderError: `invalid_input` when an edited clip's sound cannot be decoded.
    """
    return Film(
        size=reel.size,
        shots=_shots(reel),
        sound=_sound(reel),
        container=reel.container,
        crf=reel.crf,
    )


def _shots(reel: Reel) -> list[Shot]:
    mark = Label(MARK, reel.size, right=True) if reel.watermark else None
    marks: list[Mark] = [Caption(reel.prompt, reel.size), *filter(None, [mark])]
    match reel.task:
        case "edit":
            tint = look_of(reel.prompt, reel.seed).palette.sky[1]
            return [ClipShot(reel.clips[0], reel.size, reel.frames, marks, tint)]
        case "extend":
            read = partial(_last_still, reel.clips[0], reel.size)
            return [PictureShot(read, reel.frames, marks)]
        case "reference" if reel.pictures or reel.clips:
            return _reference_shots(reel, marks)
        case "reference":
            prompts = [reel.prompt]
            return scene_shots(prompts, reel.seed, reel.size, reel.frames, mark=mark)


def _reference_shots(reel: Reel, marks: list[Mark]) -> list[Shot]:
    """Give every reference the same time span."""
    makers = [*_picture_makers(reel, marks), *_clip_makers(reel, marks)]
    makers = makers[: reel.frames]
    bounds = [reel.frames * number // len(makers) for number in range(len(makers) + 1)]
    return [
        make(last - first)
        for make, first, last in zip(makers, bounds[:-1], bounds[1:], strict=True)
    ]


def _picture_makers(reel: Reel, marks: list[Mark]) -> Iterator[_ShotMaker]:
    for number, given in enumerate(reel.pictures, 1):
        read = partial(_read_still, given, reel.size)
        labels = [*marks, Label(f"@Image{number}", reel.size)]
        yield partial(PictureShot, read, marks=labels)


def _clip_makers(reel: Reel, marks: list[Mark]) -> Iterator[_ShotMaker]:
    for number, clip in enumerate(reel.clips, 1):
        labels = [*marks, Label(f"@Video{number}", reel.size)]
        yield partial(ClipShot, clip, reel.size, marks=labels)


def _read_still(given: Given, size: Size) -> Still:
    picture = on_white(read_picture(*given, enough=size))
    return Still.of_picture(picture, size, cover_box(Size(*picture.size), size))


def _last_still(clip: Clip, size: Size) -> Still:
    return Still.of_planes(last_frame(clip, size))


def _sound(reel: Reel) -> Floats | None:
    """Use the given sounds, or an edited clip's own, or a melody."""
    if reel.sound is not None:
        return fitted_sound(reel.sound, samples_of(reel.frames))
    if not reel.audible:
        return None
    if reel.task == "edit" and reel.clips[0].has_sound:
        return own_sound(reel.clips[0], reel.frames)
    return scene_sound(reel.prompt, reel.seed, reel.frames)
