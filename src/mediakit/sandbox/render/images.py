"""Pictures: from a prompt, recoloured or upscaled (spec 4.11, 4.12)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from av.video.reformatter import Colorspace
from PIL import Image, ImageFilter, ImageOps

from mediakit.decoding import on_white
from mediakit.sandbox.render.captions import MARK, words_over, write_over
from mediakit.sandbox.render.fields import OpenBody
from mediakit.sandbox.render.film import render_frames
from mediakit.sandbox.render.input_files import (
    InputFile,
    picture_size,
    read_picture,
)
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest, Size
from mediakit.sandbox.render.scenery import SceneColours, look_of, scene

MAX_OUTPUT_PIXELS = 24_000_000
JPEG_MAX_SIDE_PX = 65_500

_DYE = 0.6
_UPSCALED = "image_url"


class Picture(NamedTuple):
    """A picture to write, as PNG or JPEG."""

    image: Image.Image
    is_jpeg: bool


def render_picture(request: RenderRequest) -> Picture:
    """Make the picture for a prompt and an optional picture (spec 4.11)."""
    body = OpenBody(request)
    pictures = [source for medium, source in body.media() if medium == "image"]
    is_jpeg = body.output_format in ("jpeg", "jpg")
    if pictures:
        picture = read_picture(pictures[0])
        picture = on_white(picture) if is_jpeg else picture
        picture = _recoloured(picture, look_of(body.prompt, request.seed).palette)
        write_over(picture, request, caption=body.prompt)
    else:
        picture = _landscape(request, body)
    return Picture(picture, is_jpeg)


def upscale_picture(request: RenderRequest) -> Picture:
    """Scale a picture by its factor (spec 4.12)."""
    body: Mapping[str, Any] = request.body
    source = InputFile(request.file(body[_UPSCALED]), _UPSCALED)
    factor = int(body.get("upscale_factor", "x2").removeprefix("x"))
    is_jpeg = body.get("output_format", "jpeg") == "jpeg"
    before = picture_size(source)
    after = Size(before.width * factor, before.height * factor)
    become = f"{_UPSCALED}: {before} pixels become {after} with x{factor}"
    if after.pixels > MAX_OUTPUT_PIXELS:
        raise RenderError.invalid(
            f"{become}, {after.pixels / 1e6:.1f} megapixels; the limit is "
            f"{MAX_OUTPUT_PIXELS / 1e6:g} megapixels."
        )
    if is_jpeg and max(after) > JPEG_MAX_SIDE_PX:
        raise RenderError.invalid(
            f"{become}; a JPEG file has at most {JPEG_MAX_SIDE_PX:,} pixels a side. "
            'Ask for output_format="png".'
        )
    picture = read_picture(source)
    picture = on_white(picture) if is_jpeg else picture
    if denoise := body.get("denoise", 0):
        smooth = picture.filter(ImageFilter.GaussianBlur(1.2))
        picture = Image.blend(picture, smooth, min(denoise, 1))
    picture = picture.resize(after, Image.Resampling.LANCZOS)
    if sharpen := body.get("sharpen", 0):
        picture = picture.filter(ImageFilter.UnsharpMask(2.5, round(180 * sharpen), 2))
    write_over(picture, request)
    return Picture(picture, is_jpeg)


def write_picture(picture: Picture, path: Path) -> Rendered:
    """Write a PNG or JPEG file."""
    image, is_jpeg = picture
    if is_jpeg:
        image.save(path, "JPEG", quality=93, subsampling=0)
    else:
        image.save(path, "PNG", compress_level=3)
    return Rendered("image/jpeg" if is_jpeg else "image/png")


def _landscape(request: RenderRequest, body: OpenBody) -> Image.Image:
    size = body.picture_size()
    # Video frames have even sides; the surplus is cut off at the end.
    even = Size(*(side + side % 2 for side in size))
    corner = MARK if body.watermark else ""
    words = words_over(request, even, caption=body.prompt, corner=corner)
    look = look_of(body.prompt, request.seed)
    land = scene(look, even, range(1), sketch=request.sketch)
    frame = next(render_frames([land, *words], even, 1))
    rgb = frame.reformat(format="rgb24", src_colorspace=Colorspace.ITU709)
    return Image.fromarray(rgb.to_ndarray()).crop((0, 0, *size))


def _recoloured(picture: Image.Image, palette: SceneColours) -> Image.Image:
    """Tint a picture; its shapes, light and shade stay recognisable."""
    grey = picture.convert("L")
    dye = ImageOps.colorize(grey, palette.near, palette.sun, mid=palette.far)
    dyed = Image.blend(picture.convert("RGB"), dye, _DYE)
    if picture.mode == "RGBA":
        dyed.putalpha(picture.getchannel("A"))
    return dyed
