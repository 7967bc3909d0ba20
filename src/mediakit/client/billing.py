"""The balance, and the service's spend reports (spec 4.19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from mediakit.api_models import Balance
from mediakit.client.account_reader import AccountReader
from mediakit.client.charge_columns import ReportColumns
from mediakit.client.http import ServiceClient
from mediakit.client.io_thread import networked
from mediakit.client.responses import HttpResponse, answered_at, parse
from mediakit.clock import Clock


@dataclass(frozen=True)
class Report:
    """A spend report: JSON, or the text of a CSV, with its bytes as sent.

    `responded_at` is the `Date` of the response, or None if there is none.
    """

    body: Any
    responded_at: datetime | None
    content: bytes = b""


class BillingReader(AccountReader):
    """Reads the balance and spend reports, which is free and safe to repeat.

    Args:
        transport: Sends the requests.
        clock: The time.
        reports: The name of the charge in reports, by `charge` or `charge_usd`.
    """

    def __init__(
        self,
        transport: ServiceClient,
        clock: Clock,
        reports: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(transport, clock)
        self._columns = ReportColumns(reports) if reports else None

    @networked
    async def balance(self, *, retry_for_s: float = 10.0) -> Balance:
        """Read the balance; a 200 shows that the key is active (spec 2.4)."""
        answer = await self._transport.read("/billing/balance", retry_for_s=retry_for_s)
        # Every service has a balance, so the base URL is wrong.
        is_missing = answer.status == HTTPStatus.NOT_FOUND
        hint = self._transport.service.base_url_hint if is_missing else ""
        self._checked(answer, "the balance", hint)
        return parse(Balance, answer)

    @networked
    async def daily(
        self,
        start_date: str,
        end_date: str,
        *,
        api_key_id: str | None = None,
        model: str | None = None,
    ) -> Report:
        """Read the spend of a range of days, both included, YYYY-MM-DD in UTC."""
        params = {"start_date": start_date, "end_date": end_date}
        filters = {"api_key_id": api_key_id, "model": model}
        params |= {name: value for name, value in filters.items() if value is not None}
        answer = await self._read(
            "/billing/spend/daily", "the daily spend", params=params
        )
        return self._report(answer, "daily report")

    @networked
    async def monthly(self, month: str) -> Report:
        """Read the report of a month, YYYY-MM by settlement date in UTC."""
        path = f"/billing/monthly/{month}"
        answer = await self._read(path, f"the report of {month}")
        return self._report(answer, "monthly report")

    @networked
    async def monthly_csv(self, month: str) -> Report:
        """Read the same month as CSV, one row per model and a totals row."""
        path = f"/billing/monthly/{month}/csv"
        answer = await self._read(path, f"the report of {month}")
        # A name that is not UTF-8 must not hide the amounts in its row.
        text = answer.content.decode(errors="replace")
        if self._columns is not None:
            text = self._columns.read_csv(text, "month's CSV")
        return Report(text, answered_at(answer), answer.content)

    def _report(self, answer: HttpResponse, what: str) -> Report:
        body = answer.json()
        if self._columns is not None:
            body = self._columns.read_json(answer.content, what)
        return Report(body, answered_at(answer))
