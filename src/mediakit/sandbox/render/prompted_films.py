"""Films from a prompt and its references (spec 4.4 to 4.11, 4.17)."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
from PIL import Image

from mediakit.media_limits import MediaName
from mediakit.sandbox.render.captions import MARK, words_over
from mediakit.sandbox.render.fields import LONGEST_S, OpenBody
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
    drawn_size,
    frame_of,
    render_frames,
)
from mediakit.sandbox.render.input_files import (
    Clip,
    InputFile,
    check_limits,
    clip_frames,
    field_of,
    last_frame,
    picture_size,
    read_clips,
)
from mediakit.sandbox.render.motion import filling, fitting, zooming
from mediakit.sandbox.render.protocol import (
    SHORT_SIDES_PX,
    RenderError,
    RenderRequest,
    Size,
    frame_size,
)
from mediakit.sandbox.render.scenery import look_of, scene
from mediakit.sandbox.render.sound import (
    Recording,
    Voice,
    decoded,
    melody,
    mixed,
    repeated,
    sound_info,
)

Task = Literal["reference", "edit", "extend"]

_FINAL = "1080p"
_DEFAULT_S = 5
_CHOSEN_S = range(4, 11)
_WITHOUT_VISUALS = Fraction(16, 9)
_SHOTS = 3
_TINT = 0.3

_EXTEND_WORDS = re.compile(r"\b(extend|continu|prolong)", re.IGNORECASE)
_EDIT_WORDS = re.compile(r"\b(edit|replac|remov|chang|restyl|recolou?r)", re.IGNORECASE)


def render_film(
    request: RenderRequest,
    *,
    resolution: str = "720p",
    audible: bool = False,
    fixed: bool = False,
    task: Task = "reference",
) -> Film:
    """Render a video of the references in a body, else a generated scene."""
    body, media = OpenBody(request), _media(request)
    clips = read_clips(request, media["video"])
    pictures = media["image"] if task == "reference" else []
    seconds = clips[0].duration_s if task == "edit" else _seconds(body)
    frames = max(round(seconds * FPS), 1)
    named_px = None if fixed else body.short_side_px
    ratio = body.ratio or _source_ratio(pictures, clips)
    full = frame_size(named_px or SHORT_SIDES_PX[resolution], ratio)
    size = drawn_size(full)
    voice = _input_sound(request, media["audio"], seconds)
    if voice is None and body.audible(default=audible):
        if task == "edit" and clips[0].has_sound:
            voice = Voice(decoded(clips[0].source, clips[0].start_s))
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
    """Return the requested task; for `auto`, derive it from the prompt."""
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
    clips = read_clips(request, _media(request)["video"][:1])
    if not clips:
        return render_film(request, resolution=_FINAL, audible=True, fixed=True)
    clip = clips[0]
    if clip.duration_s > LONGEST_S:
        raise RenderError.invalid(
            f"{clip.source.field}: the draft lasts {clip.duration_s:.1f} s; the "
            f"sandbox renders at most {LONGEST_S} s."
        )
    size = frame_size(SHORT_SIDES_PX[_FINAL], clip.size.ratio)
    frames = max(round(clip.duration_s * FPS), 1)
    layers = [_playing(clip, size, range(frames)), *words_over(request, size)]
    voices = [Voice(decoded(clip.source, clip.start_s))] if clip.has_sound else []
    return Film(size, layers, frames, mixed(voices, frames) if voices else None)


def render_sound(request: RenderRequest) -> Recording:
    """Return the sounds in a body, else a melody."""
    body, media = OpenBody(request), _media(request)
    frames = round(_seconds(body) * FPS)
    voice = _input_sound(request, media["audio"], frames / FPS)
    if voice is None:
        voice = _melody(body.prompt, request.seed, frames)
    return Recording(mixed([voice], frames), frames)


def _layers(
    request: RenderRequest,
    body: OpenBody,
    size: Size,
    frames: int,
    pictures: Sequence[InputFile],
    clips: Sequence[Clip],
    task: Task,
) -> list[Layer]:
    mark = MARK if body.watermark else ""
    words = partial(words_over, request, size, caption=body.prompt)
    if task == "edit":
        # The colour's chroma is mixed in; light and shade stay as they are.
        sky = look_of(body.prompt, request.seed).palette.sky.split()[1]
        _, u, v = frame_of(Image.new("RGB", (2, 2), sky)).planes
        mix = (
            f"{name}=val*{1 - _TINT}+{bytes(p)[0] * _TINT}"
            for name, p in (("u", u), ("v", v))
        )
        tint = ("lutyuv", ":".join(mix))
        return [_playing(clips[0], size, range(frames), [tint]), *words(corner=mark)]
    if task == "extend":
        first = [Layer(lambda: iter([last_frame(clips[0])]), fitting(clips[0], size))]
        start = Layer(
            lambda: zooming(next(render_frames(first, size, 1)), frames), fills=True
        )
        return [start, *words(corner=mark)]
    layers: list[Layer] = []
    if not (pictures or clips):
        several = request.body.get("multi_shot") is True
        spans = _shares(frames, _SHOTS if several else 1)
        for number, span in enumerate(spans):
            look = look_of(body.prompt, request.seed + number)
            layers.append(scene(look, size, span, sketch=request.sketch))
        return [*layers, *words(corner=mark)]
    names = [f"@Image{n}" for n, _ in enumerate(pictures, 1)]
    names += [f"@Video{n}" for n, _ in enumerate(clips, 1)]
    sources: list[InputFile | Clip] = [*pictures, *clips]
    media = [*zip(names, sources, strict=True)][:frames]
    for (name, medium), span in zip(media, _shares(frames, len(media)), strict=True):
        if isinstance(medium, Clip):
            layers.append(_playing(medium, size, span))
        else:
            show = partial(_shown, medium, size, len(span))
            layers.append(Layer(show, start=span.start, stop=span.stop, fills=True))
        layers += words(corner=f"{name}  {mark}".rstrip(), span=span)
    return layers


def _shown(source: InputFile, size: Size, frames: int) -> Frames:
    return zooming(filling(source, size), frames)


def _playing(clip: Clip, size: Size, span: range, effects: Filters = ()) -> Layer:
    """Return a clip as a layer; it repeats when it ends."""
    frames = partial(clip_frames, clip, Fraction(FPS), loop=True)
    filters = [*fitting(clip, size), *effects]
    return Layer(frames, filters, start=span.start, stop=span.stop, fills=True)


def _shares(frames: int, count: int) -> list[range]:
    """Split a film into parts of equal length."""
    bounds = [frames * number // count for number in range(count + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]


def _melody(prompt: str, seed: int, frames: int) -> Voice:
    def composed() -> Iterator[Floats]:
        yield melody(frames, look_of(prompt, seed).random)

    return Voice(composed())


def _seconds(body: OpenBody) -> float:
    if not body.automatic:
        return body.seconds or _DEFAULT_S
    # A model would choose the length; the sandbox always chooses the same for a prompt.
    digest = hashlib.sha256(body.prompt.encode("utf-8", "replace")).digest()
    return _CHOSEN_S[digest[0] % len(_CHOSEN_S)]


def _source_ratio(pictures: Sequence[InputFile], clips: Sequence[Clip]) -> Fraction:
    """Return the ratio of the first reference, for `adaptive` (spec 4.4)."""
    if pictures:
        return picture_size(pictures[0]).ratio
    return clips[0].size.ratio if clips else _WITHOUT_VISUALS


def _media(request: RenderRequest) -> dict[MediaName, list[InputFile]]:
    media: dict[MediaName, list[InputFile]] = {"image": [], "video": [], "audio": []}
    for medium, source in OpenBody(request).media():
        media[medium].append(source)
    return media


def _input_sound(
    request: RenderRequest, sources: Sequence[InputFile], enough_s: float
) -> Voice | None:
    """Decode the given sounds one after the other until they are long enough."""
    limits = [request.limits_of(field_of(each)) for each in sources]
    infos = [sound_info(*pair) for pair in zip(sources, limits, strict=True)]
    check_limits(request, [*zip(sources, infos, strict=True)])
    pieces, samples = [], 0
    for each in sources:
        for piece in decoded(each):
            if samples < enough_s * SAMPLE_RATE_HZ:
                pieces.append(piece)
                samples += piece.shape[1]
            else:
                break
    return repeated(np.concatenate(pieces, axis=1)) if pieces else None
