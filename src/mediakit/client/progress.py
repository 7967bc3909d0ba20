"""The progress of transfers, and the reason why a request is slow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Literal

from mediakit.client.listeners import Listeners
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


class TransferProgress:
    """Notifies its listeners of every transferred block, on the I/O thread."""

    def __init__(self) -> None:
        self._listeners: Listeners[Transfer] = Listeners()
        self._under_way: dict[object, Transfer] = {}

    @property
    def under_way(self) -> tuple[Transfer, ...]:
        """Return the progress of each unfinished transfer."""
        return tuple(self._under_way.values())

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with each step; return a function that unsubscribes it.

        A fast transfer has a thousand steps a second, so a listener that draws should
        skip some.
        """
        return self._listeners.subscribe(listener)

    @contextmanager
    def of(
        self, direction: Direction, name: str, total_bytes: int | None = None
    ) -> Iterator[Tell]:
        """Yield a function that reports the transferred and total bytes."""
        key = object()

        def tell(done_bytes: int, total_bytes: int | None) -> None:
            step = Transfer(direction, name, done_bytes, total_bytes)
            self._under_way[key] = step
            self._listeners.notify(step)

        self._under_way[key] = Transfer(direction, name, 0, total_bytes)
        try:
            yield tell
        finally:
            del self._under_way[key]


class DelayMessages:
    """Explains why a request is still pending.

    Attributes:
        first_after_s: Seconds after which a pending submission shows why it is slow.
        then_every_s: Seconds between progress messages of its uploads.
    """

    first_after_s = 3.0
    then_every_s = 30.0

    def __init__(
        self,
        progress: TransferProgress,
        asked_to_wait_s: Callable[[], float],
        blocked_text: Callable[[], str],
    ) -> None:
        self._progress = progress
        self._asked_to_wait_s = asked_to_wait_s
        self._blocked_text = blocked_text

    def submit_text(self) -> str:
        """Explain why a submission has no response yet."""
        asked_s = self._asked_to_wait_s()
        text = "The service has not responded yet; still trying."
        if asked_s > 0:
            text = f"The service is busy; trying again in {ceil(asked_s)} s."
        return self._blocked_text() or text

    def files_text(self) -> str:
        """Return the progress of a request's files."""
        still = "Still reading the media of the request."
        return self.upload_text() or self._blocked_text() or still

    def upload_text(self, names: Collection[str] | None = None) -> str:
        """Return the progress of all uploads, or of those with some names."""
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
