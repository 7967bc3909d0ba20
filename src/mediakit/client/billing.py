"""Reads the balance and the billing reports (spec 4.19)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mediakit.client.answers import Answer, answered_at, error_of, parse
from mediakit.client.http import ServiceClient
from mediakit.client.loop import networked
from mediakit.clock import Clock
from mediakit.records import Balance


@dataclass(frozen=True)
class Report:
    """A report on spend, as it was sent.

    Args:
        body: The parsed JSON, or the text of a CSV.
        responded_at: The `Date` of the response; None if it has none.
        content: The bytes of a CSV, as sent.
    """

    body: Any
    responded_at: datetime | None
    content: bytes = b""


class Billing:
    """Reads of balance and spend; each is free and safe to repeat.

    Args:
        transport: Sends the reads.
        clock: Gives the time for errors that name an instant.
    """

    def __init__(self, transport: ServiceClient, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    @networked
    async def balance(self, *, retry_for_s: float = 10.0) -> Balance:
        """Read what can be spent; a 200 shows that the key is active (spec 2.4)."""
        path = "/billing/balance"
        answer = await self._transport.read(path, retry_for_s=retry_for_s)
        return parse(Balance, self._checked(answer, "the balance"))

    @networked
    async def daily(
        self,
        start_date: str,
        end_date: str,
        *,
        api_key_id: str | None = None,
        model: str | None = None,
    ) -> Report:
        """Read the spend of some days, both included, YYYY-MM-DD in UTC."""
        params = {"start_date": start_date, "end_date": end_date}
        filters = {"api_key_id": api_key_id, "model": model}
        params |= {name: value for name, value in filters.items() if value is not None}
        answer = await self._transport.read("/billing/spend/daily", params=params)
        body = self._checked(answer, "the daily spend").json()
        return Report(body, answered_at(answer))

    @networked
    async def monthly(self, month: str) -> Report:
        """Read the report of a month, YYYY-MM by settlement date in UTC."""
        answer = await self._transport.read(f"/billing/monthly/{month}")
        body = self._checked(answer, f"the report of {month}").json()
        return Report(body, answered_at(answer))

    @networked
    async def monthly_csv(self, month: str) -> Report:
        """Read the same month as CSV, one row per model and a totals row."""
        answer = await self._transport.read(f"/billing/monthly/{month}/csv")
        content = self._checked(answer, f"the report of {month}").content
        # A name that is not UTF-8 must not hide the amounts in its row.
        text = content.decode(errors="replace")
        return Report(text, answered_at(answer), content)

    def _checked(self, answer: Answer, what: str) -> Answer:
        if answer.status != 200:
            raise error_of(answer, what, self._clock)
        return answer
