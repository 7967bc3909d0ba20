"""Retries failing work until it succeeds, and reports which work currently fails."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 5.0


class Health:
    """The work whose last attempt failed; none while the sandbox is healthy."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    def problems(self) -> list[str]:
        """List failures, such as "settling charges: database or disk is full"."""
        reasons = self._reasons.items()
        return sorted({f"{work}: {reason}" for (work, _), reason in reasons})

    def failed(self, work: str, problem: BaseException, of: str = "") -> None:
        """Record that work failed; only the first failure in a row is logged.

        Args:
            work: The name of the work.
            problem: Why it failed.
            of: The job or the delivery that it was done for.
        """
        if (work, of) not in self._reasons:
            words = "The sandbox fails at %s %s and retries."
            logger.error(words, work, of, exc_info=problem)
        self._reasons[work, of] = _reason(problem)

    def forget(self, work: str, of: str = "") -> None:
        """Record that work succeeded, or is no longer needed."""
        self._reasons.pop((work, of), None)


def backoff_s(failed_n: int) -> float:
    """Return the real seconds between a failure and the next attempt.

    Args:
        failed_n: The number of consecutive failures before this one.
    """
    return min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(failed_n, 30))


async def retry_until_done(
    health: Health, work: str, attempt: Callable[[], Result], of: str = ""
) -> Result:
    """Attempt some work until it succeeds, and wait between attempts.

    Args:
        health: Reports meanwhile that it fails.
        work: The name of the work.
        attempt: Does it; it must leave nothing half done when it raises.
        of: The job that it is done for.

    Returns:
        The result of the work.
    """
    failed_n = 0
    try:
        while True:
            try:
                return attempt()
            except Exception as problem:  # noqa: BLE001 - a loop survives any error
                health.failed(work, problem, of)
            await asyncio.sleep(backoff_s(failed_n))
            failed_n += 1
    finally:
        health.forget(work, of)


def _reason(problem: BaseException) -> str:
    # Members' keys can read it: it names no path and no address.
    if isinstance(problem, sqlite3.Error):
        return str(problem)
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return type(problem).__name__
