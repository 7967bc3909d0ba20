"""The jobs that a cell waits for: a line each, and one progress for many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from mediakit.client import AsyncJob, JobState
from mediakit.clock import SystemClock
from mediakit.widgets.job.card import FEW_WAITS, waited_html, waited_text
from mediakit.widgets.job.jobs import JobsWidget
from mediakit.widgets.job.payload import JobHost, Payload, line_payload, set_payload
from mediakit.widgets.job.view import NO_HOST, Answer
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, NotebookCell, current_cell


class WaitingJob:
    """A job as a line without buttons."""

    home: JobHost = NO_HOST

    def __init__(self, job: AsyncJob) -> None:
        self._job = job
        self.id = job.id

    @property
    def state(self) -> JobState:
        return self._job.state

    @property
    def payload(self) -> Payload:
        return line_payload(self.state)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._job.subscribe(lambda _: listener())

    def open(self) -> None:
        """Lines have no preview."""

    def act(self, name: str, message: Mapping[str, Any], answer: Answer) -> None:
        """Lines have no buttons."""


class WaitBoard:
    """The jobs that one run of a cell waits for."""

    def __init__(self, handle: CardHandle | None = None) -> None:
        self._handle = handle or CardHandle()
        self._lock = threading.RLock()
        self._jobs: dict[str, WaitingJob] = {}
        self._ends: dict[str, Callable[[], None]] = {}
        self._elsewhere: set[str] = set()
        self._closed = False
        self.widget = JobsWidget(jobs_as="lines", hides=self._handle.live_rules)
        self.widget.carry_cards(self._handle)

    def display(self) -> None:
        self._handle.display_beside(self.widget)

    def add(self, job: AsyncJob) -> None:
        """Show another job, unless a line or a card shows it already."""
        with self._lock:
            if self._closed or job.id in self._jobs or job.id in self._elsewhere:
                return
            added = self._jobs[job.id] = WaitingJob(job)
            self.widget.show_jobs(tuple(self._jobs.values()))
        self._ends[job.id] = added.on_change(self._show_set)

    def leave_to_card(self, job_id: str) -> None:
        """Remove a job that a card in the same cell shows."""
        with self._lock:
            self._elsewhere.add(job_id)
            if self._jobs.pop(job_id, None) is not None:
                self._ends.pop(job_id)()
                self.widget.show_jobs(tuple(self._jobs.values()))
                self._show_set()

    def close(self) -> None:
        """Close the board; its output stays in the notebook."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for end in self._ends.values():
                end()
            self._handle.close()
            self.widget.close()

    def _show_set(self) -> None:
        with self._lock:
            if self._closed:
                return
            states = [job.state for job in self._jobs.values()]
            self.widget.jobs_set = (
                set_payload(states) if len(states) > FEW_WAITS else {}
            )
            now = SystemClock().now()
            self._handle.show(waited_html(states, now), waited_text(states, now))


_boards: ShownByCell[WaitBoard] = ShownByCell()


def show_wait(job: AsyncJob) -> None:
    """Show that the current cell waits for a job, together with its other waits."""
    cell = current_cell()
    if cell is not None:
        _board_of(cell).add(job)


def leave_to_card(cell: NotebookCell, job_id: str) -> None:
    """Replace a job's line in a cell with a card."""
    for board in _boards.now(cell):
        board.leave_to_card(job_id)


def _board_of(cell: NotebookCell) -> WaitBoard:
    if not _boards.now(cell):
        board = WaitBoard()
        _boards.add(cell, board)
        board.display()
    return _boards.now(cell)[0]
