"""One thread per process with its own event loop, for all network work.

Tasks there go on while a notebook's kernel is idle, computes, sleeps or waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

P = ParamSpec("P")
T = TypeVar("T")


class IOThread:
    """A running event loop on a thread of its own."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._portal: BlockingPortal = self._stack.enter_context(
            start_blocking_portal("asyncio", name="mediakit-io")
        )
        self._thread_id = self._portal.call(threading.get_ident)
        self._pid = os.getpid()

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
        if threading.get_ident() == self._thread_id:
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


_lock = threading.Lock()
_current: IOThread | None = None


def io_thread() -> IOThread:
    """Return this process's I/O thread, starting it on first use."""
    global _current
    with _lock:
        if _current is None or not _current.usable:
            _current = IOThread()
        return _current
