"""API keys, their callers, and the default organization."""

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from typing import Literal

from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.organizations.organization_records import NewOrg, insert

DEFAULT_ORG = "org_sandbox"

Role = Literal["owner", "admin", "member"]
MANAGING: tuple[Role, ...] = ("owner", "admin")


@dataclass(frozen=True)
class Caller:
    """The sender of a request.

    Args:
        org: The organization's id.
        api_key: The id of the key, not the key itself.
        active: Whether the key may be used.
        role: The role of the key's member; a key of the organization itself has the
            role of its owner.
    """

    org: str
    api_key: str
    active: bool
    role: Role = "owner"

    @property
    def manages(self) -> bool:
        """Return whether it may rotate secrets and see balances (spec 5)."""
        return self.role in MANAGING


def open_org(
    db: Database,
    *,
    balance_micro_usd: int,
    concurrency: int,
    queue_size: int,
    now_us: int,
) -> None:
    """Create the default organization with its opening balance, once.

    An existing organization keeps its balance; its limits are set again.
    """
    with db.transaction():
        changed = db.run(
            "UPDATE org SET concurrency = ?, queue_size = ? WHERE id = ?",
            concurrency,
            queue_size,
            DEFAULT_ORG,
        )
        if changed:
            return
        default = NewOrg(
            name="Sandbox",
            balance_micro_usd=balance_micro_usd,
            concurrency=concurrency,
            queue_size=queue_size,
        )
        insert(db, DEFAULT_ORG, default, now_us)


def allow_key(db: Database, secret: str, now_us: int) -> None:
    """Set the key of the default organization, replacing its previous one.

    Only its hash is stored. The charges of the previous key stay with the same key id.
    """
    with db.transaction():
        # The sandbox's own key is the first one in a data directory.
        own = db.row("SELECT id FROM api_key ORDER BY rowid LIMIT 1")
        if own is not None:
            db.run(
                "UPDATE OR IGNORE api_key SET sha256 = ?1, state = 'active'"
                " WHERE id = ?2 AND sha256 <> ?1",
                _digest(secret),
                own["id"],
            )
            return
        db.run(
            "INSERT INTO api_key (id, org, sha256, state, created_us)"
            " VALUES (?, ?, ?, 'active', ?)",
            f"key_{uuid.uuid4()}",
            DEFAULT_ORG,
            _digest(secret),
            now_us,
        )


def make_key(
    db: Database,
    org: str,
    member: str | None,
    daily_limit_micro_usd: int | None,
    now_us: int,
) -> tuple[str, str]:
    """Create a key of an organization, or of one of its members.

    Args:
        db: The database.
        org: The organization.
        member: The member whose role and limit it has; None for the organization.
        daily_limit_micro_usd: What it may spend in a day in UTC; None without limit.
        now_us: The sandbox's time.

    Returns:
        The id of the key, and the key, which is shown once and not stored.
    """
    key_id, secret = f"key_{uuid.uuid4()}", f"mk_{secrets.token_urlsafe(24)}"
    db.run(
        "INSERT INTO api_key (id, org, member, sha256, state, daily_limit_micro_usd,"
        " created_us) VALUES (?, ?, ?, ?, 'active', ?, ?)",
        key_id,
        org,
        member,
        _digest(secret),
        daily_limit_micro_usd,
        now_us,
    )
    return key_id, secret


def find_caller(db: Database, secret: str) -> Caller | None:
    """Find the caller of a key; None when the key is unknown."""
    row = db.row(
        "SELECT api_key.id, api_key.org, api_key.state, member.role FROM api_key"
        " LEFT JOIN member ON member.id = api_key.member WHERE api_key.sha256 = ?",
        _digest(secret),
    )
    if row is None:
        return None
    role: Role = row["role"] or "owner"
    return Caller(row["org"], row["id"], active=row["state"] == "active", role=role)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
