"""The blocking delivery log: each method runs the asynchronous one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from mediakit.client.account.deliveries import (
    LARGEST_PAGE,
    LONGEST_OVERLAP_S,
    AsyncDeliveries,
    AsyncDeliveryList,
    Replays,
    When,
)
from mediakit.client.runtime.docstrings import explained_by
from mediakit.client.runtime.io_thread import IOThread
from mediakit.client.runtime.signing_secret import Secret
from mediakit.records import Attempt, Delivery

if TYPE_CHECKING:
    import pandas as pd


class DeliveryList:
    """Deliveries, read page by page during iteration.

    Each iteration reads the log again, starting with the newest.

    Args:
        core: The list.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncDeliveryList, io: IOThread) -> None:
        self._core = core
        self._io = io

    def __repr__(self) -> str:
        return repr(self._core)

    def __iter__(self) -> Iterator[Delivery]:
        reading = self._core.reading()
        while (page := self._io.call(reading.next_page)) is not None:
            yield from map(Delivery.model_validate, page)


class Deliveries:
    """The delivery log of an organization; reading it is free (spec 4.20).

    Args:
        core: The log.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncDeliveries, io: IOThread) -> None:
        self.core = core
        self.io = io

    def __repr__(self) -> str:
        return repr(self.core)

    @explained_by(AsyncDeliveries.list)
    def list(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        endpoint_id: str | None = None,
        page_size: int = LARGEST_PAGE,
    ) -> DeliveryList:
        """Return deliveries, newest first; each page is read when it is reached."""
        found = self.core.list(
            status=status,
            source_id=source_id,
            endpoint_id=endpoint_id,
            page_size=page_size,
        )
        return DeliveryList(found, self.io)

    @explained_by(AsyncDeliveries.frame)
    def frame(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        endpoint_id: str | None = None,
    ) -> pd.DataFrame:
        """Read deliveries as a frame."""
        return self.io.call(
            self.core.frame,
            status=status,
            source_id=source_id,
            endpoint_id=endpoint_id,
        )

    @explained_by(AsyncDeliveries.get)
    def get(self, delivery_id: str, /) -> Delivery:
        """Read one delivery."""
        return self.io.call(self.core.get, delivery_id)

    @explained_by(AsyncDeliveries.attempts)
    def attempts(self, delivery_id: str, /) -> Sequence[Attempt]:
        """Read the attempts of a delivery, oldest first; see `Attempt.words`."""
        return self.io.call(self.core.attempts, delivery_id)

    @overload
    def replay(self, delivery_id: str, /) -> Delivery: ...

    @overload
    def replay(
        self,
        /,
        *,
        status: str,
        since: When | None = None,
        until: When | None = None,
    ) -> Replays: ...

    @explained_by(AsyncDeliveries.replay)
    def replay(
        self,
        delivery_id: str | None = None,
        /,
        *,
        status: str | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> Delivery | Replays:
        """Replay one delivery, or all with a status in a range (spec 3.2)."""
        replay: Any = self.core.replay
        sent: Delivery | Replays = self.io.call(
            replay, delivery_id, status=status, since=since, until=until
        )
        return sent

    @explained_by(AsyncDeliveries.secret)
    def secret(self) -> Secret:
        """Read the secret that signs deliveries to a `webhook_url` (spec 6.6)."""
        return self.io.call(self.core.secret)

    @explained_by(AsyncDeliveries.rotate_secret)
    def rotate_secret(self, *, overlap_s: int = LONGEST_OVERLAP_S) -> Secret:
        """Create a new secret; for a time the previous one signs too (spec 6.6)."""
        return self.io.call(self.core.rotate_secret, overlap_s=overlap_s)
