"""The limits of admission: requests, the queue and money (spec 4.3, 8)."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from mediakit.records import ErrorCode
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.holds_and_charges import cycle_at, settled_micro_usd

US_PER_MINUTE = 60_000_000
US_PER_DAY = 86_400_000_000


@dataclass(frozen=True)
class Refusal:
    """Why a job is rejected.

    Args:
        code: The code of its error.
        message: One or more sentences for people.
        retry_at_us: When the same limit accepts it again; None when no fixed time is
            known.
        over_usage_limit: A member's or a key's own limit is the reason: it has the
            code of a rate limit and another HTTP status (spec 4.3).
    """

    code: ErrorCode
    message: str
    retry_at_us: int | None = None
    over_usage_limit: bool = False


@dataclass(frozen=True)
class SpendRequest:
    """A request to spend an organization's money.

    Args:
        org: The organization.
        api_key: The id of the key.
        price_micro_usd: The most to spend in addition; None when unknown.
        now_us: The sandbox's time.
    """

    org: str
    api_key: str
    price_micro_usd: int | None
    now_us: int


class KeyGoneError(LookupError):
    """The API key was removed between reading it and using it."""


Check = Callable[[Database, sqlite3.Row, SpendRequest], Refusal | None]


def terms_of(db: Database, request: SpendRequest) -> sqlite3.Row:
    """Read an organization with the limits of a key and of the key's member.

    Raises:
        KeyGoneError: The organization no longer has this key.
    """
    terms = db.row(
        "SELECT org.*, api_key.daily_limit_micro_usd AS key_limit_micro_usd,"
        " api_key.member, member.daily_limit_micro_usd AS member_limit_micro_usd"
        " FROM api_key JOIN org ON org.id = api_key.org"
        " LEFT JOIN member ON member.id = api_key.member WHERE api_key.id = ?",
        request.api_key,
    )
    if terms is None or terms["id"] != request.org:
        raise KeyGoneError(f"no key {request.api_key} of {request.org}")
    return terms


def refusal_of_submit(
    db: Database, terms: sqlite3.Row, request: SpendRequest
) -> Refusal | None:
    """Find the first limit that rejects a submission, in the interface's order."""
    return _first(db, terms, request, (_requests, _queue, _suspension, _money, _usage))


def refusal_of_more(
    db: Database, terms: sqlite3.Row, request: SpendRequest
) -> Refusal | None:
    """Find the limit that rejects a higher hold of an admitted job."""
    return _first(db, terms, request, (_money, _usage))


def _first(
    db: Database, terms: sqlite3.Row, request: SpendRequest, checks: tuple[Check, ...]
) -> Refusal | None:
    found = (check(db, terms, request) for check in checks)
    return next((refusal for refusal in found if refusal is not None), None)


def _requests(
    db: Database, terms: sqlite3.Row, request: SpendRequest
) -> Refusal | None:
    # The day first, so that a client over both limits waits for the later one.
    windows = (
        ("day", terms["per_day"], US_PER_DAY),
        ("minute", terms["per_minute"], US_PER_MINUTE),
    )
    for words, limit, length_us in windows:
        start_us = request.now_us - request.now_us % length_us
        if limit is not None and _submits_since(db, request.org, start_us) >= limit:
            return Refusal(
                ErrorCode.RATE_LIMITED,
                f"The organization has reached its limit of {limit} jobs a {words}. "
                f"Submit it in the next {words}, with a new idempotency key.",
                retry_at_us=start_us + length_us,
            )
    return None


def _submits_since(db: Database, org: str, start_us: int) -> int:
    # Rejected jobs do not count, or a client that keeps submitting would never be
    # admitted. A job that has started was not rejected, whatever its error code.
    row = db.row(
        "SELECT count(*) AS n FROM job WHERE org = ? AND created_us >= ?"
        " AND (started_us IS NOT NULL OR error_code IS NOT ?)",
        org,
        start_us,
        ErrorCode.RATE_LIMITED,
    )
    return 0 if row is None else int(row["n"])


def _queue(db: Database, terms: sqlite3.Row, request: SpendRequest) -> Refusal | None:
    running, queued = terms["running_n"], terms["queued_n"]
    if running + queued < terms["concurrency"] + terms["queue_size"]:
        return None
    return Refusal(
        ErrorCode.RATE_LIMITED,
        f"The queue is full: {running} jobs are running and {queued} are queued. "
        "Submit it later, with a new idempotency key.",
    )


def _suspension(
    db: Database, terms: sqlite3.Row, request: SpendRequest
) -> Refusal | None:
    if not terms["suspended"]:
        return None
    return Refusal(
        ErrorCode.ADMISSION_SUSPENDED,
        "The organization is suspended: it can read but not submit. Nothing was "
        "charged.",
    )


def _money(db: Database, terms: sqlite3.Row, request: SpendRequest) -> Refusal | None:
    price = request.price_micro_usd
    left = left_micro_usd(db, terms, request.now_us)
    if price is None or price <= left:
        return None
    code, of = ErrorCode.INSUFFICIENT_BALANCE, "balance"
    if terms["mode"] == "postpaid":
        code, of = ErrorCode.CYCLE_LIMIT_EXCEEDED, "cycle's limit"
    return Refusal(
        code,
        f"It needs {price} micro-USD; {left} micro-USD of the {of} are neither spent "
        "nor held. Nothing was charged.",
    )


def left_micro_usd(db: Database, terms: sqlite3.Row, now_us: int) -> int:
    """Return what an organization can still hold, micro-USD.

    It is the balance minus the holds, or in postpaid mode the cycle's limit minus the
    charges settled in the cycle and the holds; below 0 when a limit was lowered.

    Args:
        db: The database.
        terms: The organization's row.
        now_us: The sandbox's time.
    """
    held: int = terms["held_micro_usd"]
    if terms["mode"] == "prepaid":
        return int(terms["balance_micro_usd"]) - held
    start_us, _ = cycle_at(now_us)
    settled = settled_micro_usd(db, terms["id"], start_us)
    return int(terms["cycle_limit_micro_usd"]) - settled - held


def _usage(db: Database, terms: sqlite3.Row, request: SpendRequest) -> Refusal | None:
    if request.price_micro_usd is None:
        return None
    start_us = request.now_us - request.now_us % US_PER_DAY
    for words, limit, keys, of in (
        ("API key", terms["key_limit_micro_usd"], "SELECT ?", request.api_key),
        ("member", terms["member_limit_micro_usd"], _KEYS_OF_MEMBER, terms["member"]),
    ):
        if limit is None:
            continue
        used = _used_micro_usd(db, request.org, start_us, keys, of)
        if used + request.price_micro_usd > limit:
            return Refusal(
                ErrorCode.RATE_LIMITED,
                f"It needs {request.price_micro_usd} micro-USD; this {words} may use "
                f"{limit} micro-USD a day and has used or holds {used}. Nothing was "
                "charged.",
                retry_at_us=start_us + US_PER_DAY,
                over_usage_limit=True,
            )
    return None


_KEYS_OF_MEMBER = "SELECT id FROM api_key WHERE member = ?"


def _used_micro_usd(db: Database, org: str, start_us: int, keys: str, of: str) -> int:
    """Sum the charges of some keys since an instant, and their current holds.

    One subquery for each state, because each has its own index.
    """
    row = db.row(
        f"WITH k AS ({keys}) SELECT"
        " (SELECT coalesce(sum(charge_micro_usd), 0) FROM charge WHERE org = ?"
        "  AND state = 'settled' AND settled_us >= ? AND api_key IN k)"
        " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM charge"
        "  WHERE state = 'pending' AND api_key IN k)"
        " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM job WHERE org = ?"
        "  AND status = 'queued' AND api_key IN k)"
        " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM job WHERE org = ?"
        "  AND status = 'running' AND api_key IN k) AS used",
        of,
        org,
        start_us,
        org,
        org,
    )
    return 0 if row is None else int(row["used"])
