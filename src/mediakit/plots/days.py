"""Spend by day: stacked by name, and the cumulative spend of a month."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from mediakit.client.budgets import budget_of
from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD, format_cents
from mediakit.plots.style import (
    CHARGE,
    DAY,
    Canvas,
    Theme,
    canvas_on,
    check,
    largest,
    listed,
    names_of,
    notes_of,
)
from mediakit.rules import ValueDescription
from mediakit.safe_text import shown
from mediakit.spend.dates import day_name, days_name, month_name, month_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from mediakit.client.budgets import AnyBudget, Budget
    from mediakit.spend.forecasting import Forecast

MOST_DAYS = 120  # longer ranges are drawn by week
MOST_BARS_WITH_GAPS = 62
FEWEST_DAYS_WIDE = 7  # the width of a plot with fewer days, or one bar would fill it
LACKING = "a day or a charge"

SPENT, EXPECTED = "spent_micro_usd", "expected_micro_usd"
LOW, HIGH = "low_micro_usd", "high_micro_usd"
AHEAD = [EXPECTED, LOW, HIGH]
BUDGET = "budget_micro_usd"
LEFT = "left_micro_usd"  # a column of the burn-down of a budget
COMPLETE = "complete"
BY = {"project": "project", "api_key_id": "key"}  # the name in `daily(by=...)`


# -- sums by day -----------------------------------------------------------------------


def sums_by_day(frame: pd.DataFrame, by: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Sum a daily frame exactly, including days without spend.

    Returns a frame and notes on the rows that are left out. The frame has one row per
    day, without a time zone, and one column per name, the largest first and the rest
    last. A whole response covers the requested days; other frames cover the days from
    their first to their last.
    """
    import pandas as pd

    check(frame, [DAY, CHARGE, *([by] if by else [])], "a daily spend frame")
    rows = frame[frame[DAY].notna() & frame[CHARGE].notna()]
    names = pd.Series("", rows.index) if by is None else names_of(rows, by)
    groups = rows[CHARGE].astype("int64").groupby([_days(rows), names])
    sums = groups.sum().unstack(fill_value=0)
    ends = [*sums.index, *_requested_range(frame)]
    if ends:
        sums = sums.reindex(pd.date_range(min(ends), max(ends)), fill_value=0)
    sums = sums.astype("int64")
    if len(sums.columns):
        sums = largest(sums.T, sums.sum()).T
    return sums, notes_of(len(frame) - len(rows), LACKING)


def _days(frame: pd.DataFrame) -> pd.Series:
    """Return the day of each row, without a time zone or conversion."""
    days: pd.Series = frame[DAY].dt.tz_localize(None).dt.floor("D")
    return days


def _requested_range(frame: pd.DataFrame) -> list[pd.Timestamp]:
    """Return the first and last requested day of a whole response."""
    import pandas as pd

    # A selected part of a response keeps its attrs, but the omitted days had spend.
    if frame.attrs.get("total_micro_usd") != int(frame[CHARGE].sum()):
        return []
    report = frame.attrs.get("report", {})
    texts = pd.Series([report.get("start_date"), report.get("end_date")], dtype="str")
    days = pd.to_datetime(texts, errors="coerce", format="%Y-%m-%d")
    return list(days.dropna())


# -- spend by day ----------------------------------------------------------------------


def spend_by_day(
    frame: pd.DataFrame,
    *,
    by: str = "function",
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Stack the settled spend of each UTC day by function (spec 4.19).

    More than 120 days are drawn by week, from Monday to Sunday.

    Args:
        frame: As `client.spend.daily(...)` returns it: day, charge_micro_usd and `by`.
        by: The column whose values are stacked; the eight largest have their own
            colour, and the rest are "other".
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: x in days, y in USD. Its `frame` has one row per name and day, or
        week by its Monday: day (datetime64), `by` (category, the largest first)
        and charge_micro_usd (int64, exact).

    Raises:
        InputError: The frame is not daily spend with such a column.
    """
    import pandas as pd

    sums, notes = sums_by_day(frame, by)
    unit, during = "day", ""
    if len(sums):
        during = f", {days_name(*_ends(sums))}"
    if len(sums) > MOST_DAYS:
        unit = "week"
        weeks = sums.resample("W-MON", label="left", closed="left")
        sums = weeks.sum()
    canvas = canvas_on(ax, theme)
    names = [str(name) for name in sums]
    drawn = pd.DataFrame(
        {
            DAY: pd.DatetimeIndex(sums.index.repeat(len(names))).as_unit("us"),
            by: pd.Categorical(names * len(sums), list(dict.fromkeys(names))),
            CHARGE: sums.to_numpy().ravel(),
        }
    )
    title = f"Spend by {unit}{during}"
    if not sums.to_numpy().any():
        return canvas.empty(drawn, title, _nothing(sums), *notes)
    days_n = 7 if unit == "week" else 1
    _draw_stack(canvas, sums, days_n)
    axes, day = canvas.axes, timedelta(days=1)
    margin = max(FEWEST_DAYS_WIDE - len(sums), 1.2) / 2 * day
    last = sums.index[-1] + (days_n - 1) * day
    axes.set_xlim(sums.index[0] - margin, last + margin)
    in_days(canvas)
    if len(sums) < FEWEST_DAYS_WIDE:
        axes.set_xticks(sums.index)  # not beside the days, where the axis is wider
    canvas.dollars_up(f"USD per {unit}", notes, f"{unit} in UTC")
    amounts = [format_cents(int(total)) for total in sums.sum()]
    total = f"{format_cents(int(sums.to_numpy().sum()))} by {by}"
    canvas.legend(total, _patches(canvas, names, amounts))
    by_day = sums.sum(axis=1)
    on = "in the week of" if unit == "week" else "on"
    most = f"Most {on} {day_name(sums.index[int(by_day.argmax())].date())}: "
    most += format_cents(int(by_day.max()))
    text = f"{title}: {total}. {listed(names, amounts)}. {most}."
    return canvas.finish(drawn, title, text)


def _ends(sums: pd.DataFrame) -> tuple[date, date]:
    return sums.index[0].date(), sums.index[-1].date()


def _nothing(sums: pd.DataFrame) -> str:
    """Return the text for a range without spend."""
    if not len(sums):
        return "No spend"
    first, last = _ends(sums)
    return f"No spend{' on' if first == last else ','} {days_name(first, last)}"


def _patches(canvas: Canvas, names: list[str], amounts: list[str]) -> list[Any]:
    """Return the legend's entries from the top down, in stacking order."""
    from matplotlib.patches import Patch

    colours = canvas.palette.of(names)
    rows = zip(canvas.names(names), amounts, colours, strict=True)
    return [
        Patch(color=colour, label=f"{name}  {amount}") for name, amount, colour in rows
    ][::-1]


def _draw_stack(canvas: Canvas, sums: pd.DataFrame, days_n: int) -> None:
    """Draw each name as one outline, 16 times as fast as a bar for each day."""
    import numpy as np

    has_gaps = len(sums) <= MOST_BARS_WITH_GAPS
    # Draw a day from half a day before its tick to half a day after.
    half_day = np.timedelta64(12 * 60, "m")
    width = days_n * np.timedelta64(24 * 60, "m")
    gap = days_n * np.timedelta64(144, "m")
    begins = sums.index.to_numpy("datetime64[m]") - half_day
    x = np.append(begins, begins[-1] + width)
    if has_gaps:
        x = np.stack([begins + gap, begins + width - gap], axis=1).ravel()

    def outline(micro_usd: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        usd = micro_usd / MICRO_PER_USD
        if has_gaps:
            return np.stack([usd, np.zeros_like(usd)], axis=1).ravel()
        return np.append(usd, usd[-1])

    amounts = sums.to_numpy().T
    colours = canvas.palette.of([str(name) for name in sums])
    # Credits may make a day negative; stack them below zero, not into the rest.
    for part in (np.clip(amounts, 0, None), np.clip(amounts, None, 0)):
        tops = np.cumsum(part, axis=0)
        for layer, top, colour in zip(part, tops, colours, strict=True):
            if layer.any():
                canvas.axes.fill_between(
                    x,
                    outline(top - layer),
                    outline(top),
                    step="post",
                    color=colour,
                    linewidth=0,
                    # Days of a pixel or less would fade into the background.
                    antialiased=has_gaps,
                )


def in_days(canvas: Canvas) -> None:
    """Format the x axis as dates in UTC."""
    from matplotlib.dates import AutoDateLocator, num2date
    from matplotlib.ticker import Formatter

    class Days(Formatter):
        """Formats ticks as "1 Nov", "8", "15", with the year at the end of the axis."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return self.format_ticks([x])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            days = [num2date(value, tz=UTC) for value in values]  # type: ignore[no-untyped-call]
            self.set_offset_string(f"{days[-1]:%Y}" if days else "")
            return day_texts(days)

        def set_offset_string(self, text: str) -> None:
            self.offset = text

        def get_offset(self) -> str:
            return self.offset

    most = 6 if canvas.compact else 12
    locator: Any = AutoDateLocator
    canvas.axes.xaxis.set_major_locator(locator(tz=UTC, minticks=3, maxticks=most))
    canvas.axes.xaxis.set_major_formatter(Days())
    canvas.axes.tick_params(axis="x", pad=6)
    offset = canvas.axes.xaxis.get_offset_text()
    offset.set_color(canvas.palette.quiet)
    offset.set_fontsize(canvas.text_size)


def day_texts(days: Sequence[datetime]) -> list[str]:
    """Return the labels of dates on an axis, without parts that repeat."""
    texts, before = [], None
    are_months = len(days) > 1 and all(
        (day.day, day.hour, day.minute) == (1, 0, 0) for day in days
    )
    for day in days:
        text = "" if are_months else str(day.day)
        if before is None or (day.year, day.month) != (before.year, before.month):
            text = f"{text} {day:%b}".strip()
        if before is not None and day.year != before.year:
            text = f"{text} {day.year}"
        if (day.hour, day.minute) != (0, 0):
            text = f"{day:%H:%M}"
        texts.append(text)
        before = day
    return texts


# -- cumulative spend ------------------------------------------------------------------


def cumulative(
    frame: pd.DataFrame,
    budget: AnyBudget | None = None,
    forecast: Forecast | None = None,
    *,
    ax: Axes | None = None,
    theme: Theme | None = None,
) -> Axes:
    """Draw a month's cumulative spend, with budget and forecast (spec 4.19).

    Args:
        frame: The month's days, as `client.spend.daily(...)` returns them; for a
            `Budget`, the charges against it: `client.spend.budget(...).frame()`.
        budget: A `Budget`, or an amount such as "$200"; drawn as a line.
        forecast: As `client.spend.forecast(...)` returns it, of the same budget; drawn
            as a fan from today to the end of the month.
        ax: Where to draw; a new figure when None.
        theme: "light" or "dark" for a transparent background; None for the colours of
            `plt.style`.

    Returns:
        The Axes: x in days, y in USD. A day's sum is drawn at the day's end. Its
        `frame` has one row per day of the month: day (datetime64),
        spent_micro_usd (Int64, <NA> after today), expected_micro_usd, low_micro_usd
        and high_micro_usd (Int64, <NA> before today; an interval takes a week of
        spend) and budget_micro_usd (Int64).

    Raises:
        InputError: The frame is not daily spend; the budget is not an amount; the
            forecast covers other days, or other spend, such as a project's; or a
            `Budget` is given for the spend of all keys.
    """
    import pandas as pd

    compared = budget_of("plot", budget)
    limit = None if compared is None else compared.limit_micro_usd
    sums, notes = sums_by_day(frame, None)
    _refuse_mixed(frame, compared, forecast)
    ahead = None
    if forecast is not None:
        ahead = forecast.frame()
        ahead = ahead.set_index(_days(ahead))
        if not forecast.has_interval:
            ahead[[LOW, HIGH]] = pd.NA
    drawn = _cumulated(frame, sums.sum(axis=1), ahead, limit)
    canvas = canvas_on(ax, theme)
    has_lines = drawn[[EXPECTED, BUDGET]].notna().to_numpy().any()
    if drawn.empty or not (has_lines or drawn[SPENT].fillna(0).any()):
        return canvas.empty(drawn, "Spend, cumulative", _nothing(sums), *notes)
    spent, of = _last(drawn, SPENT) or 0, f" of {format_cents(limit)}" if limit else ""
    when = _month_or_days(pd.Index(drawn[DAY]))
    title = text = f"{when}: {format_cents(spent)}{of} spent"
    if (expected := _last(drawn, EXPECTED)) is not None:
        end = day_name(drawn[DAY].iloc[-1])
        text += f". {format_cents(expected)} expected by {end}"
        if _last(drawn, HIGH) is not None:
            text += f", {_range_text(drawn)}"
    _draw_lines(canvas, drawn)
    ends = drawn[DAY]
    # Leave out the first tick of the next month.
    last = ends.iloc[-1] + timedelta(hours=23, minutes=59)
    canvas.axes.set_xlim(ends.iloc[0], last)
    in_days(canvas)
    canvas.dollars_up("USD, cumulative", notes, "day in UTC")
    if has_lines:
        canvas.legend()  # the title already states the spend
    return canvas.finish(drawn, title, f"{text}.")


def _refuse_mixed(
    frame: pd.DataFrame, budget: Budget | None, forecast: Forecast | None
) -> None:
    """Reject a budget with its own requests beside spend that includes others."""
    named = _name_of(budget)
    if named is not None and LEFT not in frame:
        raise InputError(
            "frame",
            got=ValueDescription("the spend of all keys"),
            accepted=f"the charges that count against the budget {shown(named)}, as "
            "client.spend.budget(...).frame() gives it; or give an amount such as "
            '"$200" as the budget',
            then="",
        )
    if forecast is None:
        return
    _refuse_others(frame, forecast)
    if _name_of(forecast.budget) == named:
        return
    if named is not None or LEFT not in frame:
        raise InputError(
            "forecast",
            got=ValueDescription("a forecast of different spend"),
            accepted="a forecast of the same spend as the frame: for "
            "client.spend.budget(...).frame(), client.spend.forecast(budget=...) with "
            "that Budget; for client.spend.daily(...), a forecast without a Budget",
            then="",
        )


def _refuse_others(frame: pd.DataFrame, forecast: Forecast) -> None:
    """Reject the forecast of a project or a key over the spend of others."""
    for column in ("project", "api_key_id"):
        name = getattr(forecast, column)
        if name is None or (column in frame and (frame[column] == name).all()):
            continue
        raise InputError(
            "frame",
            got=ValueDescription("spend other than that of the forecast"),
            accepted=f"only rows whose {column} is {shown(name)}, because the forecast "
            f'covers only those: use daily(by="{BY[column]}") and filter by {column}',
            then="",
        )


def _name_of(budget: Budget | None) -> str | None:
    """Return the name of a budget that counts only its own requests, else None."""
    return budget.name if budget is not None and budget.counts_by_name else None


def _cumulated(
    frame: pd.DataFrame,
    by_day: pd.Series[int],
    ahead: pd.DataFrame | None,
    limit: int | None,
) -> pd.DataFrame:
    """Return the frame to draw, for the whole month if possible."""
    import pandas as pd

    days = _days_drawn(by_day, ahead)
    spent = by_day.reindex(days, fill_value=0).cumsum().astype("Int64")
    # A day with a charge is always included, even after "today".
    last = [*by_day.index[by_day != 0][-1:]]
    if ahead is not None:
        last += [*ahead.index[ahead[SPENT].notna()][-1:]]
    elif COMPLETE in frame and len(still := frame[~frame[COMPLETE].astype("bool")]):
        last.append(_days(still).min())
    else:
        last += [*by_day.index[-1:]]
    columns: dict[str, Any] = {DAY: pd.DatetimeIndex(days).as_unit("us")}
    columns[SPENT] = spent.where(days <= max(last, default=pd.NaT)).array
    if ahead is None:
        ahead = pd.DataFrame(index=days, columns=AHEAD)
    columns |= {name: ahead[name].astype("Int64").array for name in AHEAD}
    columns[BUDGET] = pd.array([limit] * len(days), dtype="Int64")
    return pd.DataFrame(columns)


def _days_drawn(by_day: pd.Series[int], ahead: pd.DataFrame | None) -> pd.Index:
    """Return the days to draw; a forecast must cover the days of the spend."""
    import pandas as pd

    own = by_day.index
    if ahead is not None:
        if not own.isin(ahead.index).all():
            accepted = f"a forecast of the days of the frame, {_month_or_days(own)}"
            got = _month_or_days(ahead.index)
            raise InputError("forecast", got=got, accepted=accepted, then="")
        return ahead.index
    if not len(own) or month_of(own[0].date()) != month_of(own[-1].date()):
        return own
    period = own[0].to_period("M")
    return pd.date_range(period.start_time, period.end_time.normalize())


def _month_or_days(days: pd.Index) -> str:
    """Format a whole month as "October 2026", and other days as a range."""
    first, last = days[0].date(), days[-1].date()
    is_whole = first.day == 1 and (last + timedelta(days=1)).day == 1
    if is_whole and month_of(first) == month_of(last):
        return month_name(month_of(first))
    return days_name(first, last)


def _last(drawn: pd.DataFrame, column: str) -> int | None:
    """Return the last known value of a column."""
    values = drawn[column].dropna()
    return int(values.iloc[-1]) if len(values) else None


def _range_text(drawn: pd.DataFrame) -> str:
    low, high = (format_cents(_last(drawn, name) or 0) for name in (LOW, HIGH))
    return f"80%: {low} to {high}"


def _draw_lines(canvas: Canvas, drawn: pd.DataFrame) -> None:
    """Draw the forecast's fan, the spend, and the budget."""
    import numpy as np
    import pandas as pd

    axes, colour = canvas.axes, canvas.palette.accent
    # Sums are drawn at the ends of their days, starting from zero.
    ends = drawn[DAY] + timedelta(days=1)
    usd = drawn[[SPENT, *AHEAD, BUDGET]].astype("Float64") / MICRO_PER_USD
    usd = usd.set_index(ends)
    usd.loc[ends.iloc[0] - timedelta(days=1)] = [0.0, *[pd.NA] * 3, usd[BUDGET].iloc[0]]
    usd = usd.sort_index().astype("float64")
    spent, ahead = usd[SPENT].dropna(), usd[usd[EXPECTED].notna()][AHEAD]
    if len(ahead):
        # The fan starts at the last day of spend, even if that day has no forecast.
        if spent.index[-1] < ahead.index[0]:
            ahead.loc[spent.index[-1]] = np.full(len(AHEAD), spent.iloc[-1])
            ahead = ahead.sort_index()
        expected = format_cents(_last(drawn, EXPECTED) or 0)
        look: dict[str, Any] = {"color": colour, "linewidth": 1.5}
        axes.plot(
            ahead.index,
            ahead[EXPECTED],
            linestyle=(0, (3, 2)),
            label=f"expected {expected}",
            **look,
        )
        if _last(drawn, HIGH) is not None:
            axes.fill_between(
                ahead.index,
                ahead[LOW],
                ahead[HIGH],
                color=colour,
                alpha=0.25,
                linewidth=0,
                label=_range_text(drawn),
            )
    axes.fill_between(spent.index, 0, spent, color=colour, alpha=0.12, linewidth=0)
    label = f"spent {format_cents(_last(drawn, SPENT) or 0)}"
    axes.plot(spent.index, spent, color=colour, linewidth=2, label=label)
    if usd[BUDGET].notna().all():
        axes.plot(
            usd.index[[0, -1]],
            usd[BUDGET].iloc[[0, -1]],
            color=canvas.palette.up,
            linewidth=1.5,
            linestyle=(0, (6, 3)),
            label=f"budget {format_cents(_last(drawn, BUDGET))}",
        )
