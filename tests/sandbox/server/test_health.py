"""Work that fails is tried again, and the sandbox says so meanwhile."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from mediakit.clock import VirtualClock
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.timing.clock import SandboxClock, to_us
from mediakit.sandbox.timing.wakeup import Wakeup, run_forever
from mediakit.sandbox.timing.work_retry import (
    LONGEST_BACKOFF_S,
    Health,
    backoff_s,
    retry_until_done,
)
from tests.sandbox.conftest import KITE, Api, StartSandbox

FULL = "database or disk is full"


def test_a_loop_takes_its_next_turn_whatever_the_last_one_raised() -> None:
    raised = [sqlite3.OperationalError(FULL), ValueError("odd"), LookupError("gone")]
    left, said, health = list(raised), [], Health()
    done = asyncio.Event()

    def turn() -> None:
        said.append(health.problems())
        if left:
            raise left.pop(0)
        done.set()

    async def run() -> None:
        time = VirtualClock()
        wakeup = Wakeup(SandboxClock(time, epoch_us=to_us(time.now())))
        loop = asyncio.create_task(run_forever(health, "settling", wakeup, turn))
        await done.wait()
        await asyncio.sleep(0)
        assert health.problems() == []
        loop.cancel()

    asyncio.run(run())

    assert said == [
        [],
        [f"settling: {FULL}"],
        ["settling: ValueError"],
        ["settling: LookupError"],
    ]


def test_rests_grow_up_to_a_bound() -> None:
    assert [backoff_s(n) for n in range(3)] == [0.1, 0.2, 0.4]
    assert backoff_s(10_000) == LONGEST_BACKOFF_S


def test_work_that_is_cut_off_is_no_problem_any_more() -> None:
    health = Health()

    def fail() -> None:
        raise OSError(28, "No space left on device", "/a/secret/path")

    async def run() -> None:
        work = asyncio.create_task(retry_until_done(health, "ending", fail, "media_1"))
        await asyncio.sleep(0)
        assert health.problems() == ["ending: No space left on device"]
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(run())

    assert health.problems() == []


def test_one_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()
    for _ in range(3):
        health.failed("ending a job", ValueError("odd"), "media_1")

    assert len(caplog.records) == 1


def service_of(api: Api) -> Service:
    host = api.running._host
    assert host is not None
    service: Service = host._server.config.app.state.service  # type: ignore[union-attr]
    return service


def test_an_unwell_sandbox_says_why_with_a_503_and_keeps_serving(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    api = sandboxes(tmp_path, concurrency=0)
    health = service_of(api).health
    assert api.http.get("/sandbox/status").json()["problems"] == []

    health.failed("settling charges", sqlite3.OperationalError(FULL))
    unwell = api.http.get("/sandbox/status")

    assert unwell.status_code == 503
    assert unwell.json()["problems"] == [f"settling charges: {FULL}"]
    assert unwell.json()["identity"] == api.running.identity
    assert api.submit("text-to-video", KITE)["status"] == "queued"
    health.forget("settling charges")
    assert api.http.get("/sandbox/status").status_code == 200
