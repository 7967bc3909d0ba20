"""Retries with backoff, using tenacity and the injected clock."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import tenacity
from tenacity import RetryCallState

from mediakit.client.http.exchange import NoAnswerError
from mediakit.clock import Clock

T = TypeVar("T")

FIRST_BACKOFF_S = 0.3
LONGEST_BACKOFF_S = 8.0
LONGEST_RETRY_AFTER_S = 120.0


def is_transient(error: BaseException) -> bool:
    """Return whether a request without a response is worth retrying."""
    return isinstance(error, NoAnswerError) and not error.is_final


def jittered_backoff_s(tries: int) -> float:
    """Return a random pause, at most 0.3 s after one try, doubling up to 8 s."""
    longest_s = FIRST_BACKOFF_S * 2.0 ** min(tries - 1, 10)
    return random.uniform(0.0, min(LONGEST_BACKOFF_S, longest_s))


def backoff_s(state: RetryCallState) -> float:
    """Return the pause before the next attempt: full jitter, or `Retry-After`."""
    return max(jittered_backoff_s(state.attempt_number), retry_after_of(state))


def retry_after_of(state: RetryCallState) -> float:
    """Return the seconds that the last response asked to wait; 0 if it did not."""
    error = state.outcome.exception() if state.outcome else None
    return getattr(error, "retry_after_s", None) or 0.0


async def retry(
    once: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    stop: Callable[[RetryCallState], bool],
    wait: Callable[[RetryCallState], float] = backoff_s,
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
        BaseException: The error of the last attempt.
    """
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(on),
        wait=wait,
        stop=stop,
        sleep=clock.sleep,
        reraise=True,
    )

    async def attempt() -> T:
        return await once()

    return await retrying(attempt)


def stop_after_attempts(count: int) -> Callable[[RetryCallState], bool]:
    """Return a stop rule for a number of attempts."""
    return tenacity.stop_after_attempt(count)


def stop_after_s(seconds: float, clock: Clock) -> Callable[[RetryCallState], bool]:
    """Return a stop rule for a number of seconds.

    The waits that the service requests are added, up to two minutes in all.
    """
    until_s = clock.monotonic_s() + seconds
    asked_in_all_s = 0.0

    def is_over(state: RetryCallState) -> bool:
        nonlocal asked_in_all_s
        asked_in_all_s += retry_after_of(state)
        is_late = clock.monotonic_s() >= until_s + asked_in_all_s
        return is_late or asked_in_all_s > LONGEST_RETRY_AFTER_S

    return is_over
