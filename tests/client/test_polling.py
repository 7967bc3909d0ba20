"""The poller on a virtual clock: the order of reads, and the effect of errors."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.api_models import BillingState, JobRecord, JobStatus
from mediakit.client.polling import (
    JITTER,
    LONGEST_EARLY_INTERVAL_S,
    MAX_INTERVAL_S,
    MIN_INTERVAL_S,
    UNREADABLE_TIMEOUT_S,
    jittered_s,
    poll_interval_s,
    running_interval_s,
    settling_interval_s,
)
from mediakit.errors import (
    GoneError,
    RateLimitError,
    ServiceError,
)
from tests.client.watched_jobs import CHARGE, Course, Service, cancelled, run
from tests.support.job_states import state_of

TINY_S = 1e-6

courses = st.builds(
    Course,
    starts_s=st.floats(0, 8),
    runs_s=st.floats(0.1, 40),
    settles_s=st.floats(0, 12),
    usual_s=st.none() | st.floats(0.5, 60),
    billing=st.sampled_from(["pending", "unavailable", None]),
)


# -- when a job is read again ----------------------------------------------------------


@given(
    st.integers(0, 1_000),
    st.floats(0, 10_000),
    st.none() | st.floats(0, 10_000),
)
def test_every_gap_is_within_its_bounds(
    reads: int, elapsed_s: float, usual_s: float | None
) -> None:
    gap = running_interval_s(reads, elapsed_s=elapsed_s, usual_s=usual_s)

    assert MIN_INTERVAL_S <= gap <= LONGEST_EARLY_INTERVAL_S
    if usual_s is None or elapsed_s >= usual_s:
        assert gap <= MAX_INTERVAL_S


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [BillingState.PENDING, None])
def test_a_charge_is_read_again_after_1_2_and_5_seconds_then_every_5(
    billing: BillingState | None,
) -> None:
    assert [settling_interval_s(billing, n) for n in range(5)] == [1, 2, 5, 5, 5]


@pytest.mark.spec("2.2")
@given(st.integers(0, 100), st.floats(0, 1e7), st.integers())
def test_an_unavailable_charge_is_read_no_sooner_than_after_30_seconds(
    reads: int, settling_s: float, seed: int
) -> None:
    gap = settling_interval_s(BillingState.UNAVAILABLE, reads, settling_s=settling_s)

    assert jittered_s(gap, Random(seed)) >= 30


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [{"state": "calculating"}, "soon", {}], ids=repr)
def test_a_billing_state_that_is_not_known_is_read_again_like_a_pending_one(
    billing: object,
) -> None:
    state = state_of("completed", billing=billing)

    assert [poll_interval_s(state, n, settling_s=n) for n in range(4)] == [1, 2, 5, 5]


# -- whoever is watched ----------------------------------------------------------------


def names(many: int) -> list[str]:
    return [f"media_{number}" for number in range(many)]


def wanted_gaps_s(service: Service, job_id: str) -> list[tuple[float, float, float]]:
    """Return when each gap of a job began and ended, and how long it should be."""
    course = service.courses[job_id]
    at_s = [course.starts_s, *service.reads_of()[job_id]]
    state = state_of("queued", id=job_id, usual_runtime_s=course.usual_s)
    found, reads, ended_s = [], 0, None
    for begins_s, ends_s in pairwise(at_s):
        settling_s = 0.0 if ended_s is None else begins_s - ended_s
        elapsed_s = begins_s - course.starts_s
        gap = poll_interval_s(state, reads, elapsed_s=elapsed_s, settling_s=settling_s)
        found.append((begins_s, ends_s, gap))
        before = state.record.status
        state = state.seen(course.record(job_id, ends_s), service.clock.now())
        reads = reads + 1 if state.record.status is before else 0
        if state.record.status.terminal and ended_s is None:
            ended_s = ends_s
    return found


def watched_between(service: Service, begins_s: float, ends_s: float) -> int:
    spans = [
        (service.courses[job_id].starts_s, times[-1])
        for job_id, times in service.reads_of().items()
    ]
    return sum(since <= ends_s and until >= begins_s for since, until in spans)


@given(
    st.lists(courses, min_size=1, max_size=40),
    st.integers(3, 20),
    st.integers(1, 3),
    st.integers(0, 99),
)
def test_reads_keep_the_rate_limit_and_no_job_starves(
    chosen: list[Course], reads_per_s: int, clients: int, seed: int
) -> None:
    by_id = dict(zip(names(len(chosen)), chosen, strict=True))
    service = Service(by_id, reads_per_s=reads_per_s, clients=clients, seed=seed)
    run(service.run(until_s=900))

    assert service.unsettled == []
    times_s = [at_s for at_s, _ in service.reads]
    windows = zip(times_s, times_s[reads_per_s:], strict=False)
    assert all(last_s - first_s >= 1.0 - TINY_S for first_s, last_s in windows)
    for job_id, course in by_id.items():
        end_s = course.starts_s + course.runs_s
        for begins_s, ends_s, wanted_s in wanted_gaps_s(service, job_id):
            took_s = ends_s - begins_s
            assert took_s >= wanted_s - TINY_S
            n = watched_between(service, begins_s, ends_s)
            round_s = n * service.limiter.interval_s
            rounds = 1 if begins_s < end_s else 2
            assert took_s <= wanted_s * (1 + JITTER) + rounds * round_s + TINY_S


def test_running_jobs_are_read_before_unsettled_ones() -> None:
    settling = {name: Course(runs_s=0.1, settles_s=600) for name in names(30)}
    running = {f"running_{n}": Course(starts_s=60, runs_s=600) for n in range(30)}
    service = Service(settling | running, reads_per_s=4)
    run(service.run(until_s=300))

    later = [job_id for at_s, job_id in service.reads if at_s > 120]
    share = sum(job_id in running for job_id in later) / len(later)
    assert 0.6 < share < 0.9
    assert set(later) == set(service.courses)


def test_a_charge_that_takes_days_is_read_rarely() -> None:
    day_s = 86_400.0
    service = Service({"media_0": Course(runs_s=1.0, settles_s=day_s)})
    run(service.run(until_s=2 * day_s))

    assert service.unsettled == []
    (at_s,) = service.reads_of().values()
    assert at_s[-1] - day_s < 400
    gaps_s = [b - a for a, b in pairwise(t for t in at_s if t > 3_600)]
    assert all(300 <= gap <= 330 + TINY_S for gap in gaps_s)


def test_an_unreferenced_job_is_polled_until_it_settles_and_then_released() -> None:
    by_id = {name: Course(runs_s=5.0, settles_s=2.0) for name in names(50)}
    service = Service(by_id)

    async def scenario() -> None:
        await service.run(until_s=0.0)
        held = [weakref.ref(job) for job in service.jobs.values()]
        service.jobs.clear()
        await service.clock.advance(4.0)
        gc.collect()
        assert all(job() is not None for job in held)
        await service.clock.advance(120.0)
        gc.collect()
        assert [job() for job in held] == [None] * 50

    run(scenario())
    records = [service.courses[name].record(name, at) for at, name in service.reads]
    settled = [r.id for r in records if r.settled_charge_micro_usd is not None]
    assert sorted(settled) == sorted(by_id)


def limited(retry_after_s: float, service: Service) -> RateLimitError:
    return RateLimitError(
        "Too many requests.",
        retry_after_s=retry_after_s,
        retry_at=service.clock.now() + timedelta(seconds=retry_after_s),
        status=429,
    )


def test_a_rate_limit_pauses_all_reads_of_that_client_and_of_no_other() -> None:
    by_id = {name: Course(runs_s=600) for name in names(8)}
    service = Service(by_id)

    async def scenario() -> None:
        elsewhere = service.client()
        for number, name in enumerate(by_id):
            service.submit(name, elsewhere if number > 5 else None)
        await service.clock.advance(10.0)
        answers = [limited(40.0, service)]
        service.fault = lambda job_id: (
            answers.pop() if answers and job_id == "media_0" else None
        )
        await service.clock.advance(8.0)
        begins_s = next(
            at for at, name in service.reads if at > 10 and name == "media_0"
        )
        assert "Retrying in 40 s" in str(service.jobs["media_0"].state.trouble)
        await service.clock.advance(100.0)
        paused = [
            name
            for at, name in service.reads
            if begins_s + TINY_S < at < begins_s + 40 - TINY_S
        ]
        assert set(paused) == {"media_6", "media_7"}
        after = {name for at, name in service.reads if at > begins_s + 40}
        assert after == set(by_id)
        assert all(job.state.trouble is None for job in service.jobs.values())
        for client in (*service.clients, elsewhere):
            client.stop()

    run(scenario())


def test_a_timeout_of_milliseconds_does_not_cause_reads_without_a_pause() -> None:
    service = Service({"media_0": Course(runs_s=600)})

    async def scenario() -> None:
        service.submit("media_0")
        service.fault = lambda _: limited(0.001, service)
        await service.clock.advance(60.0)
        assert 10 <= len(service.reads) <= 61
        for client in service.clients:
            client.stop()

    run(scenario())


def test_a_rate_limit_beyond_two_minutes_ends_the_wait_but_not_the_polling() -> None:
    service = Service({name: Course(runs_s=30) for name in names(3)})

    async def scenario() -> None:
        await service.run(until_s=0.0)
        first, second, _ = service.jobs.values()
        waiting = asyncio.ensure_future(first.wait())
        answers = [limited(3_600.0, service)]
        service.fault = lambda _: answers.pop() if answers else None
        await service.clock.advance(5.0)
        with pytest.raises(RateLimitError) as caught:
            await waiting
        assert caught.value.retry_at is not None
        with pytest.raises(RateLimitError):
            await second.wait()
        service.courses["late"] = Course()
        with pytest.raises(RateLimitError):
            await service.submit("late").wait()
        asked = len(service.reads)
        await service.clock.advance(3_590.0)
        assert len(service.reads) == asked
        await service.clock.advance(60.0)
        assert service.unsettled == []
        assert (await first.wait()).state.trouble is None

    run(scenario())


def test_an_expired_rate_limit_does_not_end_later_waits() -> None:
    service = Service({"media_0": Course(runs_s=30), "later": Course(runs_s=5)})

    async def scenario() -> None:
        job = service.submit("media_0")
        service.fault = lambda _: limited(3_600.0, service)
        await service.clock.advance(5.0)
        service.clients[0].stop()
        service.fault = lambda _: None
        await service.clock.advance(7_200.0)
        waiting = asyncio.ensure_future(service.submit("later").wait())
        await service.clock.advance(30.0)
        assert (await waiting).state.trouble is None
        assert "Too many requests" in str(job.state.trouble)

    run(scenario())


def test_a_silent_service_is_read_one_at_a_time_with_growing_pauses() -> None:
    service = Service({name: Course(runs_s=600) for name in names(20)})

    async def scenario() -> None:
        await service.run(until_s=20.0)
        silent = ServiceError("The service does not answer.")
        service.fault = lambda _: silent
        since_s = service.clock.monotonic_s()
        await service.clock.advance(120.0)
        asked_s = [at for at, _ in service.reads if at > since_s]
        gaps_s = [b - a for a, b in pairwise(asked_s)]
        for gap, least_s in zip(gaps_s, [1, 2, 4, 8, *[15] * 9], strict=False):
            assert least_s - TINY_S <= gap <= least_s * 1.1 + 0.2
        assert len(asked_s) < 14
        for job in service.jobs.values():
            assert "does not answer. Retrying in" in str(job.state.trouble)
        service.fault = lambda _: None
        await service.clock.advance(40.0)
        assert all(job.state.trouble is None for job in service.jobs.values())
        service.clients[0].stop()

    run(scenario())


def test_errors_of_one_job_do_not_delay_the_others() -> None:
    service = Service({name: Course(runs_s=600) for name in names(4)})

    async def scenario() -> None:
        await service.run(until_s=30.0)
        broken = ServiceError("The service answered 500.", status=500)
        service.fault = lambda job_id: broken if job_id == "media_0" else None
        await service.clock.advance(200.0)
        many = {name: len(times) for name, times in service.reads_of().items()}
        assert many["media_0"] < min(many[name] for name in names(4)[1:])
        assert "500" in str(service.jobs["media_0"].state.trouble)
        assert service.jobs["media_1"].state.trouble is None
        service.clients[0].stop()

    run(scenario())


def test_a_permanent_error_ends_the_polling_with_that_error() -> None:
    service = Service({name: Course(runs_s=600) for name in names(2)})

    async def scenario() -> None:
        await service.run(until_s=0.0)
        job, other = service.jobs.values()
        waiting = asyncio.ensure_future(job.wait())
        gone = GoneError("It was erased.", status=410)
        service.fault = lambda job_id: gone if job_id == job.id else None
        await service.clock.advance(60.0)
        with pytest.raises(GoneError):
            await waiting
        assert "erased" in str(job.state.trouble)
        reads = service.reads_of()
        assert len(reads[job.id]) == 1 < len(reads[other.id])
        service.fault = lambda _: None
        await job.refresh()
        assert job.state.trouble is None
        again = asyncio.ensure_future(job.wait())
        await service.clock.advance(700.0)
        assert (await again) is job

    run(scenario())


def test_a_permanently_unknown_status_ends_the_wait_but_not_the_polling() -> None:
    courses = {
        "media_0": Course(runs_s=3_000, settles_s=3, unknown="archived"),
        "media_1": Course(runs_s=3_000),
    }
    service = Service(courses)

    async def scenario() -> None:
        await service.run(until_s=0.0)
        job, other = service.jobs.values()
        waiting = asyncio.ensure_future(job.wait())
        await service.clock.advance(UNREADABLE_TIMEOUT_S)
        assert not waiting.done()
        await service.clock.advance(10.0)
        with pytest.raises(ServiceError, match="'archived'") as caught:
            await waiting
        assert caught.value.job_id == "media_0"
        with pytest.raises(ServiceError, match="'archived'"):
            await job.settle()
        assert "'archived'" in str(job.state.trouble)
        assert job.state.started_at is None
        assert other.state.trouble is None
        asked = len(service.reads_of()["media_0"])
        await service.clock.advance(1_500.0)
        assert len(service.reads_of()["media_0"]) - asked <= 5
        await service.clock.advance(1_800.0)
        assert service.unsettled == []
        assert (await job.wait()).state.trouble is None

    run(scenario())


@pytest.mark.parametrize("unknown", ["archived", None])
def test_a_charge_that_settles_before_the_end_is_read_ends_all_waits(
    unknown: str | None,
) -> None:
    service = Service({"media_0": Course(runs_s=60, unknown=unknown)})

    async def scenario() -> None:
        job = service.submit("media_0")
        record = service.courses["media_0"].record("media_0", 0.0)
        charged = {**record.model_dump(), "billing": CHARGE}
        job.see(JobRecord.model_validate(charged), service.clock.now())
        assert job.state.charge_micro_usd == 340_000
        waiting = asyncio.ensure_future(job.wait())
        await service.clock.advance(70.0)
        assert (await waiting).state.record.status.terminal

    run(scenario())


def test_a_settled_charge_is_recorded_even_if_the_status_is_unknown_after_the_end() -> (
    None
):
    service = Service({"media_0": Course(runs_s=0.0, settles_s=600)})

    async def scenario() -> None:
        job = service.submit("media_0")
        await service.clock.advance(10.0)
        said = {"id": "media_0", "status": "archived", "billing": CHARGE}
        job.see(JobRecord.model_validate(said), service.clock.now())
        assert job.state.record.status is JobStatus.COMPLETED
        assert job.state.charge_micro_usd == 340_000

    run(scenario())


class UnspeakableError(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise LookupError("no words")


@pytest.mark.parametrize(
    "error",
    [
        OSError("disk full"),
        UnspeakableError(),
        RecursionError(),
        StopAsyncIteration(),
        MemoryError(),
    ],
)
def test_an_unexpected_error_of_a_read_is_logged_and_polling_continues(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service({name: Course(runs_s=20, settles_s=5) for name in names(3)})
    raised = [error] * 3

    def fault(job_id: str) -> Exception | None:
        return raised.pop() if job_id == "media_0" and raised else None

    service.fault = fault

    async def scenario() -> None:
        await service.run(until_s=0.0)
        await service.clock.advance(0.5)
        said = f"{type(error).__name__}. Retrying"
        assert said in str(service.jobs["media_0"].state.trouble)
        await service.clock.advance(120.0)
        assert raised == []
        assert service.unsettled == []

    with caplog.at_level(logging.ERROR):
        run(scenario())
    assert "reading the job media_0 failed" in caplog.text


def test_stopping_ends_the_reads() -> None:
    service = Service({name: Course(runs_s=600) for name in names(5)})

    async def scenario() -> None:
        before = asyncio.all_tasks()
        await service.run(until_s=3.0)
        asked_n = len(service.reads)
        service.clients[0].stop()
        await service.clock.advance(60.0)
        assert len(service.reads) == asked_n
        assert asyncio.all_tasks() <= before

    run(scenario())


def test_a_cancelled_wait_leaves_nothing_behind_and_polling_continues() -> None:
    service = Service({"media_0": Course(runs_s=30)})

    async def scenario() -> None:
        await service.run(until_s=1.0)
        job = service.jobs["media_0"]
        before = asyncio.all_tasks()
        waiting: asyncio.Task[Any] = asyncio.ensure_future(job.wait())
        await service.clock.advance(1.0)
        await cancelled(waiting)
        assert asyncio.all_tasks() <= before
        await service.clock.advance(60.0)
        assert service.unsettled == []

    run(scenario())


def test_a_job_settled_by_another_read_uses_no_turn() -> None:
    """At three reads a second, a hundred turns would take half a minute."""
    settled = {f"settled_{n}": Course(runs_s=0.0) for n in range(100)}
    service = Service(settled | {"media_0": Course(runs_s=0.0)}, reads_per_s=3)

    async def scenario() -> None:
        (client,) = service.clients
        for name in settled:
            job = service.submit(name)
            await service.read(job)
            client.on_end_reported(job)
        last = service.submit("media_0")
        await service.clock.advance(2.0)
        assert last.state.charge_micro_usd == 340_000

    run(scenario())


@pytest.mark.spec("2.2")
@pytest.mark.parametrize(
    ("billing", "least_s"), [("unavailable", 30.0), ("pending", 1.0), (None, 3.0)]
)
def test_after_another_read_saw_the_end_the_charge_is_read_at_its_own_interval(
    billing: str | None, least_s: float
) -> None:
    """Such as `job.refresh()` and `client.job(id)`, while the poller pauses."""
    course = Course(runs_s=90.0, settles_s=600.0, usual_s=600.0, billing=billing)
    service = Service({"media_0": course})

    async def scenario() -> None:
        (client,) = service.clients
        job = service.submit("media_0")
        await service.clock.advance(91.0)
        await service.read(job)
        client.on_end_reported(job)
        await service.clock.advance(40.0)

    run(scenario())
    at_s = service.reads_of()["media_0"]
    seen = at_s.index(91.0)
    assert least_s <= at_s[seen + 1] - 91.0 <= least_s * (1 + JITTER)
