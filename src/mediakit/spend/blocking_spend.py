"""The spend reports of a client as frames, with blocking methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mediakit.client.docstrings import explained_by
from mediakit.client.loop import IOThread
from mediakit.client.records.budgets import AnyBudget, Budget
from mediakit.spend.async_spend import AsyncSpend
from mediakit.spend.days.grouping import By, Every
from mediakit.spend.monthly import Months
from mediakit.spend.reconciliation import Reconciliation

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.spend.budget_status import BudgetStatus
    from mediakit.spend.forecasting import Forecast


class Spend:
    """The blocking version of `AsyncSpend`; each method runs on the I/O thread.

    Args:
        core: The reports.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncSpend, io: IOThread) -> None:
        self._core = core
        self._io = io

    def __repr__(self) -> str:
        return repr(self._core)

    @explained_by(AsyncSpend.daily)
    def daily(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        by: By = None,
        api_key_id: str | None = None,
        model: str | None = None,
        every: Every = "day",
        usd: bool = False,
        refresh: bool = False,
    ) -> pd.DataFrame:
        """Read the spend of some days by key and function (spec 4.19)."""
        return self._io.call(
            self._core.daily,
            start,
            end,
            by=by,
            api_key_id=api_key_id,
            model=model,
            every=every,
            usd=usd,
            refresh=refresh,
        )

    @explained_by(AsyncSpend.monthly)
    def monthly(self, month: Months = None, *, usd: bool = False) -> pd.DataFrame:
        """Read the report of a calendar month by settlement date (spec 4.19)."""
        return self._io.call(self._core.monthly, month, usd=usd)

    @explained_by(AsyncSpend.monthly_csv)
    def monthly_csv(
        self, month: str | None = None, *, usd: bool = False
    ) -> pd.DataFrame:
        """Read the same month from its CSV, without the totals row (spec 4.19)."""
        return self._io.call(self._core.monthly_csv, month, usd=usd)

    @explained_by(AsyncSpend.csv_bytes)
    def csv_bytes(self, month: str | None = None) -> bytes:
        """Read the CSV of a month as the service sends it (spec 4.19)."""
        return self._io.call(self._core.csv_bytes, month)

    @explained_by(AsyncSpend.to_csv)
    def to_csv(self, month: str | None, path: str | Path) -> Path:
        """Save the CSV of a month as the service sends it (spec 4.19)."""
        return self._io.call(self._core.to_csv, month, path)

    @explained_by(AsyncSpend.charges)
    def charges(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        project: str | None = None,
        usd: bool = False,
    ) -> pd.DataFrame:
        """Return every settled charge with what it was for (spec 2.2)."""
        return self._io.call(self._core.charges, start, end, project=project, usd=usd)

    @explained_by(AsyncSpend.budget)
    def budget(self, budget: Budget, month: str | None = None) -> BudgetStatus:
        """Report how much of a budget is used, over all clients of the history."""
        return self._io.call(self._core.budget, budget, month)

    @explained_by(AsyncSpend.forecast)
    def forecast(
        self, month: str | None = None, budget: AnyBudget | None = None
    ) -> Forecast:
        """Forecast a month's total, with an 80 % interval."""
        return self._io.call(self._core.forecast, month, budget)

    @explained_by(AsyncSpend.anomalies)
    def anomalies(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        by: str | Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Find the days that cost far more or less than their weekday usually does."""
        return self._io.call(self._core.anomalies, start, end, by=by)

    @explained_by(AsyncSpend.reconcile)
    def reconcile(
        self, month: str | None = None, *, own_keys: str | Iterable[str] | None = None
    ) -> Reconciliation:
        """Compare this history with the bill of a month (spec 4.19)."""
        return self._io.call(self._core.reconcile, month, own_keys=own_keys)

    @explained_by(AsyncSpend.rates)
    def rates(self, *, by: Literal["function", "line"] = "function") -> pd.DataFrame:
        """Compare what was charged with what was estimated (spec 8)."""
        return self._io.call(self._core.rates, by=by)
