"""Five totals of the same spend agree to the micro-dollar.

The history's charges, what left the balance, the days, the monthly reports and the
totals rows of their CSVs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.soak import trials

EXAMPLES = trials(5, soak=60)
MOST_DAYS, MOST_JOBS = 400, trials(100, soak=300)
OPENING_MICRO_USD = 1_000_000_000
REPORT_DAYS = 90


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("five")
    running = start(
        Sandbox(folder, balance_micro_usd=OPENING_MICRO_USD, speed=20, sketch=True)
    )
    yield running
    running.stop()


def connected(place: RunningSandbox, home: Path) -> Client:
    catalog = Catalog.default()
    return Client(place.base_url, place.api_key, home=home, catalog=catalog)


def in_history(client: Client) -> int:
    frame = client.history.frame()
    assert frame["charge_micro_usd"].dtype == "Int64"
    total = int(frame["charge_micro_usd"].sum())
    assert client.history.settled_total_micro_usd() == total
    return total


def off_the_balance(place: RunningSandbox, client: Client) -> int:
    with closing(sqlite3.connect(DataDir(place.data_dir).database)) as db:
        (put_in,) = db.execute(
            "SELECT sum(amount_micro_usd) FROM ledger WHERE kind <> 'charge'"
        ).fetchone()
    return int(put_in) - client.balance().balance_micro_usd


def by_day(client: Client, first: date, last: date) -> int:
    total = 0
    while first <= last:
        end = min(last, first + timedelta(days=REPORT_DAYS - 1))
        frame = client.spend.daily(first, end)
        assert frame["charge_micro_usd"].dtype == "int64"
        assert frame.attrs["total_micro_usd"] == frame["charge_micro_usd"].sum()
        total += int(frame["charge_micro_usd"].sum())
        first = end + timedelta(days=1)
    return total


def months(first: date, last: date) -> list[str]:
    return [f"{month}" for month in pd.period_range(first, last, freq="M")]


def by_month(client: Client, first: date, last: date) -> int:
    frames = [client.spend.monthly(month) for month in months(first, last)]
    assert all(frame["charge_micro_usd"].dtype == "int64" for frame in frames)
    return sum(int(frame["charge_micro_usd"].sum()) for frame in frames)


def by_csv(client: Client, first: date, last: date) -> int:
    frames = [client.spend.monthly_csv(month) for month in months(first, last)]
    return sum(frame.attrs["total_micro_usd"] for frame in frames)


def five_totals(
    place: RunningSandbox, client: Client, first: date, last: date
) -> list[int]:
    return [
        in_history(client),
        off_the_balance(place, client),
        by_day(client, first, last),
        by_month(client, first, last),
        by_csv(client, first, last),
    ]


@given(
    seed=st.integers(0, 2**32),
    days=st.integers(1, MOST_DAYS),
    jobs=st.integers(1, MOST_JOBS),
)
@settings(max_examples=EXAMPLES)
def test_five_totals_of_any_past_agree_to_the_micro_dollar(
    place: RunningSandbox,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    days: int,
    jobs: int,
) -> None:
    place.reset()
    with connected(place, tmp_path_factory.mktemp("home")) as client:
        past = client.seed_past(days, jobs, seed)
        again = client.seed_past(days, jobs, seed)
        totals = five_totals(place, client, past.first_day, past.last_day)

    assert again.added_to_sandbox == again.added_to_history == 0
    assert totals == [past.charge_micro_usd] * 5


def test_five_totals_agree_with_a_past_and_jobs_that_were_rendered(
    own_client: Client, mediakit_sandbox: RunningSandbox
) -> None:
    past = own_client.seed_past(45, 120, 5)
    before = own_client.balance().balance_micro_usd
    asked = ["a kite", "a boat", "a fox sandbox:fail=content_moderation"]
    jobs = [own_client.submit("text-to-image", prompt=prompt) for prompt in asked]
    jobs.append(own_client.submit("text-to-video", prompt="a kite", duration=3))
    for job in jobs:
        job.settle()
    charges = [job.charge_micro_usd or 0 for job in jobs]
    after = own_client.balance().balance_micro_usd
    today = datetime.fromisoformat(mediakit_sandbox._call("GET", "clock")["now"]).date()

    totals = five_totals(mediakit_sandbox, own_client, past.first_day, today)

    assert charges[2] == 0 < min(charges[0], charges[1], charges[3])
    assert before - after == sum(charges)
    assert totals == [past.charge_micro_usd + sum(charges)] * 5
