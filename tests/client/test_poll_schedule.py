"""When a job is read again: pure schedules."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.client.polling import (
    LONGEST_GAP_S,
    LONGEST_LEAP_S,
    SHORTEST_GAP_S,
    gap_s,
    jittered_s,
    running_gap_s,
    settling_gap_s,
)
from mediakit.records import BillingState
from tests.support.job_states import state_of

seconds = st.floats(0, 10_000)


def reads_until(end_s: float, usual_s: float | None) -> list[float]:
    """Return when a job is read that ends then."""
    at_s = [0.0]
    while at_s[-1] < end_s:
        elapsed_s = at_s[-1]
        gap = running_gap_s(len(at_s) - 1, elapsed_s=elapsed_s, usual_s=usual_s)
        at_s.append(elapsed_s + gap)
    return at_s[1:]


def test_without_a_usual_time_reads_are_brisk_and_then_calm() -> None:
    at_s = reads_until(60.0, None)

    assert len([s for s in at_s if s < 5]) == 6
    assert at_s[-1] - at_s[-2] == LONGEST_GAP_S


def test_with_a_usual_time_few_reads_come_early_and_the_end_is_seen_soon() -> None:
    known, unknown = reads_until(120.0, 115.0), reads_until(120.0, None)

    assert known[:3] == [0.3, 1.0, 2.5]
    early = [s for s in known if 2.5 < s < 0.5 * 115]
    assert len(early) == 3
    assert len(known) < len(unknown)
    assert known[-1] - known[-2] < LONGEST_GAP_S


def test_a_picture_is_seen_at_once() -> None:
    at_s = reads_until(2.0, 2.0)

    assert at_s[-1] - 2.0 <= SHORTEST_GAP_S
    assert len(at_s) <= 6


@given(st.integers(0, 1_000), seconds, st.none() | seconds)
def test_every_gap_is_within_its_bounds(
    reads: int, elapsed_s: float, usual_s: float | None
) -> None:
    gap = running_gap_s(reads, elapsed_s=elapsed_s, usual_s=usual_s)

    assert SHORTEST_GAP_S <= gap <= LONGEST_LEAP_S
    if usual_s is None or elapsed_s >= usual_s:
        assert gap <= LONGEST_GAP_S


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [BillingState.PENDING, None])
def test_a_charge_is_read_again_after_1_2_and_5_seconds_then_every_5(
    billing: BillingState | None,
) -> None:
    assert [settling_gap_s(billing, n) for n in range(5)] == [1, 2, 5, 5, 5]


@pytest.mark.spec("2.2")
@given(st.integers(0, 100), st.floats(0, 1e7), st.integers())
def test_an_unavailable_charge_is_read_no_sooner_than_after_30_seconds(
    reads: int, settling_s: float, seed: int
) -> None:
    gap = settling_gap_s(BillingState.UNAVAILABLE, reads, settling_s=settling_s)

    assert jittered_s(gap, Random(seed)) >= 30


@pytest.mark.spec("2.2")
def test_the_state_of_a_job_chooses_the_schedule() -> None:
    pending = state_of("completed", billing={"state": "pending"})
    unavailable = state_of("completed", billing={"state": "unavailable"})
    unknown_status = state_of("archived", billing={"state": "unavailable"})
    running = state_of("running", usual_runtime_s=60.0)

    assert gap_s(pending, 0) == gap_s(state_of("failed"), 0) == 1.0
    assert gap_s(unavailable, 0) == gap_s(unknown_status, 0) == 30.0
    assert gap_s(running, 3, elapsed_s=30.0) == pytest.approx(6.0)
    assert gap_s(state_of("queued"), 0) == 0.3
