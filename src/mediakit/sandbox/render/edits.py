"""Films from given media: composed, joined, upscaled, changed (spec 4.13 to 4.16)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from mediakit.decoding import on_white
from mediakit.sandbox.render.captions import words_over
from mediakit.sandbox.render.film import (
    FPS,
    SAMPLE_RATE_HZ,
    Codec,
    Film,
    Filters,
    Floats,
    Frames,
    Layer,
    frame_of,
    still,
)
from mediakit.sandbox.render.input_files import (
    Clip,
    InputFile,
    clip_frames,
    picture_size,
    read_clip,
    read_clips,
    read_picture,
)
from mediakit.sandbox.render.motion import fitting, planes_of, transition
from mediakit.sandbox.render.protocol import (
    SHORT_SIDES_PX,
    RenderError,
    RenderRequest,
    Size,
    frame_size,
)
from mediakit.sandbox.render.scenery import look_of, rgb_of
from mediakit.sandbox.render.sound import Voice, check_sound, decoded, mixed


def _input_file(request: RenderRequest, url: object, field: str) -> InputFile:
    return InputFile(request.file(str(url)), field)


def _own_sound(clip: Clip, frames: int, fps: Fraction) -> Iterator[Floats] | None:
    if not clip.has_sound:
        return None
    return mixed([Voice(decoded(clip.source, clip.start_s))], frames, fps)


# Compose (spec 4.14)

_COMPOSED_PX = 720


class TimelineFile(NamedTuple):
    """A file's place on the timeline.

    Attributes:
        kind: The medium of the track.
        source: The file.
        start_ms: When the file begins.
        end_ms: When the file ends.
    """

    kind: Literal["video", "image", "audio"]
    source: InputFile
    start_ms: Fraction
    end_ms: Fraction

    def span(self, frames: int) -> range:
        """The file's visible frames in a film of `frames` frames.

        Both ends are rounded to the nearest frame, so that files that touch on the
        timeline touch in the film; the shortest keyframe has one frame.
        """
        first = min(_frame_at(self.start_ms), frames - 1)
        return range(first, max(_frame_at(self.end_ms), first + 1))


def compose(request: RenderRequest) -> Film:
    """Render a timeline; every file is checked before any frame."""
    keyframes = [*_keyframes(request)]
    frames = film_frames(keyframes)
    sizes: dict[InputFile, Size] = {}
    clips: dict[InputFile, Clip] = {}
    voices: list[Voice] = []
    for kind, source, start_ms, end_ms in keyframes:
        sound = None
        if kind == "image":
            sizes[source] = picture_size(source)
        elif kind == "audio":
            check_sound(source)
            sound = decoded(source)
        else:
            clips[source] = read_clip(source)
            sizes[source] = clips[source].size
            if clips[source].has_sound:
                sound = decoded(source, clips[source].start_s)
        if sound is not None:
            bounds = (round(ms * SAMPLE_RATE_HZ / 1000) for ms in (start_ms, end_ms))
            voices.append(Voice(sound, *bounds))
    size = frame_size(_COMPOSED_PX, next(iter(sizes.values())).ratio)
    layers = []
    for keyframe in keyframes:
        if keyframe.source in sizes:
            span, inner = keyframe.span(frames), sizes[keyframe.source].inside(size)
            left, top = (side // 4 * 2 for side in np.subtract(size, inner))
            clip = clips.get(keyframe.source)
            show = partial(_whole_picture, keyframe.source, inner)
            filters: Filters = []
            if clip is not None:
                # A shorter clip is held on its last frame, as editing programs do.
                show = partial(clip_frames, clip, Fraction(FPS))
                filters = fitting(clip, inner)
            layers.append(
                Layer(show, filters, str(left), str(top), span.start, span.stop)
            )
    sound = mixed(voices, frames) if voices else None
    return Film(size, layers, frames, sound)


def _keyframes(request: RenderRequest) -> Iterator[TimelineFile]:
    """Yield the files of all tracks: the lowest layer first, each sorted by time."""
    tracks: Sequence[Mapping[str, Any]] = request.body["tracks"]  # type: ignore[assignment]
    for number, track in enumerate(tracks):
        keyframes = []
        for index, item in enumerate(track["keyframes"]):
            field = f"tracks[{number}].keyframes[{index}].url"
            start_ms = Fraction(item["timestamp"])
            end_ms = start_ms + Fraction(item["duration"])
            source = _input_file(request, item["url"], field)
            keyframes.append(TimelineFile(track["type"], source, start_ms, end_ms))
        yield from sorted(keyframes, key=lambda keyframe: keyframe.start_ms)


def film_frames(keyframes: Sequence[TimelineFile]) -> int:
    """Return the length of the film: up to the latest end of all keyframes."""
    return max(1, *(_frame_at(keyframe.end_ms) for keyframe in keyframes))


def _frame_at(time_ms: Fraction) -> int:
    return round(time_ms * FPS / 1000)


def _whole_picture(source: InputFile, size: Size) -> Frames:
    picture = read_picture(source, enough=size)
    return iter([frame_of(picture.resize(size, Image.Resampling.LANCZOS))])


# Keyframes (spec 4.15)


def join(request: RenderRequest) -> Film:
    """Animate from each of the given pictures to the next."""
    body: Mapping[str, Any] = request.body
    side_px = SHORT_SIDES_PX[body.get("resolution", "1080p")]
    size, stills = Size(side_px, side_px), []
    for index, url in enumerate(body["images"]):
        picture = on_white(read_picture(_input_file(request, url, f"images[{index}]")))
        if index == 0:
            size = frame_size(side_px, Size(*picture.size).ratio)
        fitted = ImageOps.fit(picture, size, Image.Resampling.LANCZOS)
        stills.append(planes_of(frame_of(fitted)))
    if body.get("loop"):
        stills.append(stills[0])
    each_s = [body.get("transition_duration_s", 5)] * (len(stills) - 1)
    lengths = [round(s * FPS) for s in body.get("transition_durations_s") or each_s]
    layers, first = [], 0
    for (start, end), length in zip(pairwise(stills), lengths, strict=True):
        show = partial(transition, start, end, length)
        layers.append(Layer(show, start=first, stop=first + length, fills=True))
        first += length
    layers += words_over(request, size, caption=body.get("prompt", ""))
    return Film(size, layers, first)


# Upscale (spec 4.13)

MOST_PIXELS_A_SIDE = 8192
# Encoders keep whole frames in memory, H.265 more and larger ones than H.264. These
# limits keep both below 700 MB.
MOST_PIXELS: Mapping[Codec, int] = {"h264": 35_000_000, "hevc": 4096 * 2304}
# For all frames together: about a minute of one core, a fifth of the time limit.
MOST_PIXELS_IN_ALL: Mapping[Codec, int] = {
    "h264": 15_000_000_000,
    "hevc": 5_000_000_000,
}

_UPSCALED = "video_url"
_PIXELS_4K = 3840 * 2160
_LEAST_SHORT_SIDE_PX = 720


def upscale(request: RenderRequest) -> Film:
    """Scale a clip; its frame rate, length and sound stay."""
    body: Mapping[str, Any] = request.body
    source = _input_file(request, body[_UPSCALED], _UPSCALED)
    (clip,) = read_clips(request, [source])
    rate = clip.rate or Fraction(FPS)
    frames = max(round(clip.duration_s * rate), 1)
    codec: Codec = "h264" if body.get("h264_output") else "hevc"
    factor = int(body.get("upscale_factor", "x2").removeprefix("x"))
    size = output_size(clip.size, factor, body.get("model", "proteus"))
    _check_work(clip, size, frames, codec)
    return Film(
        size=size,
        layers=[
            Layer(
                partial(clip_frames, clip, rate),
                [*_effects(body, request.seed), *fitting(clip, size)],
                fills=True,
            ),
            *words_over(request, size),
        ],
        frames=frames,
        sound=_own_sound(clip, frames, rate),
        codec=codec,
        fps=rate,
    )


def output_size(source: Size, factor: int, model: str) -> Size:
    """Return a model's output size for a source (spec 4.13)."""
    exact = Size(source.width * factor, source.height * factor)
    if model == "proteus":
        return exact.scaled(1)
    if model == "starlight-precise-2.6":
        if exact.pixels > _PIXELS_4K:
            raise RenderError.invalid(
                f"{_UPSCALED}: {source} pixels become {exact} with x{factor}; {model} "
                f"makes at most 4K, {_PIXELS_4K:,} pixels."
            )
        return exact.scaled(1)
    least = _LEAST_SHORT_SIDE_PX / min(exact)
    return exact.scaled(min(max(least, 1), sqrt(_PIXELS_4K / exact.pixels)))


def _check_work(clip: Clip, size: Size, frames: int, codec: Codec) -> None:
    most = MOST_PIXELS[codec]
    in_all = MOST_PIXELS_IN_ALL[codec]
    # A smaller frame takes as long as one of 50,000 pixels.
    work = max(size.pixels, 50_000) * frames
    if max(size) > MOST_PIXELS_A_SIDE or size.pixels > most or work > in_all:
        name = {"h264": "H.264", "hevc": "H.265"}[codec]
        hint = " Ask for a smaller factor or for H.264." if codec == "hevc" else ""
        raise RenderError.invalid(
            f"{_UPSCALED}: {clip.size} pixels become {size} in {frames:,} frames; as "
            f"{name} the sandbox encodes at most {most / 1e6:.1f} megapixels, "
            f"{MOST_PIXELS_A_SIDE} pixels a side, and {in_all // size.pixels:,} such "
            f"frames.{hint}"
        )


def _effects(body: Mapping[str, Any], seed: int) -> Iterator[tuple[str, str]]:
    softened = max(body.get("compression", 0), body.get("halo", 0))
    smooth = 1.2 * body.get("noise", 0) + 0.8 * softened
    if smooth > 0:
        yield "gblur", f"sigma={smooth}"
    if (detail := body.get("recover_detail", 0)) > 0:
        yield "unsharp", f"luma_amount={1.5 * detail}"
    if (grain := body.get("grain", 0)) > 0:
        strength = max(round(150 * grain), 1)
        yield "noise", f"all_seed={seed % 2**31}:alls={strength}:allf=t"


# Region replace (spec 4.16)

_CHANGED, _MASK, _REPLACEMENT = "video", "modify_region_mask", "image"

# Without a reference picture the moving clip stays visible under the replacement.
_OPACITY = 215
_STRIPES = 9


def replace_region(request: RenderRequest) -> Film:
    """Change one region of a clip; the pixels outside stay the same."""
    body: Mapping[str, Any] = request.body
    source = _input_file(request, body[_CHANGED], _CHANGED)
    (clip,) = read_clips(request, [source])
    size = frame_size(SHORT_SIDES_PX[body.get("resolution", "1080p")], clip.size.ratio)
    if url := body.get(_MASK):
        mask = read_picture(_input_file(request, url, _MASK), enough=size)
        region = region_of_mask(mask, size, _MASK)
    else:
        region = region_of_words(body.get("modify_region_roi", ""), size)
    left, top, right, bottom = region.getbbox() or (0, 0, *size)
    left, top = left - left % 2, top - top % 2
    region = region.crop((left, top, right + right % 2, bottom + bottom % 2))
    patch = _replacement(request, Size(*region.size))
    patch.putalpha(ImageChops.multiply(patch.getchannel("A"), region))
    seconds = min(clip.duration_s, body.get("duration_s", 5))
    frames = max(round(seconds * FPS), 1)
    layers = [
        Layer(
            partial(clip_frames, clip, Fraction(FPS)), fitting(clip, size), fills=True
        ),
        Layer(still(patch), x=str(left), y=str(top)),
        *words_over(request, size),
    ]
    return Film(size, layers, frames, _own_sound(clip, frames, Fraction(FPS)))


def _replacement(request: RenderRequest, size: Size) -> Image.Image:
    """Return the reference picture, or soft stripes in the colours of the prompt."""
    if url := request.body.get(_REPLACEMENT):
        source = _input_file(request, url, _REPLACEMENT)
        picture = on_white(read_picture(source, enough=size))
        return ImageOps.fit(picture, size, Image.Resampling.LANCZOS).convert("RGBA")
    look = look_of(str(request.body.get("prompt", "")), request.seed)
    angle = look.random.uniform(0, np.pi)
    y, x = np.ogrid[0 : 1 : size.height * 1j, 0 : 1 : size.width * 1j]
    way = np.cos(angle) * x + np.sin(angle) * y
    share = (0.5 + 0.5 * np.sin(2 * np.pi * _STRIPES * way)).astype(np.float32)
    low, high = rgb_of(look.palette.far), rgb_of(look.palette.sun)
    colours = low + (high - low) * share[..., None]
    picture = Image.fromarray(np.rint(colours).astype(np.uint8)).convert("RGBA")
    picture.putalpha(_OPACITY)
    return picture


# -- Regions, by words or by a mask ------------------------------------------------


# The regions that words name, as shares of the frame; without such a word, the region
# is an oval in the middle.
_ACROSS = {"left": (0.0, 0.4), "right": (0.6, 1.0)}
_DOWN = {
    "sky|ceiling|clouds?|top|above": (0.0, 0.4),
    "ground|floor|road|street|water|sea|bottom|below": (0.6, 1.0),
    "background|everything|all": (0.0, 1.0),
}
# A mask may be soft; darker pixels count as black.
_FAINT = 8


def region_of_mask(mask: Image.Image, size: Size, field: str) -> Image.Image:
    """Read the share of change for each pixel: white is all of it (spec 4.16)."""
    paper = Image.new("RGBA", mask.size, "black")
    paper.alpha_composite(mask.convert("RGBA"))
    region = paper.convert("L").resize(size, Image.Resampling.BILINEAR)
    if not np.any(np.asarray(region) >= _FAINT):
        raise RenderError.invalid(
            f"{field}: the mask is entirely black; the region to change must be white."
        )
    return region.point(lambda level: level if level >= _FAINT else 0)


def region_of_words(words: str, size: Size) -> Image.Image:
    """Guess a soft-edged region from words such as "the sky on the left"."""
    across, down = _first(_ACROSS, words), _first(_DOWN, words)
    left, right = across or ((0, 1) if down else (0.3, 0.7))
    top, bottom = down or ((0, 1) if across else (0.2, 0.8))
    box = [left * size.width, top * size.height]
    box += [right * size.width, bottom * size.height]
    region = Image.new("L", size)
    pen = ImageDraw.Draw(region)
    (pen.rectangle if across or down else pen.ellipse)(box, 255)
    return region.filter(ImageFilter.GaussianBlur(0.012 * min(size)))


def _first(
    places: Mapping[str, tuple[float, float]], words: str
) -> tuple[float, float] | None:
    for names, place in places.items():
        if re.search(rf"\b(?:{names})\b", words, re.IGNORECASE):
            return place
    return None
