"""Migrates an older history to this version, each step in a transaction."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    String,
    Table,
    Text,
    select,
    text,
    update,
)

from mediakit.history.tables import schema_version
from mediakit.migration_steps import Migrations, copy_beside

logger = logging.getLogger(__name__)


def _to_12(connection: Connection) -> None:
    """Record the jobs of each score."""
    job_scores = Table(
        "mediakit_job_scores",
        MetaData(),
        *(Column(n, String, primary_key=True) for n in ("service", "account")),
        *(Column(n, Text, primary_key=True) for n in ("job_id", "scorer", "version")),
        Column("seen", String, primary_key=True),
        Column("cost_micro_usd", BigInteger),
        Column("used_at", BigInteger, nullable=False),
    )
    job_scores.create(connection)
    _copy_grants(connection, "mediakit_scores", job_scores.name)
    query = "SELECT seen, scorer, version, scored_at FROM mediakit_scores"
    scores: dict[str, list[tuple[str, str, int]]] = {}
    for input_hash, *score in connection.exec_driver_sql(query):
        scores.setdefault(input_hash, []).append(tuple(score))
    if not scores:
        return
    names = ("service", "account", "job_id", "seen", "scorer", "version", "used_at")
    rows = {
        (*job, input_hash, *score)
        for *job, input_hash in _input_hashes_in_11(connection)
        for score in scores.get(input_hash, ())
    }
    if rows:
        records = [dict(zip(names, row, strict=True)) for row in sorted(rows)]
        connection.execute(job_scores.insert(), records)


def _copy_grants(connection: Connection, source: str, target: str) -> None:
    """Grant team roles the same rights on a new table as on another."""
    if connection.dialect.name != "postgresql":
        return
    quote = connection.dialect.identifier_preparer.quote
    query = text(
        "SELECT grantee, privilege_type FROM information_schema.table_privileges "
        "WHERE table_name = :name AND table_schema = current_schema()"
    )
    for role, privilege in connection.execute(query, {"name": source}).all():
        grantee = role if role == "PUBLIC" else quote(role)
        connection.exec_driver_sql(f"GRANT {privilege} ON {target} TO {grantee}")


def _input_hashes_in_11(connection: Connection) -> Iterator[tuple[str, str, str, str]]:
    """Yield the owner and id of each hashed job, and the hashes of the scorer's input.

    A scorer saw only the output, or also the row of a cell: the point in the grid, the
    fields of the request and the job. A repair has the row of the cell it repairs.
    """
    hashes = "SELECT service, account, job_id, sha256 FROM mediakit_hashes"
    job_hashes = [tuple(row) for row in connection.exec_driver_sql(hashes)]
    rows = _rows_in_11(connection)
    for service, account, job_id, sha256 in job_hashes:
        yield service, account, job_id, sha256
        for row in rows.get(job_id, ()):
            texts = (sha256, json.dumps({**row, "job_id": job_id}, sort_keys=True))
            input_hash = hashlib.sha256("\0".join(texts).encode()).hexdigest()
            yield service, account, job_id, input_hash


def _rows_in_11(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of cells that scorers saw, by job."""
    cells = """
        SELECT c.sweep, e.job_id, c.point, e.body
        FROM mediakit_sweep_cells c JOIN mediakit_entries e
            ON e.asked_key = c.asked_key AND e.take = c.take
        WHERE e.job_id IS NOT NULL"""
    repairs = """
        SELECT e.sweep, p.job_id, e.job_id
        FROM mediakit_entries e JOIN mediakit_parents p ON p.draw_key = e.draw_key
        WHERE e.kind = 'region-replace' AND e.job_id IS NOT NULL
            AND e.sweep IS NOT NULL
        ORDER BY e.number"""
    row_by_cell: dict[tuple[str, str], dict[str, Any]] = {}
    for sweep, job_id, point, body in connection.exec_driver_sql(cells):
        row_by_cell[sweep, job_id] = {**json.loads(point), **json.loads(body)}
    for sweep, parent, job_id in connection.exec_driver_sql(repairs):
        if (sweep, parent) in row_by_cell:
            row_by_cell.setdefault((sweep, job_id), row_by_cell[sweep, parent])
    by_job: dict[str, list[dict[str, Any]]] = {}
    for (_, job_id), row in row_by_cell.items():
        by_job.setdefault(job_id, []).append(row)
    return by_job


MIGRATIONS: Migrations[Connection] = Migrations(first=11, steps=[_to_12])
"""The steps of the history. `tables` has their result, for new histories."""


def versions_in(connection: Connection) -> list[int] | None:
    """Return the recorded versions of the schema; None if there is no history."""
    if not connection.dialect.has_table(connection, schema_version.name):
        return None
    return list(connection.execute(select(schema_version.c.version)).scalars())


def needs_step(versions: Sequence[int]) -> bool:
    """Return whether a history has an older version that can be migrated."""
    return len(versions) == 1 and MIGRATIONS.step_from(versions[0]) is not None


def copy_file(connection: Connection, version: int) -> Path | None:
    """Copy the file of a history; None if it is not in a file."""
    if connection.dialect.name != "sqlite":
        return None
    query = "SELECT file FROM pragma_database_list WHERE name = 'main'"
    file = connection.exec_driver_sql(query).scalar()
    return copy_beside(Path(file), version) if file else None


def take_step(connection: Connection, version: int) -> None:
    """Migrate a history to the next version, within the current transaction."""
    step = MIGRATIONS.step_from(version)
    assert step is not None
    step(connection)
    connection.execute(update(schema_version).values(version=version + 1))
