"""What fails at the moment, and doing work again until it succeeds."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_REST_S = 0.1
LONGEST_REST_S = 5.0


class Health:
    """The work that failed last time it was tried; none while the sandbox is well."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    def problems(self) -> list[str]:
        """List what fails and why, as "settling charges: database or disk is full"."""
        reasons = self._reasons.items()
        return sorted({f"{work}: {reason}" for (work, _), reason in reasons})

    def failed(self, work: str, problem: BaseException, of: str = "") -> None:
        """Note that work failed; only the first failure in a row is logged.

        Args:
            work: What was tried.
            problem: Why it failed.
            of: The job or the delivery that it was tried for.
        """
        if (work, of) not in self._reasons:
            words = "The sandbox fails at %s %s and tries again."
            logger.error(words, work, of, exc_info=problem)
        self._reasons[work, of] = _reason(problem)

    def forget(self, work: str, of: str = "") -> None:
        """Note that work succeeded, or is not wanted any more."""
        self._reasons.pop((work, of), None)


def rest_s(failed_n: int) -> float:
    """Return the real seconds between a failure and the next attempt.

    Args:
        failed_n: How many failures in a row came before this one.
    """
    return min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(failed_n, 30))


async def until_done(
    health: Health, work: str, attempt: Callable[[], Result], of: str = ""
) -> Result:
    """Attempt some work until it raises nothing, and rest in between.

    Args:
        health: Knows meanwhile that it fails.
        work: What it is.
        attempt: Does it; what it raises must leave nothing half done.
        of: The job that it is done for.

    Returns:
        What the work returned.
    """
    failed_n = 0
    try:
        while True:
            try:
                return attempt()
            except Exception as problem:  # noqa: BLE001 - a loop survives anything
                health.failed(work, problem, of)
            await asyncio.sleep(rest_s(failed_n))
            failed_n += 1
    finally:
        health.forget(work, of)


def _reason(problem: BaseException) -> str:
    # Everybody may read it: no path, no address.
    if isinstance(problem, sqlite3.Error):
        return str(problem)
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return type(problem).__name__
