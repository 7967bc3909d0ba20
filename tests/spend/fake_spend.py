"""A spend object with an invented year, for tests of plots and dashboards."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd

from mediakit.errors import ServiceError
from mediakit.spend.charges import COLUMNS
from mediakit.spend.dates import month_text, read_day
from mediakit.spend.forecasting import (
    Forecast,
    daily_totals,
    first_day_needed,
    forecast_month,
)
from tests.support.frames import TEXT

# As the frame of charges describes them.
INSTANT = "datetime64[us]"
TYPES = dict.fromkeys(COLUMNS, TEXT) | {
    **dict.fromkeys(("settled_at", "day"), INSTANT),
    **dict.fromkeys(("created_at", "submitted_at", "finished_at"), INSTANT),
    **dict.fromkeys(("take", "attempt", "charge_micro_usd"), "int64"),
    **dict.fromkeys(("estimate_low_micro_usd", "estimate_high_micro_usd"), "Int64"),
    "variance_micro_usd": "Int64",
    **dict.fromkeys(("charge_usd", "runtime_s"), "float64"),
    "rating": "Int64",
    "keep": "boolean",
}
TODAY = date(2026, 10, 20)
FUNCTIONS = {
    "r1": ("sandbox/r1", 1_020_003),
    "text-to-video": ("sandbox/text-to-video", 340_000),
    "video-upscale": ("sandbox/video-upscale", 125_001),
    "keyframes": ("sandbox/keyframes", 68_000),
}
PROJECTS = ("Dunes", "Harbour", None)
HOSTILE = "<img src=x onerror='window.canary=1'> & $x$"
FORMULA = '=HYPERLINK("https://evil.example","pay")'


def charges_frame(
    first: date = date(2026, 8, 1), last: date = TODAY, **columns: Any
) -> pd.DataFrame:
    """Make charges as `client.spend.charges` returns them, newest first."""
    rows = [row for day in days(first, last) for row in _rows_of(day)][::-1]
    return pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES).assign(**columns)


def days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def _rows_of(day: date) -> list[dict[str, Any]]:
    midnight = pd.Timestamp(day)
    made = []
    for place, (kind, (model, price)) in enumerate(FUNCTIONS.items()):
        if (day.toordinal() + place) % (place + 1) and day.day != 1:
            continue
        charge = price * (1 + day.day % 3)
        at = midnight + timedelta(hours=3 + place, microseconds=place)
        made.append(
            {
                "settled_at": at,
                "day": midnight,
                "job_id": f"media_{day:%Y%m%d}_{place}",
                "function": f"{model}/{kind}",
                "kind": kind,
                "model": model,
                "prompt": {0: "a kite", 1: HOSTILE, 2: FORMULA}.get(place),
                "project": PROJECTS[(day.day + place) % 3],
                "take": 1,
                "attempt": 1,
                "estimate_kind": "exact" if place else "nominal",
                "estimate_low_micro_usd": price if place else None,
                "estimate_high_micro_usd": price if place else None,
                "charge_micro_usd": charge,
                "charge_usd": charge / 1_000_000,
                "variance_micro_usd": charge - price if place else None,
                "runtime_s": 12.5,
                "rating": 1 + day.day % 5,
                "keep": day.day % 2 == 0,
                "created_at": at,
                "submitted_at": at,
                "finished_at": at,
                "account": "acct_1",
                "status": "completed",
            }
        )
    return made


BY = {"function": ["function", "kind"], "project": ["project"], "key": ["api_key_id"]}


@dataclass(frozen=True)
class FakeReconciliation:
    month: str
    charged_micro_usd: int
    is_explained: bool = True
    text: str = ""

    def frame(self, by: str = "month") -> pd.DataFrame:
        row = {
            "function": "sandbox/r1/r1",
            "api_key_id": "key_1",
            "history_micro_usd": 5,
            "daily_micro_usd": 5,
            "monthly_micro_usd": 5,
            "difference_micro_usd": 0,
            "verdict": "equal",
        }
        return pd.DataFrame([row])


class TickingClock:
    """A clock that is stopped at one day."""

    def now(self) -> datetime:
        return datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC)


@dataclass
class FakeSpend:
    """The data of a dashboard, from frames in memory.

    Args:
        charged: All charges.
        failing: The names of the methods that raise.
        today: The service's day.
    """

    charged: pd.DataFrame = field(default_factory=charges_frame)
    failing: Sequence[str] = ()
    today: date = TODAY
    asked: list[str] = field(default_factory=list)
    _clock: Any = field(default_factory=TickingClock)

    async def charges(
        self, start: Any = None, end: Any = None, **_: Any
    ) -> pd.DataFrame:
        self._note("charges")
        return self._between(start, end)

    async def daily(
        self, start: Any = None, end: Any = None, *, by: Any = None, **_: Any
    ) -> pd.DataFrame:
        self._note("daily")
        rows = self._between(start, end).assign(api_key_id="key_1")
        names = [
            "day",
            *(BY[by] if by else ["api_key_id", "model", "function", "kind"]),
        ]
        grouped = rows.groupby(names, observed=True, dropna=False)["charge_micro_usd"]
        frame = grouped.agg(jobs="size", charge_micro_usd="sum").reset_index()
        frame["complete"] = frame["day"].dt.date < self.today
        frame.attrs = {
            "total_micro_usd": int(frame["charge_micro_usd"].sum()),
            "report": {"start_date": str(start), "end_date": str(end)},
        }
        return frame

    async def monthly(self, month: str | None = None) -> pd.DataFrame:
        self._note("monthly")
        first, last = month_days(month_text(month or f"{self.today:%Y-%m}"))
        rows = self._between(first, last)
        grouped = rows.groupby(["model", "function", "kind"], observed=True)
        frame = grouped["charge_micro_usd"].agg(jobs="size", charge_micro_usd="sum")
        made: pd.DataFrame = frame.reset_index()
        made.insert(0, "month", [f"{first:%Y-%m}"] * len(made))
        made.attrs["total_micro_usd"] = int(made["charge_micro_usd"].sum())
        return made

    async def reconcile(self, month: str | None = None) -> FakeReconciliation:
        self._note("reconcile")
        total = int((await self.monthly(month))["charge_micro_usd"].sum())
        text = f"${total / 1e6:.2f} charged in October 2026; all of it is explained."
        return FakeReconciliation(month or "", total, text=text)

    async def budget(self, budget: Any, month: str | None = None) -> Any:
        raise NotImplementedError  # a dashboard of these frames has no named budget

    async def forecast(self, month: str | None = None, budget: Any = None) -> Forecast:
        self._note("forecast")
        asked = month or f"{self.today:%Y-%m}"
        first, last = first_day_needed(asked), min(self.today, month_days(asked)[1])
        totals = daily_totals(self._between(first, last), first, last)
        return forecast_month(asked, totals, self.today, budget)

    def _note(self, name: str) -> None:
        self.asked.append(name)
        if name in self.failing:
            raise ServiceError("The service does not answer.")

    def _between(self, start: Any, end: Any) -> pd.DataFrame:
        day = self.charged["day"].dt.date
        first = read_day("start", start) if start is not None else date.min
        last = read_day("end", end) if end is not None else date.max
        found: pd.DataFrame = self.charged[(day >= first) & (day <= last)]
        return found.reset_index(drop=True)


def month_days(month: str) -> tuple[date, date]:
    first = date.fromisoformat(f"{month}-01")
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])
