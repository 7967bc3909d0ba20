"""How long one call goes on asking a service that turns its submits away."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from tenacity import RetryCallState

from mediakit.client.answers import retry_after_s
from mediakit.client.exchange import Answer
from mediakit.client.retry import asked_s
from mediakit.records import ErrorCode, Job, JobStatus

LONGEST_S = 120.0
AWAY_TRIES = 4
FIRST_PAUSE_S = 1.0


class Closed(Enum):
    """Why a submit was turned away, where asking again may help (spec 7.2)."""

    FULL = ErrorCode.RATE_LIMITED
    AWAY = ErrorCode.PROVIDER_UNAVAILABLE


_BY_STATUS = {429: Closed.FULL, 503: Closed.AWAY}
_BY_CODE = {reason.value: reason for reason in Closed}


def closed(answer: Answer, job: Job | None) -> Closed | None:
    """Tell whether an answer turns a submit away for the moment only.

    A rejection that is asked for again is answered 200, with the failed job of then
    (spec 4.3): its code says what the status of the lost answer was.

    Args:
        answer: The answer.
        job: The job that it tells of; None for a request-level error.
    """
    if job is None:
        return Closed.FULL if answer.status == 429 else None
    if answer.status != 200:
        return _BY_STATUS.get(answer.status)
    failed = job.status is JobStatus.FAILED and job.error is not None
    return _BY_CODE.get(job.error.code) if failed and job.error else None


@dataclass(frozen=True)
class Said:
    """An answer that tells of a job, or that there is none.

    Args:
        answer: The answer.
        job: The job; None for a request-level error (spec 7.1).
        in_doubt: Whether an earlier try of the same bytes may have made a job.
    """

    answer: Answer
    job: Job | None
    in_doubt: bool


class TurnedAwayError(Exception):
    """A submit was turned away for the moment.

    Args:
        reason: Why.
        said: The answer.
    """

    def __init__(self, reason: Closed, said: Said) -> None:
        super().__init__(reason.name)
        self.reason = reason
        self.said = said
        self.retry_after_s = retry_after_s(said.answer)


def pause_s(state: RetryCallState) -> float:
    """Return the seconds before a submit is sent again.

    Full jitter where the service is away; where it is full, each pause is about twice
    the last. Never less than it asked for; all pauses of a call last two minutes.
    """
    grown_s = FIRST_PAUSE_S * float(1 << min(state.attempt_number, 10))
    floor_s = grown_s / 2 if _reason(state) is Closed.FULL else 0.0
    wanted_s = max(asked_s(state), random.uniform(floor_s, grown_s))
    return min(wanted_s, LONGEST_S - state.idle_for)


def is_over(state: RetryCallState) -> bool:
    """Tell whether a submit that was turned away is given up."""
    left_s = LONGEST_S - state.idle_for
    if left_s <= 0 or asked_s(state) > left_s:
        return True
    return _reason(state) is Closed.AWAY and state.attempt_number >= AWAY_TRIES


def _reason(state: RetryCallState) -> Closed | None:
    error = state.outcome.exception() if state.outcome else None
    return error.reason if isinstance(error, TurnedAwayError) else None
