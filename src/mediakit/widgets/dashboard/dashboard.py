"""The dashboard of a month's spend, built from standard widgets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as w
from anyio import to_thread
from markupsafe import Markup

from mediakit.client.budgets import budget_of
from mediakit.client.io_thread import IOThread
from mediakit.errors import MediakitError
from mediakit.money import format_cents
from mediakit.notebook import in_voila
from mediakit.spend.dates import month_name
from mediakit.widgets.dashboard import plots
from mediakit.widgets.dashboard.exports import (
    TOOLTIPS,
    Format,
    link_html,
    prepare,
)
from mediakit.widgets.dashboard.figures import figures_of, narrowed, values_of
from mediakit.widgets.dashboard.month import (
    NO_LABELS,
    By,
    MonthReading,
    read_checks,
    read_month,
    readable_month,
    selectable_months,
)
from mediakit.widgets.dashboard.page import (
    LIVE_CSS,
    checks_html,
    empty_text,
    figures_html,
    plots_html,
    saved_html,
    saved_text,
)
from mediakit.widgets.dashboard.plots import Plot
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import ReplacedByCell
from mediakit.widgets.toolkit.cell_outputs import (
    CardHandle,
    NotebookCell,
    bundle_of,
    current_cell,
)
from mediakit.widgets.toolkit.styles import error_html, line_html, style_tag
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mediakit.client.budgets import AnyBudget
    from mediakit.spend import AsyncSpend

ALL = ""
ALL_WORDS = {By.FUNCTION: "functions", By.PROJECT: "projects", By.KEY: "keys"}

_open: ReplacedByCell[Dashboard] = ReplacedByCell()


class Dashboard:
    """An interactive dashboard of a month's spend."""

    def __init__(
        self,
        spend: AsyncSpend,
        io: IOThread,
        today: Callable[[], date],
        *,
        month: str | None = None,
        budget: Any = None,
        labels: Mapping[str, str] = NO_LABELS,
        cell: NotebookCell | None = None,
        before: Dashboard | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._spend = spend
        self._today = today
        self._budget = self._given_budget = budget
        self._labels = labels
        self._asked = month
        self.month = readable_month(month, today())
        self.by = By.FUNCTION
        self.only: str | None = None
        self.reading: MonthReading | None = None
        self.trouble = ""
        self.plots: tuple[Plot, ...] = ()
        self.further: tuple[Plot, ...] = ()
        self._lock = threading.RLock()
        self._turn = 0
        self._is_closed = self._is_showing = self._is_loading = False
        self._tasks = TaskRunner(io, self._say)
        self._handle = CardHandle()
        is_page = in_voila(os.environ if environment is None else environment)
        self._key = None if cell is None else _open.key("dashboard", cell)
        self._make_widgets()
        if self._key is not None:
            before = _open.replace(self._key, self)
        if before is not None:
            self._continue(before)
        with self._lock:
            turn = self._begin()
        if is_page:
            # A Voilà page reads every value once and misses changes until it has drawn
            # them, so wait until the values are complete.
            io.post(self._bring, turn).result()
        else:
            self._tasks.run(partial(self._bring, turn))

    def _make_widgets(self) -> None:
        self._factory = WidgetFactory()
        make = self._factory.make
        self._guard = guarded(self._say, self._lock)
        self._head = make(w.HTML, "mk-sp-head")
        self.month_box = make(w.Dropdown, "mk-sp-pick", description="Month")
        self.by_box = make(
            w.ToggleButtons,
            "mk-sp-by",
            description="Group by",
            options=tuple(each.value for each in By),
        )
        self.only_box = make(w.Dropdown, "mk-sp-pick", description="Show only")
        self.budget_box = make(
            w.Text,
            "mk-sp-pick mk-sp-budget",
            description="Budget",
            placeholder="$300",
            tooltip="The limit for the month's charges; leave blank for none",
            continuous_update=False,
        )
        self.export_box = make(
            w.ToggleButton, "mk-small mk-opens", description="Export"
        )
        tooltip = "Read the month again"
        self.refresh_button = self._button("Refresh", tooltip, self.refresh)
        controls = make(
            w.HBox,
            "mk-sp-controls",
            children=(
                *(self.month_box, self.budget_box, self.by_box, self.only_box),
                *(self.export_box, self.refresh_button),
            ),
        )
        self._top = make(w.HBox, "mk-sp-top", children=(self._head, controls))
        self.format_buttons = {
            form: self._button(form.value, TOOLTIPS[form], partial(self._pick, form))
            for form in Format
        }
        self._said = make(w.HTML, "mk-live")
        self._export_row = make(w.HBox, "mk-frame mk-sp-export")
        self._trouble = make(w.HTML, "mk-live")
        self._status = make(w.HTML, "mk-live")
        self._plots = make(w.HTML)
        self.more_box = make(w.ToggleButton, "mk-fold", description="More plots")
        self._further = make(w.HTML)
        self._namer = make(Namer, "mk-names")
        self._namer.carry_cards(self._handle)
        classes = "mk-form mk-month" + (" mk-frame" if self._key else "")
        self.widget = make(w.VBox, classes)
        self._hear(self.month_box, self.choose_month)
        self._hear(
            self.budget_box, lambda text: self.choose_budget(text.strip() or None)
        )
        self._hear(self.by_box, lambda value: self._choose_by(By(value)))
        self._hear(self.only_box, lambda value: self._choose_only(value or None))
        self._hear(self.export_box, lambda _: self._drop_export())
        self._hear(self.more_box, lambda _: self._restart())

    def _button(self, words: str, tooltip: str, act: Callable[[], object]) -> Any:
        widget = self._factory.make(
            w.Button, "mk-small", description=words, tooltip=tooltip
        )
        widget.on_click(self._guard(lambda _: act()))
        return widget

    def _hear(self, widget: Any, act: Callable[[Any], object]) -> None:
        def hear(change: Any) -> None:
            if not self._is_showing:  # the user changed the value, not the code
                act(change.new)

        widget.observe(self._guard(hear), "value")

    def _continue(self, before: Dashboard) -> None:
        with before._lock:
            self.by = before.by
            self.more_box.value = before.more_box.value
            if before._asked == self._asked:
                self.month = before.month
            if before._given_budget == self._given_budget:
                self._budget = before._budget
            before.close()

    # -- public properties --------------------------------------------------------

    @property
    def title(self) -> str:
        return f"Spend · {month_name(self.month)}"

    @property
    def notice(self) -> str:
        """Return the line that replaces the figures; empty if there are figures."""
        if self.trouble:
            return self.trouble
        if self.reading is None:
            return f"Loading the spend of {month_name(self.month)}…"
        return empty_text(self.reading) if self.reading.is_empty else ""

    def __repr__(self) -> str:
        return (
            f"<Dashboard of {self.month}, displayed only in notebooks; in code, use "
            f'client.spend.daily(...) or client.spend.monthly("{self.month}")>'
        )

    def _ipython_display_(self) -> None:
        if current_cell() is None:
            print(repr(self))  # noqa: T201 - there is no cell to show it in
        self._keep()
        self._handle.display_beside(self.widget)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        return bundle_of(self.widget, self._saved()[0], repr(self))

    def close(self) -> None:
        """Close the dashboard and free its widgets."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._key is not None:
                _open.remove(self._key, self)
            self._handle.close()
            self._factory.close()

    # -- user actions --------------------------------------------------------------

    def choose_month(self, month: str) -> None:
        """Show another month.

        Args:
            month: "YYYY-MM" in UTC.

        Raises:
            InputError: It is not a month, or it has not begun.
        """
        with self._lock:
            self.month = readable_month(month, self._today())
            self.only = None
            self.reading = None
            self.plots = self.further = ()
            self._restart()

    def choose_budget(self, budget: AnyBudget | None) -> None:
        """Compare the month with another budget.

        This affects only the display; the budget of `mk.connect(budget=...)` limits
        submissions.

        Args:
            budget: A `Budget` or an amount, such as "$300"; None for no budget.

        Raises:
            InputError: It is not an amount.
        """
        with self._lock:
            self._budget = budget_of("dashboard", budget)
            self._restart(reads=True)

    def refresh(self) -> None:
        """Read the month again."""
        with self._lock:
            self._restart(reads=True)

    def _choose_by(self, by: By) -> None:
        self.by = by
        self.only = None
        self._restart()

    def _choose_only(self, only: str | None) -> None:
        self.only = only
        self.further = ()
        self._restart()

    def _restart(self, *, reads: bool = False) -> None:
        turn = self._begin(reads=reads)
        self._tasks.run(partial(self._bring, turn))

    def _begin(self, *, reads: bool = False) -> int:
        self._turn += 1
        reading, self.trouble, self._trouble.value = self.reading, "", ""
        self._is_loading = reads or reading is None or reading.by is not self.by
        self._drop_export()
        return self._turn

    def _drop_export(self) -> None:
        self._said.value = ""
        self._show()

    def _pick(self, form: Format) -> None:
        self._drop_export()
        self._said.value = line_html(f"Preparing {form}…", "plain")
        self._tasks.run(partial(self._prepare, form))

    # -- on the I/O thread --------------------------------------------------------

    async def _bring(self, turn: int, *, again: bool = False) -> None:
        """Read and draw the missing parts, unless a newer turn begins.

        `again` reads the month a second time.
        """
        try:
            reading = await self._read(turn, again=again)
        except MediakitError as error:
            self._put(turn, trouble=sentence_of(error))
            return
        if turn != self._turn:
            return
        if reading.is_empty:
            if reading.is_current and not reading.is_checked:
                reading = await read_checks(self._spend, reading)
                self._put(turn, reading=reading)
            return
        only = self.only
        rows = narrowed(reading, only)
        first = await to_thread.run_sync(plots.by_day, rows)
        second = Plot(plots.so_far_title(rows))
        waits = only is None and reading.is_current and not reading.is_checked
        if not waits:
            second = await to_thread.run_sync(plots.so_far, rows)
        self._put(turn, plots=(first, second))
        if not reading.is_checked and turn == self._turn:
            reading = await read_checks(self._spend, reading)
            if reading.is_outdated and not again:
                await self._bring(turn, again=True)
                return
            self._put(turn, reading=reading)
        if waits and turn == self._turn:
            second = await to_thread.run_sync(plots.so_far, reading)
            self._put(turn, plots=(first, second))
        if self.more_box.value and not self.further and turn == self._turn:
            further = await to_thread.run_sync(plots.further, narrowed(reading, only))
            self._put(turn, further=further)

    async def _read(self, turn: int, *, again: bool) -> MonthReading:
        known = self.reading
        if known is not None and not self._is_loading and not again:
            return known
        by, what = self.by, (self._budget, self._today(), self._labels)
        reading = await read_month(self._spend, self.month, by, *what, refresh=again)
        if known is not None and known.by is not by and known.is_checked:
            # Only the grouping has changed; the totals of the month are the same.
            reading = reading.with_checks_of(known)
        self._put(turn, reading=reading, further=())
        return reading

    async def _prepare(self, form: Format) -> None:
        reading, turn = self.reading, self._turn
        if reading is None:
            return
        charges, stem = narrowed(reading, self.only).charges, f"spend-{reading.month}"
        try:
            line = link_html(await to_thread.run_sync(prepare, charges, form, stem))
        except MediakitError as error:
            line = line_html(sentence_of(error), "plain")
        with self._lock:
            if turn == self._turn and not self._is_closed:
                self._said.value = line

    # -- display ------------------------------------------------------------------

    def _put(
        self,
        turn: int,
        *,
        reading: MonthReading | None = None,
        plots: tuple[Plot, ...] | None = None,
        further: tuple[Plot, ...] | None = None,
        trouble: str = "",
    ) -> None:
        """Store new data or plots, unless a newer turn has begun."""
        with self._lock:
            if turn != self._turn or self._is_closed:
                return
            self._is_loading = False
            self.trouble = trouble
            if trouble:
                self.reading = None
                self.plots = ()
                self.further = ()
            self.reading = reading or self.reading
            self.plots = self.plots if plots is None else plots
            self.further = self.further if further is None else further
            self._show()
            self._keep()

    def _show(self) -> None:
        """Update every widget; only differences are sent."""
        if self._is_closed:
            return
        self._is_showing = True
        try:
            self._show_controls()
        finally:
            self._is_showing = False
        self._status.value = self._status_html()
        self._plots.value = plots_html(self.plots)
        blank = tuple(Plot(title) for title in ("", "")) if self.plots else ()
        self._further.value = plots_html(self.further or blank)
        self._export_row.children = (*self.format_buttons.values(), self._said)
        self.widget.children = tuple(self._parts())

    def _show_controls(self) -> None:
        title = Markup('<h3 class="mk-heading">{}</h3>').format(self.title)
        self._head.value = style_tag(LIVE_CSS) + title + self._handle.live_style
        months = selectable_months(self._today(), self.month)
        _choose(self.month_box, [(month_name(m), m) for m in months], self.month)
        limit = self._budget and self._budget.limit_micro_usd
        self.budget_box.value = "" if limit is None else format_cents(limit)
        self.by_box.value = self.by.value
        reading, values = self.reading, tuple[str, ...]()
        if reading is not None and reading.by is self.by:
            values = values_of(reading)
        every = (f"All {ALL_WORDS[self.by]}", ALL)
        options = [every, *((value, value) for value in values)]
        _choose(self.only_box, options, self.only or ALL)
        for button in self.format_buttons.values():
            button.disabled = reading is None

    def _parts(self) -> Iterator[Any]:
        yield self._top
        if self.export_box.value:
            yield self._export_row
        yield self._trouble
        yield self._status
        if self.plots:
            yield from (self._plots, self.more_box)
            if self.more_box.value:
                yield self._further
        yield self._namer

    def _status_html(self) -> Markup:
        if self.trouble:
            return error_html(self.trouble)
        reading = self.reading
        if reading is None:
            return _loading_html(self.notice)
        if self.notice:
            return line_html(self.notice)
        figures = figures_html(figures_of(reading, self.only))
        if self._is_loading:
            return figures + _loading_html("Loading…")
        if not reading.is_checked:
            text = "Comparing the history with the service's reports…"
            return figures + _loading_html(text)
        return figures + checks_html(reading)

    def _saved(self) -> tuple[str, str]:
        month = self.title, self.notice, self.reading, self.only
        return saved_html(*month, self.plots), saved_text(*month)

    def _keep(self) -> None:
        self._handle.show(*self._saved())

    def _say(self, sentence: str) -> None:
        with self._lock:
            if not self._is_closed:
                self._trouble.value = error_html(sentence)


def _choose(dropdown: Any, options: list[tuple[str, str]], value: str) -> None:
    if tuple(dropdown.options) != tuple(options):
        dropdown.options = options
    dropdown.value = value


def _loading_html(text: str) -> Markup:
    return Markup(
        '<div class="mk-row mk-quiet mk-sp-loading"><i aria-hidden="true"></i>{}</div>'
    ).format(text)
