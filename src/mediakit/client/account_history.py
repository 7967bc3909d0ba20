"""The part of the history that belongs to one account."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Concatenate, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from mediakit.client.service import Service
from mediakit.errors import MediakitError
from mediakit.history import History
from mediakit.history.database import BusyError, without_waiting

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("mediakit.client")

NOT_SENT_CODE = "unsent"
CANCELLED = "The call was cancelled. Nothing was sent."
BLOCKED_AFTER_S = 1.0
RETRY_AFTER_S = 10.0
FLUSH_FOR_S = 3.0


class AccountHistory:
    """Reads and writes the history without blocking the event loop.

    While no other connection locks the file, the history is read and written on the
    event loop, which is faster than a thread. Calls that may wait run on a thread.
    """

    def __init__(
        self,
        history: History,
        service: Service,
        *,
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self.history = history
        self.service = service.identity
        self.owner = {"service": service.identity, "account": service.account}
        self._one_at_a_time = CapacityLimiter(1)
        self._began_s: float | None = None
        self._retry_after_s = retry_after_s
        self._late: dict[object, Callable[[], object]] = {}
        self._writing_late: asyncio.Task[None] | None = None

    async def ask(
        self,
        question: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a reading method of the history, such as `ask(History.find, job_id)`."""
        call = partial(question, self.history, *args, **kwargs)
        try:
            with without_waiting():
                return call()
        except BusyError:
            return await to_thread.run_sync(call)

    async def write(
        self,
        change: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a writing method of the history; it has committed on return.

        If this call is cancelled, a write that has not started is dropped; one that has
        started finishes.

        Raises:
            MediakitError: The disk is full, or another program locks the file for half
                a minute.
        """
        call = partial(change, self.history, *args, **kwargs)
        try:
            with without_waiting():
                return call()
        except BusyError:
            return await self._on_thread(call)

    async def record_unsent(self, key: str, reason: str) -> None:
        """Record that a submission was not sent, which releases its hold."""
        await self.write(
            History.record_refusal, key, code=NOT_SENT_CODE, message=reason
        )

    async def write_soon(
        self,
        job_id: str,
        change: Callable[Concatenate[History, P], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Write a job's new state without waiting long for the file.

        While another program locks the file, or the disk is full, this returns after
        about a second, and the write is repeated until it succeeds. Of several pending
        writes for one job, only the newest is kept.
        """
        call = partial(change, self.history, *args, **kwargs)
        try:
            with without_waiting():
                call()
        except MediakitError as error:
            if not _may_pass(error):
                raise
            self._late[job_id, change] = call
            if self._writing_late is None or self._writing_late.done():
                self._writing_late = asyncio.create_task(self._write_late())
            timeout_s = 0 if self._is_blocked else BLOCKED_AFTER_S
            await asyncio.wait([self._writing_late], timeout=timeout_s)

    async def _write_late(self) -> None:
        while self._late:
            key, call = next(iter(self._late.items()))
            try:
                await self._on_thread(call)
            except Exception as error:
                if _may_pass(error):
                    after_s = self._retry_after_s
                    log.warning("%s Trying again in %.0f s.", error, after_s)
                    await asyncio.sleep(after_s)
                    continue
                log.exception("A change to the history was not written.")
            if self._late[key] is call:
                del self._late[key]

    async def flush(self) -> None:
        """Wait a few seconds for pending writes."""
        if self._writing_late is not None:
            await asyncio.wait([self._writing_late], timeout=FLUSH_FOR_S)

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await to_thread.run_sync(
            partial(self._timed, call), limiter=self._one_at_a_time
        )

    def _timed(self, call: Callable[[], T]) -> T:
        self._began_s = monotonic()
        try:
            return call()
        finally:
            self._began_s = None

    @property
    def _is_blocked(self) -> bool:
        began_s = self._began_s
        return began_s is not None and monotonic() - began_s >= BLOCKED_AFTER_S

    def blocked_text(self) -> str:
        """Return a message while another program locks the file, else an empty text."""
        if not (self._is_blocked and self.history.is_local):
            return ""
        return (
            f"The history file {self.history.place} is locked by another program. The "
            "request continues once the lock is released."
        )


def _may_pass(error: Exception) -> bool:
    """Return whether the error may be temporary: a locked file or a full disk."""
    return type(error) in (MediakitError, BusyError)
