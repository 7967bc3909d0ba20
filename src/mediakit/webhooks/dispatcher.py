"""Dispatch events from the inbox: several at once, with retries."""

from __future__ import annotations

import asyncio
import inspect
import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from anyio import to_thread

from mediakit.clock import Clock
from mediakit.webhooks.events import Event, read_event
from mediakit.webhooks.inbox import ClaimedEvent, Inbox

logger = logging.getLogger(__name__)

OnEvent = Callable[[Event], Awaitable[object]] | Callable[[Event], object]

AT_ONCE = 4
STOP_S = 10.0
# The pauses after each failed try; after the last one the event is marked as failed.
PAUSES_S = (1.0, 10.0, 60.0, 600.0, 3_600.0)
MAX_TRIES = len(PAUSES_S) + 1


class Dispatcher:
    """Passes events from the inbox to a function, on the event loop that starts it."""

    def __init__(self, inbox: Inbox, on_event: OnEvent, clock: Clock) -> None:
        self._inbox = inbox
        self._on_event = on_event
        self._clock = clock
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Start to dispatch events, or check again for events that are due."""
        if not self._is_running():
            self._wakeup, self._running = asyncio.Event(), {}
            self._task = asyncio.create_task(self._dispatch(), name="webhooks")
            self._task.add_done_callback(_report)
        self._wakeup.set()

    async def stop(self) -> None:
        """Start no more events, and wait up to ten seconds for running handlers.

        Events that are not finished by then are handled again after the next start.
        """
        if self._task is None or not self._is_running():
            return
        self._task.cancel()
        tasks = set(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(self._task, *tasks, return_exceptions=True)
        self._task = None

    def _is_running(self) -> bool:
        task, loop = self._task, asyncio.get_running_loop()
        return task is not None and not task.done() and task.get_loop() is loop

    async def _dispatch(self) -> None:
        while True:
            self._wakeup.clear()
            while len(self._running) < AT_ONCE and (event := await self._claim()):
                if event.id in self._running:  # its lease expired: the clock jumped
                    same = replace(event, tries=event.tries - 1)
                    await self._postpone(same, self._inbox.lease_s)
                else:
                    task = asyncio.create_task(self._handle(event), name=event.id)
                    self._running[event.id] = task
                    task.add_done_callback(self._end)
            await self._sleep_until_due()

    async def _claim(self) -> ClaimedEvent | None:
        return await to_thread.run_sync(self._inbox.claim, self._clock.now())

    async def _sleep_until_due(self) -> None:
        due_at = await to_thread.run_sync(self._inbox.next_due)
        timer = None
        if due_at is not None and len(self._running) < AT_ONCE:
            timer = asyncio.create_task(self._wake_at(due_at))
        try:
            await self._wakeup.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _wake_at(self, due_at: datetime) -> None:
        await self._clock.sleep((due_at - self._clock.now()).total_seconds())
        self._wakeup.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task.get_name(), None)
        self._wakeup.set()
        _report(task)

    # -- One event ----------------------------------------------------------------

    async def _handle(self, event: ClaimedEvent) -> None:
        if event.tries > MAX_TRIES:  # each try killed the process
            await self._mark_failed(event)
            return
        call = asyncio.create_task(self._call(event), name=event.id)
        lease_s = self._inbox.lease_s
        try:
            while not (await asyncio.wait([call], timeout=lease_s / 3))[0]:
                await self._postpone(event, lease_s)
        finally:
            call.cancel()
        problem = CancelledError() if call.cancelled() else call.exception()
        if problem is None:
            await to_thread.run_sync(lambda: self._inbox.finish(event, handled=True))
        else:
            await self._retry(event, problem)

    async def _call(self, event: ClaimedEvent) -> None:
        parsed = read_event(event.id, event.body)
        call = getattr(self._on_event, "__call__", None)  # noqa: B004
        if any(map(inspect.iscoroutinefunction, (self._on_event, call))):
            result = self._on_event(parsed)
        else:
            result = await to_thread.run_sync(self._on_event, parsed)
        if inspect.isawaitable(result):
            await result

    async def _retry(self, event: ClaimedEvent, problem: BaseException) -> None:
        if event.tries >= MAX_TRIES:
            await self._mark_failed(event, problem)
            return
        pause_s = PAUSES_S[event.tries - 1]
        await self._postpone(event, pause_s)
        words = "%s was not handled (try %d); the next try is in %d s"
        logger.warning(words, event.id, event.tries, pause_s, exc_info=problem)

    async def _postpone(self, event: ClaimedEvent, seconds: float) -> None:
        due_at = self._clock.now() + timedelta(seconds=seconds)
        await to_thread.run_sync(self._inbox.postpone, event, due_at)

    async def _mark_failed(
        self, event: ClaimedEvent, problem: BaseException | None = None
    ) -> None:
        await to_thread.run_sync(lambda: self._inbox.finish(event, handled=False))
        words = "%s failed after %d tries; replay it to handle it again"
        logger.error(words, event.id, event.tries, exc_info=problem)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("the webhook handler %s failed", task.get_name(), exc_info=problem)
