"""Cost per keeper: the total charge divided by the number of results kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mediakit.money import format_usd
from mediakit.plots.bars import Bar, draw_bars
from mediakit.plots.days import notes_of
from mediakit.plots.dollars import cents, divided
from mediakit.plots.names import CHARGE, WHOLE, check, column_of, summed
from mediakit.plots.style import MOST_NAMES, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes

COST = "cost_micro_usd_per_keeper"
_KEEP, _RATING = "keep", "rating"
_JOBS, _KEPT, _UNRATED = "jobs", "kept", "unrated"
_NOT_SET = "not set"
_PATHS = ("function", "model")


def cost_per_keeper(
    charges: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Draw the cost per kept result: all charges divided by the results kept.

    Args:
        charges: As `client.spend.charges(...)` returns it: charge_micro_usd, keep and
            `by`.
        by: The column: function, prompt, or any parameter. The eight with the highest
            spend have a bar, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes: the cheapest first; values without a keeper are last and have no
        bar. Its `frame` is what `cost_per_keeper_frame` returns.

    Raises:
        InputError: The frame has no charges, no keep or no such column.
    """
    drawn = cost_per_keeper_frame(charges, by=by)
    canvas = canvas_on(ax, theme)
    canvas.title(drawn.attrs["title"])
    if drawn.empty:
        canvas.show_message(drawn.attrs["alt_text"].removesuffix("."))
        return canvas.with_frame(drawn)
    keep: Literal["begin", "end"] = "end" if by in _PATHS else "begin"
    bars = [
        Bar(
            canvas.name(row[by], keep=keep),
            row[COST] or 0,
            _label(row, compact=canvas.compact),
            canvas.palette.accent,
        )
        for row in _rows(drawn)
    ]
    draw_bars(canvas, bars)
    notes = [*_unrated(drawn), *notes_of(drawn.attrs["left_out"], "a charge")]
    canvas.label_x("USD per kept result", notes)
    return canvas.with_frame(drawn)


def cost_per_keeper_frame(
    charges: pd.DataFrame, *, by: str = "function"
) -> pd.DataFrame:
    """Return the data that `cost_per_keeper` draws.

    Args:
        charges: As for `cost_per_keeper`.
        by: As for `cost_per_keeper`.

    Returns:
        One row per bar, from the top: `by` (str), charge_micro_usd, jobs, kept,
        unrated (int64; neither rated, kept nor discarded) and
        cost_micro_usd_per_keeper (Int64, rounded once; <NA> without a keeper).
        `attrs` has title, alt_text and left_out, the count of rows without a charge.

    Raises:
        InputError: The frame has no charges, no keep or no such column.
    """
    import pandas as pd

    column = column_of(charges, by)
    needed: dict[str, str | None] = {CHARGE: WHOLE, _KEEP: None}
    if len(getattr(charges, "index", "?")):  # an empty frame has no parameters
        needed[column] = None
    check(charges, needed, "a frame of charges")
    known = charges[charges[CHARGE].notna()]
    counted = pd.DataFrame(
        {
            column: known.get(column, pd.Series(dtype="str")),
            CHARGE: known[CHARGE].astype("int64"),
            _JOBS: 1,
            _KEPT: known[_KEEP].eq(True).fillna(False).astype("int64"),  # noqa: FBT003
            _UNRATED: _is_unrated(known).astype("int64"),
        }
        | ({"kind": known["kind"]} if "kind" in known and column != "kind" else {})
    )
    sums = [CHARGE, _JOBS, _KEPT, _UNRATED]
    drawn = summed(counted, column, sums, most=MOST_NAMES, missing=_NOT_SET)
    drawn[COST] = pd.array(
        [
            divided(charge, kept) if kept else None
            for charge, kept in zip(drawn[CHARGE], drawn[_KEPT], strict=True)
        ],
        dtype="Int64",
    )
    drawn = drawn.sort_values(COST, na_position="last", kind="stable")
    drawn = drawn.reset_index(drop=True).rename(columns={column: by})
    drawn.attrs = _description(drawn, by) | {"left_out": len(charges) - len(known)}
    return drawn


def _is_unrated(charges: pd.DataFrame) -> pd.Series:
    unrated = charges[_KEEP].isna()
    return unrated & charges[_RATING].isna() if _RATING in charges else unrated


def _rows(drawn: pd.DataFrame) -> list[dict[Hashable, Any]]:
    return drawn.astype("object").where(drawn.notna(), None).to_dict("records")


def _description(drawn: pd.DataFrame, by: str) -> dict[Hashable, Any]:
    title = f"Cost per kept result, by {by}"
    if drawn.empty:
        return {"title": title, "alt_text": "No charges."}
    parts = "; ".join(f"{row[by]} {_label(row)}" for row in _rows(drawn))
    notes = " ".join(f"{note}." for note in _unrated(drawn))
    return {"title": title, "alt_text": f"{title}. {parts}. {notes}".strip()}


def _label(row: dict[Hashable, Any], *, compact: bool = False) -> str:
    if row[COST] is None:
        words = "" if compact else " kept"
        return f"none of {row[_JOBS]:,}{words}, {format_usd(row[CHARGE])}"
    kept = f"{cents(row[COST])}  {row[_KEPT]:,} of {row[_JOBS]:,}"
    return kept if compact else f"{kept} kept"


def _unrated(drawn: pd.DataFrame) -> list[str]:
    unrated, jobs = int(drawn[_UNRATED].sum()), int(drawn[_JOBS].sum())
    if not unrated:
        return []
    return [f"{unrated:,} of {jobs:,} jobs not rated"]
