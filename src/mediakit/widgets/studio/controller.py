"""The controller of the studio: its tabs, and the user's choices in them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.display import publish_display_data

from mediakit.catalog import Function
from mediakit.client.media_inputs import JobOutput
from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError, MediakitError
from mediakit.history import Entry
from mediakit.widgets.controls.context import ViewContext
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.price.funds import Funds
from mediakit.widgets.form.price.funds_store import FundsStore
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.text import function_of
from mediakit.widgets.job.uses import Use, Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.studio.catalogue.forms import StudioForms
from mediakit.widgets.studio.history.query import HistoryQuery
from mediakit.widgets.studio.history.rows import Row, row_of, settings_of
from mediakit.widgets.studio.history.selection import pictured
from mediakit.widgets.studio.history.selection_actions import Selecting
from mediakit.widgets.studio.history.view import HistoryActs
from mediakit.widgets.studio.html import kept_html, kept_text
from mediakit.widgets.studio.spend_data import read_days, read_outlook, read_spend
from mediakit.widgets.studio.spend_summary import SpendSummary
from mediakit.widgets.studio.state import Place, StudioState
from mediakit.widgets.studio.view import Inside, StudioActs, StudioView
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import CellPlace, CellPlaces
from mediakit.widgets.toolkit.cell_outputs import CardHandle, Cell
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TYPING_PAUSE_S = 0.3
THUMB_MAX_PX = 144

_open_studios: dict[tuple[str, CellPlace], Studio] = {}
_places = CellPlaces()


class Studio:
    """All functions, the history and the spend; showing it is enough to use it.

    A studio that is made again, because its cell was run again, takes over what was
    chosen, looked for and filled in, and closes the one that it replaces. Studios of
    other cells stay, where the notebook tells its cells apart.

    Args:
        client: The client that sends, watches and remembers.
        clock: Gives time; the system's by default.
        cell: The cell that makes it; None outside of any.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        cell: Cell | None = None,
    ) -> None:
        self.client = client
        service = client.service.identity
        self._key = (service, _places.take(service, cell))
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._closed = False
        self._asked = 0
        self._readings = 0
        self._outlook = ""
        self._state = StudioState()
        self._job: JobView | None = None
        self._job_widget: JobsWidget | None = None
        self._tasks = TaskRunner(client.io, self._say)
        self._selecting = Selecting(
            client,
            self._tasks,
            now=lambda: self._state,
            take=self._take,
            read_again=self._read_again,
        )
        guard = guarded(self._say, self._lock)
        self._handle = CardHandle()
        with self._lock:
            before = _open_studios.pop(self._key, None)
            name = "studio {} {}".format(*self._key[1])
            self._forms = StudioForms(client, self._made, name, self._use)
            self._view = self._make_view(ViewContext(WidgetFactory(), guard))
            self._view.hide(self._handle)
            self._begin(before)
            self._show()
            _open_studios[self._key] = self
        self._funds, leave = FundsStore.follow(client, guard(self._take_funds))
        self._ends = [
            leave,
            client.on_settled(lambda _: self._read_again()),
            client.on_close(self.close),
        ]
        self._refresh()

    def _make_view(self, context: ViewContext) -> StudioView:
        history = HistoryActs(
            ask=self._ask,
            next=lambda: self._turn(self._state.page.next_query()),
            previous=lambda: self._turn(self._state.page.previous_query()),
            open=self._open,
            reuse=self._reuse,
            select=self._selecting.select,
            selected=replace(self._selecting.acts, compare=self._compare),
            stop_comparing=self._selecting.stop_comparing,
        )
        acts = StudioActs(
            go=self._go,
            choose=self._choose,
            refresh=self._refresh,
            shut=self._shut,
            history=history,
        )
        return StudioView(self.client.catalog, context, self.client.service.label, acts)

    def _begin(self, before: Studio | None) -> None:
        if before is None:
            return
        with before._lock:
            chosen = before.state.chosen
            self._forms.take_over(before._forms)
            page = before.state.page
            self._state = StudioState(
                place=before.state.place,
                page=page,
                selection=before.state.selection,
            )
            self._view.catalogue.search.value = before._view.catalogue.search.value
            before.close()
        if chosen in self._forms:
            self._state = replace(self._state, chosen=chosen)

    # -- what people read ---------------------------------------------------------

    @property
    def state(self) -> StudioState:
        """Return what the studio shows, as one value."""
        return self._state

    @property
    def form(self) -> Form | None:
        """Return the form that is shown; None while there is none."""
        return self._forms.get(self._state.chosen)

    @property
    def widget(self) -> Any:
        """Return the widget that carries the studio."""
        return self._view.widget

    def __repr__(self) -> str:
        return f"<Studio of {self.client.service.label}>"

    def _ipython_display_(self) -> None:
        """Show the live studio, and a place where what it made stays."""
        self._write_cards()
        self._handle.display()
        show: Callable[..., None] = publish_display_data
        show({**self._repr_mimebundle_(), "text/html": "", "text/plain": ""})

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        """Return the live widget, and what stays of it without a kernel."""
        bundle: dict[str, Any] = dict(self.widget._repr_mimebundle_(**kwargs))
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = self._kept()[0]
        return bundle

    def close(self) -> None:
        """Close the studio with its forms and free its widgets; jobs continue."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for end in self._ends:
                end()
            if _open_studios.get(self._key) is self:
                del _open_studios[self._key]
            self._handle.close()
            self._view.close()
            self._forms.close()
            self._selecting.close()
            for each in (self._job_widget, self._job):
                if each is not None:
                    each.close()

    # -- what people do -----------------------------------------------------------

    def _go(self, place: Place) -> None:
        if place is not self._state.place:
            self._change(self._state.at(place))
            self._refresh()

    def _choose(self, path: str | None) -> None:
        if path is not None:
            self._forms.open(self.client.catalog.function(path))
        self._change(self._state.choosing(path))
        if path is not None:
            self._view.back.focus()

    def _ask(self, **wishes: Any) -> None:
        self._change(self._state.asking(self._state.page.query.asking(**wishes)))
        self._asked += 1
        asked = self._asked
        self._tasks.run(lambda: self._read_after_typing(asked))

    def _turn(self, query: HistoryQuery) -> None:
        self._change(self._state.asking(query))
        self._tasks.run(self._read_history)

    def _open(self, entry: Entry) -> None:
        job_id = entry.job_id
        if job_id is not None:
            self._change(self._state.opening_job(job_id))
            self._tasks.run(lambda: self._open_job(job_id))

    def _reuse(self, entry: Entry) -> None:
        try:
            function = self._known_function(entry)
            said = self._forms.fill(function, settings_of(entry))
        except MediakitError as error:
            self._change(self._state.saying(sentence_of(error)))
            return
        self._change(self._state.choosing(function.path))
        self._change(self._state.saying(said))
        self._view.back.focus()

    def _use(self, use: Use, made: JobOutput) -> None:
        """Open the form of what takes a result, with the result in it."""
        with self._lock:
            form = self._forms.open(use.function)
            self._change(self._state.choosing(use.function.path))
        form.take_result(use, made)

    def _known_function(self, entry: Entry) -> Function:
        function = function_of(entry, self.client.catalog)
        if function is None:
            accepted = "a function of this client's catalogue; bind it to use it again"
            raise InputError("function", got=entry.function, accepted=accepted)
        return function

    def _compare(self) -> None:
        self._selecting.compare()
        self._view.history().back.focus()

    def _shut(self) -> None:
        self._take_job(None)

    def _refresh(self) -> None:
        self._funds.refresh()
        self._read_again()
        if self._state.place is Place.SPEND:
            self._tasks.run(self._read_outlook)

    def _read_again(self) -> None:
        self._tasks.run(self._read_summary)
        if self._state.place is Place.SPEND:
            self._tasks.run(self._read_days)
        self._tasks.run(self._read_history)

    # -- what the I/O thread does -------------------------------------------------

    def _made(self) -> None:
        """Note that a form has made a job, or that one of its jobs has changed."""
        self._write_cards()
        self._read_again()

    async def _read_after_typing(self, asked: int) -> None:
        await self._clock.sleep(TYPING_PAUSE_S)
        if asked == self._asked:
            await self._read_history()

    async def _read_history(self) -> None:
        if self._closed:
            return
        history, query = self.client.core.history, self._state.page.query
        try:
            found = await history.page(**query.wanted)
            await self.client.components.media_names.learn(*found)
            projects = await history.projects()
        except MediakitError as error:
            trouble = sentence_of(error)
            self._take(lambda s: replace(s, page=s.page.failed(trouble)))
            return
        if query == self._state.page.query:  # else another answer is in flight
            self._take(lambda s: s.finding(s.page.found(found, projects)))
            self._write_cards()
            await self._bring_thumbs()

    async def _read_summary(self) -> None:
        if self._closed:
            return
        self._readings += 1
        turn = self._readings
        summary = await read_spend(self.client, self._clock.now())
        if turn == self._readings:  # else a later reading is newer
            with self._lock:
                self._take_summary(summary, self._funds.funds)

    async def _read_days(self) -> None:
        if self._closed:
            return
        days = await read_days(self.client, self._clock.now())
        self._take(lambda s: replace(s, days=days))

    async def _read_outlook(self) -> None:
        """Read the forecast; it asks the service, so it does not follow each job."""
        if self._closed:
            return
        self._outlook = await read_outlook(self.client)
        with self._lock:
            if self._state.summary is not None:
                self._take_summary(self._state.summary, self._funds.funds)

    def _take_funds(self, funds: Funds) -> None:
        if self._state.summary is not None:
            self._take_summary(self._state.summary, funds)

    def _take_summary(self, summary: SpendSummary, funds: Funds) -> None:
        # The budget is a fact of its own, beside the balance.
        funds = replace(funds, budget=None)
        summary = replace(summary, funds=funds, outlook=self._outlook)
        self._change(replace(self._state, summary=summary))
        self._write_cards()

    async def _open_job(self, job_id: str) -> None:
        try:
            job = await self.client.core.job(job_id)
        except MediakitError as error:
            self._say(sentence_of(error))
            return
        with self._lock:
            if not self._closed and self._state.opening == job_id:
                uses = Uses(self.client.catalog, elsewhere=self._use)
                home = JobHost(add=None, uses=uses)
                self._take_job(JobView(job, self.client, home=home))
        self._write_cards()

    # -- what is shown ------------------------------------------------------------

    def _take_job(self, job: JobView | None) -> None:
        before, self._job = (self._job, self._job_widget), job
        self._job_widget = None
        if job is not None:
            self._job_widget = JobsWidget()
            self._job_widget.show_jobs((job,))
            job.on_card(self._write_cards)
        self._change(self._state.with_job(None if job is None else job.id))
        for each in before:
            if each is not None:
                each.close()

    def _take(self, change: Callable[[StudioState], StudioState]) -> None:
        with self._lock:
            self._change(change(self._state))

    def _change(self, state: StudioState) -> None:
        self._state = state
        self._show()

    def _show(self) -> None:
        if self._closed:
            return
        form = self.form
        self._view.show(
            self._state,
            self._rows(),
            Inside(
                form=None if form is None else form.widget,
                job=self._job_widget,
                wall=self._selecting.wall,
            ),
        )

    def _rows(self) -> list[Row]:
        catalog, entries = self.client.catalog, self._state.page.rows
        names = self.client.components.media_names.known
        known = self.client.components.posters.known
        rows = ((row_of(entry, catalog, names=names), entry) for entry in entries)
        return [
            replace(row, thumb=known(entry.job_id, THUMB_MAX_PX)) for row, entry in rows
        ]

    async def _bring_thumbs(self) -> None:
        for entry in self._state.page.rows:
            if self._closed or self._state.place is not Place.HISTORY:
                return
            if pictured(entry):
                find = self.client.components.posters.find
                job_id, url = str(entry.job_id), str(entry.output_url)
                await find(job_id, url, THUMB_MAX_PX)
                self._take(lambda s: s)

    def _kept(self) -> tuple[str, str]:
        kept = (self.client.service.label, self._state.summary, self._rows())
        return kept_html(*kept), kept_text(*kept)

    def _write_cards(self) -> None:
        html, text = self._kept()
        jobs = self._forms.jobs
        made = {view.state.record.id for view in jobs}
        opened = self._job
        if opened is not None and opened.state.record.id not in made:
            html, text = html + opened.card_html, f"{text}\n\n{opened.card_text}"
        self._handle.show(html, text)
        self._handle.follow(*reversed(jobs))

    def _say(self, text: str) -> None:
        self._take(lambda state: state.saying(text))
