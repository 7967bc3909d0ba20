"""The figures of a month, and its frames under one selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mediakit.money import MICRO_PER_USD, divide_half_up, format_cents, format_usd
from mediakit.spend.dates import MONTHS
from mediakit.spend.forecasting import WEEK
from mediakit.widgets.dashboard.month import (
    CHARGE,
    By,
    MonthReading,
    first_day,
)

if TYPE_CHECKING:
    import pandas as pd

WHOLE_DOLLARS_FROM = 100 * MICRO_PER_USD
NOT_KNOWN = {By.PROJECT: "no project", By.KEY: "no key"}
UNKNOWN = "–"  # noqa: RUF001 - the dash is intended
TIMES_FROM = 10
"""From this multiple of the earlier days on, a factor replaces the percentage."""


@dataclass(frozen=True)
class Figure:
    """One number at the top."""

    text: str
    label: str
    exact: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether the bill agrees with the history."""

    text: str
    mark: str
    tone: str


def range_text(low_micro_usd: int, high_micro_usd: int) -> str:
    if high_micro_usd < WHOLE_DOLLARS_FROM:
        ends = [format_cents(low_micro_usd), format_cents(high_micro_usd)]
    else:
        rounded = (max(end, 0) for end in (low_micro_usd, high_micro_usd))
        ends = [f"${divide_half_up(end, MICRO_PER_USD):,}" for end in rounded]
    return "–".join(dict.fromkeys(ends))  # noqa: RUF001


def function_title(path: object, kind: object) -> str:
    """Return a function's display name, such as "Text to video"."""
    name = kind if isinstance(kind, str) else str(path).rsplit("/", 1)[-1]
    words = name.replace("-", " ")
    return words[:1].upper() + words[1:]


def names_of(frame: pd.DataFrame, by: By) -> pd.Series[Any] | None:
    """Return the display name of each row; None if the frame lacks it."""
    import pandas as pd

    if by.column not in frame:
        return None
    if by is By.FUNCTION:
        kinds = frame["kind"] if "kind" in frame else [None] * len(frame)
        pairs = zip(frame["function"], kinds, strict=True)
        titles = [function_title(path, kind) for path, kind in pairs]
        return pd.Series(titles, index=frame.index, dtype="object")
    names = frame[by.column].astype("object")
    return names.where(names.notna(), NOT_KNOWN[by])


def named(frame: pd.DataFrame) -> pd.DataFrame:
    by_column = {by.column: names_of(frame, by) for by in By}
    rows = frame.drop(columns="kind", errors="ignore")
    rows = rows.assign(
        **{n: names for n, names in by_column.items() if names is not None}
    )
    rows.attrs = dict(frame.attrs)
    return rows


def values_of(reading: MonthReading) -> tuple[str, ...]:
    names = names_of(reading.daily, reading.by)
    if names is None:
        return ()
    sums = reading.daily[CHARGE].groupby(names).sum()
    order = sorted(sums.items(), key=lambda item: (-int(item[1]), str(item[0])))
    return tuple(str(name) for name, _ in order)


def narrowed(reading: MonthReading, only: str | None) -> MonthReading:
    if only is None:
        return reading
    by = reading.by
    return replace(
        reading,
        daily=_rows_of(reading.daily, by, only),
        before=_rows_of(reading.before, by, only),
        charges=_rows_of(reading.charges, by, only),
        monthly=_rows_of(reading.monthly, by, only),
        budget=None,  # this and the forecast cover the whole month
        forecast=None,
    )


def _rows_of(frame: pd.DataFrame, by: By, value: str) -> pd.DataFrame:
    names = names_of(frame, by)
    if names is None:
        return frame
    rows = frame[names == value].reset_index(drop=True)
    # The plots draw all days of the range only if the total is that of the rows.
    rows.attrs = {**frame.attrs, "total_micro_usd": int(rows[CHARGE].sum())}
    return rows


def figures_of(reading: MonthReading, only: str | None) -> tuple[Figure, ...]:
    rows = narrowed(reading, only)
    return tuple(_figures(rows, reading, only))


def _figures(
    shown: MonthReading, whole: MonthReading, only: str | None
) -> Iterator[Figure]:
    name = MONTHS[first_day(whole.month).month - 1]
    charged = whole.charged_micro_usd
    label = f"charged in {name}"
    if only is not None:
        charged = int(shown.daily[CHARGE].sum())
        label = f"charged, of {format_cents(whole.charged_micro_usd)}"
    elif whole.budget is not None and not whole.budget.counts_by_name:
        label += f", of {format_cents(whole.budget.limit_micro_usd)}"
    if whole.is_current:
        today = int(shown.daily.loc[_is_on(shown), CHARGE].sum())
        yield Figure(format_cents(today), "charged today (UTC)", format_usd(today))
    yield Figure(format_cents(charged), label, format_usd(charged))
    if only is None and whole.is_current and whole.forecast is not None:
        yield forecast_figure(whole.forecast)
    jobs = int(shown.daily["jobs"].sum())
    free = "" if only else free_text(shown.charges)
    what = f"{'job' if jobs == 1 else 'jobs'} charged in {name}"
    yield Figure(f"{jobs:,}", what, free)
    if only is None or whole.by is not By.KEY:
        yield _kept_figure(shown.charges)
    yield _change_figure(charged if only else _daily_sum(whole), shown)


def _is_on(reading: MonthReading) -> pd.Series[bool]:
    """Return which rows of the daily report are today's."""
    import pandas as pd

    days = pd.to_datetime(reading.daily["day"], utc=True)
    return days.dt.date == reading.today


def free_text(charges: pd.DataFrame) -> str:
    """Return the number of settled jobs without a charge, in words; "" if none."""
    free = int((charges[CHARGE] == 0).sum())
    failed = int(((charges[CHARGE] == 0) & (charges["status"] == "failed")).sum())
    if not free:
        return ""
    return f"{free:,} more at no charge ({failed:,} failed)"


def _daily_sum(reading: MonthReading) -> int:
    return int(reading.daily[CHARGE].sum())


def forecast_figure(forecast: Any) -> Figure:
    low, high, days = (
        forecast.low_micro_usd,
        forecast.high_micro_usd,
        forecast.complete_days,
    )
    if not days:
        return Figure(UNKNOWN, "forecast: available after one full day")
    if days < WEEK:
        words = f"rough forecast from {days} day{'' if days == 1 else 's'}"
        return Figure(format_cents(forecast.expected_micro_usd), words, forecast.text)
    exact = f"{format_usd(low)} to {format_usd(high)}"
    return Figure(range_text(low, high), "forecast, 80% interval", exact)


def _kept_figure(charges: pd.DataFrame) -> Figure:
    label = "per kept result"
    kept = int(charges["keep"].sum())
    if not kept:
        return Figure(UNKNOWN, f"{label} (none kept)")
    charged = max(int(charges[CHARGE].sum()), 0)
    cost = divide_half_up(charged, kept)
    return Figure(format_cents(cost), label, f"{format_usd(charged)} for {kept:,} kept")


def _change_figure(charged: int, shown: MonthReading) -> Figure:
    before = int(shown.before[CHARGE].sum())
    label = f"vs {shown.before_name}"
    exact = f"{format_usd(before)} in {shown.before_name}"
    if before <= 0:
        return Figure(UNKNOWN, f"{label} (nothing charged)", exact)
    if charged >= TIMES_FROM * before:
        return Figure(f"{divide_half_up(charged, before):,}×", label, exact)  # noqa: RUF001
    permille = divide_half_up(abs(charged - before) * 1000, before)
    sign = "±" if not permille else "+" if charged > before else "-"
    text = (
        f"{(permille + 5) // 10:,}"
        if permille >= 10 or not permille
        else f"0.{permille}"
    )
    return Figure(f"{sign}{text}%", label, exact)


def verdict_of(reading: MonthReading) -> Verdict | None:
    """Return whether the bill agrees with the history; None until that is known."""
    reconciliation = reading.reconciliation
    if reconciliation is not None:
        if reconciliation.is_explained:
            return Verdict(str(reconciliation.text), "✓", "good")
        return Verdict(str(reconciliation.text), "!", "warn")
    return None
