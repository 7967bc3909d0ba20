"""Handling what the inbox holds: several at once, again when it fails."""

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
from mediakit.webhooks.inbox import Inbox, Noted

logger = logging.getLogger(__name__)

OnEvent = Callable[[Event], Awaitable[object]] | Callable[[Event], object]

AT_ONCE = 4
STOP_S = 10.0
# After the first failure, the second, and so on; after the last one it is given up.
PAUSES_S = (1.0, 10.0, 60.0, 600.0, 3_600.0)
MAX_TRIES = len(PAUSES_S) + 1


class Handling:
    """Hands the events of an inbox to a function, on the loop that starts it.

    Args:
        inbox: Where the events are.
        on_event: What takes them.
        clock: The time by which events are due.
    """

    def __init__(self, inbox: Inbox, on_event: OnEvent, clock: Clock) -> None:
        self._inbox = inbox
        self._on_event = on_event
        self._clock = clock
        self._rung = asyncio.Event()
        self._dispatcher: asyncio.Task[None] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin with what is due, or look again whether something is."""
        if not self._is_here():
            self._rung, self._running = asyncio.Event(), {}
            self._dispatcher = asyncio.create_task(self._dispatch(), name="webhooks")
            self._dispatcher.add_done_callback(_report)
        self._rung.set()

    async def stop(self) -> None:
        """Begin nothing more, and give what is being handled ten seconds to end.

        What does not end in time is handled again after the next start.
        """
        if self._dispatcher is None or not self._is_here():
            return
        self._dispatcher.cancel()
        tasks = set(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(self._dispatcher, *tasks, return_exceptions=True)
        self._dispatcher = None

    def _is_here(self) -> bool:
        task, loop = self._dispatcher, asyncio.get_running_loop()
        return task is not None and not task.done() and task.get_loop() is loop

    async def _dispatch(self) -> None:
        while True:
            self._rung.clear()
            while len(self._running) < AT_ONCE and (noted := await self._take()):
                await self._begin(noted)
            await self._rest()

    async def _begin(self, noted: Noted) -> None:
        if noted.id in self._running:  # the clock jumped, and its lease is over
            same = replace(noted, tries=noted.tries - 1)
            await self._postpone(same, self._inbox.lease_s)
            return
        task = asyncio.create_task(self._handle(noted), name=noted.id)
        self._running[noted.id] = task
        task.add_done_callback(self._end)

    async def _take(self) -> Noted | None:
        return await to_thread.run_sync(self._inbox.take, self._clock.now())

    async def _rest(self) -> None:
        due_at = await to_thread.run_sync(self._inbox.next_due)
        if due_at is None or len(self._running) >= AT_ONCE:
            await self._rung.wait()
            return
        alarm = asyncio.create_task(self._ring_at(due_at))
        try:
            await self._rung.wait()
        finally:
            alarm.cancel()

    async def _ring_at(self, due_at: datetime) -> None:
        await self._clock.sleep((due_at - self._clock.now()).total_seconds())
        self._rung.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task.get_name(), None)
        self._rung.set()
        _report(task)

    # -- One event ----------------------------------------------------------------

    async def _handle(self, noted: Noted) -> None:
        if noted.tries > MAX_TRIES:  # the process died of each of them
            await self._give_up(noted)
            return
        call = asyncio.create_task(self._call(noted), name=noted.id)
        lease_s = self._inbox.lease_s
        try:
            while not (await asyncio.wait([call], timeout=lease_s / 3))[0]:
                await self._postpone(noted, lease_s)
        finally:
            call.cancel()
        problem = CancelledError() if call.cancelled() else call.exception()
        if problem is None:
            await to_thread.run_sync(lambda: self._inbox.end(noted.id, handled=True))
        else:
            await self._failed(noted, problem)

    async def _call(self, noted: Noted) -> None:
        event = read_event(noted.id, noted.body)
        if _is_async(self._on_event):
            result = self._on_event(event)
        else:
            result = await to_thread.run_sync(self._on_event, event)
        if inspect.isawaitable(result):
            await result

    async def _failed(self, noted: Noted, problem: BaseException) -> None:
        if noted.tries >= MAX_TRIES:
            await self._give_up(noted, problem)
            return
        pause_s = PAUSES_S[noted.tries - 1]
        await self._postpone(noted, pause_s)
        words = "%s was not handled (try %d); it is tried again in %d s"
        logger.warning(words, noted.id, noted.tries, pause_s, exc_info=problem)

    async def _postpone(self, noted: Noted, seconds: float) -> None:
        due_at = self._clock.now() + timedelta(seconds=seconds)
        await to_thread.run_sync(self._inbox.postpone, noted, due_at)

    async def _give_up(
        self, noted: Noted, problem: BaseException | None = None
    ) -> None:
        await to_thread.run_sync(lambda: self._inbox.end(noted.id, handled=False))
        words = "%s was given up after %d tries; replay it to have it handled"
        logger.error(words, noted.id, noted.tries, exc_info=problem)


def _is_async(function: OnEvent) -> bool:
    is_async = inspect.iscoroutinefunction
    return is_async(function) or is_async(getattr(function, "__call__", None))  # noqa: B004


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("handling %s broke", task.get_name(), exc_info=problem)
