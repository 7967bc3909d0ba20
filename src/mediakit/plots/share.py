"""Share: the part of the total for each function, key, model or project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit.money import format_usd
from mediakit.plots.bars import Bar, draw_bars
from mediakit.plots.days import notes_of
from mediakit.plots.dollars import decimals_of, percent, with_decimals
from mediakit.plots.names import (
    CHARGE,
    WHOLE,
    check,
    column_of,
    summed,
)
from mediakit.plots.style import MOST_NAMES, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes


def share(
    frame: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Draw each function's share of the total, the largest first (spec 4.19).

    Args:
        frame: Any spend frame: charge_micro_usd and `by`.
        by: The column; the eight largest values have a bar, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes: a bar each, with its exact sum and its part of the total. Its
        `frame` is what `share_frame` returns.

    Raises:
        InputError: The frame has no charges or no such column.
    """
    drawn = share_frame(frame, by=by)
    canvas = canvas_on(ax, theme)
    canvas.title(drawn.attrs["title"])
    charges = drawn[CHARGE].tolist()
    if not any(charges):
        canvas.show_message(drawn.attrs["alt_text"].removesuffix("."))
        return canvas.with_frame(drawn)
    decimals = decimals_of(charges)
    rows = zip(drawn[by], charges, canvas.palette.series(len(drawn)), strict=True)
    bars = [
        Bar(
            canvas.name(name),
            charge,
            f"{with_decimals(charge, decimals)}{_part(charge, charges)}",
            colour,
        )
        for name, charge, colour in rows
    ]
    draw_bars(canvas, bars)
    canvas.label_x("USD", notes_of(drawn.attrs["left_out"], "a charge"))
    return canvas.with_frame(drawn)


def share_frame(frame: pd.DataFrame, *, by: str = "function") -> pd.DataFrame:
    """Return the data that `share` draws.

    Args:
        frame: As for `share`.
        by: As for `share`.

    Returns:
        One row per bar, from the top: `by` (str) and charge_micro_usd (int64).
        `attrs` has title, alt_text and left_out, the count of rows without a charge.

    Raises:
        InputError: The frame has no charges or no such column.
    """
    column = column_of(frame, by)
    needed = {CHARGE: WHOLE, column: None}
    check(frame, needed, "a spend frame")
    known = frame[frame[CHARGE].notna()]
    drawn = summed(known, column, [CHARGE], most=MOST_NAMES)
    drawn = drawn.rename(columns={column: by})
    left_out = len(frame) - len(known)
    drawn.attrs = _description(drawn, by) | {"left_out": left_out}
    return drawn


def _description(drawn: pd.DataFrame, by: str) -> dict[Hashable, Any]:
    charges = drawn[CHARGE].tolist()
    total = sum(charges)
    title = f"Spend by {by}: {format_usd(total)}"
    if not any(charges):
        return {"title": f"Spend by {by}", "alt_text": "No spend."}
    parts = (
        f"{name} {format_usd(charge)}{_part(charge, charges)}"
        for name, charge in zip(drawn[by], charges, strict=True)
    )
    return {"title": title, "alt_text": f"{title}. {'; '.join(parts)}."}


def _part(charge: int, charges: list[int]) -> str:
    """Format the share of the total; empty if there are credits."""
    if min(charges) < 0:
        return ""
    return f"  {percent(charge, sum(charges))}"
