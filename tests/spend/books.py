"""A service's billing reports, with counted requests."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mediakit.catalog import Catalog
from mediakit.client import Service
from mediakit.client.billing import Report
from mediakit.client.history_view import AsyncHistoryView
from mediakit.history import History
from mediakit.spend import AsyncSpend
from tests.support.virtual_clock import VirtualClock

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SERVICE = Service("https://media.example", "key")
PATH = "sandbox/text-to-video/text-to-video"
CREDITS = "credits_applied_micro_usd"
PATHS = tuple(function.path for function in Catalog.default())

Row = dict[str, Any]


def charged(
    day: str,
    charge_micro_usd: int | None,
    path: str = PATH,
    key: str = "key_1",
    jobs: int = 1,
    **fields: Any,
) -> Row:
    """Return a row of the daily spend."""
    model, _, function = path.rpartition("/")
    return {
        "date": day,
        "api_key_id": key,
        "model": model,
        "function": function,
        "model_id": path,
        "jobs": jobs,
        "charge_micro_usd": charge_micro_usd,
        **fields,
    }


@dataclass
class Books:
    """Returns reports as `Billing` does, from rows in memory.

    Args:
        rows: The daily rows.
        now: The service's time; None sends no `Date`.
        extra: Fields around the rows of each daily report.
    """

    rows: list[Row] = field(default_factory=list)
    now: datetime | None = NOW
    extra: dict[str, Any] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)

    async def daily(
        self,
        start_date: str,
        end_date: str,
        *,
        api_key_id: str | None = None,
        model: str | None = None,
    ) -> Report:
        self.asked.append((start_date, end_date))
        rows = [
            row
            for row in self.rows
            if start_date <= row["date"] <= end_date
            and api_key_id in (None, row["api_key_id"])
            and model in (None, row.get("model"))
        ]
        total = sum(row["charge_micro_usd"] or 0 for row in rows)
        ends = {"start_date": start_date, "end_date": end_date}
        body = {**ends, "rows": rows, "total_micro_usd": total, **self.extra}
        return Report(body, self.now)

    async def monthly(self, month: str) -> Report:
        self.asked.append(month)
        rows = list(self._of(month))
        total = sum(row["charge_micro_usd"] for row in rows)
        body = {"month": month, "rows": rows, "total_micro_usd": total, "invoices": []}
        return Report(body, self.now)

    async def monthly_csv(self, month: str) -> Report:
        self.asked.append(month)
        rows = list(self._of(month))
        names = ("model_id", "model", "function", "jobs", "charge_micro_usd", CREDITS)
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([row[name] for name in names] for row in rows)
        sums = (sum(row[name] for row in rows) for name in names[3:])
        writer.writerow(["total", "", "", *sums])
        content = text.getvalue().encode()
        return Report(content.decode(), self.now, content)

    def _of(self, month: str) -> Iterable[Row]:
        paths = dict.fromkeys(row["model_id"] for row in self.rows)
        for path in paths:
            rows = [r for r in self.rows if r["date"][:7] == month]
            rows = [r for r in rows if r["model_id"] == path]
            if rows:
                yield {
                    **{n: rows[0][n] for n in ("model", "function", "model_id")},
                    "jobs": sum(r["jobs"] for r in rows),
                    "charge_micro_usd": sum(r["charge_micro_usd"] for r in rows),
                    CREDITS: 0,
                }


@contextmanager
def spend_of(
    books: Any,
    history: History | str | Path = "sqlite://",
    now: datetime = NOW,
    catalog: Catalog | None = None,
) -> Any:
    """Return the spend of such reports and of a history."""
    store = history if isinstance(history, History) else History(history)
    view = AsyncHistoryView(store, SERVICE, None)  # type: ignore[arg-type]
    yield AsyncSpend(
        books,
        view,
        Catalog.default() if catalog is None else catalog,
        VirtualClock(now),
    )
    if store is not history:
        store.close()
