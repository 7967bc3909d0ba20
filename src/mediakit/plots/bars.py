"""Horizontal bars: a name on the left, the bar, and a label on the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mediakit.money import MICRO_PER_USD
from mediakit.plots.dollars import format_x
from mediakit.plots.style import as_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mediakit.plots.style import Canvas

_THICKNESS = 0.72
_FEWEST_ROWS_TALL = 4  # so that one bar does not fill the plot


@dataclass(frozen=True)
class Bar:
    """One bar.

    Args:
        name: The name, short enough to fit beside the bar.
        micro_usd: The length; 0 for none.
        label: The label at the right edge.
        colour: The colour.
    """

    name: str
    micro_usd: int
    label: str
    colour: str


def draw_bars(canvas: Canvas, bars: Sequence[Bar]) -> None:
    """Draw bars from the top down, with an x axis of dollars."""
    axes = canvas.axes
    places = range(len(bars))
    axes.barh(
        places,
        [bar.micro_usd / MICRO_PER_USD for bar in bars],
        height=_THICKNESS,
        color=[bar.colour for bar in bars],
        linewidth=0,
    )
    format_x(canvas)
    axes.grid(visible=False, axis="y")
    missing = max(_FEWEST_ROWS_TALL - len(bars), 0) / 2
    axes.set_ylim(len(bars) - 0.5 + missing, -0.5 - missing)
    axes.set_yticks(places, [bar.name for bar in bars])
    names = axes.get_yticklabels()
    for name in names:
        name.set_color(canvas.palette.ink)
    as_written(names)
    _write_labels(canvas, [bar.label for bar in bars])


def _write_labels(canvas: Canvas, texts: Sequence[str]) -> None:
    axes = canvas.axes
    for place, text in enumerate(texts):
        message = axes.text(
            1.01,
            place,
            text,
            transform=axes.get_yaxis_transform(),
            va="center",
            color=canvas.palette.ink,
            fontsize=canvas.text_size,
        )
        as_written([message])
