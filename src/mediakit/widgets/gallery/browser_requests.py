"""Handles requests from the browser, one after the other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread

from mediakit.client.loop import IOThread
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import ErrorSink, sentence_of

Message = Mapping[str, Any]
Act = Callable[[], object]
Answer = Callable[[Message, str, str], None]
"""Takes a request, what went wrong, and what was done where that is worth telling."""


class Requests:
    """Does what is asked for on a worker thread; coroutines on the I/O thread.

    Args:
        io: The I/O thread.
        acts: Returns what a request wants, by its name; None where it wants nothing.
        answer: Called after each.
        error_sink: Takes the sentence of an error that belongs to no request.
    """

    def __init__(
        self,
        io: IOThread,
        acts: Mapping[str, Callable[[Message], Act | None]],
        answer: Answer,
        error_sink: ErrorSink,
    ) -> None:
        self._acts = acts
        self._answer = answer
        self._tasks = TaskRunner(io, error_sink)
        self._turn = asyncio.Lock()

    def take(self, message: Message) -> None:
        """Take a request, from any thread, and return at once."""
        find = self._acts.get(str(message.get("do")))
        act = find(message) if find is not None else None
        if act is not None:
            self._tasks.run(partial(self._do, message, act))

    async def _do(self, message: Message, act: Act) -> None:
        async with self._turn:
            error, said = "", None
            try:
                said = await _called(act)
            except Exception as failure:  # noqa: BLE001 - it is shown in the wall
                error = sentence_of(failure)
            self._answer(message, error, said if isinstance(said, str) else "")


async def _called(act: Act) -> object:
    outcome = await anyio.to_thread.run_sync(act)
    return await outcome if inspect.isawaitable(outcome) else outcome


def then(first: Act, after: Act) -> Act:
    """Return what calls `first`, awaits it where that is needed, and calls `after`."""

    def both() -> object:
        outcome = first()
        return wait(outcome) if inspect.isawaitable(outcome) else after()

    async def wait(outcome: Awaitable[object]) -> object:
        await outcome
        return after()

    return both
