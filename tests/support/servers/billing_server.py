"""A service whose charges and bills a test defines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mediakit.clock import Clock
from tests.support.servers.loopback import Asked, LoopbackServer, Said

FUNCTION = "sandbox/text-to-video/text-to-video"
KEY_ID = "key_1"


def bill_row(
    charge_micro_usd: object, *, path: str = FUNCTION, key: str = KEY_ID, **more: object
) -> dict[str, Any]:
    """Return a row of the daily report of today, as a service may send it."""
    model, _, function = path.rpartition("/")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "api_key_id": key,
        "model": model,
        "function": function,
        "jobs": 1,
        "charge_micro_usd": charge_micro_usd,
        **more,
    }


@dataclass
class Bill:
    """The three reports; a report that is a function is called for each read."""

    daily: Any = field(default_factory=lambda: {"rows": []})
    monthly: Any = field(default_factory=lambda: {"rows": []})
    csv: Any = "model,function,charge_micro_usd\r\ntotal,,0\r\n"

    @classmethod
    def of(cls, *rows: dict[str, Any]) -> Bill:
        """Return three reports that agree."""
        sums: dict[tuple[str, str], int] = {}
        for row in rows:
            names = (row["model"], row["function"])
            sums[names] = sums.get(names, 0) + row["charge_micro_usd"]
        total = sum(sums.values())
        month = [
            {"model": model, "function": function, "charge_micro_usd": amount}
            for (model, function), amount in sums.items()
        ]
        lines = [
            f"{model},{function},{sums[model, function]}" for model, function in sums
        ]
        csv = "\r\n".join(
            ["model,function,charge_micro_usd", *lines, f"total,,{total}"]
        )
        return cls(
            {"rows": list(rows), "total_micro_usd": total},
            {"rows": month, "total_micro_usd": total},
            f"{csv}\r\n",
        )


class BillingServer(LoopbackServer):
    """Runs jobs at once, and shows a bill, while the block lasts."""

    def __init__(self, bill: Bill | None = None, clock: Clock | None = None) -> None:
        super().__init__(clock=clock)
        self.bill = bill or Bill()
        self.next_charge_micro_usd = 340_000
        self.daily_reads: list[dict[str, str]] = []
        self._charges: dict[str, int] = {}

    def answer(self, asked: Asked) -> Said:
        if asked.method == "POST":
            return Said(self._job(self._new_job(), is_new=True))
        body = self._read(urlsplit(asked.path))
        return Said(body, status=404 if body is None else 200)

    def _new_job(self) -> str:
        with self.lock:
            job_id = f"media_{len(self._charges):03}"
            self._charges[job_id] = self.next_charge_micro_usd
        return job_id

    def _job(self, job_id: str, *, is_new: bool = False) -> dict[str, Any]:
        if is_new:
            return {"id": job_id, "status": "queued", "billing": None}
        file = {"url": f"{self.base_url}/{job_id}.mp4", "content_type": "video/mp4"}
        charge = {
            "state": "settled",
            "charge_micro_usd": self._charges[job_id],
        }
        return {
            "id": job_id,
            "status": "completed",
            "output": {"media_type": "video", "video": file},
            "billing": charge,
        }

    def _read(self, url: Any) -> object:
        place = url.path.removeprefix("/billing/")
        if place == "balance":
            return {"mode": "prepaid", "balance_micro_usd": 100_000_000}
        if place == "spend/daily":
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.daily_reads.append(asked)
            return _now(self.bill.daily)
        if place.startswith("monthly/"):
            is_csv = place.endswith("/csv")
            return _now(self.bill.csv if is_csv else self.bill.monthly)
        job_id = url.path.rsplit("/", 1)[-1]
        return self._job(job_id) if job_id in self._charges else None


def _now(report: Any) -> object:
    make: Callable[[], object] | None = report if callable(report) else None
    return make() if make else report
