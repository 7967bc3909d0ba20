"""Adds jobs that were not submitted through this history.

Rebuilt jobs are known to the service and were lost here; imported ones ended elsewhere.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, func, select

from mediakit.api_models import JobRecord
from mediakit.history.database import batches
from mediakit.history.entry import REBUILT, Entry, Submission, plain_values, rebuilt_key
from mediakit.history.merging import Changes, changes_from_job
from mediakit.history.ratings import Judgement
from mediakit.history.rows import (
    change_entry,
    first_entry,
    merge_rebuilt_entry,
    row_of,
    same_attempt,
    write_request,
)
from mediakit.history.search import search_text
from mediakit.history.spending_limits import Uses, add_to_totals, add_use, change_totals
from mediakit.history.store import History
from mediakit.history.tables import entries, judgements, upsert, upserting


def adopt(
    history: History,
    submission: Submission,
    job: JobRecord,
    *,
    created_at: datetime,
    submitted_at: datetime | None,
    finished_at: datetime | None,
) -> Entry:
    """Add a job and its request to the history, or update the job's entry."""
    now = history.clock.now()
    with history.database.writing() as db:
        entry = first_entry(db, entries.c.job_id, job.id)
        by_key = first_entry(db, entries.c.key, submission.key)
        times: Changes = {}
        if entry is not None and by_key is not None:
            entry = merge_rebuilt_entry(db, by_key, entry) or entry
        if entry is None:
            entry = _write(db, submission, job, created_at)
            times = {"submitted_at": submitted_at, "finished_at": finished_at}
        changes = changes_from_job(entry, job, now=now) | times
        if entry.key.startswith(REBUILT) and not submission.key.startswith(REBUILT):
            attempt = same_attempt(db, submission)
            if attempt is None or attempt.number == entry.number:
                changes |= plain_values(submission)
        return change_entry(db, entry, changes)


def _write(
    db: Connection, submission: Submission, job: JobRecord, created_at: datetime
) -> Entry:
    """Write the request of a job, or find its unanswered entry."""
    entry, earlier = write_request(db, submission, created_at)
    if entry is earlier:
        if entry.job_id is None and entry.key == submission.key:
            return entry
        # One request has two jobs, or may have: both are charged, so both are kept.
        name = rebuilt_key(job.id)
        submission = replace(submission, key=name, draw_key=name, asked_key=name)
        entry, earlier = write_request(db, submission, created_at)
    change_totals(db, None, entry)
    if earlier is not None:  # the earlier request was refused; found by its key
        entry = change_entry(db, entry, {"asked_key": earlier.asked_key})
    return entry


def import_entries(
    history: History,
    past: Iterable[Entry],
    judgement_by_key: Mapping[str, Judgement] | None = None,
) -> int:
    """Insert ended entries below the lowest number; return how many were new."""
    written = 0
    # Each batch is numbered below the one before, so the newest comes first.
    for some in batches(reversed(list(past))):
        with history.database.writing() as db:
            written += _write_below(db, some, judgement_by_key or {})
    return written


def _write_below(
    db: Connection, past: Sequence[Entry], judgement_by_key: Mapping[str, Judgement]
) -> int:
    """Write entries with new keys and jobs, below the lowest number."""
    lowest = db.execute(select(func.min(entries.c.number))).scalar()
    below = min(1, 1 if lowest is None else lowest)
    rows = [
        row_of(entry, search_text(entry)) | {"number": below - n}
        for n, entry in enumerate(past, 1)
    ]
    statement = upserting(db.dialect.name, entries).returning(entries.c.key)
    written = set(db.execute(statement, rows).scalars())
    new = [entry for entry in past if entry.key in written]
    added: Uses = {}
    for entry in new:
        add_use(added, entry)
    add_to_totals(db, added)
    rows = [
        {"service": entry.service, "account": entry.account}
        | vars(judgement_by_key[entry.key])
        | {"tags": json.dumps(judgement_by_key[entry.key].tags)}
        for entry in new
        if entry.key in judgement_by_key
    ]
    upsert(db, judgements, rows)
    return len(new)
