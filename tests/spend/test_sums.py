"""Sums over days: weekly, rolling, exact dollars, and days that stay days."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.spend import daily_frame, rolling, weekly, with_usd
from tests.spend.books import Books, charged, spend_of
from tests.support.servers.serving import ROOT
from tests.support.soak import trials

FIRST = date(2026, 10, 28)  # a Wednesday


def frame_of(*charges: tuple[int, int], days: int = 14, key: str = "k") -> pd.DataFrame:
    """Return daily spend: the number of the day, and its micro-USD."""
    rows = [
        charged(str(FIRST + timedelta(days=day)), amount, key=key)
        for day, amount in charges
    ]
    end = FIRST + timedelta(days=days - 1)
    ends = {"start_date": str(FIRST), "end_date": str(end)}
    total = sum(amount for _, amount in charges)
    return daily_frame({**ends, "rows": rows, "total_micro_usd": total})


def test_a_rolling_sum_has_every_day_and_forgets_older_ones() -> None:
    frame = rolling(frame_of((0, 1), (2, 10), (3, 100), days=6), days=3)
    assert frame["charge_micro_usd"].tolist() == [1, 1, 11, 110, 110, 100]
    assert frame["complete"].tolist() == [False, False, True, True, True, True]
    assert str(frame["day"].iloc[-1].date()) == "2026-11-02"
    assert frame["charge_micro_usd"].dtype == "int64"
    assert set(frame["api_key_id"]) == {"k"}


def test_a_window_with_an_incomplete_day_is_incomplete() -> None:
    daily = frame_of((0, 1), (3, 2), days=6)
    daily["complete"] = [True, False]
    assert rolling(daily, days=2)["complete"].tolist() == [
        *(False, True, True, False, False, True)
    ]


@settings(max_examples=trials(8, soak=100))
@given(
    charges=st.lists(
        st.tuples(st.integers(0, 13), st.integers(0, 10**15)), max_size=12
    ),
    days=st.integers(1, 20),
)
def test_each_rolling_sum_is_the_exact_sum_of_its_days(
    charges: list[tuple[int, int]], days: int
) -> None:
    sums = rolling(frame_of(*charges), days=days)
    for row in range(len(sums)):
        expected = sum(a for day, a in charges if row - days < day <= row)
        assert int(sums["charge_micro_usd"].iloc[row]) == expected
    assert len(sums) == (14 if charges else 0)


def test_names_are_summed_by_themselves() -> None:
    rows = [charged("2026-11-01", 1, key="a"), charged("2026-11-03", 2, key="b")]
    frame = rolling(daily_frame(rows), days=2)
    found = frame.set_index(["day", "api_key_id"])["charge_micro_usd"].unstack()
    assert found["a"].tolist() == [1, 1, 0]
    assert found["b"].tolist() == [0, 0, 2]


@pytest.mark.parametrize("days", [0, -1, 367, 1.0, True, "7"])
def test_a_window_is_a_whole_number_of_days(days: Any) -> None:
    with pytest.raises(InputError, match="days must be"):
        rolling(frame_of((0, 1)), days=days)


@pytest.mark.parametrize("reduce", [rolling, weekly])
def test_a_frame_that_is_no_daily_spend_is_refused(reduce: Any) -> None:
    with pytest.raises(InputError, match="frame must be"):
        reduce(pd.DataFrame({"day": ["2026-10-01"], "charge_micro_usd": [1.5]}))


@settings(max_examples=trials(8, soak=100))
@given(
    charges=st.lists(st.tuples(st.integers(0, 13), st.integers(0, 10**15)), max_size=12)
)
def test_weeks_hold_the_same_money_as_their_days(charges: list[Any]) -> None:
    frame = weekly(frame_of(*charges))
    assert int(frame["charge_micro_usd"].sum()) == sum(a for _, a in charges)
    assert set(frame["day"].dt.day_of_week) <= {0}
    last_week_ends = date(2026, 11, 15)
    for day, complete in zip(frame["day"].dt.date, frame["complete"], strict=True):
        assert complete == (day + timedelta(days=6) < last_week_ends)


# -- dollars ----------------------------------------------------------------------


@given(amounts=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_dollars_are_exact(amounts: list[int | None]) -> None:
    column = pd.array(amounts, dtype="Int64")
    frame = with_usd(pd.DataFrame({"variance_micro_usd": column}))
    assert list(frame.columns) == ["variance_usd"]
    dollars = frame["variance_usd"].tolist()
    assert [None if d is None else d * 1_000_000 for d in dollars] == amounts
    assert {type(d) for d in dollars} <= {Decimal, type(None)}


def test_every_frame_can_show_dollars_in_the_place_of_micro_dollars() -> None:
    books = Books([charged("2026-10-05", 1_234_567)])
    with spend_of(books) as spend:

        async def read(**options: Any) -> list[pd.DataFrame]:
            return [
                await spend.daily("2026-10-01", "2026-10-31", **options),
                await spend.daily("2026-10-01", "2026-10-31", by="key", **options),
                await spend.monthly("2026-10", **options),
                await spend.monthly_csv("2026-10", **options),
                await spend.charges(**options),
            ]

        plain, shown = asyncio.run(read()), asyncio.run(read(usd=True))
    for micro, usd in zip(plain, shown, strict=True):
        renamed = [name.replace("_micro_usd", "_usd") for name in micro.columns]
        assert list(usd.columns) == renamed
        assert usd.attrs == micro.attrs
        if len(usd):
            assert usd["charge_usd"].tolist() == [Decimal("1.234567")]


# -- time zones -------------------------------------------------------------------

# At half past nine in the evening in UTC, the day is another one in two of these.
ZONES = ("America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati")
SCRIPT = """
import asyncio, time
from datetime import UTC, datetime
from mediakit.clock import VirtualClock
from mediakit.history import History
from mediakit.spend import rolling, weekly
from tests.support.submissions import completed, submission
from tests.spend.books import Books, SERVICE, charged, spend_of

now = datetime(2026, 11, 2, 21, 30, tzinfo=UTC)
days = ["10-01", "10-31", "11-01", "11-02"]
rows = [charged(f"2026-{day}", 10**n) for n, day in enumerate(days)]
clock = VirtualClock(datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC))

async def show(spend):
    daily = await spend.daily("2026-10-01", "2026-11-02")
    rolled = rolling(daily, 2)
    frames = [
        daily,
        weekly(daily),
        rolled[rolled["charge_micro_usd"] > 0],
        await spend.daily("2026-11-01", by="function", every="week"),
        await spend.daily(by="project"),
        await spend.charges(),
        await spend.charges("2026-11-01"),
        await spend.charges(None, "2026-10-31"),
    ]
    names = ["day", "charge_micro_usd", "complete", "settled_at"]
    for frame in frames:
        there = [name for name in names if name in frame]
        print(frame[there].astype(str).to_csv(index=False))
    months = await spend.monthly(("2026-10", "2026-11"))
    this_month = (await spend.monthly())["month"].tolist()
    print(months["charge_micro_usd"].tolist(), this_month)

with History("sqlite://", clock=clock) as history:
    for number in range(2):
        key = f"k{number}"
        history.claim(submission(key, draw_key=key, service=SERVICE.identity))
        record = completed(5 + number).model_copy(update={"id": key})
        history.record_job(key, record)
        asyncio.run(clock.advance(1))
    with spend_of(Books(rows, now=now), history, now=now) as spend:
        asyncio.run(show(spend))
print(time.timezone)
"""


def printed_in(zone: str) -> tuple[str, str]:
    """Return what reports print in a process of this zone, and its offset."""
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"TZ": zone, "PYTHONPATH": ":".join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    text, _, offset = process.stdout.rstrip().rpartition("\n")
    return text, offset


@pytest.mark.soak
def test_days_and_totals_are_the_same_in_three_time_zones() -> None:
    texts, offsets = zip(*map(printed_in, ZONES), strict=True)
    assert len(set(offsets)) == len(ZONES)  # each process is really elsewhere
    assert set(texts) == {texts[0]}
    assert "2026-10-01 00:00:00+00:00,1,True" in texts[0]
    assert "2026-11-02 00:00:00+00:00,1000,False" in texts[0]
    assert "2026-10-31 00:00:00+00:00,5,2026-10-31 23:59:59+00:00" in texts[0]
    assert "2026-11-01 00:00:00+00:00,6,2026-11-01 00:00:00+00:00" in texts[0]
    assert "[11, 1100]" in texts[0]
    assert "['2026-11']" in texts[0]
