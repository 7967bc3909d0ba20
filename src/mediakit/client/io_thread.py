"""The I/O thread: one per process, whose event loop does all networking.

Its tasks continue while a notebook's kernel is idle, busy or waiting.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

import anyio

from mediakit.errors import MediakitError

STOP_TIMEOUT_S = 5.0
CLOSED = (
    "This client is closed. Nothing was sent. Create another one, such as with "
    "mediakit.connect(); jobs continue at the service, and client.job(id) returns them."
)
FORKED = (
    "This client was created before the process forked, and stays in the parent "
    "process. Nothing was sent. Create another one in this process, such as with "
    "mediakit.connect(); client.job(id) returns the jobs."
)
TRIO = (
    "mediakit needs an asyncio event loop, but this is a different kind. Nothing was "
    "sent. With trio, use mediakit.Client in trio.to_thread.run_sync(...)"
)

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
Ready = Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]

log = logging.getLogger("mediakit.client")


class ClosedError(MediakitError):
    """The client was closed, or was created before this process was forked."""


def closed() -> ClosedError:
    """Return the error for a client that was closed."""
    return ClosedError(CLOSED)


class IOThread:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False
        self._pid = os.getpid()
        ready: Ready = Future()
        self._thread = threading.Thread(
            target=anyio.run, args=(_serve, ready), name="mediakit-io", daemon=True
        )
        self._thread.start()
        self.loop, self._end = ready.result()
        atexit.register(self._stop)

    def _stop(self) -> None:
        """Cancel all tasks so that the process can exit."""
        with self._lock:
            self._ended = True
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._end.set)
            self._thread.join(STOP_TIMEOUT_S)

    @property
    def is_here(self) -> bool:
        """Return whether the caller is on this thread."""
        return threading.current_thread() is self._thread

    def refuse_itself(self) -> None:
        """Raise if the caller is on this thread, where waiting would deadlock."""
        if self.is_here:
            raise RuntimeError(
                "a blocking call was made on the I/O thread, where it would wait for "
                "itself; use AsyncClient, or job.subscribe(...), there"
            )

    def call(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a coroutine function on the thread and wait; an interrupt cancels it."""
        self.refuse_itself()
        _refuse_trio()
        future = self.post(function, *args, **kwargs)
        try:
            return self.result(future)
        except KeyboardInterrupt:
            future.cancel()
            raise

    def result(self, future: Future[T], timeout_s: float | None = None) -> T:
        """Wait for the result of `post`; the thread ends with the process."""
        try:
            return future.result(timeout_s)
        except CancelledError:
            if self._ended:
                raise SystemExit from None
            raise

    def post(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Start a coroutine function on the I/O thread and return at once."""

        async def run() -> T:
            return await function(*args, **kwargs)

        # Under the lock: the exit cancels all tasks that were started before it, and no
        # task is lost in a loop that no longer runs.
        with self._lock:
            self._refuse_ended()
            coroutine = run()
            try:
                return asyncio.run_coroutine_threadsafe(coroutine, self.loop)
            except RuntimeError:  # the thread has died
                coroutine.close()
                raise

    def _refuse_ended(self) -> None:
        if self._pid != os.getpid():
            raise ClosedError(FORKED)
        if self._ended:
            raise RuntimeError(
                "the process is exiting and its I/O thread has stopped; jobs continue "
                "at the service, and mediakit resumes tracking them at the next start"
            )

    async def run(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Await a coroutine function on the thread; cancelling waits for its end."""
        if self.is_here:
            return await function(*args, **kwargs)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(TRIO) from None
        tasks: list[asyncio.Task[T]] = []
        outcome: Future[T] = Future()

        async def there() -> T:
            return await function(*args, **kwargs)

        def begin() -> None:
            tasks.append(self.loop.create_task(there()))
            tasks[0].add_done_callback(partial(_pass_on, outcome))

        with self._lock:
            self._refuse_ended()
            self.loop.call_soon_threadsafe(begin)
        result = asyncio.wrap_future(outcome)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            self.loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait([result])
            if not result.cancelled():
                result.exception()  # or asyncio logs that it was never retrieved
            raise


def _pass_on(outcome: Future[T], task: asyncio.Task[T]) -> None:
    """Copy the outcome of a task to another thread."""
    if task.cancelled():
        outcome.cancel()
    elif (error := task.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())


def _refuse_trio() -> None:
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        raise RuntimeError(TRIO)


async def _serve(
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]],
) -> None:
    end = asyncio.Event()
    ready.set_result((asyncio.get_running_loop(), end))
    try:
        await end.wait()
    finally:
        # First, because a task would open a connection again.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for each in tuple(_closed_at_end):
            await each.aclose()


class AsyncClosable(Protocol):
    """An object with connections on the I/O thread's loop."""

    async def aclose(self) -> None:
        """Close them."""


def close_at_end(closable: AsyncClosable) -> None:
    """Close an object when the I/O thread ends, unless it was collected before."""
    _closed_at_end.add(closable)


_lock = threading.Lock()
_closed_at_end: WeakSet[AsyncClosable] = WeakSet()
_current: IOThread | None = None


def io_thread() -> IOThread:
    """Return this process's I/O thread, starting it on first use."""
    global _current
    with _lock:
        if _current is None:
            _current = IOThread()
        return _current


def _leave_to_parent() -> None:
    """Abandon the thread in a forked child; it belongs to the parent."""
    global _lock, _current, _closed_at_end
    # Never finalized here: that would take the parent's sockets from the selector that
    # both processes share.
    inherited: list[object] = [_current, *_closed_at_end]
    inherited.append(inherited)
    gc.freeze()
    _lock, _current, _closed_at_end = threading.Lock(), None, WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def networked(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method run on the I/O thread, awaited from any loop."""

    @wraps(method)
    async def on_io_thread(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await io_thread().run(method, self, *args, **kwargs)

    return on_io_thread
