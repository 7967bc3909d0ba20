"""Organizations, their members and their API keys."""

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from sqlite3 import Row
from typing import Any, Literal

from mediakit.sandbox.store.database import SandboxDatabase, Value
from mediakit.sandbox.store.money import enter

DEFAULT_ORG = "org_sandbox"
# A limit large enough for anyone, and far from overflowing a sum in SQLite.
MAX_MICRO_USD = 10**15

Role = Literal["owner", "admin", "member"]


@dataclass(frozen=True)
class ApiCaller:
    """The sender of a request.

    `api_key` is the id of the key. A key of the organization itself has the role of its
    owner.
    """

    org: str
    api_key: str
    active: bool
    role: Role = "owner"

    @property
    def manages(self) -> bool:
        """Return whether the caller may rotate secrets and see balances (spec 5)."""
        return self.role in ("owner", "admin")


def open_default(
    db: SandboxDatabase,
    secret: str,
    *,
    balance_micro_usd: int,
    concurrency: int,
    queue_size: int,
    now_us: int,
) -> None:
    """Create the default organization with its balance and key, once.

    An existing organization keeps its balance, but its limits and key are set again.
    Only the hash of a key is stored. The charges of the previous key keep their key id.
    """
    limits = {"concurrency": concurrency, "queue_size": queue_size}
    with db.transaction():
        if not db.update("org", {"id": DEFAULT_ORG}, **limits):
            money: dict[str, Value] = {"balance_micro_usd": balance_micro_usd}
            add_org(db, now_us, DEFAULT_ORG, name="Sandbox", **limits, **money)
        # The sandbox's own key is the first one in a data directory.
        own = db.value("SELECT id FROM api_key ORDER BY rowid LIMIT 1")
        if own is None:
            add_key(db, now_us, secret, org=DEFAULT_ORG)
        else:
            db.run(
                "UPDATE OR IGNORE api_key SET sha256 = ?1, state = 'active'"
                " WHERE id = ?2 AND sha256 <> ?1",
                _digest(secret),
                own,
            )


def find_org(db: SandboxDatabase, org_id: str) -> Row:
    """Read the row of an existing organization."""
    row = db.one("SELECT * FROM org WHERE id = ?", org_id)
    if row is None:
        raise LookupError(f"no organization {org_id}")
    return row


def add_org(
    db: SandboxDatabase, now_us: int, org_id: str | None = None, **columns: Value
) -> str:
    """Create an organization with its opening balance; return its id."""
    org_id = org_id or f"org_{uuid.uuid4()}"
    with db.transaction():
        db.insert("org", id=org_id, **columns)
        db.run(
            "INSERT INTO ledger (org, kind, amount_micro_usd, credit_micro_usd, at_us)"
            " SELECT id, 'opening', balance_micro_usd, credit_micro_usd, ?"
            " FROM org WHERE id = ?",
            now_us,
            org_id,
        )
    return org_id


def grant(
    db: SandboxDatabase,
    org_id: str,
    amount_micro_usd: int,
    *,
    is_credit: bool,
    now_us: int,
) -> None:
    """Add credits or funds to an organization's balance."""
    credit = amount_micro_usd if is_credit else 0
    with db.transaction():
        db.run(
            "UPDATE org SET balance_micro_usd = balance_micro_usd + ?,"
            " credit_micro_usd = credit_micro_usd + ? WHERE id = ?",
            amount_micro_usd,
            credit,
            org_id,
        )
        enter(
            db, org_id, "grant", amount_micro_usd, credit_micro_usd=credit, at_us=now_us
        )


def add_member(db: SandboxDatabase, **columns: Value) -> str:
    """Add a member to an organization; return the member's id."""
    member_id = f"member_{uuid.uuid4()}"
    db.insert("member", id=member_id, **columns)
    return member_id


def add_key(
    db: SandboxDatabase, now_us: int, secret: str | None = None, **columns: Value
) -> tuple[str, str]:
    """Create a key; return its id, and the key itself, which is not stored."""
    secret = secret or f"mk_{secrets.token_urlsafe(24)}"
    key_id = f"key_{uuid.uuid4()}"
    sha256 = _digest(secret)
    row = {"state": "active", "created_us": now_us, **columns}
    db.insert("api_key", id=key_id, sha256=sha256, **row)
    return key_id, secret


def find_caller(db: SandboxDatabase, secret: str) -> ApiCaller | None:
    """Find the caller with a key; None for an unknown key."""
    row = db.one(
        "SELECT api_key.id, api_key.org, api_key.state, member.role FROM api_key"
        " LEFT JOIN member ON member.id = api_key.member WHERE api_key.sha256 = ?",
        _digest(secret),
    )
    if row is None:
        return None
    role: Role = row["role"] or "owner"
    return ApiCaller(row["org"], row["id"], active=row["state"] == "active", role=role)


def describe(db: SandboxDatabase, org_id: str) -> dict[str, Any] | None:
    """Read an organization with its members and keys; None if it does not exist.

    Keys are identified by their id; the key itself is not stored.
    """
    org = db.one("SELECT * FROM org WHERE id = ?", org_id)
    if org is None:
        return None
    members = db.all(
        "SELECT id, name, role, daily_limit_micro_usd FROM member WHERE org = ?"
        " ORDER BY rowid",
        org_id,
    )
    keys = db.all(
        "SELECT id, member, state, daily_limit_micro_usd FROM api_key WHERE org = ?"
        " ORDER BY rowid",
        org_id,
    )
    return {
        **dict(org),
        "suspended": bool(org["suspended"]),
        "billing_plan": bool(org["billing_plan"]),
        "members": [dict(row) for row in members],
        "keys": [dict(row) for row in keys],
    }


def find_key(db: SandboxDatabase, key_id: str) -> dict[str, Any] | None:
    """Read a key by its id; None if it does not exist."""
    row = db.one(
        "SELECT id, org, member, state, daily_limit_micro_usd FROM api_key"
        " WHERE id = ?",
        key_id,
    )
    return None if row is None else dict(row)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
