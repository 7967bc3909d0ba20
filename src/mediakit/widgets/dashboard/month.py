"""Reads the data of a dashboard or report for a calendar month in UTC."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from mediakit.errors import InputError, MediakitError, ServiceError
from mediakit.spend.dates import MONTHS, end_of_month, month_of, month_text

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.spend import AsyncSpend

T = TypeVar("T")

READ_TIMEOUT_S = 120.0
MOST_OFFERED = 24
CHARGE = "charge_micro_usd"
READ = 200  # the status of an error about an unreadable report
NO_LABELS: Mapping[str, str] = {}


class By(StrEnum):
    """The groupings of spend, named as on the toggle."""

    FUNCTION = "Function"
    PROJECT = "Project"
    KEY = "Key"

    @property
    def name_of_daily(self) -> str:
        """Return the name of the grouping in `spend.daily(by=...)`."""
        return self.value.lower()

    @property
    def column(self) -> str:
        return "api_key_id" if self is By.KEY else self.value.lower()


# -- calendar months ------------------------------------------------------------------


def first_day(month: str) -> date:
    return date.fromisoformat(f"{month}-01")


def month_before(month: str) -> str:
    return month_of(first_day(month) - timedelta(days=1))


def selectable_months(today: date, chosen: str) -> tuple[str, ...]:
    months = [month_of(today)]
    while len(months) < MOST_OFFERED or months[-1] > chosen:
        months.append(month_before(months[-1]))
    return tuple(months)


def readable_month(month: str | None, today: date) -> str:
    """Parse the month to show; the current one for None."""
    current = month_of(today)
    wanted = current if month is None else month_text(month)
    if wanted > current:
        accepted = f'a month that has begun, at most "{current}"'
        raise InputError("month", got=month, accepted=accepted, spec="4.19", then="")
    return wanted


def compared_days(month: str, today: date) -> tuple[date, date, str]:
    """Return the days of the previous month that a month is compared with."""
    before = month_before(month)
    first, last = first_day(before), end_of_month(before)
    name = MONTHS[first.month - 1]
    if month == month_of(today) and today.day < last.day:
        last = first.replace(day=today.day)
        name = f"{name} 1" if last == first else f"{name} 1–{last.day}"  # noqa: RUF001
    return first, last, name


# -- reading --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MonthReading:
    """The frames and figures of one month."""

    month: str
    today: date
    by: By
    daily: pd.DataFrame
    before: pd.DataFrame
    before_name: str
    monthly: pd.DataFrame
    charges: pd.DataFrame
    budget: Any = None
    budget_status: Any = None  # if the budget counts its own requests
    reconciliation: Any = None
    forecast: Any = None
    troubles: tuple[str, ...] = ()
    # why reports could not be read and the history's charges replace them
    unread: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.month == month_of(self.today)

    @property
    def is_checked(self) -> bool:
        """Return whether reconciliation and forecast were read or tried."""
        return self.reconciliation is not None or bool(self.troubles)

    @property
    def charged_micro_usd(self) -> int:
        return int(self.monthly[CHARGE].sum())

    @property
    def is_outdated(self) -> bool:
        """Return whether jobs were charged between this reading and its checks."""
        checked = self.reconciliation
        if checked is None or self.unread:
            return False
        return bool(checked.charged_micro_usd != self.charged_micro_usd)

    @property
    def is_empty(self) -> bool:
        """Return whether all was read, and nothing was charged."""
        is_without_rows = self.daily.empty and self.monthly.empty and self.charges.empty
        return is_without_rows and not self.unread

    def with_checks_of(self, other: MonthReading) -> MonthReading:
        return replace(
            self,
            reconciliation=other.reconciliation,
            forecast=other.forecast,
            troubles=other.troubles,
        )


async def read_month(
    spend: AsyncSpend,
    month: str,
    by: By,
    budget: Any,
    today: date,
    labels: Mapping[str, str] = NO_LABELS,
    *,
    refresh: bool = False,
) -> MonthReading:
    """Read the frames of a month; `read_checks` reads the rest.

    `refresh` reads days again that are kept in memory.

    If the monthly report cannot be read, the sum of the days replaces it; if neither
    report can, the charges in the history do. `unread` has the reason.
    """
    unread: dict[str, str] = {}
    first, last = first_day(month), min(end_of_month(month), today)
    start, end, name = compared_days(month, today)

    async def readable(
        report: Awaitable[pd.DataFrame], name: str, first: date, last: date
    ) -> pd.DataFrame:
        try:
            return await report
        except ServiceError as error:
            if error.status != READ:
                raise
            unread[name] = (
                f"{error.message} Below, the charges in this history replace the "
                f"{name}; what other users spent is not included."
            )
            charges = await spend.charges(first, last)
            return _summed(charges, by if name == "daily report" else By.FUNCTION)

    async def daily(first: date, last: date) -> pd.DataFrame:
        report = spend.daily(first, last, by=by.name_of_daily, refresh=refresh)
        frame = await readable(report, "daily report", first, last)
        if by is By.KEY and labels:
            keys = frame[by.column]
            frame[by.column] = keys.map(lambda key: labels.get(key, key))
        return frame

    async def monthly(days: pd.DataFrame) -> pd.DataFrame:
        report, name = spend.monthly(month), "monthly report"
        if unread:
            return await readable(report, name, first, last)
        try:
            return await report
        except ServiceError as error:
            if error.status != READ:
                raise
            instead = "Below, the amount charged is the sum of the daily report."
            unread[name] = f"{error.message} {instead}"
            return days

    async def read() -> MonthReading:
        days = await daily(first, last)
        return MonthReading(
            month=month,
            today=today,
            by=by,
            daily=days,
            before=await daily(start, end),
            before_name=name,
            monthly=await monthly(days),
            charges=await spend.charges(first, last),
            budget=budget,
            budget_status=await _budget_status(spend, budget, month),
            unread=tuple(unread.values()),
        )

    return await _in_time(read())


def _summed(charges: pd.DataFrame, by: By) -> pd.DataFrame:
    """Sum the history's charges like the daily report, but without keys."""
    columns = ["function", "kind"] if by is By.FUNCTION else [by.column]
    frame = charges.assign(jobs=1)
    if by is By.KEY:
        frame = frame.assign(api_key_id=frame["function"].where(frame["day"].isna()))
    groups = frame.groupby(["day", *columns], dropna=False, as_index=False)
    return groups[["jobs", CHARGE, "charge_usd"]].sum()


async def _budget_status(spend: AsyncSpend, budget: Any, month: str) -> Any:
    """Read the status of a budget with its own requests; None for others."""
    if budget is None or not budget.counts_by_name:
        return None
    return await spend.budget(budget, None if budget.period is None else month)


async def read_checks(spend: AsyncSpend, reading: MonthReading) -> MonthReading:
    """Return the reading completed by reconciliation and forecast."""
    month, troubles = reading.month, list[str]()

    async def attempt(read: Awaitable[Any]) -> Any:
        try:
            return await _in_time(read)
        except MediakitError as error:
            troubles.append(str(error))
            return None

    reconciliation = await attempt(spend.reconcile(month))
    forecast = None
    if reading.is_current or reading.budget is not None:
        forecast = await attempt(spend.forecast(month, reading.budget))
    return replace(
        reading,
        reconciliation=reconciliation,
        forecast=forecast,
        troubles=tuple(troubles),
    )


async def _in_time(read: Awaitable[T]) -> T:
    with anyio.move_on_after(READ_TIMEOUT_S):
        return await read
    raise ServiceError(f"The spend was not read within {READ_TIMEOUT_S:.0f} s.")
