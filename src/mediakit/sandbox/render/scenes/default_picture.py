"""Text to image and image to image: a landscape, or the given picture recoloured."""

import av
from av.video.reformatter import Colorspace
from PIL import Image, ImageOps

from mediakit.sandbox.render.film.common_fields import OpenBody
from mediakit.sandbox.render.film.pictures import (
    LONGEST_JPEG_SIDE_PX,
    on_white,
    read_picture,
    save_picture,
)
from mediakit.sandbox.render.film.reference_reel import MARK, Given
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.frames.text import Caption, Label
from mediakit.sandbox.render.landscapes.landscape import Landscape, Motion
from mediakit.sandbox.render.landscapes.motifs import Figure
from mediakit.sandbox.render.landscapes.palettes import Palette, look_of
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sizes import Size

_CONTENT_TYPES = {
    "jpeg": ("jpeg", "image/jpeg"),
    "jpg": ("jpeg", "image/jpeg"),
    "png": ("png", "image/png"),
}
_DYE = 0.6
_BAND_ROWS = 256


def render(request: RenderRequest) -> Rendered:
    """Make the picture for a prompt and an optional picture (spec 4.11)."""
    body = OpenBody(request)
    given = [given for medium, given in body.media() if medium == "picture"]
    output_format, content_type = _CONTENT_TYPES.get(
        body.output_format, _CONTENT_TYPES["png"]
    )
    if given:
        picture = _given_picture(given[0], output_format)
        recolour(picture, look_of(body.prompt, request.seed).palette)
    else:
        picture = landscape(body, request.seed)
    save_picture(picture, request.output, output_format)
    return Rendered(content_type, *picture.size)


def landscape(body: OpenBody, seed: int) -> Image.Image:
    """Paint a landscape of the requested size."""
    size = body.picture_size()
    # Video frames have even sides; the surplus is cut off at the end.
    even = Size(*(side + side % 2 for side in size))
    frame = av.VideoFrame(*even, "yuv420p")
    planes = Planes.of(frame)
    look, motion = look_of(body.prompt, seed), Motion()
    Landscape(look, even, motion).draw(planes, 0)
    Figure(look, even, motion).draw(planes, 0)
    Caption(body.prompt, even).draw(planes)
    if body.watermark:
        Label(MARK, even, right=True).draw(planes)
    rgb = frame.reformat(format="rgb24", src_colorspace=Colorspace.ITU709)
    return Image.fromarray(rgb.to_ndarray()).crop((0, 0, *size))


def recolour(picture: Image.Image, palette: Palette) -> None:
    """Dye a picture in place; its shapes, light and shade stay recognisable.

    Args:
        picture: RGB or RGBA.
        palette: Its land becomes the shade, its sun the light.
    """
    # A band at a time: copies of a picture of 50 megapixels would be large.
    for top in range(0, picture.height, _BAND_ROWS):
        bottom = min(top + _BAND_ROWS, picture.height)
        band = picture.crop((0, top, picture.width, bottom))
        dye = ImageOps.colorize(
            band.convert("L"), palette.near, palette.sun, mid=palette.far
        )
        dyed = Image.blend(band.convert("RGB"), dye, _DYE)
        if picture.mode == "RGBA":
            dyed.putalpha(band.getchannel("A"))
        picture.paste(dyed, (0, top))


def _given_picture(given: Given, output_format: str) -> Image.Image:
    picture = read_picture(*given)
    if output_format != "jpeg":
        return picture
    if max(picture.size) > LONGEST_JPEG_SIDE_PX:
        raise RenderError.invalid(
            f"{given.field}: the picture has {Size(*picture.size)} pixels; a jpeg has "
            f"at most {LONGEST_JPEG_SIDE_PX} pixels a side. Ask for png."
        )
    return on_white(picture)
