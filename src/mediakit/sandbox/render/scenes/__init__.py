"""What the worker can render: one scene for each kind of function.

It stands on all other rooms of the renderer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mediakit.sandbox.render.protocol import Order, Rendered, RenderError
from mediakit.sandbox.render.scenes import (
    compose_video,
    image_upscale,
    keyframes,
    open_functions,
    pictures_made,
    references,
    region_replace,
    text_to_video,
    video_upscale,
)

SCENES: Mapping[str, Callable[[Order], Rendered]] = MappingProxyType(
    {
        "compose-video": compose_video.render,
        "image-upscale": image_upscale.render,
        "keyframes": keyframes.render,
        "image-to-image": pictures_made.render,
        **references.SCENES,
        "r1-finalize": open_functions.render_final,
        "r3b": open_functions.render_r3b,
        "r5b": open_functions.render_r5b,
        "region-replace": region_replace.render,
        "text-to-image": pictures_made.render,
        "text-to-video": text_to_video.render,
        "video-upscale": video_upscale.render,
    }
)

# For a function that the sandbox does not know by name, by what it makes.
OTHERS: Mapping[str, Callable[[Order], Rendered]] = MappingProxyType(
    {
        "audio": open_functions.render_sound,
        "image": pictures_made.render,
        "video": open_functions.render_video,
    }
)


def render(order: Order) -> Rendered:
    """Render an order with the scene of its kind, else with one of its media type.

    Raises:
        RenderError: The scene cannot be rendered, or there is none.
    """
    scene = SCENES.get(order.kind) or OTHERS.get(order.media_type)
    if scene is None:
        raise RenderError.internal(
            f"The sandbox makes no {order.media_type!r}; it makes {', '.join(OTHERS)}."
        )
    return scene(order)
