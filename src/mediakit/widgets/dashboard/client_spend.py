"""The spend reports of a client, including the dashboard and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit import spend
from mediakit.client.blocking import blocking
from mediakit.client.budgets import budget_of
from mediakit.client.io_thread import io_thread

if TYPE_CHECKING:
    from mediakit.client.budgets import AnyBudget
    from mediakit.widgets.dashboard.dashboard import Dashboard


class AsyncSpend(spend.AsyncSpend):
    """The async spend reports, including the HTML report."""

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; report(...) writes a month as a page>"

    async def report(
        self,
        month: str | None,
        path: str | Path,
        *,
        budget: AnyBudget | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Path:
        """Write the spend of a month as one HTML page, which opens without Jupyter.

        It has the totals, the plots, the result of the reconciliation, and every charge
        in this history as a table and as CSV. An existing file is replaced.

        Args:
            month: YYYY-MM in UTC; None for the current one.
            path: The file, such as "october.html".
            budget: The budget to compare with, a `Budget` or an amount.
            labels: Names for API keys, by their id, such as `{"key_...": "Mia"}`; the
                page then lists what each key spent.

        Returns:
            The file.

        Raises:
            InputError: The month cannot be read or has not begun, the budget is not
                an amount, or the file cannot be written.
            ServiceError: The service does not respond.
        """
        from mediakit.widgets.dashboard.page import write_report

        held = budget_of("report", budget)

        return await write_report(
            self, self.service_clock.today(), month, Path(path), held, labels or {}
        )


class Spend(spend.Spend):
    """The spend reports, with a dashboard and a page."""

    core: AsyncSpend

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, dashboard(...) shows it>"

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
        reconciliation, and exports the charges as CSV, Parquet, Excel and FOCUS. When
        the cell runs again, the selection is kept.

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
