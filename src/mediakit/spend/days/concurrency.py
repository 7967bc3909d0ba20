"""Runs requests with limited concurrency."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

AT_ONCE = 4

T = TypeVar("T")


async def gather_limited(reads: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run reads, a few at a time; return their results in order.

    The first error is raised unchanged, and the other reads are cancelled.
    """
    found: dict[int, T] = {}
    slots = anyio.Semaphore(AT_ONCE)

    async def run(place: int) -> None:
        async with slots:
            found[place] = await reads[place]()

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(reads)):
                group.start_soon(run, place)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [found[place] for place in range(len(reads))]
