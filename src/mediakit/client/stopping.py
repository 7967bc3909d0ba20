"""Stops a submission that is being retried, and tells whether a job may exist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextvars import ContextVar
from typing import TypeVar

import anyio

from mediakit.client.progress import DelayMessages
from mediakit.clock import Clock
from mediakit.errors import NOTHING_SENT, MediakitError

T = TypeVar("T")
Show = Callable[[str], object]
"""Shows why a submission is waiting."""

STEP_S = 1.0
SILENT_STEPS = 3
"""Steps for which a pending submission shows nothing."""
NOTHING_MADE = "Stopped. No job was created, and nothing is charged."
STOPPED = f"Stopped. {NOTHING_SENT}"
UNSENT = "Nothing is sent yet."
MAY_EXIST = "A job may exist already; it is charged once."
NONE_YET = "No job exists yet, and nothing is charged."
STOPPING = "Stopping. Waiting for the response to the last request."


class SubmissionStopped(Exception):  # noqa: N818 - it is no error, and stays inside
    """Ends the wait before the next try: `Stoppable.stop` was called."""


class Stoppable:
    """A submission that can be stopped, on the I/O thread.

    A request in flight is not cancelled: its response shows whether there is a job.
    Stopping prevents everything before it, and every further try.
    """

    def __init__(self) -> None:
        self.is_stopped = False
        self.is_over = False
        self.in_doubt: bool | None = None
        """Whether the service may have created a job; None before anything is sent."""
        self._scope: anyio.CancelScope | None = None
        self._record_stop: Callable[[], Awaitable[None]] | None = None

    async def run(self, submit: Callable[[], Awaitable[T]]) -> T:
        """Await a submission.

        Raises:
            MediakitError: It was stopped. `sent` is None if a job may exist.
        """
        token = _CURRENT.set(self)
        try:
            with anyio.CancelScope() as self._scope:
                if self.is_stopped:
                    self._scope.cancel()
                return await submit()
        finally:
            self.is_over = True
            self._scope = self._record_stop = None
            _CURRENT.reset(token)
        raise MediakitError(STOPPED)

    async def stop(self) -> None:
        """Send nothing more; called on the I/O thread.

        This is recorded at once, because the kernel may be restarted before the
        response arrives.
        """
        self.is_stopped = True
        if self._scope is not None:
            self._scope.cancel()
        if self._record_stop is not None:
            await self._record_stop()

    async def run_explained(
        self,
        submit: Callable[[], Awaitable[T]],
        delays: DelayMessages,
        clock: Clock,
        show: Show,
        files: Collection[str] | None = (),
    ) -> T:
        """Await a submission as `run` does, and show why it is pending.

        That includes the uploads named in `files`; None means all uploads of the
        client.
        """
        explaining = asyncio.ensure_future(self._explain(delays, clock, show, files))
        try:
            return await self.run(submit)
        finally:
            explaining.cancel()

    async def _explain(
        self,
        delays: DelayMessages,
        clock: Clock,
        show: Show,
        files: Collection[str] | None,
    ) -> None:
        silent_steps = 0
        while True:
            await clock.sleep(STEP_S)
            uploading = delays.upload_text(files) if self.in_doubt is None else ""
            silent_steps = 0 if uploading else silent_steps + 1
            if self.is_stopped:
                show(STOPPING)
            elif uploading:
                show(f"{uploading} Nothing is sent before that.")
            elif silent_steps >= SILENT_STEPS:
                show(f"{delays.submit_text()} {self._existing}")

    @property
    def _existing(self) -> str:
        """Return a sentence on the jobs that may exist at the service."""
        if self.in_doubt is None:
            return UNSENT
        return MAY_EXIST if self.in_doubt else NONE_YET

    # -- for the sender ---------------------------------------------------------------

    def begin_sending(self, record_stop: Callable[[], Awaitable[None]]) -> None:
        """From now on, let `stop` end only a call of `wait`."""
        self._scope, self._record_stop = None, record_stop

    async def wait(self, waits: Awaitable[T]) -> T:
        """Await a pause or a slot before a try.

        Raises:
            SubmissionStopped: It was stopped.
        """
        with anyio.CancelScope() as self._scope:
            if self.is_stopped:
                self._scope.cancel()
            result = await waits
        self._scope = None
        if self.is_stopped:
            raise SubmissionStopped
        return result


class PendingSubmissions:
    """The submissions in flight in one place, and the reason why they wait."""

    def __init__(self, noun: str, changed: Callable[[], object]) -> None:
        self._noun = noun
        self._changed = changed
        self._texts: dict[Stoppable, str] = {}

    @property
    def text(self) -> str:
        """Explain what submissions that take long are waiting for."""
        late = [call for call, text in self._texts.items() if text]
        if not late:
            return ""
        # Report the call whose job may exist, rather than one that sent nothing.
        call = max(late, key=lambda each: (not each.is_stopped, bool(each.in_doubt)))
        text, count = self._texts[call], len(late)
        return text if count == 1 else f"{count:,} {self._noun} are being sent. {text}"

    @property
    def can_stop(self) -> bool:
        """Return whether any submission with a text can be stopped."""
        return any(text and not call.is_stopped for call, text in self._texts.items())

    async def run(
        self,
        submit: Callable[[], Awaitable[T]],
        delays: DelayMessages,
        clock: Clock,
        files: Collection[str] | None = (),
    ) -> T:
        """Await a submission; see `Stoppable.run_explained`."""
        call = Stoppable()

        def show(text: str) -> None:
            self._texts[call] = text
            self._changed()

        self._texts[call] = ""
        try:
            return await call.run_explained(submit, delays, clock, show, files)
        finally:
            del self._texts[call]
            self._changed()

    async def stop(self) -> None:
        """Send nothing more."""
        calls = list(self._texts)
        self._texts |= {call: STOPPING for call in calls if self._texts[call]}
        self._changed()
        await asyncio.gather(*(call.stop() for call in calls))
        self._changed()


_CURRENT: ContextVar[Stoppable | None] = ContextVar("mediakit_stoppable", default=None)


def stoppable_here() -> Stoppable:
    """Return the `Stoppable` of this call, or a new one.

    Tasks that the call has started, such as the polling of its job, outlive it.
    """
    call = _CURRENT.get()
    return Stoppable() if call is None or call.is_over else call
