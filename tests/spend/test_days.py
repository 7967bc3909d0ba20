"""The default days and months of spend reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediakit.client import Service
from mediakit.errors import InputError
from mediakit.history import History
from mediakit.spend import AsyncSpend
from tests.support.clients import async_client
from tests.support.servers.scripted_server import ScriptedServer, answers, json_page
from tests.support.virtual_clock import VirtualClock

EVE = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
ON_THAT_DAY = "Date: Mon, 30 Nov 2026 23:59:30 GMT"
LAST_OF_ALL = "Fri, 31 Dec 9999 23:59:59 -2359"
NEXT_DAY = "Date: Tue, 01 Dec 2026 00:00:30 GMT"


def paths_of(
    read: Callable[[AsyncSpend], Awaitable[Any]], tmp_path: Path, *headers: str
) -> list[str]:
    """Return what a service is asked for whose answers have such headers."""
    page = json_page([], *headers)

    async def main(base_url: str) -> None:
        service = Service(base_url, "key")
        history = History(tmp_path / "history.sqlite3")
        async with async_client(service, history=history) as client:
            clock = VirtualClock(EVE)
            spend = AsyncSpend(
                client.components.billing, client.history, client.catalog, clock
            )
            await read(spend)

    with ScriptedServer(answers(page, page, page)) as server:
        asyncio.run(main(server.base_url))
    return [request.split(b" ")[1].decode() for request in server.requests]


def days(first: str, last: str) -> str:
    return f"/billing/spend/daily?start_date={first}&end_date={last}"


@pytest.mark.spec("4.19")
def test_a_day_that_the_service_has_begun_before_this_machine_is_read(
    tmp_path: Path,
) -> None:
    asked = paths_of(lambda spend: spend.daily(), tmp_path, NEXT_DAY)
    first, *others = asked
    assert first == days("2026-11-01", "2026-11-30")
    assert sorted(others) == [  # requested at the same time
        days("2026-11-02", "2026-11-30"),  # its last days may still change
        days("2026-12-01", "2026-12-01"),
    ]
    asked = paths_of(lambda spend: spend.monthly(), tmp_path, NEXT_DAY)
    assert asked == ["/billing/monthly/2026-11", "/billing/monthly/2026-12"]


@pytest.mark.parametrize(
    "headers",
    [(ON_THAT_DAY,), (), ("Date: soon",), (f"Date: {LAST_OF_ALL}",)],
    ids=["same", "none", "odd", "beyond the calendar"],
)
def test_days_are_read_once_where_the_service_tells_no_other_day(
    headers: tuple[str, ...], tmp_path: Path
) -> None:
    asked = paths_of(lambda spend: spend.daily(), tmp_path, *headers)
    assert asked == [days("2026-11-01", "2026-11-30")]


def test_a_day_and_a_month_that_are_named_are_the_ones_that_are_read(
    tmp_path: Path,
) -> None:
    asked = paths_of(lambda spend: spend.daily(end="2026-11-30"), tmp_path, NEXT_DAY)
    assert asked == [days("2026-11-01", "2026-11-30")]
    asked = paths_of(lambda spend: spend.monthly("2026-11"), tmp_path, NEXT_DAY)
    assert asked == ["/billing/monthly/2026-11"]


DAY = "2026-11-28"


@pytest.mark.parametrize(
    "day",
    [
        DAY,
        date(2026, 11, 28),
        pd.Timestamp(DAY),
        pd.Timestamp(DAY, tz="UTC"),
        np.datetime64(DAY),
        pd.Period(DAY),
    ],
    ids=lambda day: f"{type(day).__module__}.{day!r}",
)
def test_a_day_may_be_a_text_or_a_date_of_python_pandas_or_numpy(
    day: Any, tmp_path: Path
) -> None:
    asked = paths_of(lambda spend: spend.daily(day, day), tmp_path, NEXT_DAY)
    assert asked == [days(DAY, DAY)]
    month = day[:7] if isinstance(day, str) else day
    asked = paths_of(lambda spend: spend.monthly(month), tmp_path, NEXT_DAY)
    assert asked == ["/billing/monthly/2026-11"]


def test_a_month_may_be_a_period_of_pandas(tmp_path: Path) -> None:
    month: Any = pd.Period("2026-11")
    asked = paths_of(lambda spend: spend.monthly(month), tmp_path, NEXT_DAY)
    assert asked == ["/billing/monthly/2026-11"]


@pytest.mark.parametrize(
    "day",
    [
        pd.NaT,
        pd.Timestamp("2026-11-28 10:30"),
        pd.Timestamp(DAY, tz="Asia/Tokyo"),
        pd.Period("2026-11"),
    ],
)
def test_an_invalid_day_is_rejected_with_a_one_line_message(
    day: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        paths_of(lambda spend: spend.daily(day), tmp_path)
    assert caught.value.field == "start"
    assert "\n" not in str(caught.value)
