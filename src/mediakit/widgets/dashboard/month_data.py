"""Reads the data of a month's dashboard and report."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from mediakit.errors import MediakitError, ServiceError
from mediakit.spend.dates import end_of_month, month_of
from mediakit.widgets.dashboard.months import (
    compared_days,
    first_day,
    month_before,
)

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

READ_TIMEOUT_S = 120.0
CHARGE = "charge_micro_usd"


class By(StrEnum):
    """How the spend is grouped, named as on the toggle."""

    FUNCTION = "Function"
    PROJECT = "Project"
    KEY = "Key"

    @property
    def name_of_daily(self) -> str:
        """Return its name in `spend.daily(by=...)`."""
        return self.value.lower()

    @property
    def column(self) -> str:
        """Return the column of the frames that holds it."""
        return "api_key_id" if self is By.KEY else self.value.lower()


class SpendReports(Protocol):
    """The reports that a dashboard needs; `AsyncSpend` implements them."""

    async def daily(
        self, start: str | date, end: str | date, *, by: str
    ) -> pd.DataFrame:
        """Read the spend by day."""

    async def charges(self, start: str | date, end: str | date) -> pd.DataFrame:
        """Read the settled charges of this history."""

    async def monthly(self, month: str) -> pd.DataFrame:
        """Read the monthly report."""

    async def reconcile(self, month: str) -> Any:
        """Compare the history with the service's reports."""

    async def forecast(self, month: str, budget: Any) -> Any:
        """Forecast the month's end."""

    async def budget(self, budget: Any, month: str | None) -> Any:
        """Report how much of a budget is used."""


@dataclass(frozen=True, eq=False)
class MonthReading:
    """The frames of one month.

    Args:
        month: The month, "YYYY-MM" in UTC.
        today: The day in UTC on which it was read.
        by: How the daily frames are grouped.
        daily: The month's days.
        before: The days to compare with.
        before_name: Their name, such as "September".
        monthly: The service's monthly report.
        monthly_before: The same for the month before.
        charges: The settled charges of this history.
        budget: The budget to compare with; None for none.
        budget_days: What counts against it, by day; None where all spend does.
        reconciliation: What `spend.reconcile` returned; None before it is read.
        forecast: What `spend.forecast` returned; None before it is read, and for
            months that are over.
        troubles: Why one of these two could not be read, as sentences.
    """

    month: str
    today: date
    by: By
    daily: pd.DataFrame
    before: pd.DataFrame
    before_name: str
    monthly: pd.DataFrame
    monthly_before: pd.DataFrame
    charges: pd.DataFrame
    budget: Any = None
    budget_days: pd.DataFrame | None = None
    reconciliation: Any = None
    forecast: Any = None
    troubles: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Tell whether the month is still running."""
        return self.month == month_of(self.today)

    @property
    def is_checked(self) -> bool:
        """Tell whether reconciliation and forecast were read, or tried."""
        return self.reconciliation is not None or bool(self.troubles)

    @property
    def charged_micro_usd(self) -> int:
        """Return the total of the monthly report."""
        return int(self.monthly[CHARGE].sum())

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was charged and no job settled."""
        return self.daily.empty and self.monthly.empty and self.charges.empty


async def read_month(
    spend: SpendReports, month: str, by: By, budget: Any, today: date
) -> MonthReading:
    """Read the frames of a month; see `read_checks` for the rest.

    Args:
        spend: The reports.
        month: The month, "YYYY-MM".
        by: How the daily frames are grouped.
        budget: The budget to compare with; None for none.
        today: The day in UTC.

    Raises:
        MediakitError: A report cannot be read.
    """
    first, last = first_day(month), min(end_of_month(month), today)
    start, end, name = compared_days(month, today)

    async def read() -> MonthReading:
        return MonthReading(
            month=month,
            today=today,
            by=by,
            daily=await spend.daily(first, last, by=by.name_of_daily),
            before=await spend.daily(start, end, by=by.name_of_daily),
            before_name=name,
            monthly=await spend.monthly(month),
            monthly_before=await spend.monthly(month_before(month)),
            charges=await spend.charges(first, last),
            budget=budget,
            budget_days=await _budget_days(spend, budget, month),
        )

    return await _in_time(read())


async def _budget_days(
    spend: SpendReports, budget: Any, month: str
) -> pd.DataFrame | None:
    """Read the burn-down of a budget that counts its own requests; None for others."""
    if budget is None or not budget.counts_by_name:
        return None
    status = await spend.budget(budget, None if budget.period is None else month)
    frame: pd.DataFrame = status.frame()
    return frame


def with_checks_of(reading: MonthReading, other: MonthReading) -> MonthReading:
    """Return the reading with the checks of another reading of its month."""
    return replace(
        reading,
        reconciliation=other.reconciliation,
        forecast=other.forecast,
        troubles=other.troubles,
    )


async def read_checks(spend: SpendReports, reading: MonthReading) -> MonthReading:
    """Return the reading with reconciliation and forecast.

    Each read error becomes a sentence in `troubles`; the frames are shown anyway.
    """
    month, troubles = reading.month, list[str]()
    reconciliation = await _attempt(spend.reconcile(month), troubles)
    forecast = None
    if reading.is_current:
        forecast = await _attempt(spend.forecast(month, reading.budget), troubles)
    return replace(
        reading,
        reconciliation=reconciliation,
        forecast=forecast,
        troubles=tuple(troubles),
    )


async def _attempt(read: Awaitable[Any], troubles: list[str]) -> Any:
    try:
        return await _in_time(read)
    except MediakitError as error:
        troubles.append(str(error))
        return None


async def _in_time(read: Awaitable[T]) -> T:
    with anyio.move_on_after(READ_TIMEOUT_S):
        return await read
    raise ServiceError(f"The spend was not read within {READ_TIMEOUT_S:.0f} s.")
