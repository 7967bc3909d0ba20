"""A few requests at the same time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from mediakit.errors import MediakitError

AT_ONCE = 4

T = TypeVar("T")


async def few_at_once(reads: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run reads, a few at the same time; return what each gave, in their order.

    Raises:
        MediakitError: The first error; the other reads are cancelled.
    """
    found: dict[int, T] = {}
    failed: list[MediakitError] = []
    slots = anyio.Semaphore(AT_ONCE)

    async def run(place: int) -> None:
        async with slots:
            try:
                found[place] = await reads[place]()
            except MediakitError as error:
                failed.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for place in range(len(reads)):
            group.start_soon(run, place)
    if failed:
        raise failed[0]
    return [found[place] for place in range(len(reads))]
