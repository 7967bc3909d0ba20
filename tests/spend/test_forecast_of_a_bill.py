"""Forecast and anomalies of a client: which days are read, and whose today it is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit import Client, InputError
from tests.spend.budget_desk import Calendar
from tests.sweep.service import BASE_URL, CATALOG, KEY

TODAY = datetime(2026, 11, 11, 9, tzinfo=UTC)
A_DAY = timedelta(days=1)


class Bill:
    """Answers the daily spend: $1 a day and key, and what a test puts in besides."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calendar = Calendar(TODAY)
        self.now = TODAY
        self.extra: dict[date, int] = {}
        self.ranges: list[tuple[str, str]] = []
        self.unread: set[date] = set()
        self.keys: list[str | None] = ["key_1", "key_2"]

    def handle(self, request: httpx.Request) -> httpx.Response:
        asked = request.url.params
        first = date.fromisoformat(asked["start_date"])
        last = date.fromisoformat(asked["end_date"])
        self.ranges.append((asked["start_date"], asked["end_date"]))
        rows: list[dict[str, Any]] = []
        for n in range((min(last, self.now.date()) - first).days + 1):
            day = first + n * A_DAY
            for key in self.keys:
                more = self.extra.get(day, 0) if key == "key_2" else 0
                micro_usd = None if day in self.unread else 1_000_000 + more
                charge = {"day": day.isoformat(), "charge_micro_usd": micro_usd}
                names = {"api_key_id": key, "model": "sandbox/r1", "function": "r1"}
                rows.append({**charge, **names, "jobs": 1})
        total = sum(row["charge_micro_usd"] or 0 for row in rows)
        return httpx.Response(
            200,
            json={"data": rows, "total_micro_usd": total},
            headers={"Date": format_datetime(self.now, usegmt=True)},
        )

    def client(self) -> Client:
        return Client(
            BASE_URL,
            KEY,
            home=self.home,
            catalog=CATALOG,
            clock=self.calendar,
            transport=httpx.MockTransport(self.handle),
        )


@pytest.fixture
def bill(tmp_path: Path) -> Bill:
    return Bill(tmp_path)


def test_this_month_is_forecast_from_thirteen_weeks_before_it(bill: Bill) -> None:
    with bill.client() as client:
        said = client.spend.forecast(budget="$50")

    assert said.month == "2026-11"
    assert said.so_far_micro_usd == 22_000_000
    assert said.expected_micro_usd == 60_000_000
    assert "over the budget of $50.00" in said.text
    assert said.budget is not None
    assert min(first for first, _ in bill.ranges) == "2026-08-02"
    assert max(last for _, last in bill.ranges) == "2026-11-11"


@pytest.mark.parametrize(
    ("until", "expected_usd"),
    [("2026-11-20", 40), (date(2026, 12, 31), 60), ("2026-11-01", 22)],
)
def test_after_the_end_of_a_project_nothing_is_expected(
    bill: Bill, until: Any, expected_usd: int
) -> None:
    with bill.client() as client:
        said = client.spend.forecast(until=until)
    assert said.expected_micro_usd == expected_usd * 1_000_000
    assert said.until == (
        date.fromisoformat(until) if isinstance(until, str) else until
    )
    assert "with spend until " in said.text
    days = said.frame()["expected_micro_usd"].dropna()
    assert len(days) == 20
    assert days.iloc[-1] == said.expected_micro_usd


def test_today_is_the_service_s_day(bill: Bill) -> None:
    bill.now = datetime(2026, 12, 1, 0, 5, tzinfo=UTC)
    with bill.client() as client:
        said = client.spend.forecast()
        assert said.month == "2026-12"
        over = client.spend.forecast("2026-11")
    assert over.text == "$60.00 was charged in November 2026; the month is over."


def test_a_key_is_forecast_by_its_own_rows(bill: Bill) -> None:
    bill.extra = {date(2026, 11, 4): 2_000_000}
    with bill.client() as client:
        said = client.spend.forecast(api_key_id="key_2", budget="$100")
        nobody = client.spend.forecast(api_key_id="key_3")
    assert said.so_far_micro_usd == 13_000_000
    assert said.text.startswith(
        "$13.00 has been charged so far in November 2026 by the key 'key_2'; about $"
    )
    assert said.text.endswith("within the budget of $100.00.")
    assert nobody.high_micro_usd == 0


def test_a_key_that_the_report_does_not_name_is_not_forecast_as_free(
    bill: Bill,
) -> None:
    bill.keys = [None]
    with (
        bill.client() as client,
        pytest.raises(InputError, match="does not name") as why,
    ):
        client.spend.forecast(api_key_id="key_1")
    assert why.value.field == "api_key_id"


def test_an_unusual_day_is_found_and_today_is_not_judged(bill: Bill) -> None:
    bill.extra = {date(2026, 11, 4): 9_000_000, TODAY.date(): 90_000_000}
    with bill.client() as client:
        frame = client.spend.anomalies()
        by_key = client.spend.anomalies(by="key")
        earlier = client.spend.anomalies("2026-10-01", "2026-10-31")

    assert [f"{day:%Y-%m-%d}" for day in frame["day"]] == ["2026-11-04"]
    assert frame["charge_micro_usd"].tolist() == [11_000_000]
    assert frame["usual_micro_usd"].tolist() == [2_000_000]
    assert by_key["api_key_id"].tolist() == ["key_2"]
    assert by_key["usual_micro_usd"].tolist() == [1_000_000]
    assert earlier.empty
    assert max(last for _, last in bill.ranges[1:]) <= "2026-11-11"


@pytest.mark.parametrize(
    ("call", "field", "given"),
    [
        ("forecast", "month", {"month": "2026-12"}),
        ("forecast", "month", {"month": "November"}),
        ("forecast", "budget", {"budget": 0.5}),
        ("forecast", "until", {"until": "soon"}),
        (
            "forecast",
            "budget",
            {"budget": mk.Budget("team", "$5"), "project": "spring"},
        ),
        ("anomalies", "end", {"start": "2026-11-05", "end": "2026-11-01"}),
        ("anomalies", "start", {"start": "2026-12-05"}),
        ("anomalies", "start", {"start": "2026-11-11", "end": "2026-11-12"}),
        ("anomalies", "by", {"by": "prompt"}),
    ],
)
def test_invalid_arguments_for_a_forecast_or_anomalies_are_an_input_error(
    bill: Bill, call: str, field: str, given: dict[str, Any]
) -> None:
    with bill.client() as client, pytest.raises(InputError) as caught:
        getattr(client.spend, call)(**given)
    assert caught.value.field == field


def test_rows_without_a_charge_are_reported(bill: Bill) -> None:
    bill.unread = {date(2026, 11, 4)}
    incomplete = pytest.warns(mk.IncompleteDataWarning, match="have no charge")
    with bill.client() as client, incomplete:
        said = client.spend.forecast()
    assert said.so_far_micro_usd == 20_000_000
