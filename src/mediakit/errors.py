"""The tree of exceptions. Each message says what happened and what to do.

Messages are for people to read. Programs read the attributes, above all `sent`: False
if nothing was sent, True if the request was sent and answered, None if it is not known
whether it arrived.

MediakitError
├── InputError          a field, an argument or a file is invalid
├── AuthError           the API key is missing, wrong or inactive
├── NotFoundError       no such job, function or record in this organization
├── ConflictError       not in this state, or one key with two bodies
├── GoneError           erased, or no longer known to the service
├── RateLimitError      too many requests, or the queue is full
├── BalanceError        the balance is too low
├── BudgetError         the caller's own budget is too low
├── PriceError          the price is above the one that was shown
├── ServiceError        the service did not respond, or not as specified
├── JobFailedError      the job failed (carries the job)
├── WaitTimeoutError    waiting timed out; the job continues (carries the job)
└── SignatureError      a webhook could not be verified
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mediakit.safe_text import shown, without_controls

if TYPE_CHECKING:
    from mediakit.rules import Problem

NOTHING_SENT = "Nothing was sent."


class HasId(Protocol):
    """Anything that has a job id."""

    @property
    def id(self) -> str:
        """The job id, in the form `media_<uuid>`."""


@dataclass(frozen=True)
class JobName:
    """The job of an error raised in another process: `client.job(error.job.id)`.

    Args:
        id: The job id, in the form `media_<uuid>`.
    """

    id: str


@dataclass(kw_only=True, eq=False, repr=False)
class MediakitError(Exception):
    """The base class of every error that mediakit raises on purpose.

    Args:
        message: One or more sentences that describe the error.
        sent: Whether the request was sent: False if it was not, True if it was and its
            outcome is known, None if it is not known whether it arrived.
    """

    message: str = field(kw_only=False)
    sent: bool | None = False

    def __post_init__(self) -> None:
        """Remove control characters from the message."""
        self.message = without_controls(self.message)
        self.args = (self.message,)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors of worker processes are pickled without the job, which stays in its
        # process.
        state = {k: _portable(k, value) for k, value in vars(self).items()}
        return _same_error, (type(self), self.args, state)

    def _render_traceback_(self) -> list[str]:
        # A notebook shows only this sentence instead of a traceback.
        return [f"{type(self).__name__}: {self}"]


class WaitInterrupted(KeyboardInterrupt):
    """Ctrl-C or the Stop button ended a wait; the job or sweep continues."""

    def _render_traceback_(self) -> list[str]:
        # A notebook would show the source of the loop that waited.
        return [f"KeyboardInterrupt: {self}"]


@contextmanager
def nothing_sent_yet() -> Iterator[None]:
    """Mark errors raised inside as raised before the call sent its own request.

    Preparing a request may read the balance or upload a file; an error there has the
    status of another request.
    """
    try:
        yield
    except MediakitError as error:
        error.sent = False
        raise


def _portable(name: str, value: Any) -> object:
    if name == "job":
        return JobName(value.id)
    is_plain = isinstance(value, str | int | float | None)
    return shown(value) if name == "got" and not is_plain else value


def _same_error(
    kind: type[MediakitError], args: tuple[object, ...], state: dict[str, object]
) -> MediakitError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(MediakitError):
    """A field, an argument or a file is invalid; nothing was charged.

    Args:
        field: The name of the field or argument.
        got: The value that was given.
        accepted: What is accepted, in words.
        spec: The section of the interface specification with the rule, such as
            "4.17". Users do not have that text, so it is not part of the message.
        then: A sentence on what was sent or changed.
        sent: Whether the service received it; see `MediakitError`.
        problems: All problems if several fields are wrong, including this one.
    """

    def __init__(
        self,
        field: str,
        *,
        got: object,
        accepted: str,
        spec: str | None = None,
        then: str = NOTHING_SENT,
        sent: bool | None = False,
        problems: Sequence[Problem] = (),
    ) -> None:
        self.field = field
        self.got = got
        self.accepted = accepted
        self.spec = spec
        self.problems = tuple(problems)
        super().__init__(f"{self._sentences()} {then}".rstrip(), sent=sent)

    def _sentences(self) -> str:
        if not self.problems:
            return f"{self.field} must be {self.accepted} (got {shown(self.got)})."
        return "\n".join(f"{p.sentence}." for p in self.problems)

    @classmethod
    def of(
        cls,
        problems: Sequence[Problem],
        *,
        spec: str | None = None,
        then: str = NOTHING_SENT,
        sent: bool | None = False,
    ) -> InputError:
        """Make one error from all problems of a request; the first gives the field."""
        first = problems[0]
        return cls(
            first.field,
            got=first.got,
            accepted=first.accepted,
            spec=spec,
            then=then,
            sent=sent,
            problems=problems,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class AnswerError(MediakitError):
    """An error response of the service, or a missing response.

    Args:
        message: One or more sentences that describe the error.
        status: The HTTP status; None if there was no response.
        job_id: The job named in the response, if any.
        in_doubt: Whether the request may have arrived, although no response says so.
    """

    sent: bool | None = field(init=False)
    status: int | None = None
    job_id: str | None = None
    in_doubt: InitVar[bool] = False

    def __post_init__(self, in_doubt: bool) -> None:
        """Derive whether the request was sent."""
        super().__post_init__()
        self.sent = None if in_doubt else self.status is not None


class AuthError(AnswerError):
    """The API key is missing, wrong or inactive (spec 5)."""


class NotFoundError(AnswerError):
    """The organization has no such job, function or record (spec 7.2)."""


class ConflictError(AnswerError):
    """The job is not in the required state, or one key was used for two bodies."""


class GoneError(AnswerError):
    """The job was erased, or the service no longer knows it (spec 7.2)."""


class ServiceError(AnswerError):
    """The service could not be reached, or did not respond as specified."""


@dataclass(kw_only=True, eq=False, repr=False)
class RateLimitError(AnswerError):
    """Too many requests, a full queue or a usage limit (spec 4.3).

    Args:
        message, status, job_id, in_doubt: See `AnswerError`.
        retry_after_s: Seconds to wait, as given by the service; None if not given.
        retry_at: The time to retry at, in UTC.
    """

    retry_after_s: float | None = None
    retry_at: datetime | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class BalanceError(AnswerError):
    """The balance is too low for the request (spec 4.3).

    Args:
        message, status, job_id, in_doubt: See `AnswerError`.
        needed_micro_usd: The upper end of the request's price; None if unknown.
        available_micro_usd: The amount that could be spent; None if unknown.
    """

    needed_micro_usd: int | None = None
    available_micro_usd: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetError(MediakitError):
    """The caller's own budget is too low for the request; nothing was sent.

    Args:
        message: One or more sentences that describe the error.
        needed_micro_usd: The upper end of the request's price; None if unknown.
        available_micro_usd: The amount left in the budget.
        limit_micro_usd: The limit of the budget; None if unknown.
        scope: "sweep" for the limit of one sweep, "budget" for any other.
        sent: False; None if an earlier attempt may have arrived.
    """

    needed_micro_usd: int | None
    available_micro_usd: int
    limit_micro_usd: int | None = None
    scope: Literal["budget", "sweep"] = "budget"


@dataclass(kw_only=True, eq=False, repr=False)
class PriceError(MediakitError):
    """The price is above the one that was shown; nothing was sent.

    Args:
        message: One or more sentences that describe the error.
        price_micro_usd: The upper end of the price now; None if it has none.
        expected_micro_usd: The upper end of the price that was shown; None if it had
            none.
    """

    price_micro_usd: int | None
    expected_micro_usd: int | None


@dataclass(kw_only=True, eq=False, repr=False)
class JobFailedError(MediakitError):
    """The job failed; it should not be charged (spec 7.3), and the message says if so.

    Args:
        message: One or more sentences that describe the error.
        job: The job.
        code: Its `error.code`.
    """

    sent: bool | None = field(default=True, init=False)
    job: HasId
    code: str


@dataclass(kw_only=True, eq=False, repr=False)
class WaitTimeoutError(MediakitError):
    """Waiting timed out before the job ended; the job continues.

    Args:
        message: One or more sentences that describe the error.
        job: The job; you can wait for it again.
        waited_s: Seconds waited.
    """

    sent: bool | None = field(default=True, init=False)
    job: HasId
    waited_s: float


class IncompleteDataWarning(UserWarning):
    """Part of a report could not be read, so totals over its frame are incomplete."""


@dataclass(kw_only=True, eq=False, repr=False)
class SignatureError(MediakitError):
    """A webhook could not be verified (spec 6.4).

    Args:
        message: One or more sentences that describe the error.
        reason: "missing_header", "header" (repeated or unreadable), "timestamp",
            "signature", "payload" (the body) or "secret" (your own).
    """

    reason: str
