"""A sender without a server, on a clock that only tests move."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from mediakit.clock import SystemClock, VirtualClock
from mediakit.sandbox.delivery.events import COMPLETED, envelope, new_event_id
from mediakit.sandbox.delivery.sender import Sender
from mediakit.sandbox.scheduling.clock import US_PER_S, SandboxClock, to_us
from mediakit.sandbox.scheduling.wakeup import Wakeup
from mediakit.sandbox.server.data_dir import DataDir
from mediakit.sandbox.server.startup import open_service
from mediakit.sandbox.settings import Sandbox
from mediakit.sandbox.store.events import deliveries
from mediakit.sandbox.store.events.deliveries import (
    AttemptRow,
    DeliveryRow,
    NewEvent,
    Receiver,
)
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG

OWN_PORT = 9


class LoneSender:
    """A sender on a store of its own; real sockets, and sandbox time that stands still.

    Args:
        folder: Its data directory.
        settings: Settings of the sandbox.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        chosen = {"allow_loopback_callbacks": True, "delivery_timeout_s": 20.0}
        data_dir = DataDir(folder)
        opened = open_service(
            Sandbox(folder, **chosen | settings),
            data_dir,
            data_dir.open_account(None),
            f"http://127.0.0.1:{OWN_PORT}",
        )
        self.time = VirtualClock()
        clock = SandboxClock(self.time, epoch_us=to_us(self.time.now()))
        self.service = replace(opened, clock=clock, deliveries=Wakeup(clock))
        self.db = self.service.db
        self.sender = Sender(self.service, SystemClock(), Random(7))

    def add(self, url: str, endpoint: str | None = None, kind: str = COMPLETED) -> str:
        """Note an event of no job, due now; return the id of its delivery."""
        now_us = self.service.clock.now_us()
        body = envelope(kind, now_us, {"id": "media_none"})
        event = NewEvent(new_event_id(), DEFAULT_ORG, None, kind, body, now_us)
        receivers = [Receiver(endpoint, url)]
        (delivery_id,) = deliveries.add_event(self.db, event, receivers, now_us)
        return delivery_id

    async def next(self) -> int:
        """Skip to what is due next and do it; return how many attempts it was."""
        due_us = self.sender.next_due_us()
        assert due_us is not None
        now_us = self.service.clock.now_us()
        await self.time.advance(max(0, due_us - now_us) / US_PER_S)
        return await self.sender.do_due(max(due_us, now_us))

    async def to_the_end(self) -> None:
        """Skip from one due time to the next until nothing is due any more."""
        while self.sender.next_due_us() is not None:
            await self.next()

    def delivery(self, delivery_id: str) -> DeliveryRow:
        found = deliveries.find(self.db, delivery_id)
        assert found is not None
        return found

    def attempts(self, delivery_id: str) -> list[AttemptRow]:
        return deliveries.attempts_of(self.db, delivery_id)

    def reasons(self, delivery_id: str) -> list[str | None]:
        return [attempt.reason for attempt in self.attempts(delivery_id)]


@contextmanager
def lone_sender(folder: Path, **settings: Any) -> Iterator[LoneSender]:
    """Make a sender, and close its store in the end."""
    lone = LoneSender(folder, **settings)
    try:
        yield lone
    finally:
        lone.db.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(work)
