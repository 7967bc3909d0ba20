"""The retry schedule of deliveries (spec 6.5)."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

from mediakit.sandbox.timing.clock import US_PER_S

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
GAPS_S = (
    5,
    5 * MINUTE_S,
    30 * MINUTE_S,
    2 * HOUR_S,
    5 * HOUR_S,
    10 * HOUR_S,
    14 * HOUR_S,
    24 * HOUR_S,
)
MAX_ATTEMPTS = len(GAPS_S) + 1
# In both directions, so that nine attempts still take "about 55 hours".
JITTER = 0.1
PUSH_BACK_CAP_S = HOUR_S


def gap_us(failed_n: int, jitter: Random) -> int:
    """Return the time from a failed attempt to the next one, microseconds.

    Args:
        failed_n: The number of failed attempts, from 1; beyond the table, the last
            gap is used.
        jitter: The source of the jitter.
    """
    gap_s = GAPS_S[min(failed_n, len(GAPS_S)) - 1]
    return round(gap_s * jitter.uniform(1 - JITTER, 1 + JITTER) * US_PER_S)


def push_back_us(retry_after: str | None, wall: datetime) -> int:
    """Return how long a receiver asks to wait, microseconds; at most an hour.

    Args:
        retry_after: Its `Retry-After`, in seconds or as an HTTP date; anything else
            counts as 0.
        wall: The real time, to which an HTTP date refers.
    """
    seconds = 0.0 if retry_after is None else _seconds(retry_after.strip(), wall)
    return round(max(0.0, min(seconds, PUSH_BACK_CAP_S)) * US_PER_S)


def _seconds(text: str, wall: datetime) -> float:
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    # A date without a zone is in GMT, as all HTTP dates are.
    aware = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    return (aware - wall).total_seconds()
