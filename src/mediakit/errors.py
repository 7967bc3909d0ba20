"""One tree of exceptions; each says what happened, what was sent, what to do.

MediakitError
├── InputError          a field, an argument or a file is not acceptable
├── AuthError           the API key is missing, wrong or inactive
├── NotFoundError       no such job, function or record in this organization
├── ConflictError       not in this state, or one key with two bodies
├── GoneError           erased, or no longer known to the service
├── RateLimitError      too many requests, or the queue is full
├── BalanceError        the balance cannot carry it
├── BudgetError         the caller's own budget cannot carry it
├── ServiceError        the service did not answer, or not as specified
├── JobFailedError      the job ended as failed (carries the job)
├── WaitTimeoutError    waiting ended, the job goes on (carries the job)
└── SignatureError      a webhook is not what it claims to be
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

NOTHING_SENT = "Nothing was sent."
SHOWN_LENGTH = 180
# What is wrong with a file stands behind its path, which may be long.
SHOWN_END = 110


class HasSentence(Protocol):
    """A problem of one field, as `mediakit.rules.Problem` gives it."""

    @property
    def field(self) -> str:
        """The field's name."""

    @property
    def got(self) -> object:
        """What came."""

    @property
    def accepted(self) -> str:
        """What is accepted, in words."""

    @property
    def sentence(self) -> str:
        """The problem as a sentence for people."""


class HasId(Protocol):
    """Anything that knows its job id."""

    @property
    def id(self) -> str:
        """The job id, shape `media_<uuid>`."""


def shown(value: object) -> str:
    """Write a value that came from outside briefly, for an error sentence."""
    text = repr(value)
    if len(text) <= SHOWN_LENGTH:
        return text
    begin = text[: SHOWN_LENGTH - SHOWN_END]
    return f"{begin}…{text[-SHOWN_END:]} ({len(text):,} characters)"


@dataclass(frozen=True)
class JobName:
    """A job of an error that came from another process: `client.job(error.job.id)`.

    Args:
        id: The job id, shape `media_<uuid>`.
    """

    id: str


class MediakitError(Exception):
    """The base of every error that mediakit raises on purpose.

    Args:
        message: One or more sentences for people.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        # A worker process hands its error back; the job stays where its client is.
        state = {k: _portable(k, value) for k, value in vars(self).items()}
        return _same_error, (type(self), self.args, state)

    def _render_traceback_(self) -> list[str]:
        # A notebook shows this in place of a traceback: the sentence says it all.
        return [f"{type(self).__name__}: {self}"]


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
    """A field, an argument or a file is not acceptable; it cost nothing.

    Args:
        field: The name of the field or argument.
        got: What came.
        accepted: What is accepted, in words.
        spec: The section of the interface that says so, such as "4.17"; people who
            read the message have no such text, so it is an attribute alone.
        sent: What was and was not sent, as a sentence.
        problems: All problems when several fields are wrong, this one included.
    """

    def __init__(
        self,
        field: str,
        *,
        got: object,
        accepted: str,
        spec: str | None = None,
        sent: str = NOTHING_SENT,
        problems: Sequence[HasSentence] = (),
    ) -> None:
        self.field = field
        self.got = got
        self.accepted = accepted
        self.spec = spec
        self.problems = tuple(problems)
        super().__init__(f"{self._sentences()} {sent}")

    def _sentences(self) -> str:
        if not self.problems:
            return f"{self.field} must be {self.accepted} (got {shown(self.got)})."
        return "\n".join(f"{p.sentence}." for p in self.problems)

    @classmethod
    def of(
        cls,
        problems: Sequence[HasSentence],
        *,
        spec: str | None = None,
        sent: str = NOTHING_SENT,
    ) -> InputError:
        """Make one error of all the problems of a request; the first names it."""
        first = problems[0]
        return cls(
            first.field,
            got=first.got,
            accepted=first.accepted,
            spec=spec,
            sent=sent,
            problems=problems,
        )


class AnswerError(MediakitError):
    """An error that the service answered, or that stands for its silence.

    Args:
        message: One or more sentences for people.
        status: The HTTP status; None when there was no answer.
        job_id: The job that the answer named, if it named one.
    """

    def __init__(
        self, message: str, *, status: int | None = None, job_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.job_id = job_id


class AuthError(AnswerError):
    """The API key is missing, wrong or inactive (spec 5)."""


class NotFoundError(AnswerError):
    """The organization has no such job, function or record (spec 7.2)."""


class ConflictError(AnswerError):
    """The job is not in the needed state, or one key came with two bodies."""


class GoneError(AnswerError):
    """The job was erased, or the service no longer knows it (spec 7.2)."""


class ServiceError(AnswerError):
    """The service could not be reached, or did not answer as specified."""


class RateLimitError(AnswerError):
    """Too many requests, a full queue or a usage limit (spec 4.3).

    Args:
        message: One or more sentences for people.
        retry_after_s: Seconds to wait, as the service said; None if it did not.
        retry_at: The same as an instant in UTC.
        status: The HTTP status.
        job_id: The failed job of the answer.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        retry_at: datetime | None = None,
        status: int | None = None,
        job_id: str | None = None,
    ) -> None:
        super().__init__(message, status=status, job_id=job_id)
        self.retry_after_s = retry_after_s
        self.retry_at = retry_at


class BalanceError(AnswerError):
    """The balance cannot carry the request (spec 4.3).

    Args:
        message: One or more sentences for people.
        needed_micro_usd: The upper end of the request's price; None if unknown.
        available_micro_usd: What could be spent; None if unknown.
        status: The HTTP status; None when nothing was sent.
        job_id: The failed job of the answer.
    """

    def __init__(
        self,
        message: str,
        *,
        needed_micro_usd: int | None = None,
        available_micro_usd: int | None = None,
        status: int | None = None,
        job_id: str | None = None,
    ) -> None:
        super().__init__(message, status=status, job_id=job_id)
        self.needed_micro_usd = needed_micro_usd
        self.available_micro_usd = available_micro_usd


class BudgetError(MediakitError):
    """The caller's own budget cannot carry the request; nothing was sent.

    Args:
        message: One or more sentences for people.
        needed_micro_usd: The upper end of the request's price; None if unknown.
        available_micro_usd: What is left of the budget.
    """

    def __init__(
        self, message: str, *, needed_micro_usd: int | None, available_micro_usd: int
    ) -> None:
        super().__init__(message)
        self.needed_micro_usd = needed_micro_usd
        self.available_micro_usd = available_micro_usd


class JobFailedError(MediakitError):
    """The job ended as failed; only successful generations are charged (spec 7.3).

    Args:
        message: One or more sentences for people.
        job: The job.
        code: Its `error.code`.
    """

    def __init__(self, message: str, *, job: HasId, code: str) -> None:
        super().__init__(message)
        self.job = job
        self.code = code


class WaitTimeoutError(MediakitError):
    """Waiting ended before the job did; the job goes on.

    Args:
        message: One or more sentences for people.
        job: The job, to wait for again.
        waited_s: Seconds waited.
    """

    def __init__(self, message: str, *, job: HasId, waited_s: float) -> None:
        super().__init__(message)
        self.job = job
        self.waited_s = waited_s


class SignatureError(MediakitError):
    """A webhook is not what it claims to be (spec 6.4).

    Args:
        message: One or more sentences for people.
        reason: "missing_header", "header" (repeated or unreadable), "timestamp",
            "signature", "payload" (the body) or "secret" (your own).
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
