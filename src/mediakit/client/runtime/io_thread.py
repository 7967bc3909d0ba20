"""The I/O thread: one thread per process, whose event loop does all network work.

Its tasks continue while a notebook's kernel is idle, computes, sleeps or waits.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

import anyio
from anyio.from_thread import BlockingPortal

STOP_TIMEOUT_S = 5.0
PAUSE_TIMEOUT_S = 1.0

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
Ready = Future[tuple[BlockingPortal, asyncio.AbstractEventLoop]]


@dataclass(frozen=True)
class _Running:
    """A loop and its thread."""

    portal: BlockingPortal
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread


class IOThread:
    """An event loop that runs on a thread of its own.

    A forked process has the object but not the thread: it starts another one on first
    use, so that objects created before the fork work in both processes.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now: _Running | None = None
        self._forks: list[threading.Event] = []
        self._ended = False
        _register_forks()
        _threads.add(self)
        self._running()
        atexit.register(self._stop)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop.

        Its `call_soon_threadsafe` is for callers that may be on the I/O thread
        themselves, where `call` and `post` raise an error.
        """
        return self._running().loop

    def _running(self) -> _Running:
        with self._lock:
            if self._ended:
                raise RuntimeError(
                    "the process is exiting and its I/O thread has stopped; jobs "
                    "continue at the service, and are resumed at the next start"
                )
            if self._now is None:
                self._now = _start()
            return self._now

    def _stop(self) -> None:
        """End the running tasks, so that the process can end."""
        with self._lock:
            self._ended = True
        now = self._now
        if now is not None and now.thread.is_alive():
            now.portal.start_task_soon(now.portal.stop, True)  # noqa: FBT003
            now.thread.join(STOP_TIMEOUT_S)

    def call(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a coroutine function on the I/O thread and wait for its result.

        An interrupt cancels the coroutine. Start work that must continue with `post`.

        Raises:
            RuntimeError: The caller is on the I/O thread and would wait for itself.
        """
        self.refuse_itself()
        future = self.post(function, *args, **kwargs)
        try:
            return self.result(future)
        except KeyboardInterrupt:
            future.cancel()
            raise

    @property
    def is_here(self) -> bool:
        """Return whether the caller is on this thread."""
        now = self._now
        return now is not None and threading.current_thread() is now.thread

    def refuse_itself(self) -> None:
        """Raise if the caller is on this thread, and so must not wait for it.

        Raises:
            RuntimeError: The caller is on it and would wait for itself.
        """
        if threading.current_thread() is self._running().thread:
            raise RuntimeError(
                "a blocking call was made on the I/O thread, where it would wait for "
                "itself; use AsyncClient, or the job's callbacks, there"
            )

    def result(self, future: Future[T]) -> T:
        """Wait for the result of `post`.

        Raises:
            SystemExit: The process ends; it ends the calling thread silently.
        """
        try:
            return future.result()
        except CancelledError:
            if self._ended:
                raise SystemExit from None
            raise

    def post(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Start a coroutine function on the I/O thread and return at once.

        Raises:
            RuntimeError: The process is exiting. Tasks started before are cancelled.
        """

        async def run() -> T:
            return await function(*args, **kwargs)

        # Under the lock: the exit cancels all tasks that were started before it, and no
        # task is lost in a loop that no longer runs.
        with self._lock:
            loop, coroutine = self._running().loop, run()
            try:
                # Takes half the time of the portal's own method.
                return asyncio.run_coroutine_threadsafe(coroutine, loop)
            except RuntimeError:  # the thread has died
                coroutine.close()
                raise

    async def run(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a coroutine function on the I/O thread; await it on the running loop.

        A cancellation cancels the coroutine, and returns when that has ended.
        """
        now = self._now
        if now is not None and threading.current_thread() is now.thread:
            return await function(*args, **kwargs)
        tasks: list[asyncio.Task[T]] = []
        outcome: Future[T] = Future()

        async def there() -> T:
            return await function(*args, **kwargs)

        def begin() -> None:
            tasks.append(running.loop.create_task(there()))
            tasks[0].add_done_callback(partial(_pass_on, outcome))

        with self._lock:
            running = self._running()
            running.loop.call_soon_threadsafe(begin)
        result = asyncio.wrap_future(outcome)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            running.loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait([result])
            if not result.cancelled():
                result.exception()  # retrieved, or asyncio logs it
            raise

    # -- forks --------------------------------------------------------------------

    def pause(self) -> None:
        """Pause the loop between two callbacks until the process has forked.

        The child gets a copy of every lock and every incomplete change; while the loop
        is paused, none of them belongs to the I/O thread.
        """
        now = self._now
        if now is None or threading.current_thread() is now.thread:
            return
        paused, forked = threading.Event(), threading.Event()

        def wait_for_fork() -> None:
            paused.set()
            forked.wait(PAUSE_TIMEOUT_S)

        self._forks.append(forked)
        with suppress(RuntimeError):  # the loop has ended
            now.loop.call_soon_threadsafe(wait_for_fork)
            paused.wait(PAUSE_TIMEOUT_S)

    def resume(self) -> None:
        """Resume the loop after a fork."""
        while self._forks:
            self._forks.pop().set()

    def forget(self) -> None:
        """Leave the thread to the parent process."""
        self._lock = threading.RLock()
        self._forks.clear()
        self._now = None


def _pass_on(outcome: Future[T], task: asyncio.Task[T]) -> None:
    """Pass the outcome of a task to another thread."""
    if task.cancelled():
        outcome.cancel()
    elif (error := task.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())


def networked(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method run on the I/O thread, awaited from any loop."""

    @wraps(method)
    async def on_io_thread(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await io_thread().run(method, self, *args, **kwargs)

    return on_io_thread


def _start() -> _Running:
    ready: Ready = Future()
    thread = threading.Thread(
        target=anyio.run, args=(_serve, ready), name="mediakit-io", daemon=True
    )
    thread.start()
    portal, loop = ready.result()
    return _Running(portal, loop, thread)


async def _serve(ready: Ready) -> None:
    try:
        async with BlockingPortal() as portal:
            ready.set_result((portal, asyncio.get_running_loop()))
            await portal.sleep_until_stopped()
    finally:
        for each in tuple(_closed_at_end):
            await each.aclose()


class Closable(Protocol):
    """An object with connections of the I/O thread's loop."""

    async def aclose(self) -> None:
        """Close them."""


def close_at_end(closable: Closable) -> None:
    """Close an object when the I/O thread ends, unless it is garbage by then."""
    _closed_at_end.add(closable)


_lock = threading.Lock()
_threads: WeakSet[IOThread] = WeakSet()
_closed_at_end: WeakSet[Closable] = WeakSet()
_current: IOThread | None = None


def io_thread() -> IOThread:
    """Return this process's I/O thread, starting it on first use."""
    global _current
    with _lock:
        if _current is None:
            _current = IOThread()
        return _current


def _before_fork() -> None:
    for thread in tuple(_threads):
        thread.pause()


def _after_fork_in_parent() -> None:
    for thread in tuple(_threads):
        thread.resume()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    for thread in tuple(_threads):
        thread.forget()


@cache
def _register_forks() -> None:
    # Hooks before a fork run in reverse order of registration: the loop is paused
    # before the history closes its files, which would otherwise wait for the loop.
    if sys.platform != "win32":
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )
