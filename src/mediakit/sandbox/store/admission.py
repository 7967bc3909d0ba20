"""Admitting jobs: the idempotency key, the hold and the queue (spec 4.3)."""

from collections.abc import Callable
from dataclasses import dataclass

from mediakit.records import ErrorCode
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.jobs import JobRow, find
from mediakit.sandbox.store.limits import (
    Ask,
    Refusal,
    refusal_of_more,
    refusal_of_submit,
    terms_of,
)
from mediakit.sandbox.store.money import hold, open_charge

UNPRICEABLE_MESSAGE = "This combination of fields has no price. Nothing was charged."

OUTAGE_MESSAGE = (
    "The function is not available at the moment. Nothing was charged. Send it again "
    "later, with a new idempotency key."
)


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
        settle_due_us: When it settles, should it be rejected.
        refusal: Why it is rejected in any case; None for a job like any other.
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


class NoBillingPlanError(Exception):
    """The organization has no billing plan: no job can be made (spec 7.2)."""


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


@dataclass(frozen=True)
class Admission:
    """A job that was just made.

    Args:
        job: The job, queued or failed.
        refusal: Why it was rejected; None when it was not.
    """

    job: JobRow
    refusal: Refusal | None


def submit(
    db: Database,
    new: NewJob,
    repeat: Repeatable | None,
    is_out: Callable[[], bool] = lambda: False,
) -> Admission | None:
    """Admit a job or turn it away, or find the job that its key made (spec 4.3).

    The key, the hold and the job are one transaction on one connection, so two
    posts with one key make one job, and no two jobs hold the same money.

    Args:
        db: The database.
        new: The submit.
        repeat: Its idempotency key, if it has one.
        is_out: Returns whether jobs find nobody to run them. It is asked for those
            alone that would be admitted.

    Returns:
        The new job; None when the key has made one already.

    Raises:
        KeyReusedError: The key is bound to another request.
        KeyGoneError: There is no such key any more; nothing was made.
        NoBillingPlanError: Nothing was made.
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
        raise LookupError(f"no job {new.id}, which was just made")
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
    ask = Ask(new.org, new.api_key, new.price_micro_usd, new.created_us)
    terms = terms_of(db, ask)
    if not terms["billing_plan"]:
        raise NoBillingPlanError
    refusal = new.refusal or refusal_of_submit(db, terms, ask)
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
    """Set more aside for a job whose price is known only now.

    Args:
        db: The database.
        job_id: The job.
        to_micro_usd: What must be held for it in all.
        now_us: The sandbox's time.

    Returns:
        Why that cannot be, with nothing changed; None when it is held.
    """
    with db.transaction():
        job = find(db, job_id)
        if job is None:
            raise LookupError(f"no job {job_id}")
        more = to_micro_usd - job.hold_micro_usd
        if more <= 0:
            return None
        ask = Ask(job.org, job.api_key, more, now_us)
        refusal = refusal_of_more(db, terms_of(db, ask), ask)
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
