"""The polling schedule: when a job is read again; pure."""

from __future__ import annotations

from random import Random

from mediakit.client.job_state import JobState
from mediakit.errors import AnswerError, RateLimitError, ServiceError
from mediakit.records import BillingState

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
# An event never has the charge. The first read waits as long as two reads would take:
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
    reads_n: int, *, elapsed_s: float = 0.0, usual_s: float | None = None
) -> float:
    """Return the seconds until a job that has not ended is read again."""
    if usual_s is None:
        return _nth(BRISK_GAPS_S, reads_n)
    left_s = NEAR_SHARE_OF_USUAL * usual_s - elapsed_s
    if left_s > SHORTEST_GAP_S:
        return min(_nth((*EARLY_GAPS_S, LONGEST_LEAP_S), reads_n), left_s)
    return min(max(SHARE_OF_ELAPSED * elapsed_s, SHORTEST_GAP_S), LONGEST_GAP_S)


def settling_gap_s(
    billing: BillingState | None, reads_n: int, *, settling_s: float = 0.0
) -> float:
    """Return the seconds until an ended job's charge is read again (spec 2.2)."""
    if settling_s > SETTLES_SOON_FOR_S:
        return SETTLES_LATE_GAP_S
    if billing is BillingState.UNAVAILABLE:
        return UNAVAILABLE_GAP_S
    return _nth(PENDING_GAPS_S, reads_n)


def gap_s(
    state: JobState,
    reads_n: int,
    *,
    elapsed_s: float = 0.0,
    settling_s: float = 0.0,
) -> float:
    """Return the seconds until a job is read again."""
    billing = state.record.billing
    # A job has a billing once it has ended, whatever its status.
    if state.record.status.terminal or billing is not None:
        found = None if billing is None else billing.state
        if billing is not None and billing.is_unreadable:
            found = BillingState.UNAVAILABLE
        return settling_gap_s(found, reads_n, settling_s=settling_s)
    return running_gap_s(reads_n, elapsed_s=elapsed_s, usual_s=state.usual_runtime_s)


def jittered_s(seconds: float, random: Random) -> float:
    """Lengthen a gap slightly; a shorter one would break spec 2.2."""
    return seconds * random.uniform(1.0, 1.0 + JITTER)


def is_temporary(error: BaseException) -> bool:
    """Return whether an error may be temporary: this machine may have caused it."""
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


def pause_s(error: BaseException, failures_n: int, random: Random) -> float:
    """Return the seconds until a retry: what the service asks, or a backoff."""
    asked_s = error.retry_after_s if isinstance(error, RateLimitError) else None
    return asked_s or jittered_s(_nth(TROUBLE_GAPS_S, failures_n - 1), random)


def _nth(gaps_s: tuple[float, ...], index: int) -> float:
    return gaps_s[min(index, len(gaps_s) - 1)]
