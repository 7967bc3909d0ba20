"""Colours of the generated scenes, chosen by the words of a prompt."""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

T = TypeVar("T")
Terrain = Literal["dunes", "mountains", "forest", "lake", "sea"]
Motif = Literal["kite", "balloon", "boat", "birds"]


@dataclass(frozen=True)
class Palette:
    """The colours of one time of day, as `#rrggbb`.

    Attributes:
        words: Prompts with one of these words get this palette.
        sky: From the top of the frame over the middle to the horizon.
        sun: The disc of the sun or the moon.
        far: The ridge farthest away.
        near: The ridge in front.
        stars: Whether the sky has stars.
        sun_height: Of the disc's middle, as a share of the frame, from the top.
    """

    words: frozenset[str]
    sky: tuple[str, str, str]
    sun: str
    far: str
    near: str
    stars: bool = False
    sun_height: float = 0.42


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The times of day come first: in a prompt for a boat at sunset, the sunset decides.
PALETTES = (
    Palette(
        _words("dusk sunset evening twilight neon lantern lanterns"),
        ("#23245c", "#8d4f8f", "#ff9f78"),
        "#ffdcae",
        "#8a5590",
        "#170f2e",
        sun_height=0.5,
    ),
    Palette(
        _words("night midnight moon moonlit stars space galaxy dark"),
        ("#060b20", "#16294f", "#45659a"),
        "#f6f1df",
        "#31497a",
        "#050914",
        stars=True,
        sun_height=0.26,
    ),
    Palette(
        _words("morning dawn sunrise mist misty fog"),
        ("#31467e", "#b78fb3", "#ffdcb4"),
        "#fff2d4",
        "#b587a5",
        "#1f1a35",
        sun_height=0.46,
    ),
    Palette(
        _words("dune dunes desert sand sahara golden camel savanna savannah heat"),
        ("#4a7fa5", "#e9b98d", "#ffe3b3"),
        "#fff4d8",
        "#e3a673",
        "#4d2413",
    ),
    Palette(
        _words("sea ocean wave waves beach coast island whale harbour harbor reef"),
        ("#1c5c7a", "#66b3b8", "#f3efd2"),
        "#fffbe8",
        "#5a9ba0",
        "#0a2c38",
        sun_height=0.38,
    ),
    Palette(
        _words("snow snowy ice winter glacier arctic frost polar penguin alpine"),
        ("#5d8fbb", "#add0e6", "#fdf1e6"),
        "#ffffff",
        "#a3c1d8",
        "#1d3855",
        sun_height=0.36,
    ),
    Palette(
        _words("forest wood woods tree trees jungle green moss fox deer rain spring"),
        ("#5f9488", "#b4cfa4", "#fbf4cd"),
        "#fffbe2",
        "#93b88c",
        "#12291d",
        sun_height=0.36,
    ),
    Palette(
        _words("flower flowers rose blossom cherry pink love dream lavender pastel"),
        ("#5d4c86", "#d78fb0", "#ffe4d6"),
        "#fff4ea",
        "#c487a6",
        "#35193a",
    ),
)

_TERRAIN_WORDS: dict[Terrain, frozenset[str]] = {
    "dunes": _words("dune dunes desert sand sahara camel savanna savannah"),
    "sea": _words("sea ocean wave waves beach coast island whale reef"),
    "lake": _words("lake river water reflection pond fjord harbour harbor swan"),
    "forest": _words("forest wood woods tree trees jungle fox deer pine pines owl"),
    "mountains": _words("mountain mountains alps alpine peak glacier snow valley hill"),
}

_WATERS = ("sea", "lake")

_MOTIF_WORDS: dict[Motif, frozenset[str]] = {
    "kite": _words("kite kites"),
    "balloon": _words("balloon balloons airship zeppelin"),
    "boat": _words("boat boats ship ships sail sailboat sailing yacht"),
    "birds": _words("bird birds gull gulls seagull swan geese goose eagle crow heron"),
}


@dataclass(frozen=True)
class Look:
    """Everything about a scene that its prompt decides."""

    palette: Palette
    terrain: Terrain
    motif: Motif
    random: np.random.Generator


def look_of(prompt: str, seed: int) -> Look:
    """Choose colours, land and a small figure; what no word decides, the seed does.

    Args:
        prompt: The text that the scene illustrates.
        seed: Another seed gives another picture of the same prompt.
    """
    digest = hashlib.sha256(f"{seed}\n{prompt}".encode("utf-8", "replace")).digest()
    random = np.random.default_rng(int.from_bytes(digest[:16]))
    words = set(re.findall(r"[a-z]+", prompt.lower()))
    palettes = [palette for palette in PALETTES if palette.words & words]
    terrains = [name for name, hints in _TERRAIN_WORDS.items() if hints & words]
    motifs = [name for name, hints in _MOTIF_WORDS.items() if hints & words]
    motif: Motif = _pick(random, motifs) if motifs else "birds"
    if motif == "boat":
        terrains = [name for name in terrains if name in _WATERS] or ["sea"]
    return Look(
        palette=palettes[0] if palettes else _pick(random, list(PALETTES)),
        terrain=_pick(random, terrains or list(_TERRAIN_WORDS)),
        motif=motif,
        random=random,
    )


def _pick(random: np.random.Generator, choices: list[T]) -> T:
    return choices[int(random.integers(len(choices)))]
