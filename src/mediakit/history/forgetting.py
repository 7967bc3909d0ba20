"""Forgets a job: every text about it is deleted from the history; amounts stay."""

import json
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, select, update

from mediakit.history.entry import Entry
from mediakit.history.rows import change_entry, first_entry
from mediakit.history.store import History
from mediakit.history.tables import (
    entries,
    hashes,
    job_scores,
    judgements,
    scores,
    sweep_cells,
    sweeps,
    upsert,
)

FORGOTTEN = "(forgotten)"  # the value of a cell of a sweep
FORGOTTEN_CODE = "# The code of this sweep was forgotten with one of its jobs."
NOTHING_SEEN = ""
"""Stands for the input of a judge's answer on a forgotten job; the charge remains."""


def forget(history: History, job_id: str) -> None:
    """Delete the texts about a job: request, error, scores, note, tags, its sweep's."""
    with history.database.writing() as db:
        entry = first_entry(db, entries.c.job_id, job_id)
        if entry is None:
            return
        blank: dict[str, Any] = {"prompt": None, "body": b"{}", "error_message": None}
        changes = {n: to for n, to in blank.items() if getattr(entry, n) != to}
        change_entry(db, entry, changes)
        _forget_scores(db, job_id)
        db.execute(delete(hashes).where(hashes.c.job_id == job_id))
        is_its = judgements.c.job_id == job_id
        db.execute(update(judgements).where(is_its).values(tags="[]", note=""))
        _forget_cells(db, entry)


def _forget_scores(db: Connection, job_id: str) -> None:
    """Delete the answers of judges about a job, but not their charges."""
    table = job_scores.c
    names = ("service", "account", "job_id", "scorer", "version")
    owner = [table[name] for name in names]
    charged = (
        select(*owner, func.sum(table.cost_micro_usd), func.max(table.used_at))
        .where(table.job_id == job_id, table.cost_micro_usd.is_not(None))
        .group_by(*owner)
    )
    rows = [
        {
            **dict(zip(names, row, strict=False)),
            "cost_micro_usd": int(row[-2]),
            "used_at": row[-1],
            "seen": NOTHING_SEEN,
        }
        for row in db.execute(charged)
    ]
    key = ("seen", "scorer", "version")
    answered = select(*(table[name] for name in key)).where(table.job_id == job_id)
    answers = db.execute(answered).all()
    db.execute(delete(job_scores).where(table.job_id == job_id))
    for answer in answers:
        is_it = and_(*(scores.c[n] == v for n, v in zip(key, answer, strict=True)))
        # Keep an answer that another job with the same output shares.
        is_used = exists().where(*(table[name] == scores.c[name] for name in key))
        db.execute(delete(scores).where(is_it, ~is_used))
    upsert(db, job_scores, rows)


def _forget_cells(db: Connection, entry: Entry) -> None:
    """Delete the values of a job's cells, and the prompt and code of their sweeps."""
    table = sweep_cells.c
    is_its = and_(table.asked_key == entry.asked_key, table.take == entry.take)
    cells = db.execute(select(sweep_cells).where(is_its)).all()
    for cell in cells:
        point = json.loads(cell.point)
        blank = {name: v if name == "take" else FORGOTTEN for name, v in point.items()}
        is_cell = and_(table.sweep == cell.sweep, table.number == cell.number)
        db.execute(update(sweep_cells).where(is_cell).values(point=json.dumps(blank)))
    ids = {cell.sweep for cell in cells}
    values = {"prompt": None, "code": FORGOTTEN_CODE}
    db.execute(update(sweeps).where(sweeps.c.id.in_(ids)).values(**values))
