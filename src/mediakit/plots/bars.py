"""Horizontal bars: shares of spend, changes, and the cost per kept result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mediakit.money import MICRO_PER_USD, divide_half_up, format_cents
from mediakit.plots.style import (
    CHARGE,
    KIND,
    MOST_NAMES,
    Canvas,
    Theme,
    canvas_on,
    check,
    drawn_charges,
    largest,
    listed,
    names_of,
    notes_of,
    percent,
    signed,
)
from mediakit.spend.dates import month_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

THICKNESS = 0.72
BEFORE, AFTER = "before_micro_usd", "after_micro_usd"
DIFFERENCE = "difference_micro_usd"
COST = "cost_micro_usd_per_keeper"
KEEP, RATING = "keep", "rating"
NOT_SET = "not set"
PATHS = ("function", "model")


def share(
    frame: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw each function's share of the total, the largest first (spec 4.19).

    Args:
        frame: Any spend frame: charge_micro_usd and `by`.
        by: The column; the eight largest values have a bar, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: one bar per value, with its sum and its share of the total. Its
        `frame` has one row per bar, from the top: `by` (str) and charge_micro_usd
        (int64, exact).

    Raises:
        InputError: The frame has no charges or no such column.
    """
    check(frame, [CHARGE, by], "a spend frame")
    rows = frame[frame[CHARGE].notna()]
    sums = rows[[CHARGE]].astype("int64").groupby(names_of(rows, by)).sum()
    drawn = _named(largest(sums, sums[CHARGE]), by)
    canvas = canvas_on(ax, theme)
    charges = drawn[CHARGE].tolist()
    title, total = f"Spend by {by}", sum(charges)
    if not any(charges):
        return canvas.empty(drawn, title, "No spend")
    parts = [""] * len(drawn)
    if min(charges) >= 0:  # if there are credits, shares are meaningless
        parts = [f"  {percent(charge, total)}" for charge in charges]
    texts = [f"{format_cents(c)}{part}" for c, part in zip(charges, parts, strict=True)]
    names = drawn[by].tolist()
    _draw(canvas, names, charges, texts, canvas.palette.of(names))
    canvas.dollars_across("USD", notes_of(len(frame) - len(rows), "a charge"))
    title = f"{title}: {format_cents(total)}"
    return canvas.finish(drawn, title, f"{title}. {listed(names, texts)}.")


def changes(
    monthly_before: pd.DataFrame,
    monthly_after: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw the changes since last month, the largest increase first (spec 4.19).

    Args:
        monthly_before: As `client.spend.monthly(...)` returns it: charge_micro_usd and
            `by`.
        monthly_after: The same for the later month.
        by: The column; the eight values that changed most have a bar, and the rest
            are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: one bar per value, with its difference. Its `frame` has one row per
        bar, from the top: `by` (str), before_micro_usd, after_micro_usd and
        difference_micro_usd (int64, exact).

    Raises:
        InputError: A frame has no charges or no such column.
    """
    frames = {"monthly_before": monthly_before, "monthly_after": monthly_after}
    for field, frame in frames.items():
        check(frame, [CHARGE, by], "a monthly spend frame", field=field)
    sums = _both(monthly_before, monthly_after, by)
    apart = sums[sums[DIFFERENCE] != 0]
    drawn = largest(apart, apart[DIFFERENCE].abs())
    own = drawn.iloc[:MOST_NAMES].sort_values(
        DIFFERENCE, ascending=False, kind="stable"
    )
    drawn = _named(drawn.loc[[*own.index, *drawn.index[MOST_NAMES:]]], by)
    canvas = canvas_on(ax, theme)
    title = "Against the month before"
    months = [next(iter(frame.get("month", ())), None) for frame in frames.values()]
    if None not in months:
        before, after = (month_name(str(month)) for month in months)
        title = f"{after} against {before}"
    if drawn.empty:
        return canvas.empty(drawn, title, "Nothing changed")
    names, differences = drawn[by].tolist(), drawn[DIFFERENCE].tolist()
    sides = zip(differences, drawn[BEFORE], drawn[AFTER], strict=True)
    texts = [f"{signed(apart)}{_relation(*both)}" for apart, *both in sides]
    palette = canvas.palette
    colours = [palette.up if apart > 0 else palette.down for apart in differences]
    _draw(canvas, names, differences, texts, colours)
    same = int((sums[DIFFERENCE] == 0).sum())
    left_out = sum(int(frame[CHARGE].isna().sum()) for frame in frames.values())
    notes = [f"{same} unchanged, not drawn"] if same else []
    notes += notes_of(left_out, "a charge")
    canvas.dollars_across("change in USD", notes)
    title = f"{title}: {signed(sum(differences))}"
    return canvas.finish(drawn, title, f"{title}. {listed(names, texts)}.")


def _both(before: pd.DataFrame, after: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sum both months by name."""
    import pandas as pd

    columns = [column] + ([KIND] if column != KIND and KIND in after else [])
    parts = [
        frame.reindex(columns=columns)
        .astype("object")
        .assign(**{name: frame[CHARGE].astype("Int64")})
        for frame, name in ((before, BEFORE), (after, AFTER))
    ]
    both = pd.concat(parts, ignore_index=True)
    both = both[both[BEFORE].notna() | both[AFTER].notna()]
    sums = both[[BEFORE, AFTER]].fillna(0).astype("int64")
    sums = sums.groupby(names_of(both, column)).sum()
    return sums.assign(**{DIFFERENCE: sums[AFTER] - sums[BEFORE]})


def _relation(before: int, after: int) -> str:
    """Format a difference as a percentage of the earlier amount."""
    if before == 0:
        return "  new"
    if after == 0:
        return "  stopped"
    if before < 0 or after < 0:
        return ""
    sign = "+" if after > before else "-"
    return f"  {sign}{percent(abs(after - before), before)}"


def cost_per_keeper(
    charges: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw the cost per kept result: all charges divided by the results kept.

    Args:
        charges: As `client.spend.charges(...)` returns it: charge_micro_usd, keep and
            `by`.
        by: The column: function, prompt, or any parameter. The eight with the highest
            spend have a bar, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: the cheapest first; values without a keeper are last and have no
        bar. Its `frame` has one row per bar, from the top: `by` (str),
        charge_micro_usd, jobs, kept and unrated (int64; neither rated, kept nor
        discarded) and cost_micro_usd_per_keeper (Int64, rounded once; <NA> without a
        keeper).

    Raises:
        InputError: The frame has no charges, no keep or no such column.
    """
    import pandas as pd

    charges, free = drawn_charges(charges, [CHARGE, KEEP], by)
    rows = charges[charges[CHARGE].notna()]
    names = names_of(rows, by, NOT_SET)
    is_rated = rows[KEEP].notna()
    if RATING in rows:
        is_rated |= rows[RATING].notna()
    counted = {
        CHARGE: rows[CHARGE].astype("int64"),
        "jobs": 1,
        "kept": rows[KEEP].astype("Int64").fillna(0).astype("int64"),
        "unrated": (~is_rated).astype("int64"),
    }
    sums = pd.DataFrame(counted, rows.index).groupby(names).sum().astype("int64")
    drawn = largest(sums, sums[CHARGE])
    costs = [
        divide_half_up(charge, keepers) if keepers else None
        for charge, keepers in zip(drawn[CHARGE].tolist(), drawn["kept"], strict=True)
    ]
    drawn = drawn.assign(**{COST: pd.array(costs, dtype="Int64")})
    drawn = drawn.sort_values(COST, na_position="last", kind="stable")
    drawn = _named(drawn, by)
    canvas = canvas_on(ax, theme)
    title = f"Cost per kept result, by {by}"
    if drawn.empty:
        return canvas.empty(drawn, title, "No charges")
    texts = [_kept_text(*row) for row in drawn.drop(columns=by).itertuples(index=False)]
    keep: Literal["begin", "end"] = "end" if by in PATHS else "begin"
    bars = drawn[COST].fillna(0).tolist()
    colours = [canvas.palette.accent] * len(drawn)
    labels = [text.removesuffix(" kept") for text in texts] if canvas.compact else texts
    _draw(canvas, drawn[by].tolist(), bars, labels, colours, keep)
    unrated, jobs = int(drawn["unrated"].sum()), int(drawn["jobs"].sum())
    notes = [f"{unrated:,} of {jobs:,} jobs not rated"] if unrated else []
    all_notes = [*notes, *free, *notes_of(len(charges) - len(rows), "a charge")]
    canvas.dollars_across("USD per kept result", all_notes)
    text = f"{title}. {listed(drawn[by].tolist(), texts)}."
    return canvas.finish(drawn, title, " ".join([text, *(f"{n}." for n in notes)]))


def _kept_text(charge: int, jobs: int, keepers: int, _: int, cost: Any) -> str:
    if not keepers:
        return f"{format_cents(charge)}, none of {jobs:,} kept"
    return f"{format_cents(cost)}  {keepers:,} of {jobs:,} kept"


def _named(sums: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return sums with their index as the column `by`."""
    return sums.set_axis(sums.index.astype("str")).rename_axis(by).reset_index()


def _draw(
    canvas: Canvas,
    names: Sequence[str],
    micro_usd: Sequence[int],
    texts: Sequence[str],
    colours: Sequence[str],
    keep: Literal["begin", "end"] = "end",
) -> None:
    """Draw bars from the top down, each with its name and text."""
    canvas.axes.barh(
        range(len(names)),
        [amount / MICRO_PER_USD for amount in micro_usd],
        height=THICKNESS,
        color=list(colours),
        linewidth=0,
    )
    canvas.name_rows(canvas.names(names, keep=keep), texts)
