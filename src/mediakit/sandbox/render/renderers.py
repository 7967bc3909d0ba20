"""Selects the renderer of a request."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from mediakit.sandbox.render import edits, images, prompted_films
from mediakit.sandbox.render.film import Film, write_film
from mediakit.sandbox.render.images import Picture, write_picture
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.sound import Recording, write_recording

Output = Film | Picture | Recording

# Functions that have their own scene, or whose declaration has no size or sound. All
# others are rendered by their media type.
SCENES: Mapping[str, Callable[[RenderRequest], Output]] = MappingProxyType(
    {
        "compose-video": edits.compose,
        "image-upscale": images.upscale_picture,
        "keyframes": edits.join,
        "r1": prompted_films.render_r1,
        "r1-finalize": prompted_films.render_final,
        "r3b": partial(prompted_films.render_film, resolution="1080P"),
        "r5": partial(prompted_films.render_film, audible=True),
        "r5b": partial(prompted_films.render_film, resolution="2K", audible=True),
        "region-replace": edits.replace_region,
        "video-upscale": edits.upscale,
    }
)
BY_MEDIA_TYPE: Mapping[str, Callable[[RenderRequest], Output]] = MappingProxyType(
    {
        "audio": prompted_films.render_sound,
        "image": images.render_picture,
        "video": prompted_films.render_film,
    }
)


def render(request: RenderRequest) -> Rendered:
    """Render a request and write its file."""
    match scene_of(request):
        case Film() as film:
            return write_film(film, request.output, sketch=request.sketch)
        case Picture() as picture:
            return write_picture(picture, request.output)
        case recording:
            return write_recording(recording, request.output)


def scene_of(request: RenderRequest) -> Output:
    """Return the output of a request, before it is drawn and encoded.

    Its kind selects the scene, or else its media type does.
    """
    scene = SCENES.get(request.kind) or BY_MEDIA_TYPE.get(request.media_type)
    if scene is None:
        raise RenderError.internal(
            f"The sandbox cannot make {request.media_type!r}; it makes "
            f"{', '.join(BY_MEDIA_TYPE)}."
        )
    return scene(request)
