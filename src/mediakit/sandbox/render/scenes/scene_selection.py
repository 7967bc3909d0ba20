"""Selects the scene that renders a request."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes import (
    compose_video,
    default_film,
    default_picture,
    image_upscale,
    keyframes,
    r1,
    region_replace,
    text_to_video,
    video_upscale,
)

# Functions with a scene of their own, or whose declaration has no size or sound. All
# others are rendered by their media type.
SCENES: Mapping[str, Callable[[RenderRequest], Rendered]] = MappingProxyType(
    {
        "compose-video": compose_video.render,
        "image-upscale": image_upscale.render,
        "keyframes": keyframes.render,
        "r1": r1.render,
        "r1-finalize": default_film.render_final,
        "r3b": partial(default_film.render_film, resolution="1080P"),
        "r5": partial(default_film.render_film, audible=True),
        "r5b": partial(default_film.render_film, resolution="2K", audible=True),
        "region-replace": region_replace.render,
        "text-to-video": text_to_video.render,
        "video-upscale": video_upscale.render,
    }
)
BY_MEDIA_TYPE: Mapping[str, Callable[[RenderRequest], Rendered]] = MappingProxyType(
    {
        "audio": default_film.render_sound,
        "image": default_picture.render,
        "video": default_film.render_film,
    }
)


def render(request: RenderRequest) -> Rendered:
    """Render a request with the scene of its kind, or else of its media type.

    Raises:
        RenderError: The scene cannot be rendered, or there is none.
    """
    scene = SCENES.get(request.kind) or BY_MEDIA_TYPE.get(request.media_type)
    if scene is None:
        raise RenderError.internal(
            f"The sandbox cannot make {request.media_type!r}; it makes "
            f"{', '.join(BY_MEDIA_TYPE)}."
        )
    return scene(request)
