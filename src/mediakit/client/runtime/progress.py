"""The progress of uploads and downloads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from mediakit.client.runtime.listeners import notify

Direction = Literal["upload", "download"]


@dataclass(frozen=True)
class Transfer:
    """The progress of one file.

    Args:
        direction: "upload" or "download".
        name: The file's name.
        done_bytes: The bytes transferred; starts over after a broken connection that
            could not be resumed.
        total_bytes: Its length; None while it is not known.
    """

    direction: Direction
    name: str
    done_bytes: int
    total_bytes: int | None


Listener = Callable[[Transfer], None]
Tell = Callable[[int, int | None], None]


@dataclass(eq=False)
class _UnderWay:
    latest: Transfer


class Progress:
    """Notifies its listeners of every transferred block."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._under_way: set[_UnderWay] = set()

    @property
    def under_way(self) -> tuple[Transfer, ...]:
        """Return the progress of each transfer that has not ended."""
        return tuple(each.latest for each in tuple(self._under_way))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with each step, on the I/O thread.

        A fast transfer has a thousand steps a second; a listener that draws selects
        which of them it shows.

        Returns:
            A function that unsubscribes it.
        """
        self._listeners = (*self._listeners, listener)

        def unsubscribe() -> None:
            kept = [each for each in self._listeners if each is not listener]
            self._listeners = tuple(kept)

        return unsubscribe

    @contextmanager
    def of(
        self, direction: Direction, name: str, total_bytes: int | None = None
    ) -> Iterator[Tell]:
        """Yield a function to call, on the I/O thread, with the done and total bytes.

        Args:
            direction: "upload" or "download".
            name: The file's name.
            total_bytes: Its length, if already known.
        """
        loop = asyncio.get_running_loop()
        transfer = _UnderWay(Transfer(direction, name, 0, total_bytes))

        def tell(done_bytes: int, total_bytes: int | None) -> None:
            step = Transfer(direction, name, done_bytes, total_bytes)
            transfer.latest = step
            loop.call_soon(notify, self._listeners, step)

        self._under_way.add(transfer)
        try:
            yield tell
        finally:
            self._under_way.discard(transfer)
