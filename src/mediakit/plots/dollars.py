"""Amounts in plots: exact labels, and axes in US dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mediakit.money import MICRO_PER_USD, divide_half_up, format_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axis import Axis

    from mediakit.plots.style import Canvas

_MICRO_PER_CENT = 10_000
_LEAST_TOP_USD = 10 / MICRO_PER_USD  # keeps every tick on a whole micro-USD
_HEADROOM = 1.05
_STEPS = [1, 2, 2.5, 5, 10]
_PER_MILLE = 1_000


def decimals_of(amounts_micro_usd: Iterable[int]) -> int:
    """Return the number of decimals that represents all amounts exactly."""
    places = (len(format_usd(each).partition(".")[2]) for each in amounts_micro_usd)
    return max(places, default=2)


def with_decimals(amount_micro_usd: int, decimals: int) -> str:
    """Format an amount exactly, with at least this many decimals."""
    whole, _, part = format_usd(amount_micro_usd).partition(".")
    return f"{whole}.{part.ljust(decimals, '0')}"


def cents(amount_micro_usd: int) -> str:
    """Format an amount that is not a charge: in cents; exactly below one cent."""
    if abs(amount_micro_usd) < _MICRO_PER_CENT:
        return format_usd(amount_micro_usd)
    return format_usd(divided(amount_micro_usd, _MICRO_PER_CENT) * _MICRO_PER_CENT)


def divided(amount_micro_usd: int, count: int) -> int:
    """Divide an amount by a count, rounded once, half away from zero."""
    size = divide_half_up(abs(amount_micro_usd), count)
    return size if amount_micro_usd > 0 else -size


def signed(amount_micro_usd: int) -> str:
    """Format a difference exactly, with its sign."""
    return f"{'+' if amount_micro_usd > 0 else ''}{format_usd(amount_micro_usd)}"


def percent(part_micro_usd: int, whole_micro_usd: int) -> str:
    """Format a part of a whole with one decimal, such as "64.8 %"."""
    mille = divide_half_up(part_micro_usd * _PER_MILLE, whole_micro_usd)
    return f"{mille // 10}.{mille % 10} %"


def format_y(canvas: Canvas, text: str) -> None:
    """Format the y axis in dollars, from zero or below to above the data."""
    axes = canvas.axes
    low, top = _limits(axes.dataLim.y0, axes.dataLim.y1)
    axes.set_ylim(low, top)
    if low < 0:
        axes.axhline(0, color=canvas.palette.ink, linewidth=0.8)
    _format(canvas, axes.yaxis, 4 if canvas.compact else 6)
    canvas.label_y(text)
    canvas.quiet_frame("bottom")


def format_x(canvas: Canvas) -> None:
    """Format the x axis in dollars, including zero."""
    axes = canvas.axes
    low, top = _limits(axes.dataLim.x0, axes.dataLim.x1)
    axes.set_xlim(low, top if axes.dataLim.x1 > 0 or low == 0 else 0)
    _format(canvas, axes.xaxis, 3 if canvas.compact else 5)
    canvas.quiet_frame()
    axes.axvline(0, color=canvas.palette.quiet, linewidth=0.8)


def format_at(canvas: Canvas, ticks_micro_usd: list[int]) -> None:
    """Format both axes in dollars, with ticks at these amounts."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    places = [tick / MICRO_PER_USD for tick in ticks_micro_usd]
    texts = [format_usd(tick) for tick in ticks_micro_usd]
    for axis in (canvas.axes.xaxis, canvas.axes.yaxis):
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FixedFormatter(texts))
        axis.set_minor_locator(NullLocator())
        axis.grid(visible=True, color=canvas.palette.grid, linewidth=0.8)
    canvas.quiet_frame()


def _limits(low_usd: float, top_usd: float) -> tuple[float, float]:
    return min(low_usd, 0.0) * _HEADROOM, max(top_usd, _LEAST_TOP_USD) * _HEADROOM


def _format(canvas: Canvas, axis: Axis, most_steps: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most_steps, steps=_STEPS))
    axis.set_major_formatter(FuncFormatter(_tick_of(axis)))
    axis.grid(visible=True, color=canvas.palette.grid, linewidth=0.8)


def _tick_of(axis: Axis) -> Callable[[float, int | None], str]:
    def write(usd: float, _: int | None) -> str:
        ticks = (round(tick * MICRO_PER_USD) for tick in axis.get_ticklocs())
        return with_decimals(round(usd * MICRO_PER_USD), decimals_of(ticks))

    return write
