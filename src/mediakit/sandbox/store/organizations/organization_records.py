"""Organizations: their money, their limits, their members and their keys."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from sqlite3 import Row
from typing import Any, Literal

from mediakit.sandbox.store.database import Database, Value
from mediakit.sandbox.store.holds_and_charges import enter

# More than anyone needs, and far from the point where a sum overflows in SQLite.
MAX_MICRO_USD = 10**15

_ORG = (
    "id, name, mode, balance_micro_usd, credit_micro_usd, held_micro_usd,"
    " cycle_limit_micro_usd, concurrency, queue_size, per_minute, per_day, suspended,"
    " billing_plan"
)


@dataclass(frozen=True)
class NewOrg:
    """An organization to create.

    Args:
        name: Its name, for people.
        mode: Whether it pays from its balance or by invoice.
        balance_micro_usd: Its opening balance, credits included.
        credit_micro_usd: The credits in it, which are spent first.
        cycle_limit_micro_usd: What it may spend in a cycle; for postpaid ones only.
        concurrency: How many of its jobs run at once.
        queue_size: How many of its jobs may wait before further ones are rejected.
        per_minute: How many jobs it may submit a minute; None without limit.
        per_day: How many jobs it may submit a day in UTC; None without limit.
    """

    name: str
    mode: Literal["prepaid", "postpaid"] = "prepaid"
    balance_micro_usd: int = 0
    credit_micro_usd: int = 0
    cycle_limit_micro_usd: int | None = None
    concurrency: int = 2
    queue_size: int = 50
    per_minute: int | None = None
    per_day: int | None = None


def find_org(db: Database, org_id: str) -> Row:
    """Read the row of an existing organization."""
    row = db.row("SELECT * FROM org WHERE id = ?", org_id)
    if row is None:
        raise LookupError(f"no organization {org_id}")
    return row


def insert(db: Database, org_id: str, new: NewOrg, now_us: int) -> None:
    """Create an organization with its opening balance."""
    values: dict[str, Value] = {"id": org_id, **vars(new)}
    marks = ", ".join("?" * len(values))
    with db.transaction():
        db.run(
            f"INSERT INTO org ({', '.join(values)}) VALUES ({marks})", *values.values()
        )
        enter(
            db,
            org_id,
            "opening",
            new.balance_micro_usd,
            credit_micro_usd=new.credit_micro_usd,
            at_us=now_us,
        )


def make(db: Database, new: NewOrg, now_us: int) -> str:
    """Create an organization; return its id."""
    org_id = f"org_{uuid.uuid4()}"
    insert(db, org_id, new, now_us)
    return org_id


def change(db: Database, org_id: str, changes: Mapping[str, Value]) -> None:
    """Set columns of an organization, such as its limits."""
    _set(db, "org", org_id, changes)


def change_key(db: Database, key_id: str, changes: Mapping[str, Value]) -> None:
    """Set columns of a key: its state, its daily limit."""
    _set(db, "api_key", key_id, changes)


def _set(db: Database, table: str, row_id: str, changes: Mapping[str, Value]) -> None:
    if changes:
        columns = ", ".join(f"{name} = ?" for name in changes)
        db.run(f"UPDATE {table} SET {columns} WHERE id = ?", *changes.values(), row_id)


def grant(
    db: Database,
    org_id: str,
    amount_micro_usd: int,
    *,
    is_credit: bool,
    now_us: int,
) -> None:
    """Add credits or funds to an organization's balance."""
    credit_micro_usd = amount_micro_usd if is_credit else 0
    with db.transaction():
        db.run(
            "UPDATE org SET balance_micro_usd = balance_micro_usd + ?,"
            " credit_micro_usd = credit_micro_usd + ? WHERE id = ?",
            amount_micro_usd,
            credit_micro_usd,
            org_id,
        )
        enter(
            db,
            org_id,
            "grant",
            amount_micro_usd,
            credit_micro_usd=credit_micro_usd,
            at_us=now_us,
        )


def add_member(
    db: Database, org_id: str, name: str, role: str, daily_limit_micro_usd: int | None
) -> str:
    """Add a member to an organization; return the member's id."""
    member_id = f"member_{uuid.uuid4()}"
    db.run(
        "INSERT INTO member (id, org, name, role, daily_limit_micro_usd)"
        " VALUES (?, ?, ?, ?, ?)",
        member_id,
        org_id,
        name,
        role,
        daily_limit_micro_usd,
    )
    return member_id


def describe(db: Database, org_id: str) -> dict[str, Any] | None:
    """Read an organization with its members and keys; None when there is none.

    A key is named by its id: the key itself is not stored.
    """
    org = db.row(f"SELECT {_ORG} FROM org WHERE id = ?", org_id)
    if org is None:
        return None
    return {
        **dict(org),
        "suspended": bool(org["suspended"]),
        "billing_plan": bool(org["billing_plan"]),
        "members": _rows(
            db, "id, name, role, daily_limit_micro_usd FROM member", org_id
        ),
        "keys": _rows(
            db, "id, member, state, daily_limit_micro_usd FROM api_key", org_id
        ),
    }


def describe_all(db: Database) -> list[dict[str, Any]]:
    """Read all organizations, in the order of their creation."""
    ids = [row["id"] for row in db.rows("SELECT id FROM org ORDER BY rowid")]
    found = [describe(db, org_id) for org_id in ids]
    return [org for org in found if org is not None]


def find_key(db: Database, key_id: str) -> dict[str, Any] | None:
    """Read a key by its id; None when there is none."""
    row = db.row(
        "SELECT id, org, member, state, daily_limit_micro_usd FROM api_key"
        " WHERE id = ?",
        key_id,
    )
    return None if row is None else dict(row)


def _rows(db: Database, columns_from: str, org_id: str) -> list[dict[str, Any]]:
    rows = db.rows(f"SELECT {columns_from} WHERE org = ? ORDER BY rowid", org_id)
    return [dict(row) for row in rows]
