"""How long a request is retried, and the pauses between tries."""

from __future__ import annotations

import random

from mediakit.api_models import ErrorCode
from mediakit.client.responses import NoAnswerError
from mediakit.clock import Clock

# How long a request without a response is retried, by its purpose.
SUBMIT_RETRY_FOR_S = 60.0
READ_RETRY_FOR_S = 10.0
JOB_READ_RETRY_FOR_S = 2.0  # the poller reads the job again anyway
ERASE_RETRY_FOR_S = 5.0
REPLAY_RETRY_FOR_S = 5.0

FIRST_BACKOFF_S = 0.3
LONGEST_BACKOFF_S = 8.0
MAX_RETRY_AFTER_TOTAL_S = 120.0
"""How long a request waits in total because of `Retry-After`."""
FIRST_PAUSE_S = 1.0
MAX_UNAVAILABLE_ATTEMPTS = 4


def jittered_backoff_s(tries: int) -> float:
    """Return a random pause: up to 0.3 s after one try, doubling up to 8 s."""
    longest_s = FIRST_BACKOFF_S * 2.0 ** min(tries - 1, 10)
    return random.uniform(0.0, min(LONGEST_BACKOFF_S, longest_s))


class RetryWindow:
    """How long a request without a response is retried, and the pauses.

    Waits that the service requests are added, up to two minutes in total.
    """

    def __init__(self, clock: Clock, for_s: float) -> None:
        self._clock = clock
        self._for_s = for_s
        self._started_s = clock.monotonic_s()
        self._asked_s = 0.0
        self._tries_n = 1

    def pause_s(self, error: NoAnswerError) -> float | None:
        """Return the seconds until the next try; None to stop."""
        asked_s = error.retry_after_s or 0.0
        self._asked_s += asked_s
        until_s = self._started_s + self._for_s + self._asked_s
        is_late = self._clock.monotonic_s() >= until_s
        if error.is_final or is_late or self._asked_s > MAX_RETRY_AFTER_TOTAL_S:
            return None
        pause_s = max(jittered_backoff_s(self._tries_n), asked_s)
        self._tries_n += 1
        return pause_s

    @property
    def text(self) -> str:
        """Return how often and how long it was tried, in words."""
        for_s = self._clock.monotonic_s() - self._started_s
        if self._tries_n == 1:
            return "tried once"
        return f"tried {self._tries_n} times in {for_s:.0f} s"


class RejectionBackoff:
    """The pauses of a submission after temporary rejections: two minutes in total."""

    def __init__(self) -> None:
        self._rejections_n = 0
        self._waited_s = 0.0

    def pause_s(self, reason: ErrorCode, asked_s: float) -> float | None:
        """Return the pause after another rejection; None to stop.

        The pause has full jitter if the service is unavailable, and doubles if it
        limits the rate.
        """
        self._rejections_n += 1
        is_away = reason is ErrorCode.PROVIDER_UNAVAILABLE
        left_s = MAX_RETRY_AFTER_TOTAL_S - self._waited_s
        if left_s <= 0 or asked_s > left_s:
            return None
        if is_away and self._rejections_n >= MAX_UNAVAILABLE_ATTEMPTS:
            return None
        grown_s = FIRST_PAUSE_S * 2.0 ** min(self._rejections_n, 10)
        wanted_s = random.uniform(0.0 if is_away else grown_s / 2, grown_s)
        pause_s = min(max(asked_s, wanted_s), left_s)
        self._waited_s += pause_s
        return pause_s
