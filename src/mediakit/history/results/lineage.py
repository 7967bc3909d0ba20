"""Lineage: the jobs whose outputs are inputs of other jobs."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from sqlalchemy import Insert, bindparam, select

from mediakit.history.entries.entry import Entry
from mediakit.history.entries.queries import entry_of, whole_entries
from mediakit.history.storage.database import Database, batches
from mediakit.history.storage.file_connection import Connected
from mediakit.history.storage.tables import entries, insert_into, parents


class Parent(NamedTuple):
    """A job whose output is an input of another.

    Args:
        field: The field of the request, such as "video_url" or "images[0]".
        job_id: The job of the output.
        url: The URL of the output in the request.
    """

    field: str
    job_id: str
    url: str


_PARENTS = (
    select(entries.c.job_id, parents.c.field, parents.c.job_id)
    .join(parents, parents.c.draw_key == entries.c.draw_key)
    .where(entries.c.job_id.in_(bindparam("its_jobs", expanding=True)))
    .order_by(entries.c.job_id, parents.c.field)
)
_OF_SWEEP = (
    whole_entries()
    .add_columns(parents.c.job_id.label("parent_job_id"))
    .join(parents, parents.c.draw_key == entries.c.draw_key)
    .where(
        entries.c.sweep == bindparam("its_sweep", type_=entries.c.sweep.type),
        entries.c.job_id.is_not(None),
    )
    .order_by(entries.c.number)
)


@cache
def _write(dialect: str) -> Insert:
    values = {
        column.name: bindparam(column.name, type_=column.type) for column in parents.c
    }
    return insert_into(parents, dialect).values(values).on_conflict_do_nothing()


class Lineage:
    """The part of the history that knows the parents and children of jobs."""

    _database: Database

    def parents(self, job_ids: Iterable[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the parents of jobs: the jobs whose outputs are their inputs.

        All takes and attempts of one request have the same parents.

        Args:
            job_ids: The jobs.

        Returns:
            The field and the parent's job id of each input that is a job's output, by
            job; jobs without such inputs are left out.
        """
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        for some in batches(dict.fromkeys(job_ids)):
            for row in self._database.rows(_PARENTS, {"its_jobs": some}):
                job_id, field, parent = tuple(row)
                found[job_id] = (*found.get(job_id, ()), (field, parent))
        return found

    def children(self, sweep: str) -> list[tuple[str, Entry]]:
        """Return the jobs of a sweep that have parents, oldest first.

        Args:
            sweep: The sweep.

        Returns:
            The parent of each job, one of several, and the entry of the job.
        """
        rows = self._database.rows(_OF_SWEEP, {"its_sweep": sweep})
        found = {row.job_id: (str(row.parent_job_id), entry_of(row)) for row in rows}
        return list(found.values())


def write_parents(
    connection: Connected, draw_key: str, found: Sequence[Parent]
) -> None:
    """Write the parents of a request; a repeat has no effect."""
    for parent in found:
        statement = _write(connection.dialect.name)
        values = {"field": parent.field, "job_id": parent.job_id}
        connection.execute(statement, {"draw_key": draw_key, **values})
