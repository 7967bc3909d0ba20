"""The state of the dashboard; immutable."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mediakit.spend.dates import month_name
from mediakit.widgets.dashboard.exports import Prepared
from mediakit.widgets.dashboard.figures import values_of
from mediakit.widgets.dashboard.month_data import By, MonthReading
from mediakit.widgets.dashboard.panels import Panel


@dataclass(frozen=True)
class DashboardState:
    """Everything that the dashboard shows, at one moment.

    Args:
        month: The chosen month, "YYYY-MM".
        months: The months that are offered, the newest first.
        by: How the spend is grouped.
        only: The only function, project or key shown; None for all.
        reading: The frames of the month; None before they are read.
        is_loading: The month is being read.
        is_checking: Reconciliation and forecast are being read.
        trouble: Why the month could not be read, as a sentence.
        shows_more: The further plots are shown.
        shows_export: The export row is shown.
        panels: The two plots that are always shown.
        further: The further plots, once they are drawn.
        export: The file prepared for download; None for none.
        said: The latest export message.
    """

    month: str
    months: tuple[str, ...] = ()
    by: By = By.FUNCTION
    only: str | None = None
    reading: MonthReading | None = None
    is_loading: bool = True
    is_checking: bool = False
    trouble: str = ""
    shows_more: bool = False
    shows_export: bool = False
    panels: tuple[Panel, ...] = ()
    further: tuple[Panel, ...] = ()
    export: Prepared | None = None
    said: str = ""

    def choosing_month(self, month: str) -> DashboardState:
        """Return the state in which another month is being read."""
        loading = replace(self.retrying(), month=month, only=None)
        return replace(loading, reading=None, panels=(), further=())

    def choosing_by(self, by: By) -> DashboardState:
        """Return the state in which the month is being read with another grouping.

        Numbers and plots stay until new ones are available, to avoid layout shifts.
        """
        return replace(self.retrying(), by=by, only=None)

    def choosing_only(self, only: str | None) -> DashboardState:
        """Return the state in which one function, project or key is shown."""
        return replace(self, only=only, further=(), export=None, said="")

    def retrying(self) -> DashboardState:
        """Return the state in which the month is being read again."""
        return replace(
            self, is_loading=True, is_checking=False, trouble="", export=None, said=""
        )

    def having_read(self, reading: MonthReading) -> DashboardState:
        """Return the state with the frames, while the rest is being read."""
        return replace(
            self,
            reading=reading,
            further=(),
            is_loading=False,
            is_checking=not (reading.is_empty or reading.is_checked),
        )

    def having_checked(self, reading: MonthReading) -> DashboardState:
        """Return the state with reconciliation and forecast."""
        return replace(self, reading=reading, is_checking=False)

    def failing(self, sentence: str) -> DashboardState:
        """Return the state after a failed read, without the old numbers."""
        return replace(
            self,
            trouble=sentence,
            is_loading=False,
            is_checking=False,
            reading=None,
            panels=(),
            further=(),
        )

    @property
    def title(self) -> str:
        """Return the heading."""
        return f"Spend · {month_name(self.month)}"

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values that can be selected, the largest charge first."""
        if self.reading is None or self.reading.by is not self.by:
            return ()
        return values_of(self.reading)

    @property
    def notice(self) -> str:
        """Return the one line in place of the figures; empty when there are some."""
        month = month_name(self.month)
        if self.trouble:
            return self.trouble
        if self.is_loading:
            return f"Loading the spend of {month}…"
        if self.reading is not None and self.reading.is_empty:
            return f"Nothing was charged in {month}."
        return ""
