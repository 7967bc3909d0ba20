"""Scripted faults, and how often each will still happen."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from mediakit.sandbox.store.database import Database

_IN_FORCE = "left_n IS NULL OR left_n > 0"


@dataclass(frozen=True)
class FaultRow:
    """A fault as it is stored.

    Args:
        id: What it is called.
        rule: The rule, as it was posted.
        left_n: How often it will still happen; None for no end.
        created_us: When it was posted.
    """

    id: str
    rule: dict[str, Any]
    left_n: int | None
    created_us: int


def add(db: Database, rule: str, left_n: int | None, now_us: int) -> str:
    """Keep a rule; return what it is called."""
    fault_id = f"fault_{uuid.uuid4()}"
    db.run(
        "INSERT INTO fault (id, rule, left_n, created_us) VALUES (?, ?, ?, ?)",
        fault_id,
        rule,
        left_n,
        now_us,
    )
    return fault_id


def in_force(db: Database) -> list[FaultRow]:
    """List the faults that can still happen, oldest first."""
    rows = db.rows(f"SELECT * FROM fault WHERE {_IN_FORCE} ORDER BY seq")
    return [
        FaultRow(row["id"], json.loads(row["rule"]), row["left_n"], row["created_us"])
        for row in rows
    ]


def take(db: Database, fault_id: str) -> bool:
    """Count a fault down by one; False when it is over already."""
    return bool(
        db.run(
            f"UPDATE fault SET left_n = left_n - 1 WHERE id = ? AND ({_IN_FORCE})",
            fault_id,
        )
    )


def remove(db: Database, fault_id: str) -> bool:
    """Forget a fault; False when there is none of this name."""
    return bool(db.run("DELETE FROM fault WHERE id = ?", fault_id))


def remove_all(db: Database) -> int:
    """Forget every fault; return how many could still have happened."""
    n = len(in_force(db))
    db.run("DELETE FROM fault")
    return n


def remove_spent(db: Database) -> None:
    """Forget the faults that are over."""
    db.run(f"DELETE FROM fault WHERE NOT ({_IN_FORCE})")
