"""How far uploads and downloads are, for whoever shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Direction = Literal["upload", "download"]


@dataclass(frozen=True)
class Transfer:
    """How far one file is.

    Args:
        direction: "upload" or "download".
        name: The file's name.
        done_bytes: How much of it has gone through; it starts over when the
            connection broke and nothing could be kept.
        total_bytes: Its length; None while that is not known.
    """

    direction: Direction
    name: str
    done_bytes: int
    total_bytes: int | None


Listener = Callable[[Transfer], None]


class Progress:
    """Tells its listeners of every block that went through."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with each step, on the event loop of the transfer.

        A fast transfer makes a thousand steps a second; a listener that draws
        chooses which of them it shows.

        Returns:
            A function that ends it.
        """
        self._listeners = (*self._listeners, listener)

        def unsubscribe() -> None:
            kept = [each for each in self._listeners if each is not listener]
            self._listeners = tuple(kept)

        return unsubscribe

    def of(self, direction: Direction, name: str) -> Callable[[int, int | None], None]:
        """Return what a thread calls with the bytes done and in all."""
        loop = asyncio.get_running_loop()

        def tell(done_bytes: int, total_bytes: int | None) -> None:
            step = Transfer(direction, name, done_bytes, total_bytes)
            for listener in self._listeners:
                loop.call_soon_threadsafe(listener, step)

        return tell
