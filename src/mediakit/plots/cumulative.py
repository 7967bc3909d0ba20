"""Cumulative: a month's cumulative spend, with a budget and a forecast."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from mediakit.errors import InputError, shown
from mediakit.money import MICRO_PER_USD, format_usd, parse_usd
from mediakit.plots.days import day_text, format_days, notes_of, nothing_spent
from mediakit.plots.dollars import cents, format_y
from mediakit.plots.month import (
    AHEAD,
    EXPECTED,
    HIGH,
    LOW,
    SPENT,
    HasFrame,
    days_drawn,
    forecast_days,
    known_days,
    month_or_days,
    spent_so_far,
)
from mediakit.plots.names import DAY
from mediakit.plots.stack import DailyStack, daily_stack, date_of, day_numbers, instants
from mediakit.plots.style import Canvas, Theme, canvas_on

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

_BUDGET = "budget_micro_usd"
_LEFT = "left_micro_usd"  # a column of the burn-down of a budget


class HasLimit(Protocol):
    """Any budget, such as `mediakit.Budget`."""

    @property
    def limit_micro_usd(self) -> int:
        """Return the limit."""


def cumulative(
    frame: pd.DataFrame,
    budget: HasLimit | str | int | Decimal | None = None,
    forecast: HasFrame | None = None,
    *,
    ax: Axes | None = None,
    theme: Theme = "light",
) -> Axes:
    """Draw a month's cumulative spend, with budget and forecast (spec 4.19).

    Args:
        frame: The month's days, as `client.spend.daily(...)` returns them; for a
            `Budget`, what counts against it: `client.spend.budget(...).frame()`.
        budget: A `Budget`, or an amount such as "$200"; drawn as a line.
        forecast: As `client.spend.forecast(...)` returns it, of the same budget; drawn
            as a fan from today to the end of the month.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark": the colours of text and grid. The background is
            transparent.

    Returns:
        The Axes: x in days, y in USD. A day's sum is drawn at the day's end. Its
        `frame` is what `cumulative_frame` returns.

    Raises:
        InputError: The frame is not daily spend, the budget is not an amount, the
            forecast covers other days, or the spend of all keys would be compared
            with a `Budget`.
    """
    drawn = cumulative_frame(frame, budget, forecast)
    canvas = canvas_on(ax, theme)
    canvas.title(drawn.attrs["title"])
    if not _has_lines(drawn):
        canvas.show_message(drawn.attrs["alt_text"].removesuffix("."))
        return canvas.with_frame(drawn)
    _draw_ahead(canvas, drawn)
    _draw_spent(canvas, drawn)
    _draw_budget(canvas, drawn)
    days = [date_of(number) for number in day_numbers(drawn[DAY]).tolist()]
    format_days(canvas, days, margin=0.0, notes=notes_of(drawn.attrs["left_out"]))
    format_y(canvas, "USD, cumulative")
    if drawn[[EXPECTED, _BUDGET]].notna().to_numpy().any():
        canvas.legend()  # the title already states the spend
    return canvas.with_frame(drawn)


def cumulative_frame(
    frame: pd.DataFrame,
    budget: HasLimit | str | int | Decimal | None = None,
    forecast: HasFrame | None = None,
) -> pd.DataFrame:
    """Return the data that `cumulative` draws.

    Args:
        frame: As for `cumulative`.
        budget: As for `cumulative`.
        forecast: As for `cumulative`.

    Returns:
        One row per day of the month: day (datetime64, UTC), spent_micro_usd (Int64,
        the sum up to that day's end; <NA> after today), expected_micro_usd,
        low_micro_usd, high_micro_usd (Int64, the same for the forecast; <NA> before
        today) and budget_micro_usd (Int64). `attrs` has title, alt_text and left_out,
        the count of rows without a day or a charge.

    Raises:
        InputError: The frame is not daily spend, the budget is not an amount, the
            forecast covers other days, or the spend of all keys would be compared
            with a `Budget`.
    """
    import pandas as pd

    limit = _limit_of(budget)
    _refuse_mixed(frame, budget, forecast)
    stack = daily_stack(frame, None, most_names=1)
    ahead = None if forecast is None else forecast_days(forecast)
    span = days_drawn(stack, ahead)
    unknown = pd.array([pd.NA] * len(span), dtype="Int64")
    spent = pd.array(spent_so_far(stack, span), dtype="Int64")
    spent[known_days(frame, stack, span, ahead) :] = pd.NA
    columns: dict[str, Any] = {DAY: instants(date_of(span.start), len(span))}
    columns[SPENT] = spent
    for name in AHEAD:
        columns[name] = unknown if ahead is None else ahead[name].astype("Int64").array
    columns[_BUDGET] = unknown if limit is None else unknown.fillna(limit)
    drawn = pd.DataFrame(columns)
    drawn.attrs = _description(drawn, stack) | {"left_out": stack.left_out}
    return drawn


def _limit_of(budget: HasLimit | str | int | Decimal | None) -> int | None:
    if budget is None or isinstance(budget, str | int | Decimal):
        return None if budget is None else parse_usd(budget)
    if not hasattr(budget, "limit_micro_usd"):
        accepted = 'a Budget, or an amount such as "$200"'
        raise InputError("budget", got=budget, accepted=accepted)
    return budget.limit_micro_usd


def _refuse_mixed(frame: pd.DataFrame, budget: object, forecast: object) -> None:
    """Refuse to compare a budget that counts its own requests with other spend."""
    named = _name_of(budget)
    if named is not None and _LEFT not in frame:
        raise InputError(
            "frame",
            got="the spend of all keys",
            accepted=f"what counts against the budget {shown(named)}, as "
            "client.spend.budget(...).frame() gives it; or give an amount such as "
            '"$200" as the budget',
        )
    of_forecast = _name_of(getattr(forecast, "budget", None))
    is_other = forecast is not None and of_forecast != named
    if is_other and (named is not None or _LEFT not in frame):
        raise InputError(
            "forecast",
            got="a forecast of other spend than that of the frame",
            accepted="the forecast of the same budget: "
            "client.spend.forecast(budget=...) for a Budget and the frame of "
            "client.spend.budget(...); without a Budget for client.spend.daily(...)",
        )


def _name_of(budget: object) -> str | None:
    """Return the name of a budget that counts only its own requests; else None."""
    is_named = getattr(budget, "counts_by_name", False)
    return getattr(budget, "name", None) if is_named else None


def _description(drawn: pd.DataFrame, stack: DailyStack) -> dict[Hashable, Any]:
    if not _has_lines(drawn):
        return {"title": "Spend, cumulative", "alt_text": f"{nothing_spent(stack)}."}
    days = day_numbers(drawn[DAY]).tolist()
    spent, budget = _last(drawn, SPENT) or 0, _last(drawn, _BUDGET)
    of = "" if budget is None else f" of {format_usd(budget)}"
    title = (
        f"{month_or_days(range(days[0], days[-1] + 1))}: {format_usd(spent)}{of} spent"
    )
    text = f"{title}."
    if (expected := _last(drawn, EXPECTED)) is not None:
        text += f" {cents(expected)} expected by {day_text(date_of(days[-1]))}"
        text += f", {_range_text(drawn)}."
    return {"title": title, "alt_text": text}


def _has_lines(drawn: pd.DataFrame) -> bool:
    others = drawn[[EXPECTED, _BUDGET]].notna().to_numpy().any()
    return bool(len(drawn)) and bool(others or (drawn[SPENT].fillna(0) != 0).any())


def _last(drawn: pd.DataFrame, column: str) -> int | None:
    """Return the last known value of a column."""
    known = drawn[column].dropna()
    return int(known.iloc[-1]) if len(known) else None


def _range_text(drawn: pd.DataFrame) -> str:
    low, high = (cents(_last(drawn, name) or 0) for name in (LOW, HIGH))
    return f"80 %: {low} to {high}"


def _ends(drawn: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the end of each day, in days since 1970."""
    return day_numbers(drawn[DAY]).astype("float64") + 1.0


def _draw_spent(canvas: Canvas, drawn: pd.DataFrame) -> None:
    import numpy as np

    known = drawn[drawn[SPENT].notna()]
    if known.empty:
        return
    ends = _ends(known)
    usd = known[SPENT].to_numpy("int64") / MICRO_PER_USD
    x, y = np.append(ends[0] - 1, ends), np.append(0, usd)
    colour = canvas.palette.accent
    canvas.axes.fill_between(x, 0, y, color=colour, alpha=0.12, linewidth=0)
    label = f"spent {format_usd(_last(drawn, SPENT))}"
    canvas.axes.plot(x, y, color=colour, linewidth=2, label=label)


def _draw_ahead(canvas: Canvas, drawn: pd.DataFrame) -> None:
    import numpy as np

    known = drawn[drawn[[*AHEAD]].notna().all(axis=1)]
    if known.empty:
        return
    ends = _ends(known)
    values = known[[*AHEAD]].to_numpy("int64")
    # The fan starts where the spend ends, even if that day has no forecast.
    so_far = drawn[drawn[SPENT].notna()]
    if so_far.empty:
        start, spent = _ends(drawn)[0] - 1, 0
    else:
        start, spent = _ends(so_far)[-1], int(so_far[SPENT].iloc[-1])
    if start < ends[0]:
        ends = np.append(start, ends)
        values = np.vstack([np.full(len(AHEAD), spent), values])
    expected, low, high = values.T / MICRO_PER_USD
    colour = canvas.palette.accent
    canvas.axes.plot(
        ends,
        expected,
        color=colour,
        linewidth=1.5,
        linestyle=(0, (3, 2)),
        label=f"expected {cents(_last(drawn, EXPECTED) or 0)}",
    )
    canvas.axes.fill_between(
        ends,
        low,
        high,
        color=colour,
        alpha=0.25,
        linewidth=0,
        label=_range_text(drawn),
    )


def _draw_budget(canvas: Canvas, drawn: pd.DataFrame) -> None:
    limit = _last(drawn, _BUDGET)
    if limit is None:
        return
    ends = _ends(drawn)
    canvas.axes.plot(
        [ends[0] - 1, ends[-1]],
        [limit / MICRO_PER_USD] * 2,
        color=canvas.palette.up,
        linewidth=1.5,
        linestyle=(0, (6, 3)),
        label=f"budget {format_usd(limit)}",
    )
