"""What people do with a job: save its result, and erase it for good."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from mediakit.client import AsyncJob
from mediakit.errors import InputError
from mediakit.widgets.guard import Guard
from mediakit.widgets.job_panel import JobPanel, Question
from mediakit.widgets.job_tasks import JobTasks, Task
from mediakit.widgets.job_words import erased, has_output

KEEP = "Keep"


class JobActions:
    """The buttons of one job view, and what they do on the I/O thread.

    Args:
        job: The job.
        panel: Where the buttons, the questions and the answers are shown.
        tasks: Runs what they do.
        guard: Wraps the handlers.
        lock: Held while widgets change.
    """

    def __init__(
        self,
        job: AsyncJob,
        panel: JobPanel,
        tasks: JobTasks,
        guard: Guard,
        lock: AbstractContextManager[object],
    ) -> None:
        self._job = job
        self._panel = panel
        self._tasks = tasks
        self._lock = lock
        self.download = panel.button(
            "Download", "Save the result to the working directory", guard(self._save)
        )
        self.erase = panel.button(
            "Erase…",
            "Erase the stored media and the captured request",
            guard(self._ask_erase),
        )

    def offer(self) -> None:
        """Offer what can be done with the job as it is now."""
        state = self._job.state
        buttons = []
        if has_output(state):
            buttons.append(self.download)
        if state.record.status.terminal and not erased(state):
            buttons.append(self.erase)
        self._panel.offer(*buttons)

    def close(self) -> None:
        """Close the buttons, also while they are not shown."""
        self.download.close()
        self.erase.close()

    def _run(self, button: Any, words: str, task: Task) -> None:
        """Do something on the I/O thread; the button rests meanwhile."""
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
            self.download,
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
        self._run(self.erase, "Erasing…", self._erase_now)

    async def _erase_now(self) -> None:
        await self._job.erase()
        self._panel.note("")

    def _ask(self, text: str, yes: str, act: Callable[[], object]) -> None:
        with self._lock:
            self._panel.note("")
            self._panel.ask(Question(text, yes, KEEP, act))


def _exists(error: InputError) -> bool:
    return error.field == "path" and "(it exists)" in str(error.got)
