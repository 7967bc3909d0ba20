"""Admits jobs: idempotency key, limits, hold and queue (spec 4.3)."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mediakit.api_models import ErrorCode
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.store.jobs import JobRow, find
from mediakit.sandbox.store.money import cycle_at, hold, open_charge, settled_micro_usd

UNPRICEABLE_MESSAGE = "This combination of fields has no price. Nothing was charged."

OUTAGE_MESSAGE = (
    "The function is not available at the moment. Nothing was charged. Send it again "
    "later, with a new idempotency key."
)

US_PER_MINUTE = 60_000_000
US_PER_DAY = 86_400_000_000


@dataclass(frozen=True)
class Refusal:
    """Why a job is rejected, and when it may be sent again.

    `over_usage_limit` means that a limit of the member or the key is the reason. It has
    the code of a rate limit and another HTTP status (spec 4.3).
    """

    code: ErrorCode
    message: str
    retry_at_us: int | None = None
    over_usage_limit: bool = False


@dataclass(frozen=True)
class NewJob:
    """A valid submission to admit.

    `price_micro_usd` is its highest cost, or None if it has no price. `base_url` is the
    URL at which the caller reached the service.
    """

    id: str
    org: str
    api_key: str
    function: str
    body: str
    file: str
    price_micro_usd: int | None
    created_us: int
    settle_due_us: int
    webhook_url: str | None = None
    base_url: str | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class IdempotencyRecord:
    """The idempotency key of a submission, and a hash of its request."""

    key: str
    request_sha256: bytes


class KeyReusedError(Exception):
    """An idempotency key was reused with another request (spec 4.3)."""


class NoBillingPlanError(Exception):
    """The organization has no billing plan: no job can be created (spec 7.2)."""


class KeyGoneError(LookupError):
    """The API key was removed between reading it and using it."""


def find_repeated(
    db: SandboxDatabase, org: str, repeat: IdempotencyRecord
) -> JobRow | None:
    """Find the job of an idempotency key; None if the key is new."""
    row = db.one(
        "SELECT request_sha256, job FROM idempotency WHERE org = ? AND key = ?",
        org,
        repeat.key,
    )
    if row is None:
        return None
    if row["request_sha256"] != repeat.request_sha256:
        raise KeyReusedError
    return find(db, row["job"])


def submit(
    db: SandboxDatabase,
    new: NewJob,
    repeat: IdempotencyRecord | None,
    is_out: Callable[[], bool] = lambda: False,
) -> tuple[JobRow, Refusal | None]:
    """Admit or reject a job, unless its idempotency key has one (spec 4.3).

    The key, the hold and the job are written in one transaction on one connection, so
    two requests with one key create one job, and no two jobs hold the same money.
    """
    with db.transaction():
        if repeat is not None and (earlier := find_repeated(db, new.org, repeat)):
            return earlier, None
        refusal = _refusal(db, new, is_out)
        _insert(db, new, refusal)
        if repeat is not None:
            db.insert("idempotency", org=new.org, job=new.id, **vars(repeat))
        job = find(db, new.id)
    if job is None:
        raise LookupError(f"no job {new.id}, which was just created")
    return job, refusal


def _refusal(
    db: SandboxDatabase, new: NewJob, is_out: Callable[[], bool]
) -> Refusal | None:
    price = new.price_micro_usd
    terms = _terms(db, new.org, new.api_key)
    if not terms["billing_plan"]:
        raise NoBillingPlanError
    refusals = _refusals(db, terms, price, new.created_us)
    if refusal := new.refusal or next(refusals, None):
        return refusal
    if is_out():
        return Refusal(ErrorCode.PROVIDER_UNAVAILABLE, OUTAGE_MESSAGE)
    if price is None:
        return Refusal(ErrorCode.INVALID_INPUT, UNPRICEABLE_MESSAGE)
    return None


def _insert(db: SandboxDatabase, new: NewJob, refusal: Refusal | None) -> None:
    hold_micro_usd = (new.price_micro_usd or 0) if refusal is None else 0
    db.insert(
        "job",
        id=new.id,
        org=new.org,
        api_key=new.api_key,
        function=new.function,
        status="queued" if refusal is None else "failed",
        body=new.body,
        webhook_url=new.webhook_url,
        base_url=new.base_url,
        file=new.file,
        hold_micro_usd=hold_micro_usd,
        created_us=new.created_us,
        ended_us=None if refusal is None else new.created_us,
        error_code=None if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )
    if refusal is None:
        hold(db, new.org, hold_micro_usd)
        db.run("UPDATE org SET queued_n = queued_n + 1 WHERE id = ?", new.org)
    else:
        open_charge(db, new.id, 0, hold_micro_usd=0, due_us=new.settle_due_us)


def hold_more(
    db: SandboxDatabase, job_id: str, to_micro_usd: int, now_us: int
) -> Refusal | None:
    """Raise the hold of a job whose price is now known, or return the refusal."""
    with db.transaction():
        job = find(db, job_id)
        if job is None:
            raise LookupError(f"no job {job_id}")
        increase = to_micro_usd - job.hold_micro_usd
        if increase <= 0:
            return None
        terms = _terms(db, job.org, job.api_key)
        refusal = next(_money_refusals(db, terms, increase, now_us), None)
        if refusal is None:
            hold(db, job.org, increase)
            db.update("job", {"id": job_id}, hold_micro_usd=to_micro_usd)
        return refusal


# -- The limits -------------------------------------------------------------------


def _terms(db: SandboxDatabase, org: str, api_key: str) -> sqlite3.Row:
    """Read an organization with the limits of a key and of the key's member."""
    terms = db.one(
        "SELECT org.*, api_key.id AS api_key, api_key.member,"
        " api_key.daily_limit_micro_usd AS key_limit_micro_usd,"
        " member.daily_limit_micro_usd AS member_limit_micro_usd"
        " FROM api_key JOIN org ON org.id = api_key.org"
        " LEFT JOIN member ON member.id = api_key.member WHERE api_key.id = ?",
        api_key,
    )
    if terms is None or terms["id"] != org:
        raise KeyGoneError(f"no key {api_key} of {org}")
    return terms


def _refusals(
    db: SandboxDatabase, terms: sqlite3.Row, price: int | None, now_us: int
) -> Iterator[Refusal]:
    """Yield the reasons to reject a job, in the order of the interface."""
    # Check the daily limit first, so that a client over both limits waits for the later
    # time.
    windows = (
        ("day", terms["per_day"], US_PER_DAY),
        ("minute", terms["per_minute"], US_PER_MINUTE),
    )
    for words, limit, length_us in windows:
        start_us = now_us - now_us % length_us
        if limit is not None and _submits_since(db, terms["id"], start_us) >= limit:
            yield Refusal(
                ErrorCode.RATE_LIMITED,
                f"The organization has reached its limit of {limit} jobs a {words}. "
                f"Submit it again after the current {words} ends, with a new "
                "idempotency key.",
                retry_at_us=start_us + length_us,
            )
    running, queued = terms["running_n"], terms["queued_n"]
    if running + queued >= terms["concurrency"] + terms["queue_size"]:
        yield Refusal(
            ErrorCode.RATE_LIMITED,
            f"The queue is full: {running} jobs are running and {queued} are queued. "
            "Submit it later, with a new idempotency key.",
        )
    if terms["suspended"]:
        yield Refusal(
            ErrorCode.ADMISSION_SUSPENDED,
            "The organization is suspended: it can read but not submit. Nothing was "
            "charged.",
        )
    if price is not None:
        yield from _money_refusals(db, terms, price, now_us)


def _submits_since(db: SandboxDatabase, org: str, start_us: int) -> int:
    # Rejected jobs do not count, or a client that keeps submitting would never be
    # admitted. A job that has started was not rejected, whatever its error code.
    return int(
        db.value(
            "SELECT count(*) FROM job WHERE org = ? AND created_us >= ?"
            " AND (started_us IS NOT NULL OR error_code IS NOT ?)",
            org,
            start_us,
            ErrorCode.RATE_LIMITED,
        )
    )


def _money_refusals(
    db: SandboxDatabase, terms: sqlite3.Row, price: int, now_us: int
) -> Iterator[Refusal]:
    available = left_micro_usd(db, terms, now_us)
    if price > available:
        code = ErrorCode.INSUFFICIENT_BALANCE
        of = "balance"
        if terms["mode"] == "postpaid":
            code = ErrorCode.CYCLE_LIMIT_EXCEEDED
            of = "cycle's limit"
        yield Refusal(
            code,
            f"The job needs {price} micro-USD, but only {available} micro-USD of the "
            f"{of} is neither spent nor held. Nothing was charged.",
        )
    start_us = now_us - now_us % US_PER_DAY
    for words, limit, keys, of in (
        ("API key", terms["key_limit_micro_usd"], "SELECT ?", terms["api_key"]),
        ("member", terms["member_limit_micro_usd"], _KEYS_OF_MEMBER, terms["member"]),
    ):
        if limit is None:
            continue
        used = _used_micro_usd(db, terms["id"], start_us, keys, of)
        if used + price > limit:
            yield Refusal(
                ErrorCode.RATE_LIMITED,
                f"The job needs {price} micro-USD, but this {words} can use {limit} "
                f"micro-USD a day and has used or holds {used}. Nothing was charged.",
                retry_at_us=start_us + US_PER_DAY,
                over_usage_limit=True,
            )


def left_micro_usd(db: SandboxDatabase, terms: sqlite3.Row, now_us: int) -> int:
    """Return the micro-USD that an organization can still hold.

    The amount is the balance minus the holds, or for a postpaid organization the
    cycle's limit minus the charges settled in the cycle and the holds; it can be
    negative after a limit was lowered.
    """
    holds: int = terms["held_micro_usd"]
    if terms["mode"] == "prepaid":
        return int(terms["balance_micro_usd"]) - holds
    start_us, _ = cycle_at(now_us)
    settled = settled_micro_usd(db, terms["id"], start_us)
    return int(terms["cycle_limit_micro_usd"]) - settled - holds


_KEYS_OF_MEMBER = "SELECT id FROM api_key WHERE member = ?"


def _used_micro_usd(
    db: SandboxDatabase, org: str, start_us: int, keys: str, of: str
) -> int:
    """Sum the charges of some keys since an instant, and their current holds.

    There is one subquery per state, because each has its own index.
    """
    return int(
        db.value(
            f"WITH k AS ({keys}) SELECT"
            " (SELECT coalesce(sum(charge_micro_usd), 0) FROM charge WHERE org = ?"
            "  AND state = 'settled' AND settled_us >= ? AND api_key IN k)"
            " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM charge"
            "  WHERE state = 'pending' AND api_key IN k)"
            " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM job WHERE org = ?"
            "  AND status = 'queued' AND api_key IN k)"
            " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM job WHERE org = ?"
            "  AND status = 'running' AND api_key IN k)",
            of,
            org,
            start_us,
            org,
            org,
        )
    )
