"""One thread per process with its own event loop, for all network work.

Tasks there go on while a notebook's kernel is idle, computes, sleeps or waits.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

STOP_TIMEOUT_S = 2.0

P = ParamSpec("P")
T = TypeVar("T")


class IOThread:
    """A running event loop on a thread of its own.

    `loop` is that loop: `loop.call_soon_threadsafe` is for callers that may stand on
    the I/O thread themselves, where `call` and `post` are refused.
    """

    def __init__(self) -> None:
        ready: Future[tuple[BlockingPortal, asyncio.AbstractEventLoop]] = Future()
        self._thread = threading.Thread(
            target=anyio.run, args=(_serve, ready), name="mediakit-io", daemon=True
        )
        self._thread.start()
        self._portal, self.loop = ready.result()
        self._pid = os.getpid()
        atexit.register(self._stop)

    def _stop(self) -> None:
        """End what still runs there, so that the process can end."""
        if self.usable and self._thread.is_alive():
            self._portal.start_task_soon(self._portal.stop, True)  # noqa: FBT003
            self._thread.join(STOP_TIMEOUT_S)

    @property
    def usable(self) -> bool:
        """Tell whether this process started it; a fork has no such thread."""
        return self._pid == os.getpid()

    def call(
        self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a coroutine function there and wait for its result.

        An interrupt ends the waiting only: the coroutine runs on.

        Raises:
            RuntimeError: The caller is on the I/O thread and would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "a blocking call was made on the I/O thread, where it would wait for "
                "itself; use AsyncClient, or the job's callbacks, there"
            )
        return self.post(function, *args, **kwargs).result()

    def post(
        self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Start a coroutine function there and return at once."""

        async def run() -> T:
            return await function(*args, **kwargs)

        return self._portal.start_task_soon(run)


async def _serve(
    ready: Future[tuple[BlockingPortal, asyncio.AbstractEventLoop]],
) -> None:
    async with BlockingPortal() as portal:
        ready.set_result((portal, asyncio.get_running_loop()))
        await portal.sleep_until_stopped()


_lock = threading.Lock()
_current: IOThread | None = None


def io_thread() -> IOThread:
    """Return this process's I/O thread, starting it on first use."""
    global _current
    with _lock:
        if _current is None or not _current.usable:
            _current = IOThread()
        return _current
