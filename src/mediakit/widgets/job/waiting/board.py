"""The display of all jobs that a cell waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import ipywidgets as w

from mediakit.client import AsyncJob, JobState
from mediakit.client.loop import IOThread, io_thread
from mediakit.clock import Clock, SystemClock
from mediakit.widgets.job.waiting.html import (
    FEW,
    kept_html,
    kept_text,
    lines_html,
    set_html,
)
from mediakit.widgets.toolkit.background_tasks import NamedTasks
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import (
    CardHandle,
    Cell,
    current_cell,
    publish,
)
from mediakit.widgets.toolkit.styles import style_tag
from mediakit.widgets.toolkit.widget_factory import WidgetFactory, close_tree

TICK_S = 1.0
NOTHING = '<span class="mk-none"></span>'
CSS = """
.mk-wait{overflow:visible;max-width:1100px;color:var(--jp-ui-font-color1)}
.mk-wait .widget-html{height:auto;margin:0}
.mk-wait .widget-html:has(.mk-none){display:none}
.mk-wait .widget-html-content{line-height:1.5;font-size:var(--jp-ui-font-size1)}
.mk-wait .jupyter-button{width:auto;align-self:flex-start;padding:0 8px;margin:0;
 background:none;box-shadow:none;color:var(--jp-ui-font-color2)}
"""


class WaitBoard:
    """The jobs that one run of a cell waits for.

    Args:
        handle: Keeps what stays in the saved notebook.
        io: The I/O thread; this process's own when omitted.
        clock: Gives time; the system's by default.
    """

    def __init__(
        self,
        handle: CardHandle | None = None,
        *,
        io: IOThread | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._handle = handle or CardHandle()
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._jobs: dict[str, AsyncJob] = {}
        self._elsewhere: set[str] = set()
        self._ends: list[Callable[[], None]] = []
        self._closed = False
        self._guard = guarded(lambda _: None, self._lock)
        self._tasks = NamedTasks(io or io_thread(), lambda _: None)
        self._factory = WidgetFactory()
        make = self._factory.make
        self._head = make(w.HTML, "mk-live", value=NOTHING)
        self._fold = make(w.ToggleButton, description="", icon="caret-right")
        self._fold.observe(self._guard(lambda _: self._show()), "value")
        self._lines = make(w.HTML, value=NOTHING)
        style = make(w.HTML)
        style.value = f"{self._handle.live_style}{style_tag(CSS)}{NOTHING}"
        parts = (style, self._head, self._lines)
        self.widget = make(w.VBox, "mk-wait", children=parts)
        self._style = style

    def display(self) -> None:
        """Show it in the cell that is being executed."""
        self._handle.display()
        bundle = self.widget._repr_mimebundle_()
        publish({**bundle, "text/plain": "", "text/html": ""})

    def add(self, job: AsyncJob) -> None:
        """Show one more job; one that is there, or shown by a card, is not added."""
        with self._lock:
            if self._closed or job.id in self._jobs or job.id in self._elsewhere:
                return
            self._jobs[job.id] = job
        self._ends.append(job.subscribe(self._guard(self._on_state)))
        self._tasks.start("tick", self._tick)

    def leave_to_card(self, job_id: str) -> None:
        """Show a job no longer, because a card of it stands in the same cell."""
        with self._lock:
            self._elsewhere.add(job_id)
            if self._jobs.pop(job_id, None) is not None:
                self._show()

    def close(self) -> None:
        """Take it down; what it left in the notebook stays."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for end in self._ends:
                end()
            self._tasks.close()
            self._handle.close()
            close_tree(self.widget)
            self._fold.close()
            self._factory.close()

    @property
    def states(self) -> list[JobState]:
        """Return the newest states of its jobs, in the order of waiting."""
        return [job.state for job in self._jobs.values()]

    def _on_state(self, _: JobState) -> None:
        self._show()

    def _show(self) -> None:
        if self._closed:
            return
        states, now = self.states, self._clock.now()
        is_set = len(states) > FEW
        self._head.value = set_html(states) if is_set else NOTHING
        open_lines = states and (not is_set or self._fold.value)
        self._lines.value = lines_html(states, now) if open_lines else NOTHING
        if is_set:
            self._fold.icon = "caret-down" if self._fold.value else "caret-right"
            verb = "Hide" if self._fold.value else "Show"
            self._fold.description = f"{verb} the {len(states)} jobs"
        fold = (self._fold,) if is_set else ()
        children = (self._style, self._head, *fold, self._lines)
        if children != self.widget.children:
            self.widget.children = children
        self._handle.show(kept_html(states), kept_text(states))

    async def _tick(self) -> None:
        """Count the seconds until every job has ended."""
        while any(not state.record.status.terminal for state in self.states):
            with self._lock:
                self._show()
            await self._clock.sleep(TICK_S)


_boards: ShownByCell[WaitBoard] = ShownByCell()


def show_wait(job: AsyncJob) -> None:
    """Show in the cell that is being executed that it waits for a job.

    All jobs that one run of a cell waits for share one display.
    """
    cell = current_cell()
    if cell is not None:
        _board_of(cell).add(job)


def leave_to_card(cell: Cell, job_id: str) -> None:
    """Let a card show a job in a cell, in place of its line."""
    for board in _boards.now(cell):
        board.leave_to_card(job_id)


def _board_of(cell: Cell) -> WaitBoard:
    if not _boards.now(cell):
        board = WaitBoard()
        _boards.add(cell, board)
        board.display()
    return _boards.now(cell)[0]
