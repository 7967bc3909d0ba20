"""Retries with backoff, using the injected clock."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from mediakit.client.http.exchange import NoAnswerError
from mediakit.clock import Clock

T = TypeVar("T")

FIRST_BACKOFF_S = 0.3
LONGEST_BACKOFF_S = 8.0
LONGEST_RETRY_AFTER_S = 120.0


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt that failed.

    Args:
        number: Which attempt, from 1.
        error: Its error.
        idle_s: The pauses before it, in all.
    """

    number: int
    error: BaseException
    idle_s: float

    @property
    def retry_after_s(self) -> float:
        """Return the seconds that the response asked to wait; 0 if it did not."""
        return getattr(self.error, "retry_after_s", None) or 0.0


def is_transient(error: BaseException) -> bool:
    """Return whether a request without a response is worth retrying."""
    return isinstance(error, NoAnswerError) and not error.is_final


def jittered_backoff_s(tries: int) -> float:
    """Return a random pause, at most 0.3 s after one try, doubling up to 8 s."""
    longest_s = FIRST_BACKOFF_S * 2.0 ** min(tries - 1, 10)
    return random.uniform(0.0, min(LONGEST_BACKOFF_S, longest_s))


def backoff_s(failed: FailedAttempt) -> float:
    """Return the pause before the next attempt: full jitter, or `Retry-After`."""
    return max(jittered_backoff_s(failed.number), failed.retry_after_s)


async def retry(
    once: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    stop: Callable[[FailedAttempt], bool],
    wait: Callable[[FailedAttempt], float] = backoff_s,
    on: Callable[[BaseException], bool] = is_transient,
) -> T:
    """Retry until it succeeds.

    Args:
        once: One attempt.
        clock: Waits.
        stop: Decides after a failed attempt whether to stop.
        wait: The seconds before the next attempt.
        on: Which errors are retried.

    Raises:
        Exception: The error of the last attempt.
    """
    number, idle_s = 0, 0.0
    while True:
        number += 1
        try:
            return await once()
        except Exception as error:
            if not on(error):
                raise
            failed = FailedAttempt(number, error, idle_s)
            pause_s = None if stop(failed) else wait(failed)
            del failed  # the traceback of its error holds this frame
            if pause_s is None:
                raise
        await clock.sleep(pause_s)
        idle_s += pause_s


def stop_after_attempts(count: int) -> Callable[[FailedAttempt], bool]:
    """Return a stop rule for a number of attempts."""
    return lambda failed: failed.number >= count


def stop_after_s(seconds: float, clock: Clock) -> Callable[[FailedAttempt], bool]:
    """Return a stop rule for a number of seconds.

    The waits that the service requests are added, up to two minutes in all.
    """
    until_s = clock.monotonic_s() + seconds
    asked_in_all_s = 0.0

    def is_over(failed: FailedAttempt) -> bool:
        nonlocal asked_in_all_s
        asked_in_all_s += failed.retry_after_s
        is_late = clock.monotonic_s() >= until_s + asked_in_all_s
        return is_late or asked_in_all_s > LONGEST_RETRY_AFTER_S

    return is_over
