"""The submissions and the draft of a form.

An origin is an opaque text that identifies a form in one notebook.
"""

from datetime import timedelta

from sqlalchemy import delete, select

from mediakit.history import tables
from mediakit.history.entry import Entry
from mediakit.history.rows import entry_of, whole_entries
from mediakit.history.store import History
from mediakit.history.tables import entries, upsert

DRAFTS_KEPT_FOR = timedelta(days=365)


def asked_from(
    history: History, origin: str, *, limit: int, after: int = 0
) -> list[Entry]:
    """Return the entries that a form submitted, above a number, newest first."""
    query = (
        whole_entries()
        .join(tables.origins, tables.origins.c.key == entries.c.key)
        .where(tables.origins.c.origin == origin, entries.c.number > after)
        .order_by(entries.c.number.desc())
        .limit(limit)
    )
    return [entry_of(row) for row in history.database.rows(query)]


def note_origin(history: History, key: str, origin: str) -> None:
    """Record that a form also submitted an existing entry."""
    history.database.save(tables.origins, [{"origin": origin, "key": key}])


def adopt_job(history: History, job_id: str, origin: str) -> None:
    """Record that a form also shows an existing job."""
    entry = history.find(job_id)
    if entry is not None:
        note_origin(history, entry.key, origin)


def draft(history: History, origin: str) -> str | None:
    """Return the last draft of a form, or None if there is none."""
    query = select(tables.drafts.c.content).where(tables.drafts.c.origin == origin)
    return next((text for (text,) in history.database.rows(query)), None)


def save_draft(history: History, origin: str, content: str) -> None:
    """Save a form's draft, a JSON object; delete drafts older than a year."""
    now = history.clock.now()
    row = {"origin": origin, "content": content, "saved_at": now}
    with history.database.writing() as db:
        upsert(db, tables.drafts, [row], update=("content", "saved_at"))
        db.execute(
            delete(tables.drafts).where(
                tables.drafts.c.saved_at < now - DRAFTS_KEPT_FOR
            )
        )
