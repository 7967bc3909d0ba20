"""How long one call goes on asking a service that turns its submits away."""

from __future__ import annotations

import random
from enum import Enum

from mediakit.client.exchange import Answer
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


class Patience:
    """The pauses of one call; together they last two minutes at the most."""

    def __init__(self) -> None:
        self._waited_s = 0.0
        self._times = dict.fromkeys(Closed, 0)

    @property
    def tries(self) -> int:
        """Return how often the call was turned away."""
        return sum(self._times.values())

    def pause_s(self, reason: Closed, asked_s: float | None) -> float | None:
        """Return how long to wait before the next try; None for no more of them.

        Full jitter where the service is away; never less than it asked for. Where it
        is full, each pause is about twice the last.

        Args:
            reason: Why the call was turned away now.
            asked_s: The answer's `Retry-After`; None without one.
        """
        self._times[reason] += 1
        times, left_s = self._times[reason], LONGEST_S - self._waited_s
        least_s = asked_s or 0.0
        if least_s > left_s or left_s <= 0:
            return None
        if reason is Closed.AWAY and times >= AWAY_TRIES:
            return None
        grown_s = FIRST_PAUSE_S * float(1 << times)
        floor_s = grown_s / 2 if reason is Closed.FULL else 0.0
        pause_s = min(max(least_s, random.uniform(floor_s, grown_s)), left_s)
        self._waited_s += pause_s
        return pause_s
