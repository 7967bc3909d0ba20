"""Films from a prompt and its references (spec 4.4 to 4.11, 4.17)."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby, pairwise
from typing import Literal

import numpy as np
from PIL import Image

from mediakit.media_limits import MediaInfo, MediaLimits, MediaName
from mediakit.sandbox.render.fields import LONGEST_S, OpenBody
from mediakit.sandbox.render.files import (
    Clip,
    Given,
    clip_frames,
    last_frame,
    opened_container,
    picture_size,
    read_clip,
)
from mediakit.sandbox.render.film import (
    FPS,
    HIGH_CRF,
    SAMPLE_RATE_HZ,
    STANDARD_CRF,
    Film,
    Filters,
    Floats,
    Frames,
    Layer,
    drawn,
    drawn_size,
    frame_of,
)
from mediakit.sandbox.render.motion import filling, fitting, zooming
from mediakit.sandbox.render.protocol import RenderError, RenderRequest
from mediakit.sandbox.render.scenery import look_of, scene
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, Size, frame_size
from mediakit.sandbox.render.sound import (
    Recording,
    Voice,
    check_sound,
    decoded,
    melody,
    mixed,
    repeated,
)
from mediakit.sandbox.render.words import MARK, words_over

Task = Literal["reference", "edit", "extend"]

_FINAL = "1080p"
_DEFAULT_S = 5
_CHOSEN_S = range(4, 11)
_WITHOUT_VISUALS = Fraction(16, 9)
_TINT = 0.3
# Of a sound that may have any length; no film made of references is longer.
_MOST_SOUND_S = 60.0
_SOUND_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}

_EXTEND_WORDS = re.compile(r"\b(extend|continu|prolong)", re.IGNORECASE)
_EDIT_WORDS = re.compile(r"\b(edit|replac|remov|chang|restyl|recolou?r)", re.IGNORECASE)
_SHOT_MARK = re.compile(r"(?:^|\s)(?:shot|scene)\s*\d+\s*[:.)-]\s*", re.IGNORECASE)


def render_film(
    request: RenderRequest,
    *,
    resolution: str = "720p",
    audible: bool = False,
    fixed: bool = False,
    task: Task = "reference",
) -> Film:
    """Render a video of the references that a body names, else a scene.

    Args:
        request: The request.
        resolution: The resolution that an omitted one means.
        audible: Whether there is sound where the body says nothing about it.
        fixed: Take that resolution whatever the body says.
        task: Whether the first clip is edited, is extended, or is just a reference.
    """
    body, media = OpenBody(request), _media(request)
    clips = _clips(request, media["video"])
    pictures = media["image"] if task == "reference" else []
    seconds = clips[0].duration_s if task == "edit" else _seconds(body)
    frames = max(round(seconds * FPS), 1)
    named_px = None if fixed else body.short_side_px
    ratio = body.ratio or _source_ratio(pictures, clips)
    full = frame_size(named_px or SHORT_SIDES_PX[resolution], ratio)
    size = drawn_size(full)
    sound = _given_sound(request, media["audio"], seconds)
    if sound:
        voice = repeated(np.concatenate(sound, axis=1))
    elif not (body.audible(default=audible)):
        voice = None
    elif task == "edit" and clips[0].has_sound:
        voice = Voice(decoded(clips[0].given))
    else:
        voice = _melody(body.prompt, request.seed, frames)
    return Film(
        size=size,
        layers=_layers(request, body, size, frames, pictures, clips, task),
        frames=frames,
        sound=mixed([voice], frames) if voice else None,
        container="mov" if body.output_format == "mov" else "mp4",
        crf=HIGH_CRF if body.high_bitrate else STANDARD_CRF,
        enlarged=full,
    )


def render_r1(request: RenderRequest) -> Film:
    """Render the requested film of R1; a draft always has 480p (spec 4.4)."""
    draft = request.body.get("draft") is True
    return render_film(
        request,
        resolution="480p" if draft else "720p",
        audible=True,
        fixed=draft,
        task=task_of(request),
    )


def task_of(request: RenderRequest) -> Task:
    """Return the requested task; the words of the prompt decide for `auto`."""
    body = request.body
    match body.get("omni_reference_task_type"):
        case "edit" | "extend" | "reference" as asked:
            return asked
    adaptive = body.get("ratio", "adaptive") == "adaptive"
    if not (adaptive and body.get("video_urls")):
        return "reference"
    prompt, automatic = str(body.get("prompt", "")), body.get("duration") == "auto"
    if automatic and _EDIT_WORDS.search(prompt):
        return "edit"
    if not automatic and _EXTEND_WORDS.search(prompt):
        return "extend"
    return "reference"


def render_final(request: RenderRequest) -> Film:
    """Render a draft at 1080p: the clip that the body names (spec 4.4)."""
    clips = _clips(request, _media(request)["video"][:1])
    if not clips:
        return render_film(request, resolution=_FINAL, audible=True, fixed=True)
    clip = clips[0]
    if clip.duration_s > LONGEST_S:
        raise RenderError.invalid(
            f"{clip.given.field}: the draft lasts {clip.duration_s:.1f} s; the sandbox "
            f"renders at most {LONGEST_S} s."
        )
    size = frame_size(SHORT_SIDES_PX[_FINAL], clip.size.ratio)
    frames = max(round(clip.duration_s * FPS), 1)
    layers = [_playing(clip, size, range(frames)), *words_over(request, size)]
    voices = [Voice(decoded(clip.given))] if clip.has_sound else []
    return Film(size, layers, frames, mixed(voices, frames) if voices else None)


def shot_captions(prompt: str, frames: int) -> list[str]:
    """Split a shot-scripted prompt (`Shot 1: ... Shot 2: ...`) into two or three.

    Args:
        prompt: A prompt without a script is the caption of every shot.
        frames: Less than five seconds have room for two shots only.
    """
    most = 3 if frames >= 5 * FPS else 2
    scripted = [part.strip() for part in _SHOT_MARK.split(prompt) if part.strip()]
    return scripted[:most] if len(scripted) > 1 else [prompt] * most


def render_sound(request: RenderRequest) -> Recording:
    """Return the sounds that the body names, else a melody."""
    body, media = OpenBody(request), _media(request)
    frames = round(_seconds(body) * FPS)
    given = _given_sound(request, media["audio"], frames / FPS)
    if given:
        voice = repeated(np.concatenate(given, axis=1))
    else:
        voice = _melody(body.prompt, request.seed, frames)
    return Recording(mixed([voice], frames), frames)


def _layers(
    request: RenderRequest,
    body: OpenBody,
    size: Size,
    frames: int,
    pictures: Sequence[Given],
    clips: Sequence[Clip],
    task: Task,
) -> list[Layer]:
    mark = MARK if body.watermark else ""
    if task == "reference" and not (pictures or clips):
        return _scenes(request, body.prompt, size, frames, mark)
    words = words_over(request, size, caption=body.prompt, corner=mark)
    if task == "edit":
        # The colour's chroma is mixed in; light and shade stay as they are.
        sky = look_of(body.prompt, request.seed).palette.sky.split()[1]
        _, u, v = frame_of(Image.new("RGB", (2, 2), sky)).planes
        mix = (
            f"{name}=val*{1 - _TINT}+{bytes(p)[0] * _TINT}"
            for name, p in (("u", u), ("v", v))
        )
        tint = ("lutyuv", ":".join(mix))
        return [_playing(clips[0], size, range(frames), [tint]), *words]
    if task == "extend":
        first = [Layer(lambda: iter([last_frame(clips[0])]), fitting(clips[0], size))]
        return [
            Layer(lambda: zooming(next(drawn(first, size, 1)), frames), fills=True),
            *words,
        ]
    layers: list[Layer] = []
    names = [f"@Image{n}" for n, _ in enumerate(pictures, 1)]
    names += [f"@Video{n}" for n, _ in enumerate(clips, 1)]
    shown: list[Given | Clip] = [*pictures, *clips]
    media = [*zip(names, shown, strict=True)][:frames]
    for (name, medium), span in zip(media, _shares(frames, len(media)), strict=True):
        if isinstance(medium, Clip):
            layers.append(_playing(medium, size, span))
        else:
            show = partial(_shown, medium, size, len(span))
            layers.append(Layer(show, start=span.start, stop=span.stop, fills=True))
        corner = f"{name}  {mark}" if mark else name
        layers += words_over(
            request, size, caption=body.prompt, corner=corner, span=span
        )
    return layers


def _shown(given: Given, size: Size, frames: int) -> Frames:
    return zooming(filling(given, size), frames)


def _playing(clip: Clip, size: Size, span: range, more: Filters = ()) -> Layer:
    """Return a clip that begins again when it is over."""
    frames = partial(clip_frames, clip, Fraction(FPS), loop=True)
    filters = [*fitting(clip, size), *more]
    return Layer(frames, filters, start=span.start, stop=span.stop, fills=True)


def _scenes(
    request: RenderRequest, prompt: str, size: Size, frames: int, mark: str
) -> list[Layer]:
    several = request.body.get("multi_shot") is True
    captions = shot_captions(prompt, frames) if several else [prompt]
    spans = _shares(frames, len(captions))
    layers = []
    for number, (caption, span) in enumerate(zip(captions, spans, strict=True)):
        look = look_of(caption, request.seed + number)
        layers.append(scene(look, size, span, sketch=request.sketch))
        layers += words_over(request, size, caption=caption, corner=mark, span=span)
    return layers


def _shares(frames: int, count: int) -> list[range]:
    """Split a film into parts of the same length."""
    bounds = [frames * number // count for number in range(count + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


def _melody(prompt: str, seed: int, frames: int) -> Voice:
    def composed() -> Iterator[Floats]:
        yield melody(frames, look_of(prompt, seed).random)

    return Voice(composed())


def _seconds(body: OpenBody) -> float:
    if not body.automatic:
        return body.seconds or _DEFAULT_S
    # As a model does, but always the same for a prompt.
    digest = hashlib.sha256(body.prompt.encode("utf-8", "replace")).digest()
    return _CHOSEN_S[digest[0] % len(_CHOSEN_S)]


def _source_ratio(pictures: Sequence[Given], clips: Sequence[Clip]) -> Fraction:
    """Return the ratio of the first reference, for `adaptive` (spec 4.4)."""
    if pictures:
        return picture_size(pictures[0]).ratio
    return clips[0].size.ratio if clips else _WITHOUT_VISUALS


# Given media


def _media(request: RenderRequest) -> dict[MediaName, list[Given]]:
    found: dict[MediaName, list[Given]] = {"image": [], "video": [], "audio": []}
    for medium, given in OpenBody(request).media():
        found[medium].append(given)
    return found


def _field(given: Given) -> str:
    return re.split(r"[.\[]", given.field)[0]


def _clips(request: RenderRequest, given: Sequence[Given]) -> list[Clip]:
    clips: list[Clip] = []
    for field, named in groupby(given, _field):
        limits = request.limits_of(field)
        together = [read_clip(each, limits) for each in named]
        if problem := limits.total_problem(field, [clip.info for clip in together]):
            raise RenderError.of([problem])
        clips += together
    return clips


def _given_sound(
    request: RenderRequest, given: Sequence[Given], enough_s: float
) -> list[Floats]:
    """Decode sounds until they are long enough; all where their total is limited."""
    sounds: list[Floats] = []
    for field, named in groupby(given, _field):
        limits = request.limits_of(field)
        heard: list[MediaInfo] = []
        for each in named:
            length_s = sum(sound.shape[1] for sound in sounds) / SAMPLE_RATE_HZ
            if length_s >= enough_s and limits.total_s is None:
                break
            sound, facts = _read_sound(each, limits)
            heard.append(facts)
            sounds.append(sound)
            problems = limits.problems(each.field, facts)
            if total := limits.total_problem(field, heard):
                problems.append(total)
            if problems:
                raise RenderError.of(problems)
    return sounds


def _read_sound(given: Given, limits: MediaLimits) -> tuple[Floats, MediaInfo]:
    size_bytes = given.path.stat().st_size
    # Before it is opened, because FFmpeg searches the padding of a file for chunks.
    if too_large := limits.size_problems(given.field, size_bytes):
        raise RenderError.of(too_large)
    most_s = _MOST_SOUND_S if limits.max_s is None else limits.max_s + 1
    check_sound(given)
    pieces, length_s = [], 0.0
    for piece in decoded(given):
        pieces.append(piece)
        length_s += piece.shape[1] / SAMPLE_RATE_HZ
        if length_s >= most_s:
            break
    with opened_container(given, "audio") as container:
        # The length of a cut sound is known only from its header.
        header_s = (container.duration or 0) / 1e6 if length_s >= most_s else 0.0
        content_type = _SOUND_TYPES.get(container.format.name, "audio/mp4")
    sound = np.concatenate(pieces, axis=1)[:, : round(most_s * SAMPLE_RATE_HZ)]
    info = MediaInfo(
        "audio", content_type, size_bytes, duration_s=max(length_s, header_s)
    )
    return sound, info
