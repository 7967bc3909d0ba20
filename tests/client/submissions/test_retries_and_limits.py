"""How long a call retries, and how many submissions run concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import AsyncClient, Client
from mediakit.api_models import ErrorCode
from mediakit.client.responses import LONGEST_RETRY_AFTER_S, HttpResponse, retry_after_s
from mediakit.client.retries import (
    MAX_RETRY_AFTER_TOTAL_S,
    RejectionBackoff,
)
from mediakit.client.submit_slots import SUBMITS_AT_ONCE, SubmitSlots
from mediakit.errors import (
    BalanceError,
    ConflictError,
    JobFailedError,
    NotFoundError,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.virtual_clock import VirtualClock

NOON = "Wed, 01 Jul 2026 12:00:00 GMT"


def pauses_of(reason: ErrorCode, asked: list[float | None]) -> list[float]:
    """Return the pauses of a call whose tries are rejected with these waiting times."""
    rejections = RejectionBackoff()
    pauses: list[float] = []
    for asked_s in chain(asked, repeat(None)):
        pause_s = rejections.pause_s(reason, asked_s or 0.0)
        if pause_s is None:
            return pauses
        pauses.append(pause_s)
    raise AssertionError


@given(
    st.sampled_from([ErrorCode.RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE]),
    st.lists(st.none() | st.floats(0, 200, allow_nan=False), max_size=40),
)
def test_the_pauses_of_a_call_last_two_minutes_and_are_never_shorter_than_asked(
    reason: ErrorCode, asked: list[float | None]
) -> None:
    pauses = pauses_of(reason, asked)

    least_s = [each or 0.0 for each in asked] + [0.0] * len(pauses)
    assert all(
        pause_s >= asked_s - 1e-6
        for pause_s, asked_s in zip(pauses, least_s, strict=False)
    )
    assert sum(pauses) <= MAX_RETRY_AFTER_TOTAL_S + 1e-6


@pytest.mark.parametrize(
    ("text", "date", "seconds"),
    [
        ("2", None, 2),
        (" 0.5 ", None, 0.5),
        ("0", None, 0),
        ("Wed, 01 Jul 2026 12:02:00 GMT", NOON, 120),
        ("Wed, 01 Jul 2026 11:00:00 GMT", NOON, 0),
        ("Wednesday, 01-Jul-26 12:02:00 GMT", NOON, 120),
        ("Wed, 01 Jul 2026 12:02:00 GMT", None, None),
        ("99999999999999999999", None, LONGEST_RETRY_AFTER_S),
        ("-1", None, None),
        ("inf", None, None),
        ("nan", None, None),
        ("soon", NOON, None),
        ("9" * 400, None, LONGEST_RETRY_AFTER_S),
        ("1 Jan 99999999999999999999999 00:00:00 GMT", NOON, None),
        ("Wed, 01 Jul 2026 12:02:00 GMT", "1 Jan 9999999999999999999 00:00:00", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", NOON, LONGEST_RETRY_AFTER_S),
        (None, NOON, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(
    text: str | None, date: str | None, seconds: float | None
) -> None:
    given = {"retry-after": text, "date": date}
    headers = {name: value for name, value in given.items() if value is not None}

    assert retry_after_s(HttpResponse(429, headers, b"")) == seconds


# -- concurrent submissions ------------------------------------------------------------


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


class Submits:
    """Submissions that are in flight until a test releases their response."""

    def __init__(self, slots: SubmitSlots, clock: VirtualClock) -> None:
        self._slots, self._clock = slots, clock
        self.under_way: list[asyncio.Future[None]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, n: int) -> None:
        self.tasks += [asyncio.ensure_future(self._submit()) for _ in range(n)]
        await self._clock.advance(0)

    async def _submit(self) -> None:
        async with self._slots.slot():
            answered = asyncio.get_running_loop().create_future()
            self.under_way.append(answered)
            await answered

    async def answer(self, n: int, *, full: bool = False, for_s: float = 1) -> None:
        answered, self.under_way = self.under_way[:n], self.under_way[n:]
        for future in answered:
            if full:
                self._slots.rejected(for_s)
            else:
                self._slots.accepted()
            future.set_result(None)
        await self._clock.advance(0)


def test_a_full_service_halves_the_limit_once_for_all_submits_in_flight(
    runner: asyncio.Runner,
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        slots = SubmitSlots(clock)
        submits = Submits(slots, clock)
        await submits.start(SUBMITS_AT_ONCE * 3)
        assert len(submits.under_way) == SUBMITS_AT_ONCE
        for at_once_n in (8, 4, 2, 1, 1):
            await submits.answer(len(submits.under_way), full=True)
            assert submits.under_way == []
            await clock.advance(1)
            assert len(submits.under_way) == slots.at_once_n == at_once_n
        while submits.under_way:
            await submits.answer(1)
        assert slots.at_once_n == SUBMITS_AT_ONCE
        assert all(task.done() for task in submits.tasks)

    runner.run(scenario())


# -- balance and budget ----------------------------------------------------------------


@pytest.fixture
def still(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox with $1 in which all jobs stay queued."""
    running = start(
        Sandbox(tmp_path / "still", balance_micro_usd=1_000_000, concurrency=0)
    )
    yield running
    running.stop()


def test_of_fifty_concurrent_submits_only_those_within_the_balance_are_sent(
    still: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> list[Any]:
        async with AsyncClient(still.base_url, still.api_key, home=tmp_path) as client:
            submits = (
                client.submit("text-to-video", prompt=f"{number}", duration=5)
                for number in range(50)
            )
            return list(await asyncio.gather(*submits, return_exceptions=True))

    answers = asyncio.run(main())

    refused = [each for each in answers if isinstance(each, BalanceError)]
    assert len(refused) == 48  # $1 carries two of $0.34
    assert all("Nothing was sent" in str(each) for each in refused)


def test_a_top_up_is_seen_at_once(still: RunningSandbox, tmp_path: Path) -> None:
    with Client(still.base_url, still.api_key, home=tmp_path) as client:
        with pytest.raises(BalanceError):
            client.submit("text-to-video", prompt="a", duration=15, resolution="1080p")
        with httpx.Client(
            base_url=f"{still.base_url}/sandbox",
            headers={"X-API-Key": still.api_key},
            timeout=120,
        ) as console:
            org = console.get("/orgs").json()["data"][0]["id"]
            granted = console.post(
                f"/orgs/{org}/grants", json={"usd": 100, "kind": "fund"}
            )
            assert granted.is_success, granted.text

        assert client.submit("text-to-video", prompt="a", duration=15).id


def test_a_job_submitted_elsewhere_cannot_be_retried(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt="sandbox:fail=internal", duration=3)
    with (
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path / "else") as other,
        pytest.raises(NotFoundError, match="not in this history"),
    ):
        other.job(caught.value.job.id).retry()


def test_a_job_that_has_not_failed_cannot_be_retried(client: Client) -> None:
    job = client.run("text-to-video", prompt="fine", duration=3)

    with pytest.raises(ConflictError, match="has not failed"):
        job.retry()
