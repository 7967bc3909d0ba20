"""Region replace: the given clip, changed in one region only."""

import numpy as np
from PIL import Image

from mediakit.sandbox.render.film.film_file import FPS, Film, write_film
from mediakit.sandbox.render.film.pictures import on_white, read_picture
from mediakit.sandbox.render.film.regions import (
    Patch,
    Region,
    region_of_mask,
    region_of_words,
)
from mediakit.sandbox.render.film.source_shot import SourceShot
from mediakit.sandbox.render.frames.planes import rgb_of
from mediakit.sandbox.render.inputs.clips import read_clip
from mediakit.sandbox.render.landscapes.palettes import Palette, look_of
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, Size, cover_box, frame_size
from mediakit.sandbox.render.sound.mixing import SoundFile

_FIELD = "video"
_MASK_FIELD = "modify_region_mask"
_WORDS_FIELD = "modify_region_roi"
_REFERENCE_FIELD = "image"

# Without a reference picture the moving clip stays visible under the replacement.
_OPACITY = 215
_STRIPES = 9


def render(request: RenderRequest) -> Rendered:
    """Change the clip of spec 4.16; pixels outside the region stay."""
    path = request.file(request.text(_FIELD))
    clip = read_clip(path, _FIELD, request.limits_of(_FIELD))
    short_side_px = request.choice("resolution", SHORT_SIDES_PX, "1080p")
    size = frame_size(short_side_px, clip.size.ratio)
    seconds = min(clip.seconds, request.number("duration_s", 5))
    region = region_of(request, size)
    patch = Patch(region, _replacement(request, region.box.size))
    frames = max(round(seconds * FPS), 1)
    film = Film(
        size=size,
        shots=[SourceShot(clip, size, frames, marks=[patch])],
        sound=SoundFile(path, _FIELD, "video") if clip.has_sound else None,
    )
    return write_film(film, request.output, sketch=request.sketch)


def region_of(request: RenderRequest, size: Size) -> Region:
    """Return the region that is changed; a mask is more exact than words.

    Raises:
        RenderError: `invalid_input` when there is neither, or the mask marks nothing.
    """
    if url := request.text(_MASK_FIELD):
        mask = read_picture(request.file(url), _MASK_FIELD, enough=size)
        return region_of_mask(mask, size, _MASK_FIELD)
    if words := request.text(_WORDS_FIELD):
        return region_of_words(words, size)
    raise RenderError.invalid(
        f"{_WORDS_FIELD}: missing; accepted are words for the region here, or a mask "
        f"in {_MASK_FIELD}."
    )


def _replacement(request: RenderRequest, size: Size) -> Image.Image:
    if url := request.text(_REFERENCE_FIELD):
        picture = on_white(
            read_picture(request.file(url), _REFERENCE_FIELD, enough=size)
        )
        box = cover_box(Size(*picture.size), size)
        return picture.resize(size, Image.Resampling.LANCZOS, box)
    look = look_of(request.text("prompt"), request.seed)
    return _pattern(look.palette, float(look.random.uniform(0, np.pi)), size)


def _pattern(palette: Palette, angle: float, size: Size) -> Image.Image:
    """Paint soft stripes in the colours of a palette, not quite opaque."""
    x = np.linspace(0, 1, size.width, dtype=np.float32)[None, :]
    y = np.linspace(0, 1, size.height, dtype=np.float32)[:, None]
    way = np.float32(np.cos(angle)) * x + np.float32(np.sin(angle)) * y
    share = (0.5 + 0.5 * np.sin(2 * np.pi * _STRIPES * way))[..., None]
    low, high = rgb_of(palette.far), rgb_of(palette.sun)
    colours = np.rint(255 * (low * (1 - share) + high * share)).astype(np.uint8)
    picture = Image.fromarray(colours)
    picture.putalpha(_OPACITY)
    return picture
