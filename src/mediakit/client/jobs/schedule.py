"""When a job is read again; pure."""

from __future__ import annotations

from random import Random

from mediakit.client.records.job_state import JobState
from mediakit.errors import AnswerError, RateLimitError, ServiceError, shown
from mediakit.records import BillingState, Job

# Without a usual time: brisk while a picture may be ready, then calm.
BRISK_GAPS_S = (0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
# With one: a few early reads show that it runs, then few until its end is near.
EARLY_GAPS_S = (0.3, 0.7, 1.5)
NEAR_SHARE_OF_USUAL = 0.6
LONGEST_LEAP_S = 15.0
SHARE_OF_ELAPSED = 0.04
SHORTEST_GAP_S = 0.3
LONGEST_GAP_S = 5.0

# With a listener: reading stays the truth where an event is lost.
LISTENED_GAP_S = 60.0

PENDING_GAPS_S = (1.0, 2.0, 5.0)
# An event never names the charge: the first read comes when the second one would, and
# most charges have settled by then.
HEARD_GAP_S = PENDING_GAPS_S[0] + PENDING_GAPS_S[1]
UNAVAILABLE_GAP_S = 30.0
SETTLES_SOON_FOR_S = 1_800.0
SETTLES_LATE_GAP_S = 300.0

TROUBLE_GAPS_S = (1.0, 2.0, 4.0, 8.0, 15.0)
PATIENT_FOR_S = 120.0
JITTER = 0.1


def running_gap_s(
    reads: int, *, elapsed_s: float = 0.0, usual_s: float | None = None
) -> float:
    """Return the seconds until a job that has not ended is read again.

    Args:
        reads: How often it was read since it last changed its status.
        elapsed_s: Seconds since it was submitted.
        usual_s: Seconds that its function usually takes; None if unknown.
    """
    if usual_s is None:
        return _nth(BRISK_GAPS_S, reads)
    left_s = NEAR_SHARE_OF_USUAL * usual_s - elapsed_s
    if left_s > SHORTEST_GAP_S:
        return min(_nth((*EARLY_GAPS_S, LONGEST_LEAP_S), reads), left_s)
    return _within(SHARE_OF_ELAPSED * elapsed_s, SHORTEST_GAP_S, LONGEST_GAP_S)


def settling_gap_s(
    billing: BillingState | None, reads: int, *, settling_s: float = 0.0
) -> float:
    """Return the seconds until an ended job's charge is read again (spec 2.2).

    Args:
        billing: How far the charge is; None when nothing is said of it.
        reads: How often it was read since the job ended.
        settling_s: Seconds since the job was seen to have ended.
    """
    if settling_s > SETTLES_SOON_FOR_S:
        return SETTLES_LATE_GAP_S
    if billing is BillingState.UNAVAILABLE:
        return UNAVAILABLE_GAP_S
    return _nth(PENDING_GAPS_S, reads)


def gap_s(
    state: JobState,
    reads: int,
    *,
    elapsed_s: float = 0.0,
    settling_s: float = 0.0,
    listened: bool = False,
    lost: bool = False,
) -> float:
    """Return the seconds until a job is read again (spec 2.2).

    Args:
        state: What is known of it.
        reads: How often it was read since it last changed its status.
        elapsed_s: Seconds since it was submitted.
        settling_s: Seconds since it was seen to have ended.
        listened: Its end is heard of otherwise.
        lost: Its status has long been one that is new to us.
    """
    if lost:
        return SETTLES_LATE_GAP_S
    billing = state.record.billing
    # A job has a billing once it has ended, whatever its status is called.
    if state.record.status.terminal or billing is not None:
        found = None if billing is None else billing.state
        return settling_gap_s(found, reads, settling_s=settling_s)
    if listened:
        return LISTENED_GAP_S
    return running_gap_s(reads, elapsed_s=elapsed_s, usual_s=state.usual_runtime_s)


def unknown_status(record: Job) -> ServiceError:
    """Return the error for a job whose status is new to us and does not change."""
    return ServiceError(
        f"The service says that the job {record.id} is {shown(record.unknown_status)}, "
        "which this mediakit does not know, so it cannot tell whether the job has "
        f"ended. It is read on every {SETTLES_LATE_GAP_S / 60:.0f} minutes, and its "
        "charge is noted; job.refresh() asks now. A newer mediakit may know more.",
        job_id=record.id,
    )


def trouble_gap_s(failures: int) -> float:
    """Return the seconds until a read that had no answer is tried again."""
    return _nth(TROUBLE_GAPS_S, failures - 1)


def jittered_s(seconds: float, random: Random) -> float:
    """Lengthen a gap a little, so that what began together does not stay so.

    It is never shortened: no read comes sooner than the interface asks (spec 2.2).
    """
    return seconds * random.uniform(1.0, 1.0 + JITTER)


def passes(error: BaseException) -> bool:
    """Tell trouble that may pass from an answer that will stay the same.

    What is no answer at all may pass: the machine itself was in trouble.
    """
    if not isinstance(error, AnswerError) or error.status is None:
        return True
    if error.status == 404:
        # The service's own is a NotFoundError; any other is a gateway's.
        return isinstance(error, ServiceError)
    return error.status < 400 or error.status == 429 or error.status >= 500


def concerns_all(error: BaseException) -> bool:
    """Tell trouble with the service from trouble with one job."""
    if not isinstance(error, AnswerError):
        return False
    return error.status is None or error.status == 429


def pause_s(error: BaseException, failures: int, random: Random) -> float:
    """Return the seconds until trouble is tried again, as the service asks if it does.

    Args:
        error: The trouble.
        failures: How often there was trouble in a row.
        random: Gives the jitter.
    """
    asked_s = error.retry_after_s if isinstance(error, RateLimitError) else None
    return asked_s or jittered_s(trouble_gap_s(failures), random)


def _nth(gaps: tuple[float, ...], index: int) -> float:
    return gaps[min(index, len(gaps) - 1)]


def _within(value: float, low: float, high: float) -> float:
    return max(low, min(value, high))
