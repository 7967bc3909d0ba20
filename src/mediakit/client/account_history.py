"""One account's part of the history, used from an event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Concatenate, ParamSpec, TypeVar
from weakref import finalize

from anyio import to_thread

from mediakit.client.service import Service
from mediakit.errors import MediakitError
from mediakit.history import History

P = ParamSpec("P")
T = TypeVar("T")
_Change = Callable[[], object]

log = logging.getLogger("mediakit.client")

BLOCKED_AFTER_S = 1.0
RETRY_AFTER_S = 10.0
FLUSH_FOR_S = 3.0


class AccountHistory:
    """Reads and writes the history without blocking the event loop.

    Reads of a local file run on the event loop: they are faster than starting a thread,
    and never wait for a writer. Everything else runs on a thread, one write at a time.

    Args:
        history: The history.
        service: The service, and the account there.
    """

    def __init__(self, history: History, service: Service) -> None:
        self.history = history
        self.service = service.identity
        self.owner = {"service": service.identity, "account": service.account}
        self._turns: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._writer: Thread | None = None
        self._began_s: float | None = None
        self._late: dict[object, tuple[_Change, asyncio.Future[None]]] = {}
        self._writing_late: asyncio.Task[None] | None = None

    async def ask(
        self,
        question: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method of the history that reads: `ask(History.find, job_id)`."""
        call = partial(question, self.history, *args, **kwargs)
        if self.history.is_local:
            return call()
        return await to_thread.run_sync(call)

    async def write(
        self,
        change: Callable[Concatenate[History, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a method of the history that writes; committed when this returns.

        If this is cancelled, a write that has not begun is dropped; one that has begun
        finishes.

        Raises:
            MediakitError: The disk is full, or another program locks the file for half
                a minute.
        """
        return await self._in_turn(partial(change, self.history, *args, **kwargs))

    async def write_soon(
        self,
        job_id: str,
        change: Callable[Concatenate[History, P], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Write what the service reports of a job, without waiting long for the file.

        While another program locks the file, or the disk is full, this returns after
        about a second and the write is repeated until it succeeds. Of several that wait
        for one job, only the newest is written.
        """
        call = partial(change, self.history, *args, **kwargs)
        done = asyncio.get_running_loop().create_future()
        self._late[job_id, change] = (call, done)
        if self._writing_late is None or self._writing_late.done():
            self._writing_late = asyncio.create_task(self._write_late())
        await asyncio.wait([done], timeout=0 if self._is_blocked else BLOCKED_AFTER_S)
        if not done.cancel():
            done.result()

    async def _write_late(self) -> None:
        while self._late:
            key, (call, done) = next(iter(self._late.items()))
            write = asyncio.ensure_future(self._in_turn(call))
            await asyncio.wait([write])
            error = write.exception()
            if type(error) is MediakitError:  # a locked file may be free next time
                log.warning("%s Trying again in %.0f s.", error, RETRY_AFTER_S)
                await asyncio.sleep(RETRY_AFTER_S)
                continue
            if self._late[key][1] is done:
                del self._late[key]
            if not done.done():
                done.set_result(None) if error is None else done.set_exception(error)
            elif error is not None:
                log.error("A change to the history was not written.", exc_info=error)

    async def flush(self) -> None:
        """Wait a few seconds for the writes that could not be made yet."""
        if self._writing_late is not None:
            await asyncio.wait([self._writing_late], timeout=FLUSH_FOR_S)

    async def _in_turn(self, call: Callable[[], T]) -> T:
        if self._writer is None:
            self._writer = Thread(
                target=_write_all,
                args=(self._turns,),
                name="mediakit-history",
                daemon=True,
            )
            self._writer.start()
            finalize(self, self._turns.put, None)
        outcome: Future[T] = Future()
        self._turns.put(partial(_write, outcome, partial(self._timed, call)))
        written = asyncio.wrap_future(outcome)
        try:
            return await asyncio.shield(written)
        except asyncio.CancelledError:
            if not outcome.cancel():
                await asyncio.wait([written])
            raise

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
        """Return a message while another program locks the file, else nothing."""
        if not (self._is_blocked and self.history.is_local):
            return ""
        return (
            f"The history file {self.history.place} is locked by another program. The "
            "request continues when it is released."
        )


def _write_all(turns: SimpleQueue[Callable[[], None] | None]) -> None:
    for write in iter(turns.get, None):
        write()
        del write  # or an account's history would never be garbage


def _write(outcome: Future[T], call: Callable[[], T]) -> None:
    if not outcome.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised where it is awaited
        outcome.set_exception(error)
    else:
        outcome.set_result(result)
