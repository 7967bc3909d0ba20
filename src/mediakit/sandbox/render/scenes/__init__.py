"""What the worker can render: one scene for each kind of function."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mediakit.sandbox.render.orders import Order, Rendered, RenderError
from mediakit.sandbox.render.scenes import (
    image_upscale,
    keyframes,
    r1,
    text_to_video,
)

SCENES: Mapping[str, Callable[[Order], Rendered]] = MappingProxyType(
    {
        "image-upscale": image_upscale.render,
        "keyframes": keyframes.render,
        "r1": r1.render,
        "text-to-video": text_to_video.render,
    }
)


def render(order: Order) -> Rendered:
    """Render an order with the scene of its kind.

    Raises:
        RenderError: The kind has no scene, or the scene cannot be rendered.
    """
    scene = SCENES.get(order.kind)
    if scene is None:
        known = ", ".join(SCENES)
        raise RenderError.internal(
            f"The sandbox renders no {order.kind!r}; it renders {known}."
        )
    return scene(order)
