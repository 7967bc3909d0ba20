"""Where requests come from: forms, uploaded files, and results that are inputs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from mediakit.history import tables
from mediakit.history.entry import Entry
from mediakit.history.rows import entry_of, whole_entries
from mediakit.history.store import History
from mediakit.history.tables import entries, has_later_attempt, upsert

DRAFTS_KEPT_FOR = timedelta(days=365)

# -- takes, and results that are inputs -----------------------------------------------


def owned_draws(history: History, *, service: str, function: str) -> list[Entry]:
    """Return the newest attempt at each take of a function's requests."""
    query = (
        whole_entries()
        .where(entries.c.service == service, entries.c.function == function)
        .where(~has_later_attempt())
        .order_by(entries.c.number)
    )
    return [entry_of(row) for row in history.database.rows(query)]


def bodies(history: History, job_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the fields of requests as they were sent, by job."""
    query = select(entries.c.job_id, entries.c.body)
    found = history.database.rows_with(query, entries.c.job_id, job_ids)
    return {job_id: json.loads(body) for job_id, body in found}


def parents(
    history: History, job_ids: Iterable[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the fields and jobs whose outputs are inputs, by job."""
    query = (
        select(entries.c.job_id, tables.parents.c.field, tables.parents.c.job_id)
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .order_by(entries.c.job_id, tables.parents.c.field)
    )
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in history.database.rows_with(query, entries.c.job_id, job_ids):
        job_id, field, parent = tuple(row)
        found[job_id] = (*found.get(job_id, ()), (field, parent))
    return found


def children(history: History, sweep: str) -> list[tuple[str, Entry]]:
    """Return the jobs of a sweep that have parents, each with one of them."""
    query = (
        whole_entries()
        .add_columns(tables.parents.c.job_id.label("parent_job_id"))
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .where(entries.c.sweep == sweep, entries.c.job_id.is_not(None))
        .order_by(entries.c.number)
    )
    rows = history.database.rows(query)
    return list({row.job_id: (row[-1], entry_of(row)) for row in rows}.values())


# -- forms; an origin is an opaque text that identifies a form in one notebook ---------


def asked_from(
    history: History, origin: str, *, limit: int, after: int = 0
) -> list[Entry]:
    """Return the entries above a number that a form requested, newest first."""
    query = (
        whole_entries()
        .join(tables.origins, tables.origins.c.key == entries.c.key)
        .where(tables.origins.c.origin == origin, entries.c.number > after)
        .order_by(entries.c.number.desc())
        .limit(limit)
    )
    return [entry_of(row) for row in history.database.rows(query)]


def note_origin(history: History, key: str, origin: str) -> None:
    """Record that a form, too, requests an existing entry."""
    history.database.save(tables.origins, [{"origin": origin, "key": key}])


def draft(history: History, origin: str) -> str | None:
    """Return the last draft of a form; None without one."""
    query = select(tables.drafts.c.content).where(tables.drafts.c.origin == origin)
    return next((text for (text,) in history.database.rows(query)), None)


def save_draft(history: History, origin: str, content: str) -> None:
    """Save the draft of a form, a JSON object; delete drafts that are a year old."""
    now = history.clock.now()
    row = {"origin": origin, "content": content, "saved_at": now}
    with history.database.writing() as db:
        upsert(db, tables.drafts, [row], update=("content", "saved_at"))
        db.execute(
            delete(tables.drafts).where(
                tables.drafts.c.saved_at < now - DRAFTS_KEPT_FOR
            )
        )


# -- uploaded files -------------------------------------------------------------------


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes: their permanent URL, SHA-256 hash in hex, size, content type."""

    url: str
    sha256: str
    size_bytes: int
    content_type: str


def remember_upload(history: History, *, service: str, upload: Upload) -> str:
    """Save the permanent URL of some bytes; return the first one (spec 2.3)."""
    row = {"service": service, **vars(upload), "created_at": history.clock.now()}
    history.database.save(tables.uploads, [row])
    first = uploaded(
        history,
        service=service,
        sha256=upload.sha256,
        content_type=upload.content_type,
    )
    return first or upload.url


def uploaded(
    history: History, *, service: str, sha256: str, content_type: str
) -> str | None:
    """Return the permanent URL of uploaded bytes; None without an upload."""
    table = tables.uploads
    query = select(table.c.url).where(
        table.c.service == service,
        table.c.sha256 == sha256,
        table.c.content_type == content_type,
    )
    return next((text for (text,) in history.database.rows(query)), None)


def uploads_at(history: History, urls: Iterable[str], *, service: str) -> list[Upload]:
    """Return the uploads with some URLs, sorted by URL."""
    table = tables.uploads
    query = (
        select(*(table.c[field.name] for field in fields(Upload)))
        .where(table.c.service == service, table.c.url.in_(sorted(set(urls))))
        .order_by(table.c.url)
    )
    return [Upload(*row) for row in history.database.rows(query)]
