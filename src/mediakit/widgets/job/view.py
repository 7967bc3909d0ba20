"""The live view of a job: state, result, facts and actions.

Updates come on the I/O thread and set the widgets' traits there, so that a view
moves while the kernel computes, sleeps or waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.client import AsyncJob, JobState
from mediakit.client.loop import io_thread
from mediakit.clock import Clock, SystemClock
from mediakit.widgets.job.actions import JobActions
from mediakit.widgets.job.card import (
    card_html,
    card_text,
    details_html,
    head_html,
    prompt_html,
)
from mediakit.widgets.job.host import JobHost
from mediakit.widgets.job.html import bar_html, clock_html, place_html, stage_html
from mediakit.widgets.job.panel import JobPanel
from mediakit.widgets.job.player import Embedded
from mediakit.widgets.job.preview import Preview, embedded_of, look_at, poster_kept
from mediakit.widgets.job.text import erased, has_output
from mediakit.widgets.toolkit.background_tasks import NamedTasks
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TICK_S = 1.0
PATIENCE_S = 3.0


class JobView:
    """A live view of one job.

    Args:
        job: The job, on the I/O thread.
        client: The client of the job; gives the I/O thread, this process's own when
            omitted.
        home: Where it is shown; without one, nothing is asked for from the view.
        embed: Make the result part of the notebook.
        clock: Gives time; the system's by default.
        environment: See `player.browser_url`; this process's own when omitted.
        recalled: The job is from the history: its card has its poster from the start,
            where that is kept on this machine.
        arrives: It was just asked for: the page scrolls to it if it is out of sight.
    """

    def __init__(
        self,
        job: AsyncJob,
        client: Client | None = None,
        *,
        home: JobHost | None = None,
        embed: bool = False,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        recalled: bool = False,
        arrives: bool = False,
    ) -> None:
        io = client.io if client is not None else io_thread()
        self._job = job
        self._home = home
        self._arrives = arrives
        self._clock = clock or SystemClock()
        self._environment = os.environ if environment is None else environment
        self._lock = threading.RLock()
        self._preview = poster_kept(job) if recalled else Preview()
        self._embed = embed
        self._embedded: Embedded | None = None
        self._looked = False
        self._seen = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._closed = False
        self._shown = False
        self._panel: JobPanel | None = None
        self._style = ""
        self._guard = guarded(self._complain, self._lock)
        self._tasks = NamedTasks(io, self._complain)
        self._unsubscribe = job.subscribe(self._guard(self._on_state))
        if client is not None:
            self._tasks.start("names", partial(self._learn_names, client))

    # -- for those who keep it ----------------------------------------------------

    @property
    def widget(self) -> Any:
        """Return the widget that carries the view; it is made when it is wanted."""
        with self._lock:
            if self._panel is None:
                self._panel = self._open()
                self._on_state(self.state)
            return self._panel.widget

    def _open(self) -> JobPanel:
        panel = JobPanel(self._guard, arrives=self._arrives)
        panel.add_style(self._style)
        self._shown = self._looked = self._arrives = False
        self._actions = JobActions(
            self._job,
            panel,
            self._tasks,
            self._guard,
            self._lock,
            self._home,
            self._environment,
        )
        return panel

    def fold(self) -> None:
        """Close the widget while it is not on the page; the card goes on."""
        with self._lock:
            panel, self._panel = self._panel, None
            if panel is not None:
                panel.close()
                self._actions.close()

    def _complain(self, text: str) -> None:
        if self._panel is not None:
            self._panel.complain(text)

    @property
    def state(self) -> JobState:
        """Return the job's newest state."""
        return self._job.state

    @property
    def card_html(self) -> str:
        """Return the job as it stays in a saved notebook."""
        return card_html(
            self.state,
            poster=self._preview.poster,
            codec=self._preview.codec,
            environment=self._environment,
            embedded=self._embedded,
            facts=self._preview.facts,
        )

    @property
    def card_text(self) -> str:
        """Return the job as plain text."""
        return card_text(self.state, self._preview.facts)

    def on_card(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function, mostly on the I/O thread, when the card has changed.

        Returns:
            A function that ends it.
        """
        self._listeners.append(listener)
        return partial(_remove, self._listeners, listener)

    def wait_until_seen(self, timeout_s: float) -> bool:
        """Wait until the result was looked at, on another thread than the I/O thread.

        Args:
            timeout_s: Seconds to wait at most.

        Returns:
            Whether it was; a job without a result has nothing to look at.
        """
        return has_output(self.state) and self._seen.wait(timeout_s)

    def hide(self, handle: CardHandle) -> None:
        """Hide a handle's cards for as long as this view is on the page."""
        self._style = handle.live_style
        if self._panel is not None:
            self._panel.add_style(self._style)

    def close(self) -> None:
        """Take the view down; the job continues."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._unsubscribe()
            self._listeners.clear()
            self._tasks.close()
            self.fold()

    # -- from the job's state to the widgets --------------------------------------

    def _on_state(self, _: JobState) -> None:
        # The newest state, for two threads may tell theirs in the wrong order.
        state = self.state
        if self._closed:
            return
        if erased(state):
            self._preview, self._embedded = Preview(), None
        if self._panel is not None:
            self._show(self._panel, state)
        self._tell()

    def _show(self, panel: JobPanel, state: JobState) -> None:
        self._show_words(state)
        self._show_time()
        if not self._shown:
            panel.show("stage", place_html(state))
        if not state.record.status.terminal:
            self._tasks.start("tick", self._tick)
        elif has_output(state) and not self._looked:
            self._looked = True
            self._tasks.start("look", self._bring_result)
        elif erased(state):
            self._show_stage()
        self._actions.offer()

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _show_words(self, state: JobState) -> None:
        if self._panel is not None:
            self._panel.show("prompt", prompt_html(state))
            self._panel.show("title", head_html(state, self._preview.facts))
            self._panel.show("details", details_html(state))

    def _show_time(self) -> None:
        if self._panel is not None:
            now = self._clock.now()
            time = clock_html(self.state, now) + bar_html(self.state, now)
            self._panel.show("clock", time)

    def _show_stage(self) -> None:
        if self._panel is not None:
            html = stage_html(self.state, self._preview, self._environment)
            self._panel.show("stage", html)
            self._panel.play(self._preview.clip, self._preview.poster)
            self._shown = True

    # -- what runs on the I/O thread ----------------------------------------------

    async def _learn_names(self, client: Client) -> None:
        """Show the media of the request by their names."""
        if await client.components.media_names.learn(self.state.entry):
            with self._lock:
                if not self._closed:
                    self._show_words(self.state)
                    self._tell()

    async def _tick(self) -> None:
        """Move the clock until the job ends or the view is closed or folded."""
        while self._panel is not None and not self.state.record.status.terminal:
            with self._lock:
                self._show_time()
            await self._clock.sleep(TICK_S)

    async def _bring_result(self) -> None:
        """Look at the result before showing it, for no longer than is patient."""
        try:
            self._tasks.start("show", self._show_anyway)
            await look_at(self._job, self._see)
            if self._embed:
                await self._bring_embedded()
        finally:
            self._seen.set()

    def _see(self, preview: Preview) -> None:
        with self._lock:
            if self._closed or not has_output(self.state):
                return
            self._preview = preview
            if self._panel is not None:
                self._actions.see(preview)
                self._show_words(self.state)
                # A player that is there already may be playing: it is not replaced.
                if not self._shown or preview.needs_clip:
                    self._show_stage()
                elif preview.trouble is not None:
                    self._panel.note(preview.trouble)
            self._tell()

    async def _bring_embedded(self) -> None:
        embedded = await embedded_of(self._job, self._preview)
        with self._lock:
            if not self._closed and has_output(self.state):
                self._embedded = embedded
                if self._panel is not None:
                    self._panel.note(embedded.note)
                self._tell()

    async def _show_anyway(self) -> None:
        await self._clock.sleep(PATIENCE_S)
        with self._lock:
            if not self._shown:
                self._show_stage()


def _remove(listeners: list[Callable[[], None]], listener: Callable[[], None]) -> None:
    if listener in listeners:
        listeners.remove(listener)
