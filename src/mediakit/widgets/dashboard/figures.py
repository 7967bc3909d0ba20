"""The figures of a month in words, and its frames narrowed to one choice; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mediakit.money import MICRO_PER_USD, divide_half_up, format_usd
from mediakit.widgets.dashboard.reading import CHARGE, By, MonthReading

if TYPE_CHECKING:
    import pandas as pd

MICRO_PER_CENT = MICRO_PER_USD // 100
WHOLE_DOLLARS_FROM = 100 * MICRO_PER_USD
NO_PROJECT = "no project"
UNKNOWN = "–"  # noqa: RUF001 - a dash is what is shown


@dataclass(frozen=True)
class Figure:
    """One number at the top.

    Args:
        text: The number, short.
        label: What it is.
        exact: All digits, where `text` is rounded.
    """

    text: str
    label: str
    exact: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether the bill agrees with the history.

    Args:
        text: The sentence.
        mark: The sign before it.
        tone: How it is coloured.
    """

    text: str
    mark: str
    tone: str


def cents_text(micro_usd: int) -> str:
    """Write an amount to the cent; below a cent it is "<$0.01", never zero."""
    size = abs(micro_usd)
    if 0 < size < MICRO_PER_CENT:
        return "<$0.01" if micro_usd > 0 else "-<$0.01"
    cents = divide_half_up(size, MICRO_PER_CENT) * MICRO_PER_CENT
    return format_usd(cents if micro_usd >= 0 else -cents)


def rough_text(micro_usd: int) -> str:
    """Write an amount that is not known exactly: whole dollars from $100."""
    if abs(micro_usd) < WHOLE_DOLLARS_FROM:
        return cents_text(micro_usd)
    dollars = divide_half_up(max(micro_usd, 0), MICRO_PER_USD)
    return f"${dollars:,}"


def function_title(path: str, kind: object) -> str:
    """Write a function's name for people: "Text to video"; a path without a kind."""
    if not isinstance(kind, str):
        return path
    parts = dict.fromkeys((kind, path.rsplit("/", 1)[-1]))
    words = " · ".join(part.replace("-", " ") for part in parts)
    return words[:1].upper() + words[1:]


def with_titles(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the names that the plots show.

    Kinds are titles, and what has no project says so.
    """
    import pandas as pd

    named: dict[str, pd.Series[Any]] = {}
    if {"function", "kind"} <= set(frame.columns):
        pairs = zip(frame["function"], frame["kind"], strict=True)
        titles = [
            function_title(str(path), kind) if isinstance(kind, str) else None
            for path, kind in pairs
        ]
        named["kind"] = pd.Series(titles, index=frame.index, dtype="object")
    if "project" in frame:
        projects = frame["project"].astype("object")
        named["project"] = projects.where(projects.notna(), NO_PROJECT)
    made = frame.assign(**named)
    made.attrs = dict(frame.attrs)
    return made


def values_of(reading: MonthReading) -> tuple[str, ...]:
    """Return the functions, projects or keys of a month, the largest charge first."""
    column = reading.by.column
    if column not in reading.daily:
        return ()
    known = reading.daily[reading.daily[column].notna()]
    sums = known.groupby(known[column].astype("object"))[CHARGE].sum()
    order = sorted(sums.items(), key=lambda item: (-int(item[1]), str(item[0])))
    return tuple(str(name) for name, _ in order)


def value_title(reading: MonthReading, value: str) -> str:
    """Write a function, project or key for people."""
    if reading.by is not By.FUNCTION or "kind" not in reading.daily:
        return value
    kinds = reading.daily.loc[reading.daily["function"] == value, "kind"].dropna()
    return function_title(value, str(kinds.iloc[0]) if len(kinds) else None)


def narrowed(reading: MonthReading, only: str | None) -> MonthReading:
    """Return a reading of one function, project or key.

    Charges do not know the key of a job, and monthly reports no project: these stay
    whole where they cannot be narrowed.
    """
    if only is None:
        return reading
    column = reading.by.column
    return replace(
        reading,
        daily=_rows_of(reading.daily, column, only),
        before=_rows_of(reading.before, column, only),
        charges=_rows_of(reading.charges, column, only),
        monthly=_rows_of(reading.monthly, column, only),
        monthly_before=_rows_of(reading.monthly_before, column, only),
    )


def _rows_of(frame: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    if column not in frame:
        return frame
    found = frame[frame[column] == value].reset_index(drop=True)
    # The plots draw all days of the range as long as the total is that of the rows.
    found.attrs = {**frame.attrs, "total_micro_usd": int(found[CHARGE].sum())}
    return found


def figures_of(reading: MonthReading, only: str | None) -> tuple[Figure, ...]:
    """Return the figures of a month, or of one function, project or key of it."""
    shown = narrowed(reading, only)
    return tuple(_figures(shown, reading, only))


def _figures(
    shown: MonthReading, whole: MonthReading, only: str | None
) -> Iterator[Figure]:
    charged = whole.charged_micro_usd
    if only is not None:
        charged = int(shown.daily[CHARGE].sum())
    label = "charged"
    if only is not None:
        label = f"charged, of {cents_text(whole.charged_micro_usd)}"
    yield Figure(cents_text(charged), label, format_usd(charged))
    if only is None and whole.forecast is not None:
        yield forecast_figure(whole.forecast)
    jobs = shown.daily["jobs"].sum()
    yield Figure(f"{int(jobs):,}", "job" if jobs == 1 else "jobs")
    if only is None or whole.by is not By.KEY:
        yield _kept_figure(shown.charges)
    yield _change_figure(charged if only else _daily_sum(whole), shown)


def _daily_sum(reading: MonthReading) -> int:
    return int(reading.daily[CHARGE].sum())


def forecast_figure(forecast: Any) -> Figure:
    """Return the range of the month's end."""
    low, high = forecast.low_micro_usd, forecast.high_micro_usd
    ends = dict.fromkeys((rough_text(low), rough_text(high)))
    exact = f"{format_usd(low)} to {format_usd(high)}"
    return Figure("–".join(ends), "month's end, 80 %", exact)  # noqa: RUF001


def _kept_figure(charges: pd.DataFrame) -> Figure:
    label = "a kept result"
    kept = int(charges["keep"].sum())
    if not kept:
        return Figure(UNKNOWN, f"{label} (none kept)")
    charged = max(int(charges[CHARGE].sum()), 0)
    cost = divide_half_up(charged, kept)
    return Figure(cents_text(cost), label, f"{format_usd(charged)} for {kept:,} kept")


def _change_figure(charged: int, shown: MonthReading) -> Figure:
    before = int(shown.before[CHARGE].sum())
    label = f"on {shown.before_name}"
    exact = f"{format_usd(before)} in {shown.before_name}"
    if before <= 0:
        return Figure(UNKNOWN, f"nothing charged in {shown.before_name}", exact)
    permille = divide_half_up(abs(charged - before) * 1000, before)
    sign = "±" if not permille else "+" if charged > before else "-"
    text = (
        f"{(permille + 5) // 10:,}"
        if permille >= 10 or not permille
        else f"0.{permille}"
    )
    return Figure(f"{sign}{text} %", label, exact)


def verdict_of(reading: MonthReading) -> Verdict | None:
    """Return whether the month is explained; None before that is known."""
    found = reading.reconciliation
    if found is not None:
        if found.is_explained:
            return Verdict(str(found.text), "✓", "good")
        return Verdict(str(found.text), "!", "warn")
    return None
