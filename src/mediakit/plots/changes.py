"""Changes: where a month spent more and less than the month before."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from mediakit.plots.bars import Bar, draw_bars
from mediakit.plots.days import notes_of
from mediakit.plots.dollars import percent, signed
from mediakit.plots.names import CHARGE, WHOLE, check, column_of, others, summed
from mediakit.plots.style import MOST_NAMES, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes

_BEFORE, _AFTER = "before_micro_usd", "after_micro_usd"
_DIFFERENCE = "difference_micro_usd"
_MONTH = "month"


def changes(
    monthly_before: pd.DataFrame,
    monthly_after: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Draw what changed since last month, from more to less (spec 4.19).

    Args:
        monthly_before: As `client.spend.monthly(...)` returns it: charge_micro_usd and
            `by`.
        monthly_after: The same for the later month.
        by: The column; the eight values that changed most have a bar, and the rest
            are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes: a bar each, with its exact difference. Its `frame` is what
        `changes_frame` returns.

    Raises:
        InputError: A frame has no charges or no such column.
    """
    drawn = changes_frame(monthly_before, monthly_after, by=by)
    canvas = canvas_on(ax, theme)
    canvas.title(drawn.attrs["title"])
    if drawn.empty:
        canvas.show_message(drawn.attrs["alt_text"].removesuffix("."))
        return canvas.with_frame(drawn)
    palette = canvas.palette
    bars = [
        Bar(
            canvas.name(name),
            difference,
            f"{signed(difference)}{_relation(before, after)}",
            palette.up if difference > 0 else palette.down,
        )
        for name, before, after, difference in _rows(drawn)
    ]
    draw_bars(canvas, bars)
    notes = [
        *_unchanged(drawn.attrs["unchanged"]),
        *notes_of(drawn.attrs["left_out"], "a charge"),
    ]
    canvas.label_x("USD less or more", notes)
    return canvas.with_frame(drawn)


def changes_frame(
    monthly_before: pd.DataFrame, monthly_after: pd.DataFrame, *, by: str = "function"
) -> pd.DataFrame:
    """Return the data that `changes` draws.

    Args:
        monthly_before: As for `changes`.
        monthly_after: As for `changes`.
        by: As for `changes`.

    Returns:
        One row per bar, from the top: `by` (str), before_micro_usd, after_micro_usd
        and difference_micro_usd (int64). `attrs` has title, alt_text, unchanged (the
        count of names that cost the same) and left_out (rows without a charge).

    Raises:
        InputError: A frame has no charges or no such column.
    """
    import pandas as pd

    column = column_of(monthly_after, by)
    frames = {"monthly_before": monthly_before, "monthly_after": monthly_after}
    for field, frame in frames.items():
        needed = {CHARGE: WHOLE, column: None}
        check(frame, needed, "a monthly spend frame", field=field)
    both = pd.concat(
        [
            _side(monthly_before, column, _BEFORE),
            _side(monthly_after, column, _AFTER),
        ],
        ignore_index=True,
    )
    drawn = summed(both, column, [_BEFORE, _AFTER], most=len(both) + 1)
    drawn[_DIFFERENCE] = drawn[_AFTER] - drawn[_BEFORE]
    unchanged = int((drawn[_DIFFERENCE] == 0).sum())
    total = int(drawn[_DIFFERENCE].sum())
    drawn = _most_changed(drawn[drawn[_DIFFERENCE] != 0], column)
    drawn = drawn.rename(columns={column: by})
    months = tuple(_month_text(frame) for frame in frames.values())
    left_out = sum(int(frame[CHARGE].isna().sum()) for frame in frames.values())
    drawn.attrs = _description(drawn, months, total) | {
        "unchanged": unchanged,
        "left_out": left_out,
    }
    return drawn


def _side(frame: pd.DataFrame, by: str, name: str) -> pd.DataFrame:
    """Return the charges of one month, with zero for the other month."""
    import pandas as pd

    known = frame[frame[CHARGE].notna()]
    columns: dict[str, Any] = {by: known[by].astype("object")}
    if "kind" in known and by != "kind":
        columns["kind"] = known["kind"].astype("object")
    side = pd.DataFrame(columns | {_BEFORE: 0, _AFTER: 0}, index=known.index)
    side[name] = known[CHARGE].astype("int64")
    return side


def _most_changed(drawn: pd.DataFrame, by: str) -> pd.DataFrame:
    """Group the values that changed least, and sort from more to less."""
    import pandas as pd

    size = drawn[_DIFFERENCE].abs()
    order = drawn.assign(size=size).sort_values(["size", by], ascending=[False, True])
    order = order.drop(columns="size")
    own, rest = order.iloc[:MOST_NAMES], order.iloc[MOST_NAMES:]
    own = own.sort_values(_DIFFERENCE, ascending=False, kind="stable")
    if len(rest):
        sums = rest.drop(columns=by).sum().to_dict()
        gathered = pd.DataFrame([{by: others(len(rest)), **sums}])
        own = pd.concat([own, gathered], ignore_index=True)
    return own.reset_index(drop=True)


def _month_text(frame: pd.DataFrame) -> str | None:
    """Return the month of a frame, such as "October 2026"."""
    months = {str(month) for month in frame.get(_MONTH, ()) if month == month}
    months = months or {str(frame.attrs.get("report", {}).get(_MONTH))}
    try:
        return f"{date.fromisoformat(f'{months.pop()}-01'):%B %Y}" if months else None
    except ValueError:
        return None


def _description(
    drawn: pd.DataFrame, months: tuple[str | None, ...], total: int
) -> dict[Hashable, Any]:
    before, after = months
    when = (
        f"{after} against {before}" if before and after else "Against the month before"
    )
    title = f"{when}: {signed(total)}"
    if drawn.empty:
        return {"title": when, "alt_text": "Nothing changed."}
    parts = (
        f"{name} {signed(difference)}{_relation(before, after)}"
        for name, before, after, difference in _rows(drawn)
    )
    return {"title": title, "alt_text": f"{title}. {'; '.join(parts)}."}


def _rows(drawn: pd.DataFrame) -> list[tuple[str, int, int, int]]:
    return list(drawn.itertuples(index=False, name=None))


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


def _unchanged(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count} without a change not drawn"]
