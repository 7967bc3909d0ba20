"""When a job is read again; pure."""

from __future__ import annotations

from mediakit.client.job_state import JobState
from mediakit.records import BillingState

# Seconds before each read: brisk while a picture may be ready, then calm.
RUNNING_GAPS_S = (0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0)
RUNNING_LAST_GAP_S = 5.0
PENDING_GAPS_S = (1.0, 2.0, 5.0)
UNAVAILABLE_GAP_S = 30.0
TROUBLE_GAPS_S = (1.0, 2.0, 4.0, 8.0, 15.0)
SETTLING_FOR_S = 1_800.0


def gap_s(state: JobState, reads: int) -> float:
    """Return the seconds until a job is read again (spec 2.2).

    Args:
        state: What is known of it.
        reads: How often it was read since it last changed its status.
    """
    if not state.record.status.terminal:
        return _nth((*RUNNING_GAPS_S, RUNNING_LAST_GAP_S), reads)
    billing = state.record.billing
    if billing is not None and billing.state is BillingState.UNAVAILABLE:
        return UNAVAILABLE_GAP_S
    return _nth(PENDING_GAPS_S, reads)


def trouble_gap_s(failures: int) -> float:
    """Return the seconds until a read that had no answer is tried again."""
    return _nth(TROUBLE_GAPS_S, failures - 1)


def _nth(gaps: tuple[float, ...], index: int) -> float:
    return gaps[min(index, len(gaps) - 1)]
