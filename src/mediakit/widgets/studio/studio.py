"""The studio: all functions, the history and the spend in one place."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import traitlets
from anyio import to_thread

from mediakit.api_models import JobStatus
from mediakit.catalog import Function
from mediakit.client.job_acts import ACTS, Act, free_acts_on_many, page_acts
from mediakit.client.media_inputs import JobOutput
from mediakit.clock import Clock, SystemClock
from mediakit.errors import MediakitError
from mediakit.history import Entry, ratings
from mediakit.media_html import data_url
from mediakit.notebook import in_voila
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.dashboard.dashboard import Dashboard
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.funds import Funds
from mediakit.widgets.form.funds_store import FundsStore
from mediakit.widgets.gallery import Gallery
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.text import function_of
from mediakit.widgets.job.uses import Use, Uses
from mediakit.widgets.job.view import JobView
from mediakit.widgets.studio.actions import do_all, save_all, wall_of
from mediakit.widgets.studio.functions import offers_of
from mediakit.widgets.studio.head import facts_of, saved_html, saved_text
from mediakit.widgets.studio.history import (
    MOST_SELECTED,
    PAGE_ROWS,
    Page,
    Query,
    Selection,
    has_result,
    judgements_of,
    picture_url,
    read_choices,
    row_of,
    settings_of,
)
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.browser_script import script_of
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import ReplacedByCell
from mediakit.widgets.toolkit.cell_outputs import (
    CardHandle,
    NotebookCell,
    bundle_of,
    current_cell,
)
from mediakit.widgets.toolkit.saved_copies import CardsWidget
from mediakit.widgets.toolkit.styles import IPYWIDGETS, sheets
from mediakit.widgets.toolkit.throttle import Paced
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

HERE = Path(__file__).parent
MAKE, HISTORY, SPEND = "Make", "History", "Spend"
PAUSE_S = 0.5
"""The minimum time between two reads of the history when jobs change."""
THUMB_MAX_PX = 144

_open: ReplacedByCell[Studio] = ReplacedByCell()


class StudioLists(CardsWidget):
    """The part of the studio that its script draws, from `state`."""

    shows = "studio"
    _esm = script_of(HERE, "studio.js")
    _css = sheets(IPYWIDGETS, HERE / "studio.css")
    functions: Any = traitlets.List().tag(sync=True)
    acts: Any = traitlets.Dict(page_acts(free_acts_on_many(ACTS))).tag(sync=True)
    state: Any = traitlets.Dict().tag(sync=True)


class Studio:
    """All functions, the history and the spend; displaying it is all you need."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock | None = None,
        cell: NotebookCell | None = None,
        acts: Iterable[Act] = ACTS,
    ) -> None:
        self.client = client
        # The acts on selected jobs.
        self._acts = {act.name: act for act in free_acts_on_many(acts)}
        self._key = _open.key(client.service.identity, cell)
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._reading = asyncio.Lock()
        self._is_closed = False
        self.place = MAKE
        self.search = ""
        self.said = ""
        self.trouble = ""
        self.chosen: str | None = None
        self.page = Page()
        self.selection = Selection()
        self.question = ""
        self.kept_n = 0  # the number of kept results that the question concerns
        self._choices: dict[str, list[list[str]]] = {
            name: [] for name in ("kinds", "projects", "sweeps", "tags")
        }
        self._today_micro_usd: int | None = None
        self._budget: Any = None
        self._funds_now = Funds()
        self._forms: dict[str, Form] = {}
        self._heard: set[JobView] = set()
        self._ends: list[Callable[[], object]] = []
        self._job: JobView | None = None
        self._job_widget: JobsWidget | None = None
        self._wall: Gallery | None = None
        self.dashboard: Dashboard | None = None
        self._tasks = TaskRunner(client.io, self._fail)
        # One read serves jobs that change at the same time.
        self._reads = Paced(client.io, self._clock, PAUSE_S, self._read, self._fail)
        self._handle = CardHandle()
        self._factory = WidgetFactory()
        make = self._factory.make
        hides = make(w.HTML, value=self._handle.live_style)
        self.lists = make(
            StudioLists,
            functions=[vars(offer) for offer in offers_of(client.catalog)],
            acts=page_acts(self._acts.values()),
            state=self._state(),
        )
        self.lists.carry_cards(self._handle)
        guard = guarded(self._fail, self._lock)
        self.lists.on_msg(guard(self._heard_message))
        self._shut = make(w.Button, "mk-small mk-st-shut", description="Close")
        self._shut.on_click(guard(lambda _: self._show_job(None)))
        self.content = make(w.VBox, "mk-st-content")
        children = (hides, self.lists, self.content)
        self.widget = make(w.VBox, "mk-frame mk-form mk-studio", children=children)
        with self._lock:
            before = _open.replace(self._key, self)
            if before is not None:
                self._continue(before)
        self._funds, leave = FundsStore.follow(client, guard(self._take_funds))
        self._ends += [
            leave,
            client.on_settled(lambda _: self._reads.ask()),
            client.on_close(self.close),
        ]
        self._do_refresh()

    def _continue(self, before: Studio) -> None:
        with before._lock:
            functions = {function.path: function for function in self.client.catalog}
            for path in functions.keys() & before._forms.keys():
                # The new form takes over the content of the form with the same name.
                self._form_of(functions[path])
            self.place = before.place
            self.search = before.search
            self.page = before.page
            self.selection = before.selection
            self.chosen = before.chosen if before.chosen in self._forms else None
            before.close()
        if self.place == SPEND:
            self.dashboard = self._new_dashboard(before.dashboard)

    # -- properties ----------------------------------------------------------------

    @property
    def form(self) -> Form | None:
        return None if self.chosen is None else self._forms.get(self.chosen)

    def __repr__(self) -> str:
        label = self.client.service.label
        return (
            f"<Studio of {label}, displayed only in notebooks; in code, use "
            "client.submit(...) and client.history.frame()>"
        )

    def _ipython_display_(self) -> None:
        if current_cell() is None:
            print(repr(self))  # noqa: T201 - there is no cell to show it in
        self._write_cards()
        self._handle.display_beside(self.widget)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        return bundle_of(self.widget, saved_html(self.lists.state), repr(self))

    def close(self) -> None:
        """Close the studio with its forms and free its widgets; jobs continue."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._reads.close()
            for end in self._ends:
                end()
            _open.remove(self._key, self)
            self._handle.close()
            self.content.children = ()
            self._close_wall()
            mine = (self._job_widget, self._job, self.dashboard)
            for part in (*self._forms.values(), *mine):
                if part is not None:
                    part.close()
            self._factory.close()

    # -- user actions --------------------------------------------------------------

    def _heard_message(self, _: object, content: Mapping[str, Any], __: object) -> None:
        request = dict(content)
        self.said = self.trouble = ""
        getattr(self, f"_do_{request.pop('act')}")(**request)
        self._show()

    def _do_go(self, place: str) -> None:
        self.place = place
        self.question = ""
        if place == SPEND and self.dashboard is None:
            self.dashboard = self._new_dashboard()
        self._do_refresh()

    def _new_dashboard(self, before: Dashboard | None = None) -> Dashboard:
        from mediakit.spend import AsyncSpend

        parts = self.client.components
        spend = AsyncSpend(
            parts.billing, parts.history, self.client.catalog, parts.clock
        )
        today = spend.service_clock.today
        return Dashboard(spend, self.client.io, today, before=before)

    def _do_search(self, text: str) -> None:
        self.search = text

    def _do_choose(self, path: str | None) -> None:
        self.chosen = path
        if path is not None:
            self._form_of(self.client.catalog.function(path))
            self._focus("back")

    def _do_refresh(self) -> None:
        self._funds.refresh()
        if self.place == SPEND and self.dashboard is not None:
            self.dashboard.refresh()
        self._tasks.run(self._read)

    def _do_query(self, query: Mapping[str, str]) -> None:
        self.page = Page(Query(**query), self.page.entries, judged=self.page.judged)
        self._tasks.run(self._read)

    def _do_turn(self, by: int) -> None:
        page = self.page
        if by > 0 and not page.has_more:
            return  # the next page is being read
        before = (*page.before, page.rows[-1]) if by > 0 else page.before[:-1]
        self.page = replace(page, before=before, has_more=False)
        self._tasks.run(self._read)

    def _entry(self, number: int) -> Entry:
        return next(entry for entry in self.page.rows if entry.number == number)

    def _do_open(self, number: int) -> None:
        job_id = str(self._entry(number).job_id)
        self.said = "Opening the job…"
        self._tasks.run(partial(self._open_job, job_id))

    def _do_reuse(self, number: int) -> None:
        entry = self._entry(number)
        function = function_of(entry, self.client.catalog)
        try:
            settings = settings_of(entry)
            if function is None:
                raise MediakitError(
                    f"{entry.function} is not in this client's catalog; bind it first."
                )
            notice = self._fill(function, settings)
        except MediakitError as error:
            self.trouble = sentence_of(error)
            return
        if has_result(entry) and entry.status is JobStatus.COMPLETED:
            owned = (
                "You already have this result: “Show it” costs nothing. "
                "Generating it again makes another paid take."
            )
            notice = f"{notice} {owned}".strip()
        self.place = MAKE
        self.chosen = function.path
        self.said = notice
        self._focus("back")

    def _fill(self, function: Function, settings: Mapping[str, Any]) -> str:
        form = self._form_of(function)
        values: dict[str, Any] = {name: settings.get(name) for name in function.fields}
        others = {n: value for n, value in settings.items() if n not in values}
        if function.is_open:
            values[FURTHER.name] = others
        form.values.update(values)
        if not others or function.is_open:
            return ""
        return (
            f"The form has no field for {', '.join(others)}, so it is left out. All "
            "other settings were copied."
        )

    def _use(self, use: Use, made: JobOutput) -> None:
        with self._lock:
            form = self._form_of(use.function)
            self.place = MAKE
            self.chosen = use.function.path
            self._show()
        form.take_result(use, made)

    def _do_rate(self, number: int, rating: int) -> None:
        job_id = str(self._entry(number).job_id)
        self._tasks.run(partial(self._rate, job_id, rating))

    async def _rate(self, job_id: str, rating: int) -> None:
        history = self.client.components.account_history
        owner: dict[str, Any] = {**history.owner, "job_id": job_id}
        try:
            await history.write(ratings.judge, **owner, rating=rating or None)
        except MediakitError as error:
            self._fail(sentence_of(error))
        await self._read()

    def _do_select(self, numbers: list[int], on: bool) -> None:  # noqa: FBT001 - a tick
        entries = [entry for entry in self.page.rows if entry.number in numbers]
        self.question = ""
        if on:
            self.selection.add(entries)
        else:
            self.selection.remove(entries)

    def _do_select_match(self) -> None:
        self._tasks.run(self._select_match)

    def _do_compare(self) -> None:
        self._tasks.run(self._compare)

    def _do_stop_comparing(self) -> None:
        self._close_wall()

    def _do_clear(self) -> None:
        self.selection = Selection()
        self.question = ""

    def _do_question(self, of: str) -> None:
        self._tasks.run(partial(self._ask, of))

    def _do_all(self, name: str, folder: str) -> None:
        """Do an act with the selected jobs; the folder is where files are saved."""
        act = self._acts[name]
        entries = self.selection.able(act)
        if name == "save":
            save = partial(save_all, self.client, act, entries, folder)
            self._do(f"Saving to {folder}…", save)
        else:
            do = partial(do_all, self.client, act, entries)
            self._do(act.meanwhile, do, clears=True)

    def _do(self, text: str, act: Callable[[], Any], *, clears: bool = False) -> None:
        self.said = text
        self.question = ""

        async def work() -> None:
            notice = trouble = ""
            try:
                notice = await act()
            except MediakitError as error:
                trouble = sentence_of(error)
            with self._lock:
                self.said = notice
                self.trouble = trouble
                if clears and not trouble:
                    self.selection = Selection()
            await self._read()

        self._tasks.run(work)

    # -- forms and jobs -----------------------------------------------------------

    def _form_of(self, function: Function) -> Form:
        if function.path not in self._forms:
            # The name distinguishes the form from forms of cells and of other studios.
            name = "studio {} {} {}".format(*self._key[1], function.path)
            form = Form(self.client, function, name=name, elsewhere=self._use)
            self._forms[function.path] = form
            self._ends.append(form.on_job(self._hear_jobs))
            self._hear_jobs()
        return self._forms[function.path]

    def _hear_jobs(self) -> None:
        jobs = [job for form in tuple(self._forms.values()) for job in form.jobs]
        for job in jobs:
            if job not in self._heard:
                self._heard.add(job)
                self._ends.append(job.on_card(self._reads.ask))
        self._handle.follow(*reversed(jobs))
        self._reads.ask()

    async def _open_job(self, job_id: str) -> None:
        try:
            job = await self.client.core.job(job_id)
        except MediakitError as error:
            self._fail(sentence_of(error))
            return
        with self._lock:
            if not self._is_closed:
                uses = Uses(self.client.catalog, elsewhere=self._use)
                host = JobHost(add=None, uses=uses)
                self.said = ""
                self._focus("job")
                self._show_job(JobView(job, self.client, home=host))

    def _show_job(self, job: JobView | None) -> None:
        before = (self._job_widget, self._job)
        self._job = job
        self._job_widget = None
        if job is not None:
            job.on_card(self._write_cards)
            self._job_widget = JobsWidget()
            self._job_widget.show_jobs((job,))
        self._show()
        self._write_cards()
        for each in before:
            if each is not None:
                each.close()

    # -- on the I/O thread --------------------------------------------------------

    async def _read(self) -> None:
        async with self._reading:  # reads finish in order
            is_read = not self._is_closed and await self._read_page()
        if is_read:
            self._write_cards()
            await self._bring_thumbs()

    async def _read_page(self) -> bool:
        history = self.client.core.history
        wanted = self.page
        now = self._clock.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        self._today_micro_usd = await history.settled_total_micro_usd(since=midnight)
        self._budget = await self.client.core.budget()
        try:
            matches = await history.page(
                limit=PAGE_ROWS + 1,
                before=wanted.before[-1] if wanted.before else None,
                **wanted.query.wanted,
            )
            await self.client.components.media_names.learn(*matches)
            choices = await to_thread.run_sync(read_choices, self.client)
        except MediakitError as error:
            self._fail(sentence_of(error))
            return False
        judged = await to_thread.run_sync(judgements_of, self.client, matches)
        with self._lock:
            if (wanted.query, wanted.before) != (self.page.query, self.page.before):
                return False  # another answer is in flight
            self._choices = choices
            entries = tuple(matches[:PAGE_ROWS])
            self.page = replace(
                wanted,
                entries=entries,
                has_more=len(matches) > PAGE_ROWS,
                judged={each.job_id: each for each in judged},
            )
            self.selection.renew(entries)
            self._show()
        return True

    async def _bring_thumbs(self) -> None:
        posters = self.client.components.posters
        for entry in self.page.rows:
            if self._is_closed or self.place != HISTORY:
                return
            url = picture_url(entry)
            if url and posters.known(entry.job_id, THUMB_MAX_PX) is None:
                await posters.find(str(entry.job_id), url, THUMB_MAX_PX)
                self._show()

    async def _select_match(self) -> None:
        query = self.page.query
        history = self.client.core.history
        entries = await history.page(limit=MOST_SELECTED + 1, **query.wanted)
        with self._lock:
            self.selection = Selection(entries[:MOST_SELECTED])
            if len(entries) > MOST_SELECTED:
                self.said = (
                    f"Only the first {MOST_SELECTED:,} are selected. Narrow the "
                    "filter, or use client.history.page(...) in code."
                )
            self._show()

    async def _ask(self, question: str) -> None:
        entries = self.selection.able(self._acts[question]) if question else ()
        judged = await to_thread.run_sync(judgements_of, self.client, entries)
        with self._lock:
            self.question = question
            self.kept_n = sum(judgement.keep for judgement in judged)
            self._show()

    async def _compare(self) -> None:
        entries = self.selection.where(has_result)
        judged = await to_thread.run_sync(judgements_of, self.client, entries)
        with self._lock:
            self._close_wall()
            self._wall = wall_of(self.client, entries, judged)
            self._show()
            self._focus("list")

    def _close_wall(self) -> None:
        wall, self._wall = self._wall, None
        if wall is not None:
            self._show()
            wall.close()

    def _take_funds(self, funds: Funds) -> None:
        self._funds_now = funds
        self._show()

    def _fail(self, sentence: str) -> None:
        with self._lock:
            self.said = ""
            self.trouble = sentence
            self._show()

    # -- display -------------------------------------------------------------------

    def _focus(self, where: str) -> None:
        self.lists.send({"focus": where})

    def _show(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self.lists.state = self._state()
            self.content.children = self._content()

    def _content(self) -> tuple[Any, ...]:
        if self.place == SPEND:
            return () if self.dashboard is None else (self.dashboard.widget,)
        if self.place == MAKE:
            return () if self.form is None else (self.form.widget,)
        if self._wall is not None:
            return (self._wall.view,)
        return () if self._job_widget is None else (self._shut, self._job_widget)

    def _state(self) -> dict[str, Any]:
        job = self._job
        return {
            "service": self.client.service.label,
            "place": self.place,
            "search": self.search,
            "form": self.form is not None,
            "facts": facts_of(self._funds_now, self._budget, self._today_micro_usd),
            "said": self.said,
            "trouble": self.trouble or self._funds_now.trouble or "",
            "query": vars(self.page.query),
            "choices": self._choices,
            "rows": self._rows(),
            "page": self.page.text,
            "has_previous": bool(self.page.before),
            "has_next": self.page.has_more,
            "selected": self.selection.numbers,
            "selection": self.selection.text,
            "counts": {
                "compare": len(self.selection.where(has_result)),
                **{name: self._count(act) for name, act in self._acts.items()},
            },
            "question": self.question,
            "kept": self.kept_n,
            "opened": None if job is None else job.id,
            "comparing": self._wall is not None,
        }

    def _count(self, act: Act) -> int:
        is_here = not (act.is_local and in_voila(os.environ))
        return len(self.selection.able(act)) if is_here else 0

    def _rows(self) -> list[dict[str, Any]]:
        catalog = self.client.catalog
        names = self.client.components.media_names.known
        picture = self.client.components.posters.known
        judged = self.page.judged
        rows = []
        for entry in self.page.rows:
            row = row_of(entry, catalog, names, judged.get(entry.job_id or ""))
            jpeg = picture(entry.job_id, THUMB_MAX_PX) if picture_url(entry) else None
            rows.append({**row, "thumb": data_url(jpeg) if jpeg else ""})
        return rows

    def _write_cards(self) -> None:
        with self._lock:
            state = self.lists.state
            job = self._job
        html = saved_html(state)
        text = saved_text(state)
        if job is not None and job not in self._heard:
            html += job.card_html
            text += f"\n\n{job.card_text}"
        self._handle.show(html, text)
