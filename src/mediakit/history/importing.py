"""Taking in jobs that ended and settled before this history knew of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Executable, bindparam, func, select

from mediakit.history.admission import totals
from mediakit.history.admission.limits import NOTHING_USED, BudgetUse
from mediakit.history.comparing.ratings import Judgement
from mediakit.history.entries.entries import ENTRY_FIELDS, Entry
from mediakit.history.entries.search_text import search_text
from mediakit.history.storage.database import Database, batches, lock_table
from mediakit.history.storage.file_connection import Connected, FileConnection
from mediakit.history.storage.tables import entries, insert_into, judgements

_KNOWN = select(entries.c.key).where(
    entries.c.key.in_(bindparam("its_keys", expanding=True))
)
_FIRST = select(func.min(entries.c.number).label("number"))


class Importing:
    """The part of the history that takes in a past as a whole."""

    _database: Database

    def take_in(
        self, past: Iterable[Entry], judged: Mapping[str, Judgement] | None = None
    ) -> int:
        """Write entries that are not there yet, up to a thousand in a transaction.

        They count as older than everything in the history: they are numbered downwards
        from its lowest number, and the numbers that they come with are ignored. Where
        the key is known, neither the entry nor its job's judgement changes.

        Args:
            past: The entries, the oldest first.
            judged: What is thought of their jobs, by key.

        Returns:
            How many were written.
        """
        fresh = self._unknown(list(past))
        # Each batch goes below the one before: the newest first.
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
            totals.add(connection, _sum_of(new))
            said = [
                _said_of(entry, judged[entry.key])
                for entry in new
                if entry.key in judged
            ]
            _written(connection, _insert_judgements(dialect), said)
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
    """Insert rows that are not there; return what those that were not are called."""
    if isinstance(connection, FileConnection):
        found = (connection.execute(statement, row).first() for row in rows)
        return {row[0] for row in found if row is not None}
    return set(connection.execute(statement, rows).scalars()) if rows else set()


def _said_of(entry: Entry, judgement: Judgement) -> dict[str, Any]:
    its = {"service": entry.service, "account": entry.account}
    return its | vars(judgement) | {"tags": json.dumps(judgement.tags)}


def _sum_of(written: Iterable[Entry]) -> dict[str, BudgetUse]:
    """Return what entries add to totals together, by their names."""
    added: dict[str, BudgetUse] = {}
    for entry in written:
        for name, use in totals.of_entry(entry).items():
            before = added.get(name, NOTHING_USED)
            added[name] = BudgetUse(
                before.spent_micro_usd + use.spent_micro_usd,
                before.reserved_micro_usd + use.reserved_micro_usd,
            )
    return added
