"""The polling schedule: when a job is read again; pure."""

from __future__ import annotations

from random import Random

from mediakit.client.job_state import JobState, unreadable_charge_text
from mediakit.errors import AnswerError, RateLimitError, ServiceError, shown
from mediakit.records import Billing, BillingState, Job

# Without a usual time: often while an image may be ready, then less often.
BRISK_GAPS_S = (0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
# With one: a few early reads show that it runs, then few until its expected end.
EARLY_GAPS_S = (0.3, 0.7, 1.5)
NEAR_SHARE_OF_USUAL = 0.6
LONGEST_LEAP_S = 15.0
SHARE_OF_ELAPSED = 0.04
SHORTEST_GAP_S = 0.3
LONGEST_GAP_S = 5.0

PENDING_GAPS_S = (1.0, 2.0, 5.0)
# An event never has the charge: the first read is due when the second one would be, and
# most charges have settled by then.
HEARD_GAP_S = PENDING_GAPS_S[0] + PENDING_GAPS_S[1]
UNAVAILABLE_GAP_S = 30.0
# Two reads: a charge that neither can read is not waited for any longer.
UNREADABLE_FOR_S = UNAVAILABLE_GAP_S
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
        reads: The number of reads since its status last changed.
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
        billing: The billing; None if the record has none.
        reads: The number of reads since the job ended.
        settling_s: Seconds since the end of the job was seen.
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
) -> float:
    """Return the seconds until a job is read again (spec 2.2).

    Args:
        state: Its state.
        reads: The number of reads since its status last changed.
        elapsed_s: Seconds since it was submitted.
        settling_s: Seconds since its end was seen.
    """
    billing = state.record.billing
    # A job has a billing once it has ended, whatever its status.
    if state.record.status.terminal or billing is not None:
        found = None if billing is None else billing.state
        if billing is not None and billing.is_unreadable:
            found = BillingState.UNAVAILABLE
        return settling_gap_s(found, reads, settling_s=settling_s)
    return running_gap_s(reads, elapsed_s=elapsed_s, usual_s=state.usual_runtime_s)


def unknown_status(record: Job) -> ServiceError:
    """Return the error for a job whose status is unknown and does not change."""
    return ServiceError(
        f"The service says that the job {record.id} is {shown(record.unknown_status)}, "
        "which this version of mediakit does not know, so it is unclear whether the "
        f"job has ended. It is read every {SETTLES_LATE_GAP_S / 60:.0f} minutes, and "
        "its charge is recorded; job.refresh() reads it now. A newer version of "
        "mediakit may know the status.",
        status=200,
        job_id=record.id,
    )


def unreadable_charge(record: Job, billing: Billing) -> ServiceError:
    """Return the error for a job whose charge stays unreadable."""
    return ServiceError(
        f"The job {record.id} is {record.status.value}. "
        f"{unreadable_charge_text(billing)} The job is read again every "
        f"{SETTLES_LATE_GAP_S / 60:.0f} minutes, and its charge is recorded once it "
        "can be read; until then, budgets count the estimate. Ask the service what it "
        "charged; job.refresh() reads the job now.",
        status=200,
        job_id=record.id,
    )


def trouble_gap_s(failures: int) -> float:
    """Return the seconds until a read without a response is retried."""
    return _nth(TROUBLE_GAPS_S, failures - 1)


def jittered_s(seconds: float, random: Random) -> float:
    """Lengthen a gap slightly, so that jobs that started together spread out.

    It is never shortened: no read is sooner than the specification allows (spec 2.2).
    """
    return seconds * random.uniform(1.0, 1.0 + JITTER)


def passes(error: BaseException) -> bool:
    """Return whether an error may be temporary.

    An error without a response may be temporary: this machine may have caused it.
    """
    if not isinstance(error, AnswerError) or error.status is None:
        return True
    if error.status == 404:
        # A NotFoundError has lasted for minutes; any other 404 may pass.
        return isinstance(error, ServiceError)
    return error.status < 400 or error.status == 429 or error.status >= 500


def concerns_all(error: BaseException) -> bool:
    """Return whether an error concerns the service, and not only one job."""
    if not isinstance(error, AnswerError):
        return False
    return error.status is None or error.status == 429


def pause_s(error: BaseException, failures: int, random: Random) -> float:
    """Return the seconds until a retry: what the service asks, or a backoff.

    Args:
        error: The error.
        failures: The number of consecutive errors.
        random: Gives the jitter.
    """
    asked_s = error.retry_after_s if isinstance(error, RateLimitError) else None
    return asked_s or jittered_s(trouble_gap_s(failures), random)


def _nth(gaps: tuple[float, ...], index: int) -> float:
    return gaps[min(index, len(gaps) - 1)]


def _within(value: float, low: float, high: float) -> float:
    return max(low, min(value, high))
