"""Spend by day: stacked by function, key, model or project; and axes of days."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.plots.dollars import decimals_of, format_y, with_decimals
from mediakit.plots.names import CHARGE, DAY
from mediakit.plots.stack import EPOCH, DailyStack, daily_stack, instants
from mediakit.plots.style import MOST_NAMES, Canvas, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

_GAP_DAYS = 0.1  # left free on both sides of a day, while days are wide enough
_MOST_DAYS_WITH_GAPS = 62
_FEWEST_DAYS_WIDE = 7  # so that a single day stays a bar and does not fill the plot
_MOST_LABELS = 10
_MOST_COMPACT_LABELS = 5


def spend_by_day(
    frame: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Stack the settled spend of each UTC day by function (spec 4.19).

    Args:
        frame: As `client.spend.daily(...)` returns it: day, charge_micro_usd and `by`.
        by: The column whose values are stacked; the eight largest have their own
            colour, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes: x in days, y in USD. Its `frame` is what `spend_by_day_frame`
        returns.

    Raises:
        InputError: The frame is not daily spend with such a column.
    """
    stack = daily_stack(frame, by, most_names=MOST_NAMES)
    canvas = canvas_on(ax, theme)
    drawn = _frame_of(stack, by)
    canvas.title(drawn.attrs["title"])
    if not stack.micro_usd.any():
        canvas.show_message(nothing_spent(stack))
        return canvas.with_frame(drawn)
    _draw(canvas, stack)
    count = stack.micro_usd.shape[1]
    margin = max(_FEWEST_DAYS_WIDE - count, 0) / 2 + count * 0.005
    format_days(canvas, stack.days, margin=margin, notes=notes_of(stack.left_out))
    format_y(canvas, "USD per day")
    _add_legend(canvas, stack, by)
    return canvas.with_frame(drawn)


def spend_by_day_frame(frame: pd.DataFrame, *, by: str = "function") -> pd.DataFrame:
    """Return the data that `spend_by_day` draws.

    Args:
        frame: As for `spend_by_day`.
        by: As for `spend_by_day`.

    Returns:
        One row per day and name, days without spend included: day (datetime64, UTC),
        `by` (category, the largest first) and charge_micro_usd (int64). `attrs` has
        title, alt_text and left_out, the count of rows without a day or a charge.

    Raises:
        InputError: The frame is not daily spend with such a column.
    """
    return _frame_of(daily_stack(frame, by, most_names=MOST_NAMES), by)


def _frame_of(stack: DailyStack, by: str) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    count, days = stack.micro_usd.shape
    names = pd.Index([*stack.names], dtype="str")
    if not names.is_unique:  # names that differ only in the part that is cut off
        names = pd.Index(_numbered(stack.names), dtype="str")
    codes = np.tile(np.arange(count), days)
    drawn = pd.DataFrame(
        {
            DAY: instants(stack.first, days).repeat(count),
            by: pd.Categorical.from_codes(codes, categories=names),
            CHARGE: stack.micro_usd.T.ravel(),
        }
    )
    drawn.attrs = {
        "title": f"Spend by day{_during(stack)}",
        "alt_text": _alt_text(stack, by),
        "left_out": stack.left_out,
    }
    return drawn


def _numbered(names: Iterable[str]) -> list[str]:
    return [f"{name} #{place}" for place, name in enumerate(names, start=1)]


def _during(stack: DailyStack) -> str:
    return f", {span_text(stack.days[0], stack.days[-1])}" if stack.days else ""


def _alt_text(stack: DailyStack, by: str) -> str:
    if not stack.micro_usd.any():
        return f"{nothing_spent(stack)}."
    amounts = (
        f"{name} {format_usd(int(row.sum()))}"
        for name, row in zip(stack.names, stack.micro_usd, strict=True)
    )
    by_day = stack.micro_usd.sum(axis=0)
    top = int(by_day.argmax())
    return (
        f"Spend by day{_during(stack)}: {format_usd(stack.total_micro_usd)} by {by}. "
        f"{'; '.join(amounts)}. Most on {day_text(stack.days[top])}: "
        f"{format_usd(int(by_day[top]))}."
    )


def _draw(canvas: Canvas, stack: DailyStack) -> None:
    import numpy as np

    x = _edges(stack)
    colours = canvas.palette.series(len(stack.names))
    # Credits may make a day negative; they are stacked below zero, not into the rest.
    up, down = np.clip(stack.micro_usd, 0, None), np.clip(stack.micro_usd, None, 0)
    for part in (up, down) if down.any() else (up,):
        top = np.cumsum(part, axis=0)
        for layer, upper, colour in zip(part, top, colours, strict=True):
            low, high = (_outline(edge, len(x)) for edge in (upper - layer, upper))
            canvas.axes.fill_between(
                x,
                low,
                high,
                step="post",
                color=colour,
                linewidth=0,
                # Days of a pixel or less would fade into the background.
                antialiased=stack.micro_usd.shape[1] <= _MOST_DAYS_WITH_GAPS,
            )


def _edges(stack: DailyStack) -> npt.NDArray[np.float64]:
    """Return the edges of days: two points per day with gaps, otherwise one."""
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


def format_days(
    canvas: Canvas, days: list[date], *, margin: float, notes: list[str]
) -> None:
    """Format the x axis as days, from the first to the last.

    Args:
        canvas: Where to draw.
        days: Every day, in order.
        margin: Days left free on both sides.
        notes: Sentences below the axis.
    """
    axes = canvas.axes
    start = (days[0] - EPOCH).days
    axes.set_xlim(start - margin, start + len(days) + margin)
    most = _MOST_COMPACT_LABELS if canvas.compact else _MOST_LABELS
    labels = day_labels(days, most=most)
    # The label of a day is in its middle.
    axes.set_xticks([start + place + 0.5 for place in labels], list(labels.values()))
    axes.tick_params(axis="x", pad=6)
    canvas.label_x("day in UTC", notes)


def day_labels(days: list[date], *, most: int = _MOST_LABELS) -> dict[int, str]:
    """Choose the day labels for the axis.

    Args:
        days: Every day, in order.
        most: The most day labels, or two fewer than the most month labels.

    Returns:
        Labels by the day's position: days if they fit, otherwise the first days of
        months; the year is under the first label and wherever a new year begins.
    """
    step = -(-len(days) // most)
    places = list(range(len(days) - 1, -1, -step))[::-1]  # the last day is written
    form = "{day.day} {day:%b}"
    if len(days) > _MOST_DAYS_WITH_GAPS:
        months = [place for place, day in enumerate(days) if day.day == 1]
        places = months[:: -(-len(months) // (most + 2))]
        form = "{day:%b}"
    labels, year = {}, None
    for place in places:
        day = days[place]
        new_year = "" if day.year == year else f"\n{day.year}"
        labels[place] = form.format(day=day) + new_year
        year = day.year
    return labels


def day_text(day: date) -> str:
    """Format a day, such as "1 October 2026"."""
    return f"{day.day} {day:%B} {day.year}"


def span_text(first: date, last: date) -> str:
    """Format a range of days, such as "1 to 31 October 2026"."""
    if first == last:
        return day_text(last)
    begin = str(first.day)
    if (first.year, first.month) != (last.year, last.month):
        begin += f" {first:%B}"
    if first.year != last.year:
        begin += f" {first.year}"
    return f"{begin} to {day_text(last)}"


def nothing_spent(stack: DailyStack) -> str:
    """Describe a range without spend, and the rows that are not drawn."""
    text = "No spend"
    if days := stack.days:
        first, last = day_text(days[0]), day_text(days[-1])
        text += f" on {first}" if first == last else f" from {first} to {last}"
    return "\n".join([text, *notes_of(stack.left_out)])


def notes_of(left_out: int, lacking: str = "a day or a charge") -> list[str]:
    """Describe how many rows are not drawn, if any."""
    if not left_out:
        return []
    rows = "row" if left_out == 1 else "rows"
    return [f"{left_out} {rows} without {lacking} not drawn"]


def _add_legend(canvas: Canvas, stack: DailyStack, by: str) -> None:
    from matplotlib.patches import Patch

    sums = [int(row.sum()) for row in stack.micro_usd]
    decimals = decimals_of(sums)
    colours = canvas.palette.series(len(sums))
    handles = [
        Patch(
            color=colour,
            label=f"{with_decimals(amount, decimals)}  {canvas.name(name)}",
        )
        for name, amount, colour in zip(stack.names, sums, colours, strict=True)
    ]
    title = f"{format_usd(stack.total_micro_usd)} by {by}"
    canvas.legend(title, handles[::-1])  # from the top down, as they are stacked
