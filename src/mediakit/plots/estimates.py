"""Plots the charge of each job against its estimate."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from mediakit.money import MICRO_PER_USD, format_cents, format_usd
from mediakit.plots.style import (
    CHARGE,
    MOST_NAMES,
    Canvas,
    Theme,
    canvas_on,
    drawn_charges,
    listed,
    names_of,
    notes_of,
    other,
    signed,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ESTIMATE_LOW, ESTIMATE_HIGH = "estimate_low_micro_usd", "estimate_high_micro_usd"
VARIANCE = "variance_micro_usd"
MARKERS = "osD^vPX<*"
MANY_JOBS = 500
ROOM = 2.0  # margin beyond the smallest and the largest, as a factor


def estimates(
    charges: pd.DataFrame,
    *,
    by: str = "estimate_kind",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw each job's charge against its estimate; on the diagonal they are equal.

    Args:
        charges: As `client.spend.charges(...)` returns it: charge_micro_usd,
            estimate_low_micro_usd, estimate_high_micro_usd and `by`.
        by: The column for the colour: estimate_kind, function, or any other. The
            eight values with the most jobs have their own, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes, both axes in USD and logarithmic: a point at the upper end of the
        estimate, and a line from its lower end where the two differ. Its `frame` has
        one row per job that has both, in the same order: job_id and estimate_kind
        where they are known, `by` (category, most jobs first),
        estimate_low_micro_usd, estimate_high_micro_usd, charge_micro_usd and
        variance_micro_usd (int64; the charge less the upper end).

    Raises:
        InputError: The frame has no charges, no estimates or no such column.
    """
    import pandas as pd

    money = [ESTIMATE_LOW, ESTIMATE_HIGH, CHARGE]
    charges, free = drawn_charges(charges, money, by)
    rows = charges[charges[money].notna().all(axis=1)].reset_index(drop=True)
    columns: dict[str, Any] = {
        name: rows[name] for name in ("job_id", "estimate_kind") if name in rows
    }
    columns[by] = _gathered(rows, by)
    columns |= {name: rows[name].astype("int64") for name in money}
    drawn = pd.DataFrame(columns)
    drawn[VARIANCE] = drawn[CHARGE] - drawn[ESTIMATE_HIGH]
    canvas = canvas_on(ax, theme)
    notes = [*free, *notes_of(len(charges) - len(rows), "an estimate or a charge")]
    title = "Charge against estimate"
    if drawn.empty:
        return canvas.empty(drawn, title, "No charges with an estimate", *notes)
    names = list(drawn[by].cat.categories)
    parts = [drawn[drawn[by] == name] for name in names]
    texts = [_difference(part) for part in parts]
    _format(canvas, drawn[money])
    looks = zip(canvas.palette.of(names), MARKERS, strict=False)
    for name, part, text, look in zip(names, parts, texts, looks, strict=True):
        label = f"{canvas.name(name)}: {text}"
        _draw(canvas, part, label, *look, many=len(drawn) > MANY_JOBS)
    canvas.label("estimate in USD; lines show ranges", "charge in USD", notes)
    canvas.legend(f"by {by.replace('_', ' ')}")
    title += f": {signed(int(drawn[VARIANCE].sum()))}"
    charged = format_cents(int(drawn[CHARGE].sum()))
    text = f"{title}. {len(drawn):,} jobs were charged {charged}."
    return canvas.finish(drawn, title, f"{text} {listed(names, texts)}.")


def _gathered(rows: pd.DataFrame, column: str) -> pd.Categorical:
    """Return the name of each row; rare names become "other"."""
    import pandas as pd

    if rows.empty:
        return pd.Categorical([], categories=pd.Index([], dtype="str"))
    names = names_of(rows, column, "unknown").str.replace("_", " ")
    counts = (
        names.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    )
    own, rest = list(counts.index[:MOST_NAMES]), counts.index[MOST_NAMES:]
    if len(rest):
        own.append(other(len(rest)))
        names = names.where(names.isin(own), own[-1])
    return pd.Categorical(names, categories=own)


def _difference(part: pd.DataFrame) -> str:
    jobs = f"{len(part):,} {'job' if len(part) == 1 else 'jobs'}"
    if not part[VARIANCE].any():
        return f"{jobs}, as estimated"
    return f"{jobs}, {signed(int(part[VARIANCE].sum()))}"


def _draw(
    canvas: Canvas,
    part: pd.DataFrame,
    label: str,
    colour: str,
    marker: str,
    *,
    many: bool,
) -> None:
    usd = part[[ESTIMATE_LOW, ESTIMATE_HIGH, CHARGE]] / MICRO_PER_USD
    low, high, charge = (usd[name].to_numpy() for name in usd)
    if (ranged := low < high).any():
        lines = charge[ranged], low[ranged], high[ranged]
        canvas.axes.hlines(*lines, color=colour, linewidth=1, alpha=0.5)
    canvas.axes.plot(
        high,
        charge,
        marker,
        color=colour,
        markersize=3 if many else 5,
        markeredgewidth=0,
        alpha=0.55 if many else 0.8,
        label=label,
    )


def _format(canvas: Canvas, money: pd.DataFrame) -> None:
    """Format both axes as logarithmic dollars, including zero if the data does."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes, amounts = canvas.axes, money.to_numpy() / MICRO_PER_USD
    positive = amounts[amounts > 0]
    least, most = (positive.min(), positive.max()) if len(positive) else (1e-6, 1e-6)
    lowest, highest = least / ROOM, most * ROOM
    ticks = _ticks(lowest, highest, 5 if canvas.compact else 10)
    scale: dict[str, Any] = {"value": "log"}
    if (amounts <= 0).any():
        scale = {"value": "symlog", "linthresh": lowest, "linscale": 0.4}
        lowest = min(float(amounts.min()), 0.0) - lowest / 4
        ticks = [0, *ticks]
    axes.set_xscale(**scale)
    axes.set_yscale(**scale)
    ends = (lowest, highest)
    axes.set(xlim=ends, ylim=ends)
    look = {"color": canvas.palette.quiet, "linewidth": 1, "zorder": 1}
    axes.plot(ends, ends, label="charge = estimate", **look)  # type: ignore[arg-type]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(_dollars))
        axis.set_minor_locator(NullLocator())
    canvas.grid("both")


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Choose round dollar amounts in a range, up to a number of them."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        every = (step * 10.0**power for power in powers for step in steps)
        ticks = [tick for tick in every if low <= tick <= high] or ticks
        if len(ticks) <= most:
            return ticks
    return ticks[:: -(-len(ticks) // most)]


def _dollars(usd: float, _: int | None) -> str:
    return format_usd(round(usd * MICRO_PER_USD))
