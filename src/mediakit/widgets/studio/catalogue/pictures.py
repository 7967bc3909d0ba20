"""Drawings that illustrate the functions, as SVG; pure.

They are drawings in SVG, made from the function's path alone, so that each function
has always the same one; a drawing takes about 1 kB and no request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256

from markupsafe import Markup

from mediakit.schema import Purpose
from mediakit.widgets.toolkit.styles import data_url

WIDTH, HEIGHT = 240, 120
WHITE = 'fill="none" stroke="#fff" stroke-width="2"'


@dataclass(frozen=True)
class Scene:
    """A landscape.

    Args:
        hue: Of sky and hills, degrees.
        sun_x: Where the sun is.
        sun_y: How high it is, from the top.
        peaks: How high the hills are, from the top.
    """

    hue: int
    sun_x: int
    sun_y: int
    peaks: tuple[int, ...]

    def drawn(self, *, hue: int | None = None) -> str:
        """Return its shapes; with another hue, the same place at another time."""
        hue = self.hue if hue is None else hue
        ridge = "".join(
            f"L{place * WIDTH // 5} {high}" for place, high in enumerate(self.peaks)
        )
        return (
            f'<linearGradient id="sky{hue}" x2="0" y2="1"><stop '
            f'stop-color="hsl({hue},40%,38%)"/><stop offset=".8" '
            f'stop-color="hsl({hue},34%,70%)"/></linearGradient>'
            f'<path fill="url(#sky{hue})" d="M0 0h240v120H0z"/>'
            f'<circle cx="{self.sun_x}" cy="{self.sun_y}" r="13" fill="#fff3d6"/>'
            f'<path fill="hsl({hue},45%,45%)" d="M0 120{ridge}L240 120z"/>'
            f'<path fill="hsl({hue},48%,24%)" d="M0 104Q60 88 120 101T240 98V120H0z"/>'
        )

    def sketched(self, hue: int) -> str:
        """Return fewer shapes, for a picture that is shown small."""
        top = self.peaks[2]
        return (
            f'<path fill="hsl({hue},38%,60%)" d="M0 0h240v120H0z"/>'
            f'<circle cx="{self.sun_x}" cy="{self.sun_y + 6}" r="20" fill="#fff3d6"/>'
            f'<path fill="hsl({hue},48%,30%)" d="M0 120V90L90 {top}L240 104V120z"/>'
        )


def scene_of(path: str) -> Scene:
    """Return the landscape of a function; its path draws the lots."""
    lots = sha256(path.encode()).digest()
    peaks = tuple(
        64 + lot % 30 - 16 * (place % 2) for place, lot in enumerate(lots[:6])
    )
    return Scene(lots[6] * 360 // 256, 70 + lots[7] % 100, 26 + lots[8] % 22, peaks)


def _small(scene: Scene, x: float, y: float, scale: float, hue: int) -> str:
    return (
        f'<g transform="translate({x} {y}) scale({scale})">{scene.sketched(hue)}'
        f'<path fill="none" stroke="#fff" stroke-width="{2 / scale:.1f}" '
        'd="M0 0h240v120H0z"/></g>'
    )


def _words(scene: Scene) -> str:
    lines = '<path d="M16 97h92M16 106h60" stroke="#fff" stroke-width="4"/>'
    play = '<path d="M112 48v26l22-13z" fill="#fff"/>'
    return f'{lines}<circle cx="120" cy="61" r="23" {WHITE}/>{play}'


def _pictures(scene: Scene) -> str:
    hues = (scene.hue, scene.hue + 40, scene.hue + 80)
    row = "".join(
        _small(scene, 12 + 76 * place, 42, 0.27, hue) for place, hue in enumerate(hues)
    )
    return f'{row}<path d="M79 53l6 6-6 6M155 53l6 6-6 6" {WHITE}/>'


def _references(scene: Scene) -> str:
    hues = (scene.hue + 120, scene.hue + 200, scene.hue + 280)
    return "".join(
        _small(scene, 10 + 52 * place, 92 - 4, 0.19, hue)
        for place, hue in enumerate(hues)
    )


def _change(scene: Scene) -> str:
    other = (
        '<clipPath id="c"><path d="M140 28h74v60h-74z"/></clipPath>'
        f'<g clip-path="url(#c)">{scene.drawn(hue=scene.hue + 150)}</g>'
    )
    return f'{other}<path d="M140 28h74v60h-74z" {WHITE} stroke-dasharray="6 4"/>'


def _enlarge(scene: Scene) -> str:
    blocks = "".join(
        f'<path fill="hsl({scene.hue},36%,{70 - row * 13 - column * row % 7}%)" '
        f'd="M{column * 30} {row * 30}h30v30h-30z"/>'
        for column in range(4)
        for row in range(4)
    )
    return f'{blocks}<path d="M120 0v120" stroke="#fff" stroke-width="2"/>'


def _timeline(scene: Scene) -> str:
    clips = ((12, 70, 80, 0), (124, 70, 60, 90), (72, 92, 96, 180))
    tracks = "".join(
        f'<rect x="{x}" y="{y}" width="{width}" height="16" rx="3" '
        f'fill="hsl({scene.hue + turn},50%,62%)" stroke="#fff"/>'
        for x, y, width, turn in clips
    )
    back = '<path d="M0 62h240v58H0z" opacity=".55"/>'
    return f'{back}{tracks}<path d="M104 58v58" stroke="#fff" stroke-width="2"/>'


def _picture(scene: Scene) -> str:
    return f'<path d="M14 12h212v96H14z" {WHITE}/>'


def _another(scene: Scene) -> str:
    before = _small(scene, 14, 62, 0.38, scene.hue + 160)
    return f'{before}<path d="M112 86h22m-7-7l7 7-7 7" {WHITE}/>'


def _sound(scene: Scene) -> str:
    bars = "".join(
        f"M{20 + 10 * place} {60 - high}v{2 * high}"
        for place, high in enumerate((8, 20, 32, 14, 38, 26, 10, 30, 40, 22) * 2)
    )
    return f'<path d="{bars}" stroke="#fff" stroke-width="4" stroke-linecap="round"/>'


_MARKS: Mapping[Purpose, Callable[[Scene], str]] = {
    Purpose.WORDS: _words,
    Purpose.PICTURES: _pictures,
    Purpose.PICTURE: _picture,
    Purpose.REFERENCES: _references,
    Purpose.CHANGE: _change,
    Purpose.ENLARGE: _enlarge,
    Purpose.SOUND: _sound,
}


def svg_of(path: str, purpose: Purpose) -> str:
    """Draw the example picture of a function.

    Args:
        path: Where it is served.
        purpose: What people want of it.
    """
    scene = scene_of(path)
    draw = _MARKS[purpose]
    if purpose is Purpose.ENLARGE:
        scene = replace(scene, sun_x=WIDTH * 3 // 4)
    if "compose" in path:
        draw = _timeline
    if "image-to-image" in path:
        draw = _another
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"{scene.drawn()}{draw(scene)}</svg>"
    )


@lru_cache(maxsize=200)
def picture_html(path: str, purpose: Purpose) -> Markup:
    """Return the picture as a tag; a page that shows it twice needs no ids twice."""
    url = data_url(svg_of(path, purpose).encode(), "image/svg+xml")
    return Markup('<img src="{}" alt="">').format(url)
