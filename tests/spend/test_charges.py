"""Every settled charge of the history as a frame, and projects in daily spend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from mediakit import Client
from mediakit.errors import InputError
from mediakit.history import History, ratings
from mediakit.spend.charges import COLUMNS
from tests.spend.books import PATH, SERVICE, Books, charged, spend_of
from tests.support.frames import types
from tests.support.soak import BOTH_DATABASES, trials
from tests.support.submissions import completed, failed, job, submission
from tests.support.virtual_clock import VirtualClock

START = datetime(2026, 11, 1, 23, 59, 58, tzinfo=UTC)
HERE = SERVICE.identity

# Copied by hand from the description of the frame.
TYPES = {
    "settled_at": "datetime64[us]",
    "day": "datetime64[us]",
    "job_id": "str",
    "function": "str",
    "kind": "str",
    "model": "str",
    "prompt": "str",
    "project": "str",
    "budget": "str",
    "sweep": "str",
    "take": "int64",
    "attempt": "int64",
    "estimate_kind": "str",
    "estimate_low_micro_usd": "Int64",
    "estimate_high_micro_usd": "Int64",
    "charge_micro_usd": "int64",
    "charge_usd": "float64",
    "variance_micro_usd": "Int64",
    "runtime_s": "float64",
    "rating": "Int64",
    "keep": "boolean",
    "created_at": "datetime64[us]",
    "submitted_at": "datetime64[us]",
    "finished_at": "datetime64[us]",
    "account": "str",
    "status": "str",
}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture(params=BOTH_DATABASES)
def history(
    request: pytest.FixtureRequest, tmp_path: Path, clock: VirtualClock
) -> Iterator[History]:
    place: Any = tmp_path / "history.db"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
    with History(place, clock=clock) as opened:
        yield opened


def buy(
    history: History,
    number: int,
    charge_micro_usd: int = 340_000,
    *,
    ended: Any = None,
    **changes: Any,
) -> None:
    """Record a job and its charge."""
    key, name = f"k{number}", f"media_{number}"
    history.claim(submission(key, draw_key=key, **{"service": HERE, **changes}))
    history.record_job(key, job("running", job_id=name))
    record = ended or completed(charge_micro_usd, job_id=name)
    history.record_job(key, record.model_copy(update={"id": name}))


def charges(history: History, *args: Any, **options: Any) -> Any:
    with spend_of(Books(), history) as spend:
        return asyncio.run(spend.charges(*args, **options))


def test_a_history_without_charges_has_the_documented_columns(
    history: History,
) -> None:
    assert types(charges(history)) == TYPES
    assert list(TYPES) == list(COLUMNS)
    buy(history, 1, service="https://elsewhere.example")
    history.claim(submission("open", draw_key="open", service=HERE))
    frame = charges(history)
    assert types(frame) == TYPES
    assert frame.attrs["total_micro_usd"] == 0


@pytest.mark.soak  # which has openpyxl
def test_charges_go_to_excel_and_compare_with_plain_days(
    history: History, clock: VirtualClock, tmp_path: Path
) -> None:
    buy(history, 1, 5)
    asyncio.run(clock.advance(5))
    buy(history, 2, 7)
    frame = charges(history)
    frame.to_excel(tmp_path / "charges.xlsx", index=False)
    again = pd.read_excel(tmp_path / "charges.xlsx")
    assert again["charge_micro_usd"].tolist() == [7, 5]
    assert again["day"].tolist() == frame["day"].tolist()
    assert frame.query("day >= '2026-11-02'")["job_id"].tolist() == ["media_2"]
    assert (frame["day"] == pd.Timestamp(date(2026, 11, 1))).tolist() == [False, True]
    calendar = pd.DataFrame({"day": pd.date_range("2026-11-01", "2026-11-03")})
    merged = calendar.merge(frame, how="left")
    assert merged["charge_micro_usd"].sum() == 12
    assert charges(history, frame["day"].min(), calendar["day"].max()).equals(frame)


def test_a_charge_says_what_it_was_for_and_how_far_the_estimate_was_off(
    history: History, clock: VirtualClock
) -> None:
    body = json.dumps({"prompt": "a kite", "duration": 5, "model": "wonder"})
    buy(history, 1, 350_000, project="spring", sweep="3f2a", body=body.encode())
    ratings.judge(
        history, service=HERE, account="mine", job_id="media_1", rating=4, keep=True
    )
    asyncio.run(clock.advance(5))
    buy(
        history,
        2,
        7,
        account="other",
        estimate_kind="unknown",
        estimate_low_micro_usd=None,
        estimate_high_micro_usd=None,
        reserved_micro_usd=0,
    )
    frame = charges(history)
    assert types(frame) == {**TYPES, "duration": "Int64", "param_model": "str"}
    assert frame["job_id"].tolist() == ["media_2", "media_1"]
    assert frame["variance_micro_usd"].isna().tolist() == [True, False]
    assert str(frame["day"].iloc[0]) == "2026-11-02 00:00:00"
    first = frame.iloc[1]
    assert (first["kind"], first["model"]) == ("text-to-video", "sandbox/text-to-video")
    assert (first["function"], first["account"]) == (PATH, "mine")
    assert (first["project"], first["sweep"], first["prompt"]) == (
        *("spring", "3f2a", "a kite"),
    )
    assert (first["charge_micro_usd"], first["variance_micro_usd"]) == (350_000, 10_000)
    assert first["charge_usd"] == 0.35
    assert (first["rating"], first["keep"], first["param_model"]) == (4, True, "wonder")
    assert first["settled_at"] == pd.Timestamp(START).tz_localize(None)
    assert frame.attrs["total_micro_usd"] == 350_007
    assert history.settled_total_micro_usd(service=HERE) == 350_007


def test_days_of_settlement_are_utc_days_with_both_ends(
    history: History, clock: VirtualClock
) -> None:
    buy(history, 1, 1)  # two seconds before midnight
    asyncio.run(clock.advance(2))
    buy(history, 2, 2)
    asyncio.run(clock.advance(24 * 3600))
    buy(history, 3, 4)
    assert charges(history)["charge_micro_usd"].tolist() == [4, 2, 1]
    for start, end, amounts in (
        ("2026-11-01", "2026-11-01", [1]),
        ("2026-11-02", "2026-11-02", [2]),
        (date(2026, 11, 2), None, [4, 2]),
        (None, "2026-11-02", [2, 1]),
        ("2026-11-04", None, []),
    ):
        assert charges(history, start, end)["charge_micro_usd"].tolist() == amounts


def test_only_one_projects_charges_can_be_read(history: History) -> None:
    buy(history, 1, 1, project="spring")
    buy(history, 2, 2)
    assert charges(history, project="spring")["charge_micro_usd"].tolist() == [1]
    assert charges(history, project="autumn").empty


def test_a_failed_job_that_settled_at_nothing_is_a_charge_of_nothing(
    history: History,
) -> None:
    billing = {"state": "settled", "charge_micro_usd": 0}
    buy(history, 1, ended=failed(billing=billing))
    frame = charges(history)
    assert frame["charge_micro_usd"].tolist() == [0]
    assert frame["status"].tolist() == ["failed"]


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        ("2026-10-02", "2026-10-01", "end"),
        ("2026-10", None, "start"),
        ("2026-11-21", None, "start"),
        (None, datetime(2026, 10, 1, tzinfo=UTC), "end"),
    ],
)
def test_nonsensical_days_are_rejected(start: Any, end: Any, field: str) -> None:
    with spend_of(Books()) as spend, pytest.raises(InputError) as caught:
        asyncio.run(spend.charges(start, end))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("last", "upper"), [(None, ""), (START.date(), " AND settled_at<?")]
)
def test_an_index_finds_the_charges_of_a_time(
    tmp_path: Path, last: date | None, upper: str
) -> None:
    queries: list[tuple[Any, ...]] = []
    with History(tmp_path / "history.db") as history:
        listener = ("before_cursor_execute", lambda *its: queries.append(its[2:4]))
        event.listen(history.database._engine, *listener)
        charges(history, START.date(), last)
        event.remove(history.database._engine, *listener)
        sql, values = queries[0]
        with history.database.reading() as db:
            plan = db.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()

    steps = [row.detail for row in plan if "mediakit_entries" in row.detail]
    assert steps == [
        "SEARCH mediakit_entries USING INDEX ix_mediakit_charges "
        f"(service=? AND settled_at>?{upper})"
    ]


# -- projects in daily spend ------------------------------------------------------


def by_project(history: History, rows: list[Any], **options: Any) -> pd.DataFrame:
    books = Books(rows)
    with spend_of(books, history) as spend:
        read = spend.daily("2026-11-01", "2026-11-19", by="project", **options)
        frame: pd.DataFrame = asyncio.run(read)
    total = sum(row["charge_micro_usd"] for row in books.rows)
    if not options:
        assert int(frame["charge_micro_usd"].sum()) == total
        assert int(frame["jobs"].sum()) == sum(row["jobs"] for row in books.rows)
    return frame


def projects(frame: pd.DataFrame) -> list[tuple[int, str | None, int, int]]:
    rows = frame[["day", "project", "jobs", "charge_micro_usd"]].itertuples(index=False)
    return [
        (day.day, project if isinstance(project, str) else None, jobs, micro_usd)
        for day, project, jobs, micro_usd in rows
    ]


def test_a_project_has_what_the_history_says_and_the_rest_has_none(
    history: History,
) -> None:
    buy(history, 1, 100, project="spring")
    buy(history, 2, 20, project="autumn")
    buy(history, 3, 3)  # of no project
    frame = by_project(history, [charged("2026-11-01", 150, jobs=5)])
    assert list(frame.columns) == [
        *("day", "project", "jobs", "charge_micro_usd", "charge_usd", "complete")
    ]
    assert sorted(projects(frame), key=str) == [
        (1, "autumn", 1, 20),
        (1, "spring", 1, 100),
        (1, None, 3, 30),
    ]


def test_a_job_read_as_settled_later_counts_on_the_day_of_the_service(
    history: History, clock: VirtualClock
) -> None:
    key = "k1"
    history.claim(submission(key, draw_key=key, service=HERE, project="spring"))
    history.record_job(key, job("completed", output=completed().output))
    asyncio.run(clock.advance(2 * 24 * 3600))
    history.record_job(key, completed(100))
    frame = by_project(history, [charged("2026-11-02", 100)])
    assert projects(frame) == [(2, "spring", 1, 100)]


def test_no_project_has_more_than_the_service_charged(history: History) -> None:
    buy(history, 1, 100, project="spring")
    assert projects(by_project(history, [charged("2026-11-01", 99)])) == [
        (1, None, 1, 99)
    ]
    assert projects(by_project(history, [])) == []


def test_a_projects_charges_are_found_among_those_of_all_keys(
    history: History,
) -> None:
    buy(history, 1, 100, project="spring")
    rows = [charged("2026-11-01", 100), charged("2026-11-01", 5, key="key_2")]
    assert projects(by_project(history, rows)) == [
        (1, "spring", 1, 100),
        (1, None, 1, 5),
    ]


def test_which_of_several_keys_a_project_used_is_not_guessed(history: History) -> None:
    buy(history, 1, 100, project="spring")
    rows = [charged("2026-11-01", 100), charged("2026-11-01", 5, key="key_2")]
    of_key = by_project(history, rows, api_key_id="key_2")
    assert projects(of_key) == [(1, None, 1, 5)]

    assert of_key.attrs["total_micro_usd"] == 5


# Two charges of a day may be equal in every column.
@pytest.mark.filterwarnings("ignore:.*in every column")
@settings(max_examples=trials(6, soak=100))
@given(
    bought=st.lists(
        st.tuples(st.integers(0, 50), st.sampled_from([None, "a", "b"])), max_size=8
    ),
    told=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 200)), max_size=5),
)
def test_projects_never_change_a_sum(bought: list[Any], told: list[Any]) -> None:
    with History("sqlite://", clock=VirtualClock(START)) as history:
        for number, (amount, project) in enumerate(bought):
            buy(history, number, amount, project=project)
        rows = [charged(f"2026-11-0{day}", amount, jobs=2) for day, amount in told]
        frame = by_project(history, rows)
    known = sum(amount for amount, project in bought if project)
    named = frame[frame["project"].notna()]
    assert int(named["charge_micro_usd"].sum()) <= known
    assert (frame["charge_micro_usd"] >= 0).all()


def test_clients_of_two_projects_see_what_each_of_them_spent(
    own_client: Client, tmp_path: Path
) -> None:
    service = own_client.core.service
    url, key = service.base_url, service.api_key
    shared = f"sqlite:///{tmp_path / 'shared.db'}"
    for project, duration in (("spring", 3), ("autumn", 4)):
        with Client(url, key, history=shared, project=project) as client:
            job = client.submit("text-to-video", prompt="a kite", duration=duration)
            job.wait()
            job.settle()
            daily = client.spend.daily(by=["project", "function"])
            charges = client.spend.charges()
    assert sorted(charges["charge_micro_usd"]) == [204_000, 272_000]
    amounts = dict(zip(daily["project"], daily["charge_micro_usd"], strict=True))
    assert amounts == {"spring": 204_000, "autumn": 272_000}
    assert daily["kind"].tolist() == ["text-to-video"] * 2
    assert not daily["complete"].any()
