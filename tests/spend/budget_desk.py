"""Clients of one history and one service, at whatever month a test wants."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from mediakit import Client
from mediakit.client.polling import ReadLimiter
from tests.support.advancing_clock import AdvancingClock
from tests.support.new_history import with_history
from tests.sweep.service import BASE_URL, CATALOG, KEY, Service

CLIP_MICRO_USD = 340_000  # 5 seconds of text-to-video, which is exact
NOVEMBER = datetime(2026, 11, 22, 12, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


class Calendar(AdvancingClock):
    """An advancing clock whose day is set by the test."""

    def __init__(self, now: datetime = NOVEMBER) -> None:
        super().__init__()
        self.today = now

    def now(self) -> datetime:
        return self.today


class Desk:
    """Makes clients that share a history, a service and a calendar."""

    def __init__(self, home: Path, service: Service | None = None) -> None:
        self.home = home
        self.service = service or Service()
        self.calendar = Calendar()

    def client(self, **more: Any) -> Client:
        client = Client(
            BASE_URL,
            KEY,
            home=with_history(self.home),
            catalog=CATALOG,
            clock=self.calendar,
            transport=httpx.MockTransport(self.service.handle),
            **more,
        )
        client.components.jobs.poller.limiter = ReadLimiter(2_000, clock=self.calendar)
        return client
