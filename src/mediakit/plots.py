"""Plots: each takes a frame, draws on `ax`, and returns the Axes.

Money is whole micro-USD until the very last step, and the axis writes it exactly. A
day is a UTC day, drawn as wide as a day is.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.spend.stack import EPOCH, DailyStack, daily_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

# Paul Tol's muted scheme, which people with any colour vision tell apart.
COLOURS = (
    "#332288",
    "#88ccee",
    "#cc6677",
    "#117733",
    "#ddcc77",
    "#882255",
    "#44aa99",
    "#999933",
)
_OTHER_COLOUR = "#bbbbbb"
_QUIET = "#555555"

_GAP_DAYS = 0.1  # left free on both sides of a day, while days are wide enough
_MOST_DAYS_WITH_GAPS = 62
_FEWEST_DAYS_WIDE = 7  # so that a single day stays a bar and does not fill the plot
_MOST_LABELS = 10
_LEAST_TOP_USD = 10 / MICRO_PER_USD  # keeps every tick on a whole micro-USD
_HEADROOM = 1.05
_LONGEST_NAME = 40


def spend_by_day(
    frame: pd.DataFrame, *, by: str = "function", ax: Axes | None = None
) -> Axes:
    """Stack the settled spend of each UTC day by function (spec 4.19).

    Args:
        frame: As `client.spend.daily(...)` gives it: day, charge_micro_usd and `by`.
        by: The column whose values are stacked; the eight largest have their own
            colour, the rest is "other".
        ax: Where to draw; a new figure when None.

    Returns:
        The Axes: x in days, y in USD.

    Raises:
        InputError: The frame is no daily spend with such a column.
    """
    stack = daily_stack(frame, by, most_names=len(COLOURS))
    axes = _new_axes() if ax is None else ax
    if not stack.micro_usd.any():
        return _say_nothing_spent(axes, stack)
    _draw(axes, stack)
    _dress_days(axes, stack)
    _dress_money(axes)
    _add_legend(axes, stack, by)
    return axes


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    return axes


def _draw(axes: Axes, stack: DailyStack) -> None:
    import numpy as np

    x = _edges(stack)
    # Credits may make a day negative; they are stacked below zero, not into the rest.
    up, down = np.clip(stack.micro_usd, 0, None), np.clip(stack.micro_usd, None, 0)
    for part in (up, down) if down.any() else (up,):
        top = np.cumsum(part, axis=0)
        for layer, upper, colour in zip(part, top, _colours(stack), strict=True):
            low, high = (_outline(edge, len(x)) for edge in (upper - layer, upper))
            axes.fill_between(x, low, high, step="post", color=colour, linewidth=0)


def _edges(stack: DailyStack) -> npt.NDArray[np.float64]:
    """Return where days begin and end: two points a day with gaps, else one."""
    import numpy as np

    count = stack.micro_usd.shape[1]
    start = (stack.first - EPOCH).days + np.arange(count, dtype="float64")
    if count > _MOST_DAYS_WITH_GAPS:
        return np.append(start, start[-1] + 1)
    return np.stack([start + _GAP_DAYS, start + 1 - _GAP_DAYS], axis=1).ravel()


def _outline(micro_usd: npt.NDArray[np.int64], points: int) -> npt.NDArray[np.float64]:
    """Return the USD at each edge; between two days with a gap it is zero."""
    import numpy as np

    usd = micro_usd / MICRO_PER_USD
    if points == len(usd) + 1:
        return np.append(usd, usd[-1])
    return np.stack([usd, np.zeros_like(usd)], axis=1).ravel()


def _colours(stack: DailyStack) -> list[str]:
    return [*COLOURS, _OTHER_COLOUR][: len(stack.names)]


def _dress_days(axes: Axes, stack: DailyStack) -> None:
    count = stack.micro_usd.shape[1]
    start = (stack.first - EPOCH).days
    margin = max(_FEWEST_DAYS_WIDE - count, 0) / 2 + count * 0.005
    axes.set_xlim(start - margin, start + count + margin)
    labels = day_labels(stack.days)
    # A day's label stands in the middle of the day.
    axes.set_xticks([start + place + 0.5 for place in labels], list(labels.values()))
    axes.set_xlabel(f"day in UTC{_left_out(stack)}")


def day_labels(days: list[date]) -> dict[int, str]:
    """Choose which days are written under the axis.

    Args:
        days: Every day, in order.

    Returns:
        A label by the day's place: days while they fit, else the first days of
        months; the year stands under the first and wherever a new one begins.
    """
    step = -(-len(days) // _MOST_LABELS)
    places = list(range(len(days) - 1, -1, -step))[::-1]  # the last day is written
    form = "{day.day} {day:%b}"
    if len(days) > _MOST_DAYS_WITH_GAPS:
        months = [place for place, day in enumerate(days) if day.day == 1]
        places = months[:: -(-len(months) // (_MOST_LABELS + 2))]
        form = "{day:%b}"
    labels, year = {}, None
    for place in places:
        day = days[place]
        new_year = "" if day.year == year else f"\n{day.year}"
        labels[place] = form.format(day=day) + new_year
        year = day.year
    return labels


def _dress_money(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    top = max(axes.dataLim.y1, _LEAST_TOP_USD)
    low = min(axes.dataLim.y0, 0.0)
    axes.set_ylim(low * _HEADROOM, top * _HEADROOM)
    if low < 0:
        axes.axhline(0, color="black", linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(_usd_tick(axes)))
    axes.set_ylabel("USD per day")
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.tick_params(length=0)
    axes.tick_params(axis="x", pad=6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _usd_tick(axes: Axes) -> Callable[[float, int | None], str]:
    def write(usd: float, _: int | None) -> str:
        ticks = (round(tick * MICRO_PER_USD) for tick in axes.yaxis.get_ticklocs())
        return _alike(round(usd * MICRO_PER_USD), _decimals(ticks))

    return write


def _decimals(amounts_micro_usd: Iterable[int]) -> int:
    """Return how many decimals write all of these amounts exactly."""
    return max(len(format_usd(each).partition(".")[2]) for each in amounts_micro_usd)


def _alike(amount_micro_usd: int, decimals: int) -> str:
    whole, _, part = format_usd(amount_micro_usd).partition(".")
    return f"{whole}.{part.ljust(decimals, '0')}"


def _add_legend(axes: Axes, stack: DailyStack, by: str) -> None:
    from matplotlib.patches import Patch

    sums = [int(row.sum()) for row in stack.micro_usd]
    decimals = _decimals(sums)
    handles = [
        Patch(color=colour, label=f"{_alike(amount, decimals)}  {_short(name)}")
        for name, amount, colour in zip(stack.names, sums, _colours(stack), strict=True)
    ]
    legend = axes.legend(
        handles=handles[::-1],  # from the top down, as they are stacked
        title=f"{format_usd(stack.total_micro_usd)} by {by}",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        alignment="left",
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)  # two dollar signs are not a formula


def _short(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    return f"…{name[1 - _LONGEST_NAME :]}"


def _left_out(stack: DailyStack) -> str:
    if not stack.left_out:
        return ""
    rows = "row" if stack.left_out == 1 else "rows"
    return f"\n{stack.left_out} {rows} without a day or a charge not drawn"


def _say_nothing_spent(axes: Axes, stack: DailyStack) -> Axes:
    text = "No spend"
    if days := stack.days:
        first, last = (f"{day.day} {day:%B} {day.year}" for day in (days[0], days[-1]))
        text += f" on {first}" if first == last else f" from {first} to {last}"
    axes.text(
        0.5,
        0.5,
        text + _left_out(stack),
        transform=axes.transAxes,
        ha="center",
        va="center",
        color=_QUIET,
    )
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes
