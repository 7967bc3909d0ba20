"""Organizations and their API keys."""

import hashlib
import uuid
from dataclasses import dataclass

from mediakit.sandbox.store.database import Database

DEFAULT_ORG = "org_sandbox"


@dataclass(frozen=True)
class Caller:
    """Who a request comes from.

    Args:
        org: The organization's id.
        api_key: The id of the key, which is not the key.
        active: Whether the key may be used.
    """

    org: str
    api_key: str
    active: bool


def open_org(
    db: Database,
    *,
    balance_micro_usd: int,
    concurrency: int,
    queue_size: int,
    now_us: int,
) -> None:
    """Make the default organization with its opening balance, once.

    An organization that is there keeps its balance; its limits are set anew.
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
        db.run(
            "INSERT INTO org (id, name, balance_micro_usd, concurrency, queue_size)"
            " VALUES (?, 'Sandbox', ?, ?, ?)",
            DEFAULT_ORG,
            balance_micro_usd,
            concurrency,
            queue_size,
        )
        db.run(
            "INSERT INTO ledger (org, kind, amount_micro_usd, at_us)"
            " VALUES (?, 'opening', ?, ?)",
            DEFAULT_ORG,
            balance_micro_usd,
            now_us,
        )


def allow_key(db: Database, secret: str, now_us: int) -> None:
    """Let a key speak for the default organization; only its hash is kept."""
    db.run(
        "INSERT INTO api_key (id, org, sha256, state, created_us)"
        " VALUES (?, ?, ?, 'active', ?) ON CONFLICT (sha256) DO NOTHING",
        f"key_{uuid.uuid4()}",
        DEFAULT_ORG,
        _digest(secret),
        now_us,
    )


def find_caller(db: Database, secret: str) -> Caller | None:
    """Find who a key belongs to; None when nobody."""
    row = db.row("SELECT id, org, state FROM api_key WHERE sha256 = ?", _digest(secret))
    if row is None:
        return None
    return Caller(row["org"], row["id"], active=row["state"] == "active")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
