"""The spend reports as people get them from a client: with a dashboard and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit import spend
from mediakit.client.docstrings import explained_by
from mediakit.client.purse import budget_of

if TYPE_CHECKING:
    from mediakit.client.budgets import AnyBudget
    from mediakit.widgets.dashboard.dashboard import Dashboard


class AsyncSpend(spend.AsyncSpend):
    """The spend reports, awaited, which can be written as a page."""

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; report(...) writes a month as a page>"

    async def report(
        self, month: str | None, path: str | Path, *, budget: AnyBudget | None = None
    ) -> Path:
        """Write the spend of a month as one HTML page, to be opened without Jupyter.

        It holds the totals, the plots, what the reconciliation says, and every charge
        of this history as a table and as CSV. An existing file is replaced.

        Args:
            month: YYYY-MM in UTC; None for the current one.
            path: The file, such as "october.html".
            budget: What the month is held against, a `Budget` or an amount.

        Returns:
            The file.

        Raises:
            InputError: The month cannot be read or has not begun, the budget is no
                amount, or the file cannot be written.
            ServiceError: The service does not answer.
        """
        from mediakit.widgets.dashboard.report import write_report

        held = budget_of("report", budget)

        reports: Any = self
        return await write_report(
            reports, self._service_clock.today(), month, Path(path), held
        )


class Spend(spend.Spend):
    """The spend reports, with a dashboard and a page."""

    _core: AsyncSpend

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, dashboard(...) shows it>"

    @explained_by(AsyncSpend.report)
    def report(
        self, month: str | None, path: str | Path, *, budget: AnyBudget | None = None
    ) -> Path:
        """Write the spend of a month as one HTML page, to be opened without Jupyter."""
        return self._io.call(self._core.report, month, path, budget=budget)

    def dashboard(
        self, month: str | None = None, *, budget: AnyBudget | None = None
    ) -> Dashboard:
        """Return the dashboard of a month, to be shown in the cell.

        It shows the figures, the plots with the frames behind them, and what the
        reconciliation says, and exports the charges as CSV, Parquet, Excel and FOCUS.
        A cell that is run again keeps what was chosen.

        Args:
            month: The month to begin with, YYYY-MM in UTC; the current one when
                omitted.
            budget: What the month is held against, a `Budget` or an amount.

        Raises:
            InputError: The month cannot be read or has not begun, or the budget is no
                amount.
        """
        from mediakit.widgets.card_handle import current_cell
        from mediakit.widgets.dashboard.dashboard import Dashboard

        reports: Any = self._core
        return Dashboard(
            reports,
            self._io,
            self._core._service_clock.today,
            month=month,
            budget=budget_of("dashboard", budget),
            cell=current_cell(),
        )
