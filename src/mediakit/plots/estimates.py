"""Estimates: the charge of each job against its estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.plots.days import notes_of
from mediakit.plots.dollars import format_at, signed
from mediakit.plots.names import (
    CHARGE,
    WHOLE,
    check,
    coded,
    column_of,
    largest_first,
    others,
)
from mediakit.plots.style import MOST_NAMES, Canvas, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes

_LOW, _HIGH = "estimate_low_micro_usd", "estimate_high_micro_usd"
_VARIANCE = "variance_micro_usd"
_FURTHER = ("job_id", "estimate_kind")
_MARKERS = "osD^vPX<*"
_MANY_JOBS = 500
_ROOM = 1.6  # margin beyond the smallest and the largest, as a factor
_MUCH_ROOM = 3.0  # if they are so close that there is no round amount between them
_CLOSE = 4


def estimates(
    charges: pd.DataFrame,
    *,
    by: str = "estimate_kind",
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Draw each job's charge against its estimate; on the diagonal they are equal.

    Args:
        charges: As `client.spend.charges(...)` returns it: charge_micro_usd,
            estimate_low_micro_usd, estimate_high_micro_usd and `by`.
        by: The column for the colour: estimate_kind, function, or any other. The
            eight values with the most jobs have their own, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes, both axes in USD and logarithmic: a point at the upper end of the
        estimate, and a line from its lower end where the two differ. Its `frame` is
        what `estimates_frame` returns.

    Raises:
        InputError: The frame has no charges, no estimates or no such column.
    """
    drawn = estimates_frame(charges, by=by)
    canvas = canvas_on(ax, theme)
    canvas.title(drawn.attrs["title"])
    notes = notes_of(drawn.attrs["left_out"], "an estimate or a charge")
    if drawn.empty:
        canvas.show_message("\n".join(["No charges with an estimate", *notes]))
        return canvas.with_frame(drawn)
    _format(canvas, drawn)
    for part, colour, marker in zip(
        _parts(drawn, by), canvas.palette.series(MOST_NAMES + 1), _MARKERS, strict=False
    ):
        _draw(canvas, *part, colour, marker, many=len(drawn) > _MANY_JOBS)
    canvas.label_x("estimate in USD; a line is its range", notes)
    canvas.label_y("charge in USD")
    canvas.legend(f"by {by.replace('_', ' ')}")
    return canvas.with_frame(drawn)


def estimates_frame(
    charges: pd.DataFrame, *, by: str = "estimate_kind"
) -> pd.DataFrame:
    """Return the data that `estimates` draws.

    Args:
        charges: As for `estimates`.
        by: As for `estimates`.

    Returns:
        One row per job that has both, in the same order: job_id and estimate_kind
        where they are known, `by` (category, most jobs first),
        estimate_low_micro_usd, estimate_high_micro_usd, charge_micro_usd and
        variance_micro_usd (int64; the charge less the upper end). `attrs` has title,
        alt_text and left_out, the count of rows without an estimate or a charge.

    Raises:
        InputError: The frame has no charges, no estimates or no such column.
    """
    import pandas as pd

    column = column_of(charges, by)
    money = (_LOW, _HIGH, CHARGE)
    needed: dict[str, str | None] = dict.fromkeys(money, WHOLE)
    if len(getattr(charges, "index", "?")):  # an empty frame has no parameters
        needed[column] = None
    check(charges, needed, "a frame of charges")
    known = charges[charges[[*money]].notna().all(axis=1)]
    columns: dict[str, Any] = {k: known[k] for k in _FURTHER if k in known and k != by}
    columns[by] = _gathered(known, column)
    columns |= {name: known[name].astype("int64") for name in money}
    drawn = pd.DataFrame(columns).reset_index(drop=True)
    drawn[_VARIANCE] = drawn[CHARGE] - drawn[_HIGH]
    drawn.attrs = _description(drawn, by) | {"left_out": len(charges) - len(known)}
    return drawn


def _gathered(known: pd.DataFrame, column: str) -> pd.Categorical:
    """Name each row; the rarer names become "other"."""
    import numpy as np
    import pandas as pd

    if known.empty:
        return pd.Categorical(pd.array([], dtype="str"))
    codes, names = coded(known, column, "unknown")
    order = largest_first(names, np.bincount(codes, minlength=len(names)).tolist())
    own, rest = order[:MOST_NAMES], order[MOST_NAMES:]
    shown = [names[place].replace("_", " ") for place in own]
    if rest:
        shown.append(others(len(rest)))
    places = np.full(len(names), len(own))
    places[own] = np.arange(len(own))
    return pd.Categorical.from_codes(
        places[codes], categories=pd.Index(shown, dtype="str")
    )


def _description(drawn: pd.DataFrame, by: str) -> dict[Hashable, Any]:
    title = "Charge against estimate"
    if drawn.empty:
        return {"title": title, "alt_text": "No charges with an estimate."}
    title += f": {signed(int(drawn[_VARIANCE].sum()))}"
    parts = "; ".join(f"{name} {_sum_text(rows)}" for name, rows in _parts(drawn, by))
    charged = format_usd(int(drawn[CHARGE].sum()))
    return {
        "title": title,
        "alt_text": f"{title}. {len(drawn):,} jobs were charged {charged}. {parts}.",
    }


def _parts(drawn: pd.DataFrame, by: str) -> list[tuple[str, pd.DataFrame]]:
    names = drawn[by]
    return [(str(name), drawn[names == name]) for name in names.cat.categories]


def _sum_text(rows: pd.DataFrame) -> str:
    jobs = f"{len(rows):,} {'job' if len(rows) == 1 else 'jobs'}"
    difference = int(rows[_VARIANCE].sum())
    if not rows[_VARIANCE].any():
        return f"{jobs}, as estimated"
    return f"{jobs}, {signed(difference)}"


def _draw(
    canvas: Canvas,
    name: str,
    rows: pd.DataFrame,
    colour: str,
    marker: str,
    *,
    many: bool,
) -> None:
    axes = canvas.axes
    low, high, charge = (
        rows[k].to_numpy() / MICRO_PER_USD for k in (_LOW, _HIGH, CHARGE)
    )
    ranged = low < high
    if ranged.any():
        lines = charge[ranged], low[ranged], high[ranged]
        axes.hlines(*lines, color=colour, linewidth=1, alpha=0.5)
    axes.plot(
        high,
        charge,
        marker,
        color=colour,
        markersize=3 if many else 5,
        markeredgewidth=0,
        alpha=0.55 if many else 0.8,
        label=f"{canvas.name(name)}: {_sum_text(rows)}",
    )


def _format(canvas: Canvas, drawn: pd.DataFrame) -> None:
    """Format both axes as logarithmic dollars, with zero if the data has it."""
    axes = canvas.axes
    amounts = drawn[[_LOW, _HIGH, CHARGE]].to_numpy()
    positive = amounts[amounts > 0].tolist() or [1]
    least, most = min(positive), max(positive)
    room = _MUCH_ROOM if most < _CLOSE * least else _ROOM
    ticks = _ticks(least / room, most * room, 5 if canvas.compact else 10)
    lowest = least / room / MICRO_PER_USD
    if (amounts <= 0).any():
        ticks = [0, *ticks]
        near_zero: dict[str, Any] = {"linthresh": lowest * room, "linscale": 0.4}
        axes.set_xscale("symlog", **near_zero)
        axes.set_yscale("symlog", **near_zero)
        lowest = min(int(amounts.min()), 0) / MICRO_PER_USD - 0.2 * lowest * room
    else:
        axes.set(xscale="log", yscale="log")
    limits = (lowest, most * room / MICRO_PER_USD)
    axes.set(xlim=limits, ylim=limits)
    axes.plot(
        limits,
        limits,
        color=canvas.palette.quiet,
        linewidth=1,
        zorder=1,
        label="charge = estimate",
    )
    format_at(canvas, ticks)


def _ticks(low: float, high: float, most_ticks: int) -> list[int]:
    """Choose round tick amounts between two, as many as allowed."""
    powers = [10**power for power in range(len(str(int(low))) - 1, len(str(int(high))))]
    found: list[int] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        every = (step * power for power in powers for step in steps)
        found = [tick for tick in every if low <= tick <= high] or found
        if len(found) <= most_ticks:
            return found
    return found[:: -(-len(found) // most_ticks)]
