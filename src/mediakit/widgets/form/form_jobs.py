"""The jobs that a form asked for, also in an earlier kernel: newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mediakit.client import AsyncJob
from mediakit.clock import Clock
from mediakit.history import Entry
from mediakit.records import JobStatus
from mediakit.widgets.form.form_memory import FormMemory, is_over, is_same
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.widget import FormWidget
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.view import JobView
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


class FormJobs:
    """The views of a form's jobs, and which of its requests were submitted."""

    def __init__(
        self,
        client: Client,
        path: str,
        live: LiveState,
        widget: FormWidget,
        handle: CardHandle,
        memory: FormMemory,
        tasks: TaskRunner,
        host: JobHost,
    ) -> None:
        self.views: tuple[JobView, ...] = ()
        self._client = client
        self._path = path
        self._live = live
        self._widget = widget
        self._handle = handle
        self._memory = memory
        self._tasks = tasks
        self._host = host
        self._asked: Sequence[Entry] = ()
        self._listeners: list[Callable[[], None]] = []
        self._closed = False

    def on_job(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def recalled(self, asked: Sequence[Entry]) -> list[JobView]:
        """Return views of the jobs that an earlier kernel submitted."""
        for entry in asked:
            self._live.now = self._with_same(self._live.now, entry)
        jobs = [
            self._memory.recalled(each) for each in asked if each.job_id is not None
        ]
        return [self._view(job, recalled=True) for job in jobs]

    def begin(self, views: Sequence[JobView], asked: Sequence[Entry]) -> None:
        """Show the first jobs, with the entries of an earlier kernel."""
        self._asked = asked
        self.views = tuple(views)
        for view in self.views:
            self._note_failure(view)
        self._widget.show_jobs(self.views)

    def watch_again(self, clock: Clock) -> None:
        """Watch what an earlier kernel left, once the form is on the page."""
        self._handle.follow(*reversed(self.views))
        if any(not is_over(entry) for entry in self._asked):
            self._tasks.run(partial(self._watch_again, clock))

    async def _watch_again(self, clock: Clock) -> None:
        await self._memory.watch(self._asked)
        for entry in await self._memory.answered(self._asked, clock):
            self._live.change(partial(self._with_same, entry=entry))
            self.accept(self._memory.recalled(entry))

    def _with_same(self, state: FormState, entry: Entry) -> FormState:
        """Note that an earlier kernel submitted what the form holds."""
        job_id = entry.job_id
        is_new = job_id is not None and job_id not in state.submitted
        if not is_new or entry.function != self._path or not is_same(state, entry):
            return state
        return state.with_submitted(str(job_id), state.body_digest)

    def accept(self, job: AsyncJob, submitted: str | None = None) -> None:
        """Show a job, unless it is shown; `submitted` is its body's digest."""
        if submitted is not None:
            self._live.change(lambda now: now.with_submitted(job.id, submitted))
        with self._live.lock:
            if any(view.id == job.id for view in self.views):
                return
            view = self._view(job)
            self.views = (view, *self.views)
            self._note_failure(view)
            if not self._closed:
                self._widget.show_jobs(self.views)
        self._handle.follow(view)
        for listener in tuple(self._listeners):
            listener()

    def give_away(self) -> tuple[JobView, ...]:
        """Leave the views to the form that replaces this one."""
        views, self.views = self.views, ()
        return views

    def close(self) -> None:
        """Close the views; the jobs continue."""
        self._closed = True
        for view in self.views:
            view.close()

    def _view(self, job: AsyncJob, *, recalled: bool = False) -> JobView:
        # The history also has the jobs that were made from a result of the form.
        is_own = job.state.function == self._path
        host = self._host if is_own else replace(self._host, vary=None)
        arrives = not recalled
        return JobView(job, self._client, home=host, recalled=recalled, arrives=arrives)

    def _note_failure(self, view: JobView) -> None:
        """Forget the submission of a job once it fails: it is not charged."""

        def note() -> None:
            record = view.state.record
            failed = record.status is JobStatus.FAILED
            if failed and record.id in self._live.now.submitted:
                # Not here: a view that tells of a change holds a lock of its own.
                self._tasks.run(partial(self._forget, record.id))

        view.on_card(note)
        note()

    async def _forget(self, job_id: str) -> None:
        self._live.change(lambda now: now.without_submitted(job_id))
