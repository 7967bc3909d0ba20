"""The jobs of a request, and the jobs whose outputs are its inputs."""

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any

from sqlalchemy import or_, select

from mediakit.history import tables
from mediakit.history.entry import Entry
from mediakit.history.rows import entry_of, whole_entries
from mediakit.history.store import History
from mediakit.history.tables import entries, has_later_attempt


def owned_draws(history: History, *, service: str, function: str) -> list[Entry]:
    """Return the newest attempt at each take of a function's requests."""
    query = (
        whole_entries()
        .where(entries.c.service == service, entries.c.function == function)
        .where(~has_later_attempt())
        .order_by(entries.c.number)
    )
    return [entry_of(row) for row in history.database.rows(query)]


def padded_draws(history: History, *, service: str, function: str) -> list[Entry]:
    """Return the `owned_draws` whose prompt has white space around it."""
    prompt = entries.c.prompt
    ends = ((prompt.startswith(s), prompt.endswith(s)) for s in " \n\r\t")
    query = (
        whole_entries()
        .where(entries.c.service == service, entries.c.function == function)
        .where(or_(*chain.from_iterable(ends)), ~has_later_attempt())
        .order_by(entries.c.number.desc())
    )
    return [entry_of(row) for row in history.database.rows(query)]


def bodies(history: History, job_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the fields of requests as sent, by job."""
    query = select(entries.c.job_id, entries.c.body)
    rows = history.database.rows_with(query, entries.c.job_id, job_ids)
    return {job_id: json.loads(body) for job_id, body in rows}


def parents(
    history: History, job_ids: Iterable[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the fields and jobs whose outputs are inputs, by job."""
    query = (
        select(entries.c.job_id, tables.parents.c.field, tables.parents.c.job_id)
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .order_by(entries.c.job_id, tables.parents.c.field)
    )
    by_job: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in history.database.rows_with(query, entries.c.job_id, job_ids):
        job_id, field, parent = tuple(row)
        by_job[job_id] = (*by_job.get(job_id, ()), (field, parent))
    return by_job


def made_of(history: History, job_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the likely sources of each job: earlier takes, then its inputs."""
    job_ids = list(job_ids)
    earlier = entries.alias()
    query = (
        select(entries.c.job_id, earlier.c.job_id)
        .join(earlier, earlier.c.asked_key == entries.c.asked_key)
        .where(earlier.c.take < entries.c.take, earlier.c.job_id.is_not(None))
        .order_by(entries.c.job_id, earlier.c.take.desc())
    )
    sources: dict[str, list[str]] = {job_id: [] for job_id in job_ids}
    for row in history.database.rows_with(query, entries.c.job_id, job_ids):
        job_id, source = tuple(row)
        sources[job_id].append(source)
    for job_id, inputs in parents(history, job_ids).items():
        sources[job_id] += [source for _, source in inputs]
    return sources


def children(history: History, sweep: str) -> list[tuple[str, Entry]]:
    """Return the jobs of a sweep that have parents, each with one parent."""
    query = (
        whole_entries()
        .add_columns(tables.parents.c.job_id.label("parent_job_id"))
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .where(entries.c.sweep == sweep, entries.c.job_id.is_not(None))
        .order_by(entries.c.number)
    )
    rows = history.database.rows(query)
    return list({row.job_id: (row[-1], entry_of(row)) for row in rows}.values())
