"""Work that a form leaves to the I/O thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mediakit.client import Client, Job
from mediakit.client.io_thread import IOThread
from mediakit.errors import MediakitError
from mediakit.records import JobStatus
from mediakit.widgets.funds import Funds
from mediakit.widgets.guard import ErrorSink, guarded_async


class Errands:
    """Starts coroutine functions on the I/O thread, asked for from any thread.

    Handlers run on the kernel's main thread, on a subshell's, or on the I/O thread
    itself (where `IOThread.post` would wait for itself); none of them may block.

    Args:
        io: The I/O thread.
        error_sink: Takes the sentence of an error that nobody else would see.
    """

    def __init__(self, io: IOThread, error_sink: ErrorSink) -> None:
        self._loop = io.loop
        self._guard = guarded_async(error_sink)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, errand: Callable[[], Awaitable[object]]) -> None:
        """Start a coroutine function, and return at once."""
        self._loop.call_soon_threadsafe(self._start, errand)

    def _start(self, errand: Callable[[], Awaitable[object]]) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(self._guard(errand)())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def read_funds(client: Client[Job]) -> Funds:
    """Read what can be spent, and what jobs in flight hold of it.

    Raises:
        MediakitError: The balance cannot be read.
    """
    balance = await client.core.balance()
    service = client.service
    unsettled = client.core.store.unsettled(
        service=service.identity, account=service.account
    )
    return Funds(
        balance=balance,
        held_micro_usd=client.reserved_micro_usd(),
        held_jobs=sum(e.status is not JobStatus.FAILED for e in unsettled) or None,
    )


async def read_funds_and_budget(client: Client[Job]) -> Funds:
    """Read balance, holds and budget; without an answer, why there is no balance."""
    budget = await client.core.budget()
    try:
        return replace(await read_funds(client), budget=budget)
    except MediakitError as error:
        trouble = f"The balance is not known. {error}"
        return Funds(trouble=trouble, budget=budget)
