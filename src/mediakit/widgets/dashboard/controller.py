"""The controller of the dashboard: reads a month, and handles the user's choices."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from anyio import to_thread
from IPython.display import publish_display_data

from mediakit.client.loop import IOThread
from mediakit.errors import MediakitError
from mediakit.widgets.dashboard import panels
from mediakit.widgets.dashboard.exports import Format, prepare, save, saves_here
from mediakit.widgets.dashboard.figures import narrowed
from mediakit.widgets.dashboard.html import kept_html, kept_text
from mediakit.widgets.dashboard.month_data import (
    By,
    MonthReading,
    SpendReports,
    read_checks,
    read_month,
    with_checks_of,
)
from mediakit.widgets.dashboard.months import offered, readable_month
from mediakit.widgets.dashboard.state import DashboardState
from mediakit.widgets.dashboard.view import DashboardActs, DashboardView
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import CellPlace, CellPlaces
from mediakit.widgets.toolkit.cell_outputs import CardHandle, Cell
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

_open: dict[CellPlace, Dashboard] = {}
_places = CellPlaces()


class Dashboard:
    """An interactive dashboard of a month's spend.

    Reports are read on the I/O thread and plots are drawn on a worker thread. When its
    cell runs again, a new dashboard takes over the selection and closes the old one.

    Args:
        spend: The reports.
        io: The I/O thread.
        today: Returns the day in UTC.
        month: The month to begin with; the current one when None.
        budget: The budget to compare with, a `Budget` or an amount.
        cell: The cell that creates it; None outside a cell.
        environment: The environment, to detect Voilà; this process's when omitted.

    Raises:
        InputError: It is not a month, or it has not begun.
    """

    def __init__(
        self,
        spend: SpendReports,
        io: IOThread,
        today: Callable[[], date],
        *,
        month: str | None = None,
        budget: Any = None,
        cell: Cell | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        asked = readable_month(month, today())
        self._spend, self._today, self._budget = spend, today, budget
        self._place = _places.take("dashboard", cell)
        self._asked = month
        self._lock = threading.RLock()
        self._closed = False
        self._turn = self._drawing = 0
        self._state = DashboardState(asked, offered(today(), asked))
        self._tasks = TaskRunner(io, self._fail)
        self._handle = CardHandle()
        variables = os.environ if environment is None else environment
        with self._lock:
            self._begin(_open.pop(self._place, None))
            self._view = DashboardView(
                WidgetFactory(),
                guarded(self._fail, self._lock),
                self._acts(),
                self._handle,
                may_save=saves_here(variables),
            )
            self._show()
            _open[self._place] = self
            if saves_here(variables):
                self._read()
                return
            self._turn += 1
        # A page of Voilà asks for every value once, and misses what changes before it
        # has drawn them: what it is given is complete.
        io.post(self._read_turn, self._turn).result()

    def _acts(self) -> DashboardActs:
        return DashboardActs(
            choose_month=self.choose_month,
            choose_by=self._choose_by,
            choose_only=self._choose_only,
            refresh=self.refresh,
            show_more=self._show_more,
            show_export=self._show_export,
            export=self._export,
            save=self._save,
        )

    def _begin(self, before: Dashboard | None) -> None:
        if before is None:
            return
        with before._lock:
            was = before.state
            before.close()
        self._state = replace(self._state, by=was.by, shows_more=was.shows_more)
        if before._asked == self._asked and was.month in self._state.months:
            self._state = replace(self._state, month=was.month)

    # -- public properties --------------------------------------------------------

    @property
    def state(self) -> DashboardState:
        """Return what the dashboard shows, as one value."""
        return self._state

    @property
    def widget(self) -> Any:
        """Return the root widget of the dashboard."""
        return self._view.widget

    def __repr__(self) -> str:
        return f"<Dashboard of {self._state.month}>"

    def _ipython_display_(self) -> None:
        """Show the live dashboard and its static copy."""
        self._keep()
        self._handle.display()
        show: Callable[..., None] = publish_display_data
        show({**self._repr_mimebundle_(), "text/html": "", "text/plain": ""})

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        """Return the live widget, and a static copy for use without a kernel."""
        bundle: dict[str, Any] = dict(self.widget._repr_mimebundle_(**kwargs))
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = kept_html(self._state)
        return bundle

    def close(self) -> None:
        """Close the dashboard and free its widgets."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if _open.get(self._place) is self:
                del _open[self._place]
            self._handle.close()
            self._view.close()

    # -- user actions -----------------------------------------------------------

    def choose_month(self, month: str) -> None:
        """Show another month.

        Args:
            month: "YYYY-MM" in UTC.

        Raises:
            InputError: It is not a month, or it has not begun.
        """
        with self._lock:
            chosen = readable_month(month, self._today())
            months = offered(self._today(), chosen)
            self._change(replace(self._state.choosing_month(chosen), months=months))
            self._read()

    def refresh(self) -> None:
        """Read the month again."""
        with self._lock:
            self._change(self._state.retrying())
            self._read()

    def _choose_by(self, by: By) -> None:
        self._change(self._state.choosing_by(by))
        self._read()

    def _choose_only(self, only: str | None) -> None:
        self._change(self._state.choosing_only(only))
        self._tasks.run(self._draw)

    def _show_more(self, shows: bool) -> None:  # noqa: FBT001 - a toggle's value
        self._change(replace(self._state, shows_more=shows))
        if shows and not self._state.further:
            self._tasks.run(self._draw_further)

    def _show_export(self, shows: bool) -> None:  # noqa: FBT001 - a toggle's value
        self._change(replace(self._state, shows_export=shows, said=""))

    def _export(self, form: Format) -> None:
        self._change(replace(self._state, export=None, said=f"Preparing {form}…"))
        self._tasks.run(partial(self._prepare, form))

    def _save(self, folder: str) -> None:
        self._tasks.run(partial(self._write, folder))

    # -- on the I/O thread --------------------------------------------------------

    def _read(self) -> None:
        self._turn += 1
        self._tasks.run(partial(self._read_turn, self._turn))

    async def _read_turn(self, turn: int) -> None:
        state = self._state
        if self._closed or turn != self._turn:
            return
        try:
            reading = await read_month(
                self._spend, state.month, state.by, self._budget, self._today()
            )
        except MediakitError as error:
            if turn == self._turn:
                self._fail(sentence_of(error))
                self._keep()
            return
        if turn != self._turn:
            return
        known = state.reading
        if known is not None and known.by is not state.by and known.is_checked:
            # Only the grouping has changed; the totals of the month are the same.
            reading = with_checks_of(reading, known)
        self._take(lambda s: s.having_read(reading))
        if not reading.is_empty:
            await self._draw()
            await self._check(turn, reading)
            await self._draw_further()
        self._keep()

    async def _check(self, turn: int, reading: MonthReading) -> None:
        """Read reconciliation and forecast, and draw the forecast."""
        if reading.is_checked or turn != self._turn:
            return
        checked = await read_checks(self._spend, reading)
        if turn == self._turn:
            self._take(lambda s: s.having_checked(checked))
            self._keep()
            await self._draw(first=1)

    async def _draw(self, first: int = 0) -> None:
        """Draw the plots that are always shown.

        Args:
            first: The first plot to redraw; earlier ones are kept.
        """
        self._drawing += 1
        drawing, state = self._drawing, self._state
        if state.reading is None or self._closed:
            return
        draws: tuple[Callable[[MonthReading], panels.Panel], ...]
        draws = (panels.day_panel, panels.budget_panel)
        shown = narrowed(state.reading, state.only)
        made = await to_thread.run_sync(lambda: [d(shown) for d in draws[first:]])
        if drawing == self._drawing:  # else another choice is being drawn
            self._take(lambda s: replace(s, panels=(*s.panels[:first], *made)))
            self._keep()

    async def _draw_further(self) -> None:
        state = self._state
        if state.reading is None or not state.shows_more or self._closed:
            return
        shown = narrowed(state.reading, state.only)
        made = await to_thread.run_sync(panels.further_panels, shown)
        now = self._state
        if now.reading is state.reading and now.only == state.only:
            self._take(lambda s: replace(s, further=made))

    async def _prepare(self, form: Format) -> None:
        reading, only = self._state.reading, self._state.only
        if reading is None:
            return
        charges = narrowed(reading, only).charges
        try:
            made = await to_thread.run_sync(
                prepare, charges, form, f"spend-{reading.month}"
            )
        except MediakitError as error:
            self._take(partial(replace, said=sentence_of(error)))
            return
        if (self._state.month, self._state.only) == (reading.month, only):
            self._take(partial(replace, export=made, said=""))

    async def _write(self, folder: str) -> None:
        prepared = self._state.export
        if prepared is None:
            return
        try:
            path = await to_thread.run_sync(save, prepared, folder)
            said = f"Saved as {path}."
        except MediakitError as error:
            said = sentence_of(error)
        self._take(partial(replace, said=said))

    # -- display ------------------------------------------------------------------

    def _take(self, change: Callable[[DashboardState], DashboardState]) -> None:
        with self._lock:
            self._change(change(self._state))

    def _change(self, state: DashboardState) -> None:
        self._state = state
        self._show()

    def _show(self) -> None:
        if not self._closed:
            self._view.show(self._state)

    def _keep(self) -> None:
        self._handle.show(kept_html(self._state), kept_text(self._state))

    def _fail(self, sentence: str) -> None:
        self._take(lambda s: s.failing(sentence))
