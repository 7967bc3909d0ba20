"""The jobs that a form submitted, newest first, including an earlier kernel's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from mediakit.api_models import JobStatus
from mediakit.client import AsyncJob
from mediakit.client.submit_responses import may_resend_unasked
from mediakit.history import Entry, EntryState, History
from mediakit.schema import canonical_json
from mediakit.widgets.form.model import FormModel
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.payload import JobHost
from mediakit.widgets.job.view import JobView

ANSWER_PAUSE_S = 1.0
ANSWER_LOOKS = 300


class FormJobs:
    """The views of a form's jobs, and which of its requests were submitted."""

    def __init__(self, model: FormModel, host: JobHost) -> None:
        self.views: tuple[JobView, ...] = ()
        self._model = model
        self._host = host
        self._listeners: list[Callable[[], None]] = []

    def on_job(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def recalled(self, entries: Sequence[Entry]) -> list[JobView]:
        """Return views of the jobs that an earlier kernel submitted."""
        jobs = [self._recalled(each) for each in entries if each.job_id is not None]
        return [self._view(job, recalled=True) for job in jobs]

    def begin(self, views: Sequence[JobView]) -> None:
        """Show the first jobs."""
        self.views = tuple(views)
        for view in self.views:
            self._note_failure(view)
        self._model.page.widget.show_jobs(self.views)

    def watch_again(self, earlier: Sequence[Entry]) -> None:
        """Follow the jobs of an earlier kernel, once the form is displayed."""
        self._model.page.handle.follow(*reversed(self.views))
        open_entries = [entry for entry in earlier if not _is_over(entry)]
        if open_entries:
            self._model.tasks.run(partial(self._watch_again, open_entries))

    async def _watch_again(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.job_id is not None:
                await self._model.client.components.jobs.resume(entry)
        for entry in await self._answered(entries):
            self._model.change(partial(with_submission, entry=entry))
            self.accept(self._recalled(entry))

    async def _answered(self, unsettled: Sequence[Entry]) -> Sequence[Entry]:
        """Wait until unanswered requests have a job; return their entries."""
        clock = self._model.clock
        ask = self._model.client.components.account_history.ask
        # The client retries unanswered requests; see `resume`.
        keys = [
            entry.key
            for entry in unsettled
            if entry.state is EntryState.UNANSWERED
            and may_resend_unasked(entry, clock.now())
        ]
        entries: list[Entry] = []
        for _ in range(ANSWER_LOOKS if keys else 0):
            read = [await ask(History.find_key, key) for key in keys]
            present = [entry for entry in read if entry is not None]
            entries += [entry for entry in present if entry.job_id is not None]
            keys = [e.key for e in present if e.state is EntryState.UNANSWERED]
            if not keys:
                break
            await clock.sleep(ANSWER_PAUSE_S)
        return entries

    def accept(self, job: AsyncJob, submitted: str | None = None) -> None:
        """Show a job once; `submitted` is the digest of its body."""
        if submitted is not None:
            self._model.change(lambda now: now.with_submitted(job.id, submitted))
        with self._model.lock:
            if any(view.id == job.id for view in self.views):
                return
            view = self._view(job)
            self.views = (view, *self.views)
            self._note_failure(view)
            if not self._model.is_closed:
                self._model.page.widget.show_jobs(self.views)
        self._model.page.handle.follow(view)
        for listener in tuple(self._listeners):
            listener()

    def give_away(self) -> tuple[JobView, ...]:
        """Pass the views to the form that replaces this one."""
        views, self.views = self.views, ()
        return views

    def close(self) -> None:
        """Close the views; the jobs continue."""
        for view in self.views:
            view.close()

    def _recalled(self, entry: Entry) -> AsyncJob:
        return self._model.client.components.jobs.recalled(entry)

    def _view(self, job: AsyncJob, *, recalled: bool = False) -> JobView:
        # The form's jobs include jobs of other functions that use its results.
        is_own = job.state.function == self._model.function.path
        host = self._host if is_own else replace(self._host, vary=None)
        client = self._model.client
        return JobView(job, client, home=host, recalled=recalled, arrives=not recalled)

    def _note_failure(self, view: JobView) -> None:
        """Forget the submission of a failed job, which is not charged."""

        def note() -> None:
            record = view.state.record
            failed = record.status is JobStatus.FAILED
            if failed and record.id in self._model.state.submitted:
                # Run this in a task: a view that reports a change holds its lock.
                self._model.tasks.run(partial(self._forget, record.id))

        view.on_card(note)
        note()

    async def _forget(self, job_id: str) -> None:
        self._model.change(lambda now: now.without_submitted(job_id))


def _is_over(entry: Entry) -> bool:
    """Return whether an entry is final."""
    return entry.state in (EntryState.SETTLED, EntryState.REFUSED)


def with_submission(state: FormState, entry: Entry) -> FormState:
    """Return the state after a kernel submitted an entry, perhaps its request."""
    job_id = entry.job_id
    is_own = entry.function == state.function.path
    if job_id is None or job_id in state.submitted or not is_own:
        return state
    if not _is_same(state, entry):
        return state
    return state.with_submitted(job_id, state.body_digest)


def _is_same(state: FormState, entry: Entry) -> bool:
    """Return whether the form has an entry's request, without local files."""
    if state.media.files or state.problems:
        return False
    body = state.function.canonical_body(state.body())
    return canonical_json(body) == entry.body
