"""The sandbox's time: real time, times a speed, forwards only."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mediakit.clock import SystemClock, to_us
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.server import host
from mediakit.sandbox.server.host import resume_clock
from mediakit.sandbox.store.database import SandboxDatabase
from tests.sandbox.conftest import Api, StartSandbox
from tests.support import zygote
from tests.support.clients import http_client

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


class LaterClock(SystemClock):
    """The clock of a machine that was idle for days."""

    passed = timedelta()

    def now(self) -> datetime:
        return super().now() + self.passed


@pytest.fixture
def days_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the clock of sandboxes that start later forward, and of no other one."""
    monkeypatch.setattr(host, "SystemClock", LaterClock)
    monkeypatch.setattr(LaterClock, "passed", timedelta())

    def pass_days(days: int) -> None:
        LaterClock.passed += timedelta(days=days)

    return pass_days


def now_of(api: Api) -> datetime:
    return datetime.fromisoformat(api.http.get("/sandbox/clock").json()["now"])


def test_the_clock_stands_still_while_the_server_is_stopped(
    tmp_path: Path, sandboxes: StartSandbox, days_later: Callable[[int], None]
) -> None:
    first = sandboxes(tmp_path, concurrency=0, speed=100)
    first.running.advance(hours=30 * 24)
    before = now_of(first)
    first.running.stop()
    days_later(3)

    second = sandboxes(tmp_path, concurrency=0)

    assert before <= now_of(second) < before + timedelta(days=1)


def test_the_clock_is_never_behind_the_machines_own(
    tmp_path: Path, sandboxes: StartSandbox, days_later: Callable[[int], None]
) -> None:
    first = sandboxes(tmp_path, concurrency=0, speed=100)
    first.running.stop()
    days_later(40)

    second = sandboxes(tmp_path, concurrency=0)

    assert abs(now_of(second) - LaterClock().now()) < timedelta(hours=1)


KILLED = """
import sys, time
from mediakit.sandbox.server.running import Sandbox, start
running = start(Sandbox(sys.argv[1], concurrency=0, speed=1_000_000))
print(running.base_url, running.api_key, flush=True)
sys.stdin.read()
"""


def test_the_clock_does_not_go_back_after_a_kill(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    process = zygote.start(KILLED, str(tmp_path))
    base_url, api_key = process.stdout.readline().split()
    with http_client(base_url, api_key) as http:
        answer = http.get("/sandbox/clock")
    process.kill()
    process.finish()

    after = now_of(sandboxes(tmp_path, concurrency=0))

    assert after >= datetime.fromisoformat(answer.json()["now"])


def test_a_restart_is_never_before_what_was_dated(tmp_path: Path) -> None:
    system = SettableClock()
    db = SandboxDatabase(tmp_path / "db")
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
