"""The spend reports of a blocking client, as frames and as a dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mediakit.client.blocking import Blocking, blocking
from mediakit.client.budgets import AnyBudget, budget_of
from mediakit.client.io_thread import io_thread
from mediakit.spend.async_spend import AsyncSpend

if TYPE_CHECKING:
    from mediakit.widgets.dashboard.dashboard import Dashboard


class Spend(Blocking):
    """The blocking version of `AsyncSpend`, with a dashboard for a cell."""

    core: AsyncSpend

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, dashboard(...) shows it>"

    today = blocking(AsyncSpend.today)
    daily = blocking(AsyncSpend.daily)
    monthly = blocking(AsyncSpend.monthly)
    monthly_csv = blocking(AsyncSpend.monthly_csv)
    to_csv = blocking(AsyncSpend.to_csv)
    charges = blocking(AsyncSpend.charges)
    budget = blocking(AsyncSpend.budget)
    forecast = blocking(AsyncSpend.forecast)
    anomalies = blocking(AsyncSpend.anomalies)
    reconcile = blocking(AsyncSpend.reconcile)
    rates = blocking(AsyncSpend.rates)
    report = blocking(AsyncSpend.report)

    def dashboard(
        self,
        month: str | None = None,
        *,
        budget: AnyBudget | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Dashboard:
        """Return the dashboard of a month, to display in a cell.

        It shows the figures, the plots with their data, and the result of the
        reconciliation, and exports the charges as CSV, Parquet, Excel and FOCUS.
        Rerunning the cell keeps the selection.

        Args:
            month: The month to begin with, YYYY-MM in UTC; the current one when
                omitted.
            budget: The budget to compare with, a `Budget` or an amount.
            labels: Names for API keys, by their id, such as `{"key_...": "Mia"}`.

        Raises:
            InputError: The month cannot be read or has not begun, or the budget is not
                an amount.
        """
        from mediakit.widgets.dashboard.dashboard import Dashboard
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        return Dashboard(
            self.core,
            io_thread(),
            self.core.service_clock.today,
            month=month,
            budget=budget_of("dashboard", budget),
            labels=labels or {},
            cell=current_cell(),
        )
