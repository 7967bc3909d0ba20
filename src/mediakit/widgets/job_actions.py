"""What people do with a job: ask again, vary it, save its result, erase it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from mediakit.client import AsyncJob, JobState
from mediakit.client.origin import asking_from
from mediakit.errors import InputError
from mediakit.records import ErrorCode, JobStatus
from mediakit.widgets.chaining.use_menu import UseMenu, medium_of
from mediakit.widgets.guard import Guard, guarded
from mediakit.widgets.job_home import JobHome
from mediakit.widgets.job_panel import JobPanel, Question
from mediakit.widgets.job_tasks import JobTasks, Task
from mediakit.widgets.job_words import erased, has_output

KEEP = "Keep"
RETRY, NEXT, VARY, SAVE, ERASE = "Try again", "Next take", "Vary…", "Download", "Erase…"
USE = "Use as…"
TOOLTIPS = {
    RETRY: "Ask once more for the same; failed jobs are not charged",
    NEXT: "Ask for another draw of the same request; it is paid for when it completes",
    VARY: "Put these settings into a form; nothing is sent",
    SAVE: "Save the result to the working directory",
    USE: "Choose a function that takes this result, and open its form",
    ERASE: "Erase the stored media and the captured request",
}
# The same request would fail the same way.
FAILS_AGAIN = (ErrorCode.INVALID_INPUT, ErrorCode.CONTENT_MODERATION)


def knows_request(state: JobState) -> bool:
    """Tell whether it is known here what the job was asked for."""
    return bool(state.body) and not erased(state)


def can_take(state: JobState) -> bool:
    """Tell whether another draw can be asked for."""
    return state.record.status is JobStatus.COMPLETED and knows_request(state)


def can_retry(state: JobState) -> bool:
    """Tell whether asking once more for what failed may help."""
    error = state.record.error
    hopeless = error is not None and error.code in FAILS_AGAIN
    failed = state.record.status is JobStatus.FAILED
    return failed and knows_request(state) and not hopeless


def can_be_used(state: JobState, home: JobHome | None) -> bool:
    """Tell whether the result can be the input of another function."""
    at_hand = home is not None and home.uses is not None
    return at_hand and has_output(state) and medium_of(state) is not None


def offered(state: JobState, home: JobHome | None) -> tuple[str, ...]:
    """Return the names of what can be done with a job, in order."""
    asks = home is not None and home.add is not None
    can = {
        RETRY: asks and can_retry(state),
        NEXT: asks and can_take(state),
        VARY: home is not None and home.vary is not None and knows_request(state),
        USE: can_be_used(state, home),
        SAVE: has_output(state),
        ERASE: state.record.status.terminal and not erased(state),
    }
    return tuple(name for name, possible in can.items() if possible)


def next_text(state: JobState) -> str:
    """Write what another draw is estimated at, where that is known."""
    estimate = state.estimate
    if estimate is None or estimate.low is None:
        return NEXT
    return f"{NEXT} · {estimate.text}"


class JobActions:
    """The buttons of one job view, and what they do on the I/O thread.

    Args:
        job: The job.
        panel: Where the buttons, the questions and the answers are shown.
        tasks: Runs what they do.
        guard: Wraps the handlers.
        lock: Held while widgets change.
        home: Where the view is shown; without one, nothing new is asked for.
    """

    def __init__(
        self,
        job: AsyncJob,
        panel: JobPanel,
        tasks: JobTasks,
        guard: Guard,
        lock: AbstractContextManager[object],
        home: JobHome | None = None,
    ) -> None:
        self._job = job
        self._panel = panel
        self._tasks = tasks
        self._lock = lock
        self._home = home
        # Nothing is locked by what asks for more: another job's place has its own.
        free = guarded(panel.complain)
        self._acts = {
            RETRY: free(self._ask_retry),
            NEXT: free(self._ask_next),
            VARY: free(self._fill_form),
            USE: guard(self._use),
            SAVE: guard(self._save),
            ERASE: guard(self._ask_erase),
        }
        self._buttons: dict[str, Any] = {}
        self._menu: UseMenu | None = None

    def offer(self) -> None:
        """Offer what can be done with the job as it is now."""
        names = offered(self._job.state, self._home)
        buttons = [self._button(name) for name in names]
        if NEXT in names:
            self._button(NEXT).description = next_text(self._job.state)
        self._panel.offer(*buttons)

    def _button(self, name: str) -> Any:
        """Return a button, which is made when it is first needed."""
        if name not in self._buttons:
            made = self._panel.button(name, TOOLTIPS[name], self._acts[name])
            self._buttons[name] = made
        return self._buttons[name]

    def close(self) -> None:
        """Close the buttons, also while they are not shown."""
        for button in self._buttons.values():
            button.close()
        if self._menu is not None:
            self._menu.close()

    def _use(self) -> None:
        if self._home is not None and self._home.uses is not None:
            if self._menu is None:
                # A form that it opens has a lock of its own.
                free = guarded(self._panel.complain)
                self._menu = self._home.uses.menu(self._job, free)
                self._panel.append(self._menu.widget)
            self._menu.turn()

    def _ask_retry(self) -> None:
        self._more(RETRY, "Asking once more…", self._job.retry)

    def _ask_next(self) -> None:
        self._more(NEXT, "Asking for the next take…", self._job.next_take)

    def _more(
        self, name: str, words: str, ask: Callable[[], Awaitable[AsyncJob]]
    ) -> None:
        async def bring() -> None:
            with asking_from(None if self._home is None else self._home.origin):
                made = await ask()
            if self._home is not None and self._home.add is not None:
                self._home.add(made)
            self._panel.note("")

        self._run(name, words, bring)

    def _fill_form(self) -> None:
        if self._home is not None and self._home.vary is not None:
            self._panel.note(self._home.vary(self._job.state))

    def _run(self, name: str, words: str, task: Task) -> None:
        """Do something on the I/O thread; the button rests meanwhile."""
        button = self._button(name)
        button.disabled = True
        self._panel.note(words)

        async def run() -> None:
            try:
                await task()
            finally:
                button.disabled = False

        self._tasks.start(words, run)

    def _save(self, *, overwrite: bool = False) -> None:
        self._run(
            SAVE,
            "Replacing the file…" if overwrite else "Saving the result…",
            partial(self._save_now, overwrite=overwrite),
        )

    async def _save_now(self, *, overwrite: bool) -> None:
        try:
            path = await self._job.download(overwrite=overwrite)
        except InputError as error:
            if not _exists(error):
                raise
            self._ask(
                "The working directory has this file already. Replace it?",
                "Yes, replace it",
                partial(self._save, overwrite=True),
            )
            return
        self._panel.note(f"Saved to {path}")

    def _ask_erase(self) -> None:
        self._ask("Erase it for good?", "Yes, erase it", self._erase)

    def _erase(self) -> None:
        self._run(ERASE, "Erasing…", self._erase_now)

    async def _erase_now(self) -> None:
        await self._job.erase()
        self._panel.note("")

    def _ask(self, text: str, yes: str, act: Callable[[], object]) -> None:
        with self._lock:
            self._panel.note("")
            self._panel.ask(Question(text, yes, KEEP, act))


def _exists(error: InputError) -> bool:
    return error.field == "path" and "(it exists)" in str(error.got)
