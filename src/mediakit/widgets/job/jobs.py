"""The widget that draws jobs, whether one job, a form's jobs or a wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from traitlets import Any as AnyTrait
from traitlets import Dict, Int, List, Unicode

from mediakit.client.job_acts import ACTS, page_acts
from mediakit.widgets.job.payload import JobHost, Payload
from mediakit.widgets.job.uses import uses_of
from mediakit.widgets.job.view import Answer
from mediakit.widgets.toolkit.browser_script import script_of
from mediakit.widgets.toolkit.saved_copies import CardsWidget
from mediakit.widgets.toolkit.styles import sheets
from mediakit.widgets.toolkit.widget_factory import keep_in_order

HERE = Path(__file__).parent
MOST_JOBS = 12
"""The maximum number of jobs that are drawn until the user asks for earlier ones."""


DRAWS_JOBS = script_of(HERE, "job_parts.js", "jobs.js")
"""The script that draws jobs; other widgets append their own files and the export."""


class ShownJob(Protocol):
    """A job that the widget can draw; see `JobView`."""

    @property
    def id(self) -> str: ...
    @property
    def payload(self) -> Payload: ...
    @property
    def home(self) -> JobHost: ...
    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]: ...
    def open(self) -> None: ...
    def act(self, name: str, message: Mapping[str, Any], answer: Answer) -> None: ...


class JobsWidget(CardsWidget):
    """Jobs on a page, newest first; adding one redraws no other."""

    # `jobs` is the initial state of a page. An open page gets changed jobs by message:
    # setting the trait sends nothing. The script of a class with more to draw is
    # `DRAWS_JOBS` and its own, which calls `hearJobs(model)` and `drawJobs(model,
    # element)`.
    _esm = f"{DRAWS_JOBS}\n{(HERE / 'jobs_widget.js').read_text('utf-8')}"
    _css = sheets(HERE / "jobs.css")
    shows = "jobs"
    # The style sheet replaces a Layout, which would be another connection.
    layout: Any = AnyTrait(None, allow_none=True)
    jobs: Any = List().tag(sync=True)
    older_count = Int().tag(sync=True)
    jobs_as = Unicode("cards").tag(sync=True)
    jobs_set = Dict().tag(sync=True)
    job_acts: Any = Dict(page_acts(ACTS)).tag(sync=True)
    job_uses = Dict().tag(sync=True)
    job_forms: Any = List().tag(sync=True)
    hides = Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._jobs_lock = threading.RLock()
        self._views: tuple[ShownJob, ...] = ()
        self._ends: dict[ShownJob, Callable[[], None]] = {}
        self._shows_all = self.jobs_as == "lines"
        keep_in_order(self.comm)
        self.on_msg(self._on_jobs_message)

    def _should_send_property(self, key: str, value: object) -> bool:
        return key != "jobs" and super()._should_send_property(key, value)

    def show_jobs(self, views: Sequence[ShownJob]) -> None:
        """Show these jobs, newest first, at first only the latest ones."""
        with self._jobs_lock:
            self._views = tuple(views)
            self._draw_jobs()

    def close(self) -> None:
        with self._jobs_lock:
            ends, self._ends = self._ends, {}
            self._views = ()
        for end in ends.values():
            end()
        super().close()

    def _draw_jobs(self) -> None:
        drawn = self._views if self._shows_all else self._views[:MOST_JOBS]
        self.older_count = len(self._views) - len(drawn)
        for view in set(self._ends) - set(drawn):
            self._ends.pop(view)()
        for view in drawn:
            if view not in self._ends:
                self._ends[view] = view.on_change(partial(self._draw_job, view))
                view.open()
                self._offer(view.home)
        self._send_jobs([view.payload for view in drawn])

    def _draw_job(self, view: ShownJob) -> None:
        with self._jobs_lock:
            if view in self._ends:
                payload = view.payload
                self._send_jobs(
                    [payload if job["id"] == view.id else job for job in self.jobs]
                )

    def _send_jobs(self, jobs: list[Payload]) -> None:
        """Send the changed jobs, and the order of all."""
        before = {job["id"]: job for job in self.jobs}
        order = [job["id"] for job in jobs]
        changed = [job for job in jobs if before.get(job["id"]) != job]
        self.jobs = jobs
        if changed or order != list(before):
            self.send({"jobs": {"order": order, "changed": changed}})

    def _offer(self, home: JobHost) -> None:
        """Send the list of acts, and the functions that take each medium, once."""
        self.job_acts = page_acts(home.acts)
        if home.uses is not None and not self.job_uses:
            self.job_uses = {
                medium: [
                    [use.function.path, use.function.title, use.tooltip]
                    for use in uses_of(home.uses.catalog, medium)
                ]
                for medium in ("video", "image", "audio")
            }

    def _on_jobs_message(
        self, _: object, message: Mapping[str, Any], __: object
    ) -> None:
        if message.get("jobs") == "all":
            with self._jobs_lock:
                self._shows_all = True
                self._draw_jobs()
        view = next(
            (view for view in self._views if view.id == message.get("job")), None
        )
        if view is not None:
            view.act(str(message.get("act")), message, partial(self.answer, message))

    def answer(
        self,
        message: Mapping[str, Any],
        *,
        buffers: Sequence[bytes] = (),
        **values: object,
    ) -> None:
        """Answer a numbered message of the page."""
        self.send({**values, "answer": message.get("number")}, list(buffers))
