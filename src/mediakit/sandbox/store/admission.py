"""Admits jobs: the idempotency key, the hold and the queue (spec 4.3)."""

from collections.abc import Callable
from dataclasses import dataclass

from mediakit.records import ErrorCode
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.holds_and_charges import hold, open_charge
from mediakit.sandbox.store.jobs import JobRow, find
from mediakit.sandbox.store.limits import (
    Refusal,
    SpendRequest,
    refusal_of_more,
    refusal_of_submit,
    terms_of,
)

UNPRICEABLE_MESSAGE = "This combination of fields has no price. Nothing was charged."

OUTAGE_MESSAGE = (
    "The function is not available at the moment. Nothing was charged. Send it again "
    "later, with a new idempotency key."
)


@dataclass(frozen=True)
class NewJob:
    """A valid submission to admit.

    Args:
        id: The job id, shape `media_<uuid>`.
        org: The organization.
        api_key: The id of the key.
        function: The path `vendor/model/function`.
        body: The canonical body, as JSON.
        webhook_url: The callback URL of its end.
        file: The unguessable name of its future output.
        price_micro_usd: What it may cost at most; None when it has no price.
        created_us: When it was submitted.
        start_due_us: When it may start.
        settle_due_us: When it settles if it is rejected.
        refusal: A requested rejection; None for other jobs.
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
    """The idempotency key of a submission, and a hash of its request."""

    key: str
    request_sha256: bytes


class KeyReusedError(Exception):
    """An idempotency key was used again with another request (spec 4.3)."""


class NoBillingPlanError(Exception):
    """The organization has no billing plan: no job can be created (spec 7.2)."""


def find_repeated(db: Database, org: str, repeat: Repeatable) -> JobRow | None:
    """Find the job of an idempotency key; None when the key is new.

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


@dataclass(frozen=True)
class Admission:
    """A job that was just created.

    Args:
        job: The job, queued or failed.
        refusal: Why it was rejected; None when it was admitted.
    """

    job: JobRow
    refusal: Refusal | None


def submit(
    db: Database,
    new: NewJob,
    repeat: Repeatable | None,
    is_out: Callable[[], bool] = lambda: False,
) -> Admission | None:
    """Admit or reject a job, unless its idempotency key already has one (spec 4.3).

    The key, the hold and the job are written in one transaction on one connection, so
    two requests with one key create one job, and no two jobs hold the same money.

    Args:
        db: The database.
        new: The submission.
        repeat: Its idempotency key, if it has one.
        is_out: Returns whether the function has an outage. It is called only for
            jobs that would be admitted.

    Returns:
        The new job; None when the key already has a job.

    Raises:
        KeyReusedError: The key is bound to another request.
        KeyGoneError: The API key no longer exists; no job was created.
        NoBillingPlanError: No job was created.
    """
    with db.transaction():
        if repeat is not None and find_repeated(db, new.org, repeat) is not None:
            return None
        refusal = _refusal(db, new, is_out)
        if refusal is None:
            _insert(db, new, "queued", hold_micro_usd=new.price_micro_usd or 0)
            hold(db, new.org, new.price_micro_usd or 0)
            db.run("UPDATE org SET queued_n = queued_n + 1 WHERE id = ?", new.org)
        else:
            _insert(db, new, "failed", refusal=refusal)
        if repeat is not None:
            _bind(db, new, repeat)
    job = find(db, new.id)
    if job is None:
        raise LookupError(f"no job {new.id}, which was just created")
    return Admission(job, refusal)


def _bind(db: Database, new: NewJob, repeat: Repeatable) -> None:
    db.run(
        "INSERT INTO idempotency (org, key, request_sha256, job) VALUES (?, ?, ?, ?)",
        new.org,
        repeat.key,
        repeat.request_sha256,
        new.id,
    )


def _refusal(db: Database, new: NewJob, is_out: Callable[[], bool]) -> Refusal | None:
    request = SpendRequest(new.org, new.api_key, new.price_micro_usd, new.created_us)
    terms = terms_of(db, request)
    if not terms["billing_plan"]:
        raise NoBillingPlanError
    refusal = new.refusal or refusal_of_submit(db, terms, request)
    if refusal is not None:
        return refusal
    if is_out():
        return Refusal(ErrorCode.PROVIDER_UNAVAILABLE, OUTAGE_MESSAGE)
    if new.price_micro_usd is None:
        return Refusal(ErrorCode.INVALID_INPUT, UNPRICEABLE_MESSAGE)
    return None


def hold_more(
    db: Database, job_id: str, to_micro_usd: int, now_us: int
) -> Refusal | None:
    """Raise the hold of a job whose price is known only now.

    Args:
        db: The database.
        job_id: The job.
        to_micro_usd: Its new hold.
        now_us: The sandbox's time.

    Returns:
        Why the hold was rejected, with nothing changed; None when it was raised.
    """
    with db.transaction():
        job = find(db, job_id)
        if job is None:
            raise LookupError(f"no job {job_id}")
        more = to_micro_usd - job.hold_micro_usd
        if more <= 0:
            return None
        request = SpendRequest(job.org, job.api_key, more, now_us)
        refusal = refusal_of_more(db, terms_of(db, request), request)
        if refusal is None:
            hold(db, job.org, more)
            db.run(
                "UPDATE job SET hold_micro_usd = ? WHERE id = ?", to_micro_usd, job_id
            )
        return refusal


def _insert(
    db: Database,
    new: NewJob,
    status: str,
    *,
    hold_micro_usd: int = 0,
    refusal: Refusal | None = None,
) -> None:
    code = None if refusal is None else refusal.code
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
        None if refusal is None else new.created_us,
        code,
        None if refusal is None else refusal.message,
    )
    if refusal is not None:
        open_charge(db, new.id, 0, hold_micro_usd=0, due_us=new.settle_due_us)
