"""The sandbox's time: real time, times a speed, forwards only."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mediakit.sandbox.scheduling.clock import SandboxClock, iso, to_instant, to_us
from mediakit.sandbox.server.startup import resume_clock
from mediakit.sandbox.store.database import Database

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class SettableClock:
    """A real clock that a test sets, also backwards as system clocks can be."""

    def __init__(self) -> None:
        self.instant = START

    def now(self) -> datetime:
        return self.instant

    def monotonic_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def set(self, seconds: float) -> None:
        self.instant = START + timedelta(seconds=seconds)


def test_it_runs_at_its_speed_from_its_epoch() -> None:
    system = SettableClock()
    clock = SandboxClock(system, epoch_us=1_000_000, speed=60)

    system.set(2)

    assert clock.now_us() == 121_000_000
    assert clock.now() == datetime(1970, 1, 1, 0, 2, 1, tzinfo=UTC)


def test_it_never_goes_back() -> None:
    system = SettableClock()
    clock = SandboxClock(system, epoch_us=0)
    system.set(10)
    assert clock.now_us() == 10_000_000

    system.set(5)

    assert clock.now_us() == 10_000_000


def test_the_real_seconds_until_a_due_time_are_known() -> None:
    clock = SandboxClock(SettableClock(), epoch_us=0, speed=4)

    assert clock.real_s_until(10_000_000) == 2.5
    assert clock.real_s_until(-1) == 0.0


def test_instants_and_microseconds_are_each_others_inverse() -> None:
    assert to_instant(to_us(START)) == START
    assert iso(to_us(START) + 5) == "2026-03-01T12:00:00.000005Z"


@pytest.mark.parametrize(("next_speed", "expected_s"), [(1, 1_005), (100, 1_500)])
def test_a_restart_continues_from_where_time_would_be(
    tmp_path: Path, next_speed: float, expected_s: int
) -> None:
    system = SettableClock()
    db = Database(tmp_path / "db")
    start_us = resume_clock(db, system, speed=100).now_us()
    system.set(10)

    clock = resume_clock(db, system, speed=next_speed)

    assert clock.now_us() - start_us == 1_000_000_000
    system.set(15)
    assert clock.now_us() - start_us == expected_s * 1_000_000
    db.close()


def test_a_restart_is_never_before_what_was_dated(tmp_path: Path) -> None:
    system = SettableClock()
    db = Database(tmp_path / "db")
    db.run(
        "INSERT INTO org (id, name, balance_micro_usd, concurrency, queue_size)"
        " VALUES ('o', 'o', 0, 1, 1)"
    )
    later_us = to_us(START) + 999
    db.run(
        "INSERT INTO ledger (org, kind, amount_micro_usd, at_us)"
        " VALUES ('o', 'opening', 0, ?)",
        later_us,
    )

    assert resume_clock(db, system, speed=1).now_us() == later_us
    db.close()
