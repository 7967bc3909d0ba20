"""Imports jobs that ended and settled before they were in this history."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Executable, bindparam, func, select

from mediakit.history.admission import holds
from mediakit.history.admission.spending_limits import NOTHING_USED, BudgetUse
from mediakit.history.entries.entry import ENTRY_FIELDS, Entry
from mediakit.history.entries.search_text import search_text
from mediakit.history.results.ratings import Judgement
from mediakit.history.storage.database import Database, batches, lock_table
from mediakit.history.storage.file_connection import Connected, FileConnection
from mediakit.history.storage.tables import entries, insert_into, judgements

_KNOWN = select(entries.c.key).where(
    entries.c.key.in_(bindparam("its_keys", expanding=True))
)
_FIRST = select(func.min(entries.c.number).label("number"))


class ImportedJobs:
    """The part of the history that imports past jobs."""

    _database: Database

    def take_in(
        self, past: Iterable[Entry], judged: Mapping[str, Judgement] | None = None
    ) -> int:
        """Write entries with new keys, up to a thousand in a transaction.

        They count as older than all existing entries: they are numbered downwards from
        the lowest number, and their own numbers are ignored. An entry whose key exists
        is not changed, nor is the judgement of its job.

        Args:
            past: The entries, the oldest first.
            judged: The judgements of their jobs, by key.

        Returns:
            The number of written entries.
        """
        fresh = self._unknown(list(past))
        # Each batch is numbered below the one before, so the newest comes first.
        parts = list(batches(reversed(fresh)))
        return sum(self._write_below(part, judged or {}) for part in parts)

    def _unknown(self, past: Sequence[Entry]) -> list[Entry]:
        known = {
            row[0]
            for keys in batches(entry.key for entry in past)
            for row in self._database.rows(_KNOWN, {"its_keys": keys})
        }
        return [entry for entry in past if entry.key not in known]

    def _write_below(
        self, past: Sequence[Entry], judged: Mapping[str, Judgement]
    ) -> int:
        """Write entries, the newest first, below the lowest number."""
        with self._database.transaction() as connection:
            lock_table(connection, "mediakit_entries")
            lowest: Any = connection.execute(_FIRST, {}).one()
            first = min(1, lowest.number if lowest.number is not None else 1)
            rows = [
                {name: getattr(entry, name) for name in ENTRY_FIELDS}
                | {"number": first - n, "search": search_text(entry)}
                for n, entry in enumerate(past, 1)
            ]
            dialect = connection.dialect.name
            written = _written(connection, _insert_entries(dialect), rows)
            new = [entry for entry in past if entry.key in written]
            holds.add_to_totals(connection, _sum_of(new))
            judged_rows = [
                _judgement_row(entry, judged[entry.key])
                for entry in new
                if entry.key in judged
            ]
            _written(connection, _insert_judgements(dialect), judged_rows)
        return len(new)


@cache
def _insert_entries(dialect: str) -> Executable:
    names = (*ENTRY_FIELDS, "search")
    values = {name: bindparam(name, type_=entries.c[name].type) for name in names}
    statement = insert_into(entries, dialect).values(values)
    return statement.on_conflict_do_nothing().returning(entries.c.key)


@cache
def _insert_judgements(dialect: str) -> Executable:
    columns = judgements.c
    values = {each.name: bindparam(each.name, type_=each.type) for each in columns}
    statement = insert_into(judgements, dialect).values(values)
    return statement.on_conflict_do_nothing().returning(judgements.c.job_id)


def _written(
    connection: Connected, statement: Executable, rows: Sequence[dict[str, Any]]
) -> set[str]:
    """Insert the new rows; return their names."""
    if isinstance(connection, FileConnection):
        found = (connection.execute(statement, row).first() for row in rows)
        return {row[0] for row in found if row is not None}
    return set(connection.execute(statement, rows).scalars()) if rows else set()


def _judgement_row(entry: Entry, judgement: Judgement) -> dict[str, Any]:
    its = {"service": entry.service, "account": entry.account}
    return its | vars(judgement) | {"tags": json.dumps(judgement.tags)}


def _sum_of(written: Iterable[Entry]) -> dict[str, BudgetUse]:
    """Return the sum that entries add to each total, by name."""
    added: dict[str, BudgetUse] = {}
    for entry in written:
        for name, use in holds.of_entry(entry).items():
            before = added.get(name, NOTHING_USED)
            added[name] = BudgetUse(
                before.spent_micro_usd + use.spent_micro_usd,
                before.reserved_micro_usd + use.reserved_micro_usd,
            )
    return added
