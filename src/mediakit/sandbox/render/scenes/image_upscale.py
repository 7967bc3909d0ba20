"""Image upscale: the given picture, two to four times as wide and as high."""

from pathlib import Path

from PIL import Image, ImageFilter

from mediakit.sandbox.render.film.pictures import (
    LONGEST_JPEG_SIDE_PX,
    on_white,
    picture_size,
    read_picture,
    save_picture,
)
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import Size

MAX_OUTPUT_PIXELS = 24_000_000

_FIELD = "image_url"
_CONTENT_TYPES = {"jpeg": "image/jpeg", "png": "image/png"}


def render(request: RenderRequest) -> Rendered:
    """Scale the picture of spec 4.12 by its factor."""
    path = request.file(request.text(_FIELD))
    factor = request.choice("upscale_factor", {"x2": 2, "x3": 3, "x4": 4}, "x2")
    content_type = request.choice("output_format", _CONTENT_TYPES, "jpeg")
    output_format = content_type.removeprefix("image/")
    _check_output(path, factor, output_format)
    picture = read_picture(path, _FIELD)
    if output_format == "jpeg":
        picture = on_white(picture)
    size = Size(picture.width * factor, picture.height * factor)
    picture = _denoised(picture, request.number("denoise", 0))
    picture = picture.resize(size, Image.Resampling.LANCZOS)
    picture = _sharpened(picture, request.number("sharpen", 0))
    save_picture(picture, request.output, output_format)
    return Rendered(content_type, *size)


def _check_output(path: Path, factor: int, output_format: str) -> None:
    """Reject an output that is too large, before decoding."""
    before = picture_size(path, _FIELD)
    after = Size(before.width * factor, before.height * factor)
    if after.pixels > MAX_OUTPUT_PIXELS:
        raise RenderError.invalid(
            f"{_FIELD}: {before} pixels become {after} with x{factor}, "
            f"{after.pixels / 1e6:.1f} megapixels; accepted are at most "
            f"{MAX_OUTPUT_PIXELS / 1e6:g} megapixels."
        )
    if output_format == "jpeg" and max(after) > LONGEST_JPEG_SIDE_PX:
        raise RenderError.invalid(
            f"{_FIELD}: {before} pixels become {after} with x{factor}; a jpeg has at "
            f"most {LONGEST_JPEG_SIDE_PX} pixels a side. Ask for png."
        )


def _denoised(picture: Image.Image, amount: float) -> Image.Image:
    if amount <= 0:
        return picture
    smooth = picture.filter(ImageFilter.GaussianBlur(1.2))
    return Image.blend(picture, smooth, min(amount, 1))


def _sharpened(picture: Image.Image, amount: float) -> Image.Image:
    if amount <= 0:
        return picture
    mask = ImageFilter.UnsharpMask(radius=2.5, percent=round(180 * amount), threshold=2)
    return picture.filter(mask)
