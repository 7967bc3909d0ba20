"""The outcome of an attempt, and the reasons of a failed one (spec 6.5)."""

from dataclasses import dataclass

TIMEOUT, CONNECT, BLOCKED, TLS, SIGNING = (
    "timeout",
    "connect",
    "blocked",
    "tls",
    "signing",
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one attempt.

    Args:
        status_code: The receiver's status; None without a response.
        reason: Why the attempt failed (spec 6.5); None when it succeeded.
        retry_after: The receiver's `Retry-After`; None when it sent none.
        duration_ms: How long it took, in real milliseconds.
    """

    status_code: int | None = None
    reason: str | None = None
    retry_after: str | None = None
    duration_ms: int = 0
