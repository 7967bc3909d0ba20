"""Decides whether and when a rejected submission is retried."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from mediakit.client.http.exchange import Answer
from mediakit.client.http.response_parsing import retry_after_s
from mediakit.client.http.retry import FailedAttempt
from mediakit.records import ErrorCode, Job, JobStatus

LONGEST_S = 120.0
MAX_UNAVAILABLE_ATTEMPTS = 4
FIRST_PAUSE_S = 1.0


class RejectionReason(Enum):
    """Why a submission was rejected, where a retry may help (spec 7.2)."""

    RATE_LIMITED = ErrorCode.RATE_LIMITED
    UNAVAILABLE = ErrorCode.PROVIDER_UNAVAILABLE


_BY_STATUS = {429: RejectionReason.RATE_LIMITED, 503: RejectionReason.UNAVAILABLE}
_BY_CODE = {reason.value: reason for reason in RejectionReason}


def temporary_rejection(answer: Answer, job: Job | None) -> RejectionReason | None:
    """Return why a response rejects a submission temporarily; None if it does not.

    A repeated request that was rejected earlier gets 200 with the failed job (spec
    4.3); the job's error code replaces the status of the lost response.

    Args:
        answer: The answer.
        job: The job in it; None for a request-level error.
    """
    if job is None:
        return RejectionReason.RATE_LIMITED if answer.status == 429 else None
    if answer.status != 200:
        return _BY_STATUS.get(answer.status)
    failed = job.status is JobStatus.FAILED and job.error is not None
    return _BY_CODE.get(job.error.code) if failed and job.error else None


@dataclass(frozen=True)
class SubmitResponse:
    """A response that settles whether a job exists.

    Args:
        answer: The answer.
        job: The job; None for a request-level error (spec 7.1).
        in_doubt: Whether an earlier attempt with the same bytes may have created a job.
    """

    answer: Answer
    job: Job | None
    in_doubt: bool


class TemporarilyRejectedError(Exception):
    """A submission was rejected temporarily.

    Args:
        reason: Why.
        said: The answer.
    """

    def __init__(self, reason: RejectionReason, said: SubmitResponse) -> None:
        super().__init__(reason.name)
        self.reason = reason
        self.said = said
        self.retry_after_s = retry_after_s(said.answer)


def submit_backoff_s(failed: FailedAttempt) -> float:
    """Return the seconds before a submission is sent again.

    Uses full jitter when the service is unavailable, and doubles the pause when it is
    rate limited. Honors `Retry-After`; a call waits two minutes in all.
    """
    grown_s = FIRST_PAUSE_S * float(1 << min(failed.number, 10))
    floor_s = grown_s / 2 if _reason(failed) is RejectionReason.RATE_LIMITED else 0.0
    wanted_s = max(failed.retry_after_s, random.uniform(floor_s, grown_s))
    return min(wanted_s, LONGEST_S - failed.idle_s)


def submit_should_stop(failed: FailedAttempt) -> bool:
    """Return whether to stop retrying a rejected submission."""
    left_s = LONGEST_S - failed.idle_s
    if left_s <= 0 or failed.retry_after_s > left_s:
        return True
    return (
        _reason(failed) is RejectionReason.UNAVAILABLE
        and failed.number >= MAX_UNAVAILABLE_ATTEMPTS
    )


def _reason(failed: FailedAttempt) -> RejectionReason | None:
    error = failed.error
    return error.reason if isinstance(error, TemporarilyRejectedError) else None
