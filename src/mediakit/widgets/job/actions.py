"""The buttons of a job view: retry, next take, vary, save, erase."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from mediakit.client import AsyncJob, JobState
from mediakit.client.download_targets import NameTakenError
from mediakit.client.sidecar import SUFFIX
from mediakit.client.submitting import asking_from
from mediakit.records import ErrorCode, JobStatus
from mediakit.widgets.job.host import JobHost
from mediakit.widgets.job.panel import JobPanel, Question
from mediakit.widgets.job.player import NO_ENVIRONMENT
from mediakit.widgets.job.preview import Preview
from mediakit.widgets.job.results.before_and_after import (
    Compare,
    compare_traits,
    pair_of,
)
from mediakit.widgets.job.results.download_button import DOWNLOAD, Download
from mediakit.widgets.job.text import erased, has_output
from mediakit.widgets.job.uses.use_menu import UseMenu, medium_of
from mediakit.widgets.toolkit.background_tasks import NamedTasks, Task
from mediakit.widgets.toolkit.callbacks import Guard, guarded

KEEP = "Cancel"
RETRY, NEXT, VARY, ERASE = "Try again", "Another take", "Edit and rerun", "Erase…"
COMPARE, RESULT = "Before / after", "Show the result"
SAVE, FORGET = "Save to folder", "Forget the prompt…"
USE = "Use as…"
PAID = (RETRY, NEXT)
TOOLTIPS = {
    RETRY: "Send the same request again; failed jobs are not charged",
    NEXT: "Send the same request for another take; you pay when it completes",
    VARY: "Put these settings into a form; nothing is sent",
    USE: "Choose a function that takes this result, and open its form",
    COMPARE: "Compare the result with its input, with a slider between them",
    SAVE: "Save the result in this notebook's folder, on the machine that runs it",
    ERASE: "Delete the result and the request at the service",
    FORGET: "Remove the prompt from your history and from this notebook",
}
ERASE_GOES = "The service deletes the result and the request. This cannot be undone."
ERASE_STAYS = (
    "What stays: the row in your history with its charge, and files that you saved or "
    "downloaded."
)
ALSO_FORGET = "Also forget the prompt and settings in your history and in this card"
FORGET_GOES = (
    "This removes the prompt and the settings from your history and the job's card."
)
FORGET_STAYS = (
    "What stays: the charge, saved files with the file beside them, code in cells, "
    "what a form holds, and cards of cells that have not run since the kernel started."
)
FORGOTTEN = "The prompt and the settings were forgotten here, too."
VOILA = "VOILA_REQUEST_URL"
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


def can_be_used(state: JobState, home: JobHost | None) -> bool:
    """Tell whether the result can be the input of another function."""
    at_hand = home is not None and home.uses is not None
    return at_hand and has_output(state) and medium_of(state) is not None


def offered(
    state: JobState,
    home: JobHost | None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> tuple[str, ...]:
    """Return the names of what can be done with a job, in order.

    Args:
        state: The job.
        home: Where it is shown.
        environment: This process's; visitors of Voilà save nothing where it runs.
    """
    is_erased = erased(state)
    asks = home is not None and home.add is not None
    can = {
        RETRY: asks and can_retry(state),
        NEXT: asks and can_take(state),
        VARY: home is not None and home.vary is not None and knows_request(state),
        USE: can_be_used(state, home),
        COMPARE: pair_of(state) is not None,
        DOWNLOAD: has_output(state),
        SAVE: has_output(state) and VOILA not in environment,
        ERASE: state.record.status.terminal and not is_erased,
        FORGET: is_erased and bool(state.prompt or state.body),
    }
    return tuple(name for name, possible in can.items() if possible)


def next_text(state: JobState) -> str:
    """Write what another draw is estimated at, where that is known."""
    estimate = state.estimate
    if estimate is None or estimate.low is None:
        return NEXT
    return f"{NEXT} · {estimate.short_text}"


class JobActions:
    """The buttons of one job view, and what they do on the I/O thread.

    Args:
        job: The job.
        panel: Where the buttons, the questions and the answers are shown.
        tasks: Runs what they do.
        guard: Wraps the handlers.
        lock: Held while widgets change.
        home: Where the view is shown; without one, nothing new is asked for.
        environment: See `player.browser_url`.
    """

    def __init__(
        self,
        job: AsyncJob,
        panel: JobPanel,
        tasks: NamedTasks,
        guard: Guard,
        lock: AbstractContextManager[object],
        home: JobHost | None = None,
        environment: Mapping[str, str] = NO_ENVIRONMENT,
    ) -> None:
        self._job = job
        self._environment = environment
        self._preview = Preview()
        self._download: Download | None = None
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
            COMPARE: guard(self._compare),
            USE: guard(self._use),
            SAVE: guard(self._save),
            ERASE: guard(self._ask_erase),
            FORGET: guard(self._ask_forget),
        }
        self._buttons: dict[str, Any] = {}
        self._menu: UseMenu | None = None

    def see(self, preview: Preview) -> None:
        """Note what was seen of the result."""
        self._preview = preview

    def offer(self) -> None:
        """Offer what can be done with the job as it is now."""
        state = self._job.state
        names = offered(state, self._home, self._environment)
        if COMPARE not in names and self._panel.is_comparing:
            self._panel.compare(None)
        buttons = [self._button(name) for name in names]
        if NEXT in names:
            self._button(NEXT).description = next_text(state)
        if self._download is not None:
            self._download.show(state)
        self._panel.offer(*buttons)

    def _button(self, name: str) -> Any:
        """Return a button, which is made when it is first needed."""
        if name == DOWNLOAD:
            return self._download_button()
        if name not in self._buttons:
            classes = "mk-paid" if name in PAID else ""
            made = self._panel.button(
                name, TOOLTIPS[name], self._acts[name], classes=classes
            )
            self._buttons[name] = made
        return self._buttons[name]

    def _download_button(self) -> Any:
        if self._download is None:
            panel = self._panel
            self._download = Download(self._job, self._tasks, panel, self._environment)
        return self._download.widget

    def close(self) -> None:
        """Close the buttons, also while they are not shown."""
        for button in self._buttons.values():
            button.close()
        if self._download is not None:
            self._download.close()
        if self._menu is not None:
            self._menu.close()

    def _compare(self) -> None:
        """Show the result over its input, or the result alone again."""
        pair = pair_of(self._job.state)
        shown = None
        if pair is not None and not self._panel.is_comparing:
            traits = compare_traits(pair, self._preview, self._environment)
            shown = self._panel.make(Compare, **traits)
        self._panel.compare(shown)
        self._button(COMPARE).description = COMPARE if shown is None else RESULT

    def _use(self) -> None:
        if self._home is not None and self._home.uses is not None:
            if self._menu is None:
                # A form that it opens has a lock of its own.
                free = guarded(self._panel.complain)
                self._menu = self._home.uses.menu(self._job, free)
                self._panel.append(self._menu.widget)
            self._menu.turn()

    def _ask_retry(self) -> None:
        self._more(RETRY, "Sending the request again…", self._job.retry)

    def _ask_next(self) -> None:
        self._more(NEXT, "Sending the request for another take…", self._job.next_take)

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
        except NameTakenError:
            self._ask(
                Question(
                    "The folder has a file of this name. Replace it?",
                    "Yes, replace it",
                    KEEP,
                    lambda _: self._save(overwrite=True),
                )
            )
            return
        self._panel.note(
            f"Saved to {path}. {path.name}{SUFFIX}, next to it, has the prompt, the "
            "settings and the charge."
        )

    def _ask_erase(self) -> None:
        points = (ERASE_GOES, ERASE_STAYS)
        tick = ALSO_FORGET if knows_request(self._job.state) else ""
        question = Question(
            "Erase this job?", "Yes, erase it", KEEP, self._erase, points, tick
        )
        self._ask(question)

    def _erase(self, forget: bool) -> None:  # noqa: FBT001 - a question's answer
        self._run(ERASE, "Erasing…", partial(self._erase_now, forget=forget))

    async def _erase_now(self, *, forget: bool) -> None:
        await self._job.erase(forget=forget)
        self._panel.note(FORGOTTEN if forget else "")

    def _ask_forget(self) -> None:
        points = (FORGET_GOES, FORGET_STAYS)
        self._ask(Question("Forget it?", "Yes, forget it", KEEP, self._forget, points))

    def _forget(self, _: bool) -> None:  # noqa: FBT001 - a question's answer
        self._run(FORGET, "Forgetting…", self._forget_now)

    async def _forget_now(self) -> None:
        await self._job.forget()
        self._panel.note(FORGOTTEN)

    def _ask(self, question: Question) -> None:
        with self._lock:
            self._panel.note("")
            self._panel.ask(question)
