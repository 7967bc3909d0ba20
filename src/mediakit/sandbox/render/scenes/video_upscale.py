"""Video upscale: the given clip, two or four times as wide and as high."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import sqrt

import av
import av.filter

from mediakit.sandbox.render.film.film_file import FPS, Codec, Film, write_film
from mediakit.sandbox.render.film.source_shot import SourceShot
from mediakit.sandbox.render.inputs.clips import Clip, read_clip
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import Size
from mediakit.sandbox.render.sound.mixing import SoundFile

MOST_SECONDS = 60
MOST_FPS = 120
MOST_PIXELS_A_SIDE = 8192
# An encoder keeps whole frames, H.265 more and larger ones than H.264: these keep
# both below 700 MB.
MOST_PIXELS: dict[Codec, int] = {"h264": 35_000_000, "hevc": 4096 * 2304}
# For all frames together; about four minutes for two cores.
MOST_PIXELS_IN_ALL = 15_000_000_000

_FIELD = "video_url"
_PIXELS_4K = 3840 * 2160
_LEAST_SHORT_SIDE_PX = 720
_FACTORS = {"x2": 2, "x4": 4}

_Filter = tuple[str, str]


def render(request: RenderRequest) -> Rendered:
    """Scale the clip of spec 4.13; its frame rate, length and sound stay."""
    path = request.file(request.text(_FIELD))
    clip = read_clip(path, _FIELD, request.limits_of(_FIELD))
    rate = clip.rate or Fraction(FPS)
    frames = max(round(clip.seconds * rate), 1)
    codec: Codec = "h264" if request.flag("h264_output") else "hevc"
    size = output_size(
        clip.size,
        request.choice("upscale_factor", _FACTORS, "x2"),
        request.text("model", "proteus"),
    )
    _check_output(clip, size, codec)
    _check_work(clip, size, frames)
    film = Film(
        size=size,
        shots=[SourceShot(clip, size, frames, fps=rate, prepared=_effects(request))],
        sound=SoundFile(path, _FIELD, "video") if clip.has_sound else None,
        codec=codec,
        fps=rate,
    )
    return write_film(film, request.output, sketch=request.sketch)


def output_size(source: Size, factor: int, model: str) -> Size:
    """Return the output frame of a model for a source (spec 4.13).

    Args:
        source: The clip's frame.
        factor: How many times as wide and as high it becomes.
        model: `proteus` and `starlight-precise-2.6` scale exactly; of the others
            the result has at least 720 pixels on its short side and 4K at most.

    Raises:
        RenderError: `invalid_input` when the exact starlight model would exceed 4K.
    """
    exact = Size(source.width * factor, source.height * factor)
    if model == "proteus":
        return _even(exact, 1)
    if model == "starlight-precise-2.6":
        if exact.pixels > _PIXELS_4K:
            raise RenderError.invalid(
                f"{_FIELD}: {source} pixels become {exact} with x{factor}; {model} "
                f"makes at most 4K, {_PIXELS_4K:,} pixels."
            )
        return _even(exact, 1)
    least = _LEAST_SHORT_SIDE_PX / min(exact)
    most = sqrt(_PIXELS_4K / exact.pixels)
    return _even(exact, min(max(least, 1), most))


def _even(size: Size, scale: float) -> Size:
    width, height = (max(2 * round(side * scale / 2), 2) for side in size)
    return Size(width, height)


def _check_output(clip: Clip, size: Size, codec: Codec) -> None:
    most = MOST_PIXELS[codec]
    if max(size) <= MOST_PIXELS_A_SIDE and size.pixels <= most:
        return
    name, hint = "H.264", ""
    if codec == "hevc":
        name, hint = "H.265", " Ask for a smaller factor or for H.264."
    raise RenderError.invalid(
        f"{_FIELD}: {clip.size} pixels become {size}, {size.pixels / 1e6:.1f} "
        f"megapixels; the sandbox encodes at most {most / 1e6:.1f} megapixels and "
        f"{MOST_PIXELS_A_SIDE} pixels a side as {name}.{hint}"
    )


def _check_work(clip: Clip, size: Size, frames: int) -> None:
    if clip.seconds > MOST_SECONDS:
        raise RenderError.invalid(
            f"{_FIELD}: the clip lasts {clip.seconds:.4g} s; the sandbox upscales at "
            f"most {MOST_SECONDS} s."
        )
    if clip.rate > MOST_FPS:
        raise RenderError.invalid(
            f"{_FIELD}: the clip has {clip.fps:.4g} frames per second; the sandbox "
            f"upscales at most {MOST_FPS}."
        )
    if frames * size.pixels > MOST_PIXELS_IN_ALL:
        most_s = clip.seconds * MOST_PIXELS_IN_ALL / (frames * size.pixels)
        raise RenderError.invalid(
            f"{_FIELD}: the clip lasts {clip.seconds:.4g} s; the sandbox upscales at "
            f"most {most_s:.1f} s to {size} at {clip.fps:.4g} frames per second."
        )


def _effects(request: RenderRequest) -> Callable[[av.VideoFrame], av.VideoFrame] | None:
    """Return the filters that the options need; None for none."""
    filters = list(_filters(request))
    return _Filters(filters) if filters else None


def _filters(request: RenderRequest) -> Iterator[_Filter]:
    amount = partial(request.number, default=0)
    smooth = 1.2 * amount("noise") + 0.8 * max(amount("compression"), amount("halo"))
    if smooth > 0:
        yield "gblur", f"sigma={smooth}"
    if (detail := amount("recover_detail")) > 0:
        yield "unsharp", f"luma_amount={1.5 * detail}"
    if (grain := amount("grain")) > 0:
        strength = max(round(150 * grain), 1)
        yield "noise", f"all_seed={request.seed % 2**31}:alls={strength}:allf=t"


class _Filters:
    """A chain of FFmpeg filters, each of which works frame by frame."""

    def __init__(self, filters: list[_Filter]) -> None:
        self._filters = filters
        self._graph: av.filter.Graph | None = None

    def __call__(self, frame: av.VideoFrame) -> av.VideoFrame:
        if self._graph is None:
            self._graph = self._made_for(frame)
        self._graph.vpush(frame)
        return self._graph.vpull()

    def _made_for(self, frame: av.VideoFrame) -> av.filter.Graph:
        graph = av.filter.Graph()
        source = graph.add_buffer(
            width=frame.width,
            height=frame.height,
            format=frame.format,
            time_base=frame.time_base,
        )
        middle = [graph.add(name, options) for name, options in self._filters]
        graph.link_nodes(source, *middle, graph.add("buffersink")).configure()
        return graph
