"""Tables of the documentation site, made from the code that they describe."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Column, Table
from sqlalchemy.dialects import postgresql

from mediakit.history import tables
from mediakit.sandbox.admin import CALLS

POSTGRES = postgresql.dialect()  # type: ignore[no-untyped-call]
HELD = {
    "mediakit_version": "One row: the version of the schema.",
    "mediakit_entries": (
        "One row for each submission, written before the request is sent."
    ),
    "mediakit_totals": (
        "What each account, budget and sweep has spent and holds, and the last known "
        "limit, so that admission reads one row."
    ),
    "mediakit_uploads": "Files that were uploaded, by their content.",
    "mediakit_parents": "Which jobs the media of a request came from.",
    "mediakit_judgements": "Ratings, kept clips, tags and notes.",
    "mediakit_preferences": "The results of blind comparisons.",
    "mediakit_sweeps": "The sweeps that were run, with the code of their plans.",
    "mediakit_sweep_cells": "The requests of each sweep, and their place in its grid.",
    "mediakit_scores": "What scorers and judges said, by the hash of what they saw.",
    "mediakit_job_scores": "Which jobs each score is of, and what a judge cost.",
    "mediakit_hashes": "The content hash of each job's output.",
    "mediakit_origins": "Which form of which notebook asked for a request.",
    "mediakit_drafts": "What forms held last, including values that were not sent.",
}
"""What each table is for. A table that is not here stops the build."""


DONE = {
    "GET /sandbox/status": "read which sandbox it is, its health, jobs and faults",
    "GET /sandbox/clock": "read the time, its speed and how far it is ahead",
    "POST /sandbox/clock/advance": "move the clock forward; what becomes due is done",
    "GET /sandbox/faults": "list the faults that can still happen",
    "POST /sandbox/faults": "add a fault",
    "DELETE /sandbox/faults": "remove all faults",
    "DELETE /sandbox/faults/{fault_id}": "remove one fault",
    "POST /sandbox/seed": "add jobs of past days",
    "POST /sandbox/reset": "remove everything and start over",
    "GET /sandbox/endpoints": "list the webhook endpoints of an organization",
    "POST /sandbox/endpoints": "register an endpoint; responds with its secret",
    "GET /sandbox/endpoints/{endpoint_id}": "read an endpoint",
    "PATCH /sandbox/endpoints/{endpoint_id}": "change its URL, events or state",
    "DELETE /sandbox/endpoints/{endpoint_id}": "delete it; cancels what is pending",
    "POST /sandbox/endpoints/{endpoint_id}/test": "send it a `webhook.test`, once",
    "GET /sandbox/endpoints/{endpoint_id}/secret": "read its secret",
    "POST /sandbox/endpoints/{endpoint_id}/secret/rotate": "rotate its secret",
    "GET /sandbox/orgs": "list the organizations with their members and keys",
    "POST /sandbox/orgs": "make an organization",
    "PATCH /sandbox/orgs/{org_id}": "change its name, limits or state",
    "POST /sandbox/orgs/{org_id}/grants": "grant credits, or add funds",
    "POST /sandbox/orgs/{org_id}/members": "add a member",
    "POST /sandbox/orgs/{org_id}/keys": "make an API key; responds with it, once",
    "PATCH /sandbox/keys/{key_id}": "change a key's state or daily limit",
}
"""What each call does. A call that is not here stops the build."""


def admin_interface() -> str:
    """List the calls of the sandbox's admin interface, with what each one does."""
    calls = [f"{method} {path}" for method, path, _ in CALLS]
    return _table(("call", "what it does"), ((f"`{c}`", DONE[c]) for c in calls))


def history() -> str:
    """Describe each table of the history, with its columns and indexes."""
    return "\n\n".join(map(_described, tables.metadata.tables.values()))


def _described(table: Table) -> str:
    columns = _table(("column", "type", "null", "key"), map(_column, table.columns))
    return "\n\n".join(
        [f"### {table.name}", HELD[table.name], columns, *_indexes(table)]
    )


def _column(column: Column[object]) -> tuple[str, ...]:
    kind = column.type.compile(POSTGRES)
    unique = "unique" if column.unique else ""
    return (
        f"`{column.name}`",
        kind.lower(),
        "yes" if column.nullable else "",
        "primary" if column.primary_key else unique,
    )


def _indexes(table: Table) -> Iterator[str]:
    named = sorted(table.indexes, key=lambda index: str(index.name))
    if named:
        words = (
            f"`{index.name}` ({', '.join(column.name for column in index.columns)})"
            for index in named
        )
        yield f"Indexes: {', '.join(words)}."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
