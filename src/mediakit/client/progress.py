"""The progress of uploads and downloads, and why a request is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Literal

from mediakit.client.loop import notify
from mediakit.media import size_text

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


class DelayMessages:
    """Says what a pending request waits for.

    Args:
        progress: The progress of the uploads.
        asked_to_wait_s: Returns the remaining seconds of the wait that the service
            requested.
        blocked_text: Returns a message while another program locks the history, else
            an empty text.
    """

    def __init__(
        self,
        progress: Progress,
        asked_to_wait_s: Callable[[], float],
        blocked_text: Callable[[], str],
    ) -> None:
        self._progress = progress
        self._asked_to_wait_s = asked_to_wait_s
        self._blocked_text = blocked_text

    def submit_text(self) -> str:
        """Say why a submission has no response."""
        blocked = self._blocked_text()
        if blocked:
            return blocked
        asked_s = self._asked_to_wait_s()
        if asked_s > 0:
            return f"The service asks to wait; trying again in {ceil(asked_s)} s."
        return "The service has not accepted the request yet; still trying."

    def files_text(self) -> str:
        """Return the progress of a request's files."""
        return (
            self.upload_text()
            or self._blocked_text()
            or "Still reading the media of the request."
        )

    def upload_text(self, names: Collection[str] | None = None) -> str:
        """Return the progress of uploads.

        Args:
            names: The names of the files that matter; None for all.

        Returns:
            A sentence; empty while none of them is in progress.
        """
        uploads = [
            each
            for each in self._progress.under_way
            if each.direction == "upload" and (names is None or each.name in names)
        ]
        if not uploads:
            return ""
        what = uploads[0].name if len(uploads) == 1 else f"{len(uploads)} files"
        done_bytes = sum(each.done_bytes for each in uploads)
        total_bytes = sum(each.total_bytes or 0 for each in uploads)
        return f"Uploading {what}: {size_text(done_bytes)} of {size_text(total_bytes)}."
