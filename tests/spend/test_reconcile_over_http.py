"""A month of a real sandbox, with each client: its faults are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client, Job
from mediakit.errors import AuthError, InputError
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, call, start
from mediakit.spend.reconcile import Reconciliation
from tests.support.mid_month_clock import MidMonthClock

KITE_MICRO_USD = 204_000
DRIFTED_MICRO_USD = 102_000


@pytest.fixture
def clock() -> MidMonthClock:
    return MidMonthClock()


@pytest.fixture
def running(tmp_path: Path, clock: MidMonthClock) -> Iterator[RunningSandbox]:
    served = start(
        Sandbox(tmp_path / "data", balance_micro_usd=100_000_000, speed=20, sketch=True)
    )
    served.advance(seconds=clock.ahead.total_seconds())
    yield served
    served.stop()


@pytest.fixture
def client(
    running: RunningSandbox, tmp_path: Path, clock: MidMonthClock
) -> Iterator[Client]:
    with Client(
        running.base_url, running.api_key, home=tmp_path / "home", clock=clock
    ) as its_client:
        yield its_client


def video(client: Client, prompt: str) -> Job:
    job = client.submit("text-to-video", prompt=prompt, duration=3)
    return job.wait().settle()


def rows(result: Reconciliation) -> set[tuple[str, int]]:
    frame = result.frame()
    verdicts = frame["verdict"].astype("str")
    return set(zip(verdicts, frame["difference_micro_usd"].tolist(), strict=True))


@pytest.mark.spec("4.19")
def test_a_month_of_faults_is_taken_apart(
    running: RunningSandbox, client: Client, clock: MidMonthClock, tmp_path: Path
) -> None:
    assert client.spend.reconcile().text.startswith("Nothing was charged in ")
    video(client, "kept")
    lost = video(client, "lost")
    agreed = client.spend.reconcile()
    assert agreed.is_explained
    assert agreed.text.startswith("$0.408 charged in ")
    assert agreed.text.endswith(" so far; all of it is explained.")
    assert agreed.charged_micro_usd == agreed.history_micro_usd == 2 * KITE_MICRO_USD
    assert rows(agreed) == {("equal", 0)}
    (own,) = set(client.spend.daily()["api_key_id"])

    running.fault("rate_drift", factor=0.5, count=1)
    video(client, "drifted")
    running.fault("late_settlement", seconds=10**6, count=1)
    late = client.submit("text-to-video", prompt="late", duration=4).wait()
    other: dict[str, Any] = {"home": tmp_path / "other", "clock": clock}
    with Client(running.base_url, second_key(running), **other) as they:
        video(they, "foreign")
        theirs = they.spend.reconcile()
    result = client.spend.reconcile(own_keys=own)

    assert not result.is_explained
    assert rows(result) == {("equal", 0), ("other_key", KITE_MICRO_USD)}
    assert theirs.history_micro_usd == KITE_MICRO_USD
    mine_micro_usd = 2 * KITE_MICRO_USD + DRIFTED_MICRO_USD
    assert rows(theirs) == {("missing_here", mine_micro_usd)}

    lose(tmp_path / "home" / "history.sqlite3", lost.id)
    result = client.spend.reconcile(own_keys=own)

    # The job that is not settled yet may be the difference.
    assert rows(result) == {("timing", KITE_MICRO_USD), ("other_key", KITE_MICRO_USD)}
    assert result.frame()["job_ids"].tolist()[0] == [late.id]
    lose(tmp_path / "home" / "history.sqlite3", late.id)
    result = client.spend.reconcile(own_keys=own)
    assert ("missing_here", KITE_MICRO_USD) in rows(result)
    assert "client.history.rebuild(...) can restore it" in result.text

    assert client.history.rebuild(lost.id)["outcome"].tolist() == ["added"]
    result = client.spend.reconcile(own_keys=own)

    # Restored by its ID, the job has neither a function nor a date.
    assert rows(result) == {("timing", KITE_MICRO_USD), ("other_key", KITE_MICRO_USD)}
    assert result.frame()["job_ids"].tolist()[0] == [lost.id]
    assert "without a date" in result.text

    audit = client.spend.rates()
    wrong = audit[audit["wrong_jobs"] > 0]
    assert wrong["kind"].tolist() == ["text-to-video"]
    assert wrong["difference_micro_usd"].tolist() == [-DRIFTED_MICRO_USD]
    assert wrong["first_wrong_day"].notna().all()


def second_key(running: RunningSandbox) -> str:
    """Give a member of the same organization a key of their own."""
    member = admin(running, "orgs/org_sandbox/members", name="Kim")
    return admin(running, "orgs/org_sandbox/keys", member=member["id"])["key"]


def admin(running: RunningSandbox, path: str, **body: str) -> dict[str, str]:
    return call(running.base_url, running.api_key, "POST", path, body)


def lose(history: Path, job_id: str) -> None:
    with sqlite3.connect(history) as connection:
        done = connection.execute(
            "DELETE FROM mediakit_entries WHERE job_id = ?", (job_id,)
        )
        assert done.rowcount == 1
    connection.close()


def test_a_month_that_cannot_be_compared_is_rejected_with_a_readable_message(
    client: Client,
) -> None:
    with pytest.raises(InputError, match="current month"):
        client.spend.reconcile("2999-01")
    with pytest.raises(InputError, match="own_keys"):
        client.spend.reconcile(own_keys=3)  # type: ignore[arg-type]

    empty = client.spend.reconcile("2020-02")
    assert empty.is_explained
    assert empty.frame().empty


def test_a_report_that_may_not_be_read_is_no_silent_zero(
    running: RunningSandbox, client: Client
) -> None:
    video(client, "one")
    refused = {"status": 403, "message": "Your role may not read this."}
    running.fault("status", where={"path": "/billing/monthly"}, **refused)
    result = client.spend.reconcile()

    assert not result.is_explained
    assert "Your role may not read this" in result.text
    assert result.frame()["monthly_micro_usd"].isna().all()

    running.fault("status", where={"path": "/billing/spend"}, **refused)
    with pytest.raises(AuthError, match="may not read"):
        client.spend.reconcile()
