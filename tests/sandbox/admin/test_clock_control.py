"""The sandbox's clock, advanced through the admin interface."""

import asyncio
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.work_loop import Work, WorkLoop, persist
from tests.sandbox.conftest import KITE, Api, StartSandbox
from tests.sandbox.test_clock import SettableClock

DAY_S = 86_400


def now_of(api: Api) -> datetime:
    now = datetime.fromisoformat(api.http.get("/sandbox/clock").json()["now"])
    assert now.tzinfo is not None
    return now


def test_the_clock_moves_forwards_by_as_much_as_asked(idle: Api) -> None:
    before = now_of(idle)

    answer = idle.running.advance(hours=1, minutes=2, seconds=3.5)

    passed = datetime.fromisoformat(answer["now"]) - before
    assert passed >= timedelta(hours=1, minutes=2, seconds=3.5)
    assert passed < timedelta(hours=1, minutes=3)
    assert idle.http.get("/sandbox/clock").json()["ahead_s"] > 3_723


def test_settlements_on_the_way_are_done_at_their_own_time(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(settle_after_s=2 * DAY_S)
    job = api.ended(api.submit("text-to-video", KITE)["id"])
    assert job["billing"] == {"state": "pending"}
    due = now_of(api) + timedelta(seconds=2 * DAY_S)

    first = api.running.advance(hours=47)
    assert first["settled_n"] == 0
    second = api.running.advance(hours=24 * 3)

    assert second["settled_n"] == 1
    assert api.job(job["id"])["billing"]["state"] == "settled"
    days = {"start_date": str(due.date()), "end_date": str(due.date())}
    (row,) = api.http.get("/billing/spend/daily", params=days).json()["rows"]
    assert row["jobs"] == 1


def test_an_upload_grant_expires_on_the_way(idle: Api) -> None:
    granted = idle.grant("image/png", 3)
    idle.running.advance(minutes=6)

    put = idle.http.put(
        granted["upload_url"], content=b"abc", headers=granted["headers"]
    )

    assert put.status_code == 403


def test_work_that_fails_as_on_a_full_disk_is_logged_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    db = SandboxDatabase(tmp_path / "db")
    clock = SandboxClock(SettableClock(), epoch_us=0)
    loop, tries, done = WorkLoop(db, clock, retry_s=0.001), [0], []

    def fail_twice() -> int:
        tries[0] += 1
        if tries[0] % 3:
            raise sqlite3.OperationalError("database or disk is full")
        done.append(tries[0])
        return 1

    async def run() -> None:
        await persist("ending a job", fail_twice, retry_s=0.001)
        loop.works.append(Work(lambda now_us: fail_twice(), lambda: None))
        running = asyncio.create_task(loop.run())
        while len(done) < 2:  # noqa: ASYNC110 - the loop has no end to wait for
            await asyncio.sleep(0.001)
        running.cancel()

    asyncio.run(run())
    db.close()

    assert tries == [6]
    assert [record.getMessage() for record in caplog.records] == [
        *["The sandbox failed at ending a job and will try again."] * 2,
        *["Background work of the sandbox failed; it will be retried."] * 2,
    ]


def test_a_skip_is_not_lost_to_a_wall_clock_that_was_set_back() -> None:
    system = SettableClock()
    clock = SandboxClock(system, epoch_us=0)
    system.set(10)
    assert clock.now_us() == 10_000_000
    system.set(5)

    clock.advance(100)

    assert clock.now_us() == 110_000_000
    clock.advance(-50)
    assert clock.now_us() == 110_000_000
    system.set(6)
    assert clock.now_us() == 111_000_000
