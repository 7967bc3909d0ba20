"""Faults in the response to a submission, and the expected outcome of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mediakit.errors import (
    AuthError,
    ConflictError,
    InputError,
    MediakitError,
    NotFoundError,
    RateLimitError,
    ServiceError,
)

IMPATIENT_S = 0.4
PAGE = "<html><h1>Bad gateway</h1></html>"

Fault = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A fault during a submission, and the expected outcome.

    Args:
        name: What happens.
        faults: The fault as rules of the sandbox.
        later: Rules that come into force while the client waits for the first time.
        org: Limits of the organization.
        later_org: Changes during the client's first wait.
        jobs: How many jobs the service makes and charges.
        posts: The number of requests; None if it depends on chance.
        keys: The number of idempotency keys; None if it depends on chance.
        error: The error of the call; None if it returns the job.
        words: What the error says.
        sent: The error's `sent`: True if the outcome is known, None if it is not.
        asked_s: Seconds that the service asks the client to wait.
        timeout_s: Real seconds until a request without a response times out.
    """

    name: str
    faults: tuple[Fault, ...] = ()
    later: tuple[Fault, ...] = ()
    org: Mapping[str, Any] = field(default_factory=dict)
    later_org: Mapping[str, Any] = field(default_factory=dict)
    jobs: int = 1
    posts: int | None = 2
    keys: int | None = 1
    error: type[MediakitError] | None = None
    words: str = ""
    sent: bool | None = True
    asked_s: int = 0
    timeout_s: float = 300.0


def once(kind: str, **parameters: Any) -> tuple[Fault, ...]:
    return ({"kind": kind, "count": 1, **parameters},)


def always(kind: str, **parameters: Any) -> tuple[Fault, ...]:
    return ({"kind": kind, **parameters},)


def gateway(status: int, **more: Any) -> tuple[Fault, ...]:
    return once("status", status=status, text=PAGE, **more)


FULL = {"concurrency": 0, "queue_size": 0}
WELL = {
    "concurrency": 2,
    "queue_size": 9,
    "suspended": False,
    "billing_plan": True,
    "per_day": None,
}
DROPPED, LOST, AWAY = once("drop_before"), once("drop_after"), once("outage")
IN_DOUBT = "not known whether the job was created"
NO_JOB = "no job was created. Nothing was charged"
EARLIER = "an earlier attempt may have created the job"

SILENCE = [
    Row("dropped before the job is made", DROPPED),
    Row("dropped before, twice", DROPPED * 2, posts=3),
    Row("dropped after the job is made", LOST),
    Row("dropped after, twice", LOST * 2, posts=3),
    Row("dropped before, then after", DROPPED + LOST, posts=3),
    Row(
        "no answer in time, before",
        once("latency", seconds=1),
        posts=None,
        timeout_s=IMPATIENT_S,
    ),
    Row(
        "no answer in time, after",
        once("slow", bytes_per_s=0.5),
        posts=None,
        timeout_s=IMPATIENT_S,
    ),
    Row(
        "no answer in time, after, twice",
        once("slow", bytes_per_s=0.5) * 2,
        posts=None,
        timeout_s=IMPATIENT_S,
    ),
    Row("slow bytes", once("slow", bytes_per_s=400), posts=1),
    Row("JSON cut off, the connection too", once("truncate", bytes=20)),
    Row("JSON cut off, twice", once("truncate") * 2, posts=3),
    Row("no byte of the body", once("truncate", bytes=0)),
    Row(
        "JSON cut off as if it were whole",
        once("status", status=200, text='{"id": "media_1", "sta', after=True),
    ),
    Row("200 with a page instead of a job", gateway(200, after=True)),
    Row(
        "200 with JSON that is no job",
        once("status", status=200, text='{"ok": true}', after=True),
    ),
    Row(
        "dropped after, for ever",
        always("drop_after"),
        posts=None,
        error=ServiceError,
        words=IN_DOUBT,
        sent=None,
    ),
    Row(
        "dropped before, for ever",
        always("drop_before"),
        jobs=0,
        posts=None,
        error=ServiceError,
        words=IN_DOUBT,
        sent=None,
    ),
]
GATEWAYS = [
    *(Row(f"{n} of a gateway, before", gateway(n)) for n in (500, 502, 503, 504)),
    *(
        Row(f"{n} of a gateway, after", gateway(n, after=True))
        for n in (500, 502, 503, 504)
    ),
    Row("504 of a gateway, after, twice", gateway(504, after=True) * 2, posts=3),
    Row("504 {message}, after", once("status", status=504, after=True)),
    Row("503 of a gateway, 2 s", gateway(503, retry_after=2), asked_s=2),
    Row(
        "503 of a gateway, 3,600 s",
        gateway(503, retry_after=3_600),
        jobs=0,
        posts=1,
        error=ServiceError,
        words=IN_DOUBT,
        sent=None,
        asked_s=3_600,
    ),
]
TURNED_AWAY = [
    Row("503 failed job", AWAY, keys=2),
    Row("503 failed job, twice", AWAY * 2, posts=3, keys=3),
    Row("503 failed job, its answer lost", AWAY + LOST, posts=3, keys=2),
    Row(
        "503 failed job, for ever",
        always("outage"),
        jobs=0,
        posts=4,
        keys=4,
        error=ServiceError,
        words="Nothing was charged. Try later",
    ),
    Row("429 failed job, 2 s", org=FULL, later_org=WELL, keys=2, asked_s=2),
    Row(
        "429 failed job, 2 s, for ever",
        org=FULL,
        jobs=0,
        posts=None,
        keys=None,
        error=RateLimitError,
        words="Nothing was charged",
    ),
    Row(
        "429 failed job, 3,600 s",
        org={"per_day": 0},
        jobs=0,
        posts=1,
        error=RateLimitError,
        words="Nothing was charged",
        asked_s=3_600,
    ),
    Row("429 {message}, 2 s", once("status", status=429, retry_after=2), asked_s=2),
    Row(
        "429 {message}, 2 s, twice",
        once("status", status=429, retry_after=2) * 2,
        posts=3,
    ),
    Row(
        "429 {message}, 3,600 s",
        once("status", status=429, retry_after=3_600),
        jobs=0,
        posts=1,
        error=RateLimitError,
        words=NO_JOB,
        asked_s=3_600,
    ),
]
REFUSED = [
    Row(
        "403 failed job, suspended",
        org={"suspended": True},
        jobs=0,
        posts=1,
        error=AuthError,
        words="Nothing was charged",
    ),
    Row(
        "500 {message}",
        org={"billing_plan": False},
        jobs=0,
        posts=1,
        error=ServiceError,
        words=NO_JOB,
    ),
    *(
        Row(
            f"{status} {{message}}",
            once("status", status=status),
            jobs=0,
            posts=1,
            error=error,
            words=words,
        )
        for status, error, words in (
            (400, InputError, "sent and refused. Nothing was charged"),
            (401, AuthError, NO_JOB),
            (403, AuthError, NO_JOB),
            (404, NotFoundError, NO_JOB),
            (409, ConflictError, "not be sent again"),
            (422, InputError, "sent and refused. Nothing was charged"),
        )
    ),
    Row(
        "dropped after, then 401",
        LOST,
        later=once("status", status=401),
        error=AuthError,
        words=EARLIER,
        sent=None,
    ),
    Row(
        "dropped before, then 404 {message}",
        DROPPED,
        later=once("status", status=404),
        jobs=0,
        error=NotFoundError,
        words=EARLIER,
        sent=None,
    ),
    Row(
        "dropped before, then 413 of a gateway",
        DROPPED,
        later=gateway(413),
        jobs=0,
        error=ServiceError,
        words=EARLIER,
        sent=None,
    ),
    *(
        Row(
            f"dropped after, then {status} {{message}}",
            LOST,
            later=once("status", status=status),
            error=error,
            words=EARLIER,
            sent=None,
        )
        for status, error in (
            (400, InputError),
            (404, NotFoundError),
            (422, InputError),
        )
    ),
    *(
        Row(
            f"dropped after, then {status} of a gateway",
            LOST,
            later=gateway(status),
            posts=3,
        )
        for status in (400, 404, 409, 422)
    ),
    Row(
        "lost, then 404 of a gateway, for ever",
        LOST,
        later=always("status", status=404, text=PAGE),
        posts=None,
        error=ServiceError,
        words=IN_DOUBT,
        sent=None,
    ),
    Row(
        "404 of a gateway",
        gateway(404),
        jobs=0,
        posts=1,
        error=NotFoundError,
        words=NO_JOB,
    ),
]

ROWS = [*SILENCE, *GATEWAYS, *TURNED_AWAY, *REFUSED]
