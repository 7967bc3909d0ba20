"""The requests of the generated past: prompts, and names of pictures and clips."""

from collections.abc import Mapping
from random import Random
from typing import Any

from mediakit.catalog.examples import FILES, SITE

PICTURE = f"{SITE}/{FILES['image']}"
CLIP = f"{SITE}/{FILES['video']}"
PICTURES = 48
PROMPTS = (
    "a kite over dunes",
    "a paper boat drifts across a mountain lake",
    "espresso pours into a glass cup, close-up, morning light",
    "a cyclist crosses a bridge in the rain, neon reflections",
    "hands knead bread dough on a floured table",
    "an old tram climbs a steep street at dusk",
    "a running shoe lands in a puddle, slow motion",
    "fog lifts from a pine forest, aerial view",
    "a lighthouse at dawn, waves below, wide shot",
    "a red fox walks through fresh snow",
    "a ceramic vase turns on a potter's wheel",
    "market stalls under colored awnings, handheld camera",
    "a hot-air balloon rises above vineyards",
    "rain on a window, city lights out of focus",
    "a wristwatch on dark slate, rotating, studio light",
    "children fly paper planes in a school yard",
    "a sailing boat leans into the wind, drone shot",
    "autumn leaves fall on a wooden bench",
    "a chef plates a dessert with tweezers, macro",
    "northern lights over a quiet fjord, time-lapse",
)


def request_of(
    body: Mapping[str, Any], random: Random, *, clip_s: int
) -> dict[str, Any]:
    """Return the same request with its own prompt and media.

    Neither affects the price: a clip is named by its length.

    Args:
        body: The body of a function's example.
        random: The generator, which is not the one of the prices.
        clip_s: The length of the clips, seconds.
    """
    names = {CLIP: f"{SITE}/clip-{clip_s}s.mp4"}
    first = random.randrange(PICTURES)
    prompt = random.choice(PROMPTS)
    named: dict[str, Any] = _named(body, names, first)
    return named | ({"prompt": prompt} if "prompt" in body else {})


def _named(value: Any, names: Mapping[str, str], first: int) -> Any:
    if isinstance(value, Mapping):
        return {name: _named(item, names, first) for name, item in value.items()}
    if isinstance(value, list):
        return [_named(item, names, first + n) for n, item in enumerate(value)]
    if value == PICTURE:
        return f"{SITE}/picture-{first % PICTURES + 1:02}.png"
    return names.get(value, value) if isinstance(value, str) else value
