"""Admitting jobs: the idempotency key, the hold and the queue (spec 4.3)."""

from dataclasses import dataclass

from mediakit.records import ErrorCode
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.jobs import JobRow, find
from mediakit.sandbox.store.money import hold, open_charge

UNPRICEABLE_MESSAGE = "This combination of fields has no price. Nothing was charged."

Refusal = tuple[ErrorCode, str]
"""The code and the message of a job that is turned away."""


@dataclass(frozen=True)
class NewJob:
    """A valid submit that asks to be admitted.

    Args:
        id: The job id, shape `media_<uuid>`.
        org: The organization.
        api_key: The id of the key.
        function: The path `vendor/model/function`.
        body: The canonical body, as JSON.
        webhook_url: Where its end is announced.
        file: The unguessable name of its future output.
        price_micro_usd: What it may cost at most; None when it has no price.
        created_us: When it came.
        start_due_us: When it may start.
        settle_due_us: When it settles, should it be turned away.
        refusal: Why it is turned away in any case; None for a job like any other.
    """

    id: str
    org: str
    api_key: str
    function: str
    body: str
    webhook_url: str | None
    file: str
    price_micro_usd: int | None
    created_us: int
    start_due_us: int
    settle_due_us: int
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Repeatable:
    """The idempotency key of a submit, and a hash of what was submitted."""

    key: str
    request_sha256: bytes


class KeyReusedError(Exception):
    """An idempotency key came again with another request (spec 4.3)."""


def find_repeated(db: Database, org: str, repeat: Repeatable) -> JobRow | None:
    """Find the job that an idempotency key made before; None when it made none.

    Raises:
        KeyReusedError: The key is bound to another request.
    """
    row = db.row(
        "SELECT request_sha256, job FROM idempotency WHERE org = ? AND key = ?",
        org,
        repeat.key,
    )
    if row is None:
        return None
    if row["request_sha256"] != repeat.request_sha256:
        raise KeyReusedError
    return find(db, row["job"])


def submit(db: Database, new: NewJob, repeat: Repeatable | None) -> JobRow | None:
    """Admit a job or turn it away, or find the job that its key made (spec 4.3).

    The key, the hold and the job are one transaction on one connection, so two
    posts with one key make one job, and no two jobs hold the same money.

    Returns:
        The new job, queued or failed; None when the key has made one already.

    Raises:
        KeyReusedError: The key is bound to another request.
    """
    with db.transaction():
        if repeat is not None and find_repeated(db, new.org, repeat) is not None:
            return None
        refusal = new.refusal or _refusal(db, new)
        if refusal is None:
            _insert(db, new, "queued", hold_micro_usd=new.price_micro_usd or 0)
            hold(db, new.org, new.price_micro_usd or 0)
            db.run("UPDATE org SET queued_n = queued_n + 1 WHERE id = ?", new.org)
        else:
            _insert(db, new, "failed", refusal=refusal)
        if repeat is not None:
            _bind(db, new, repeat)
    return find(db, new.id)


def _bind(db: Database, new: NewJob, repeat: Repeatable) -> None:
    db.run(
        "INSERT INTO idempotency (org, key, request_sha256, job) VALUES (?, ?, ?, ?)",
        new.org,
        repeat.key,
        repeat.request_sha256,
        new.id,
    )


def _refusal(db: Database, new: NewJob) -> Refusal | None:
    org = db.row("SELECT * FROM org WHERE id = ?", new.org)
    if org is None:
        raise LookupError(f"no organization {new.org}")
    if new.price_micro_usd is None:
        return ErrorCode.INVALID_INPUT, UNPRICEABLE_MESSAGE
    available = org["balance_micro_usd"] - org["held_micro_usd"]
    if new.price_micro_usd > available:
        message = (
            f"The job may cost {new.price_micro_usd} micro-USD; {available} micro-USD "
            "of the balance are neither spent nor held. Nothing was charged."
        )
        return ErrorCode.INSUFFICIENT_BALANCE, message
    in_flight = org["queued_n"] + org["running_n"]
    if in_flight >= org["concurrency"] + org["queue_size"]:
        message = (
            f"{org['running_n']} jobs are running and {org['queued_n']} are queued, "
            "which is all that fits. Send it again later, with a fresh key."
        )
        return ErrorCode.RATE_LIMITED, message
    return None


def _insert(
    db: Database,
    new: NewJob,
    status: str,
    *,
    hold_micro_usd: int = 0,
    refusal: Refusal | None = None,
) -> None:
    code, message = refusal or (None, None)
    db.run(
        "INSERT INTO job (id, org, api_key, function, status, body, webhook_url, file,"
        " hold_micro_usd, created_us, start_due_us, ended_us, error_code,"
        " error_message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new.id,
        new.org,
        new.api_key,
        new.function,
        status,
        new.body,
        new.webhook_url,
        new.file,
        hold_micro_usd,
        new.created_us,
        new.start_due_us,
        None if code is None else new.created_us,
        code,
        message,
    )
    if code is not None:
        open_charge(db, new.id, 0, hold_micro_usd=0, due_us=new.settle_due_us)
