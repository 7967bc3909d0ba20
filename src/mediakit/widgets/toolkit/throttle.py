"""Limits how often a function is called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mediakit.client.io_thread import IOThread
from mediakit.clock import Clock
from mediakit.widgets.toolkit.callbacks import ErrorSink, guarded_async


class Paced:
    """Awaits a function soon after a request, at most once per interval."""

    def __init__(
        self,
        io: IOThread,
        clock: Clock,
        interval_s: float,
        act: Callable[[], Awaitable[object]],
        error_sink: ErrorSink,
    ) -> None:
        self._loop = io.loop
        self._clock = clock
        self._interval_s = interval_s
        self._act = guarded_async(error_sink)(act)
        self._asked = self._closed = False
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """Request a call, from any thread."""
        if not self._closed:
            self._loop.call_soon_threadsafe(self._start)

    def close(self) -> None:
        self._closed = True

    def _start(self) -> None:
        self._asked = True
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            while self._asked and not self._closed:
                self._asked = False
                await self._act()
                await self._clock.sleep(self._interval_s)
        finally:
            self._task = None
