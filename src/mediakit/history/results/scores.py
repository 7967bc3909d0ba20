"""Scores of outputs, by the hash of the output."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from sqlalchemy import BindParameter, Insert, Table, bindparam, select

from mediakit.clock import Clock
from mediakit.history.storage.database import Database, batches
from mediakit.history.storage.tables import hashes, insert_into, scores


class ScoreLike(Protocol):
    """The score of an output."""

    @property
    def sha256(self) -> str:
        """The hash of the output, in hex."""

    @property
    def scorer(self) -> str:
        """The scorer's name."""

    @property
    def version(self) -> str:
        """The scorer's version; another version scores again."""

    @property
    def values(self) -> Mapping[str, float] | None:
        """The numbers by name; None if the scorer failed."""

    @property
    def error(self) -> str | None:
        """Why the scorer failed; None if it did not."""


def _given(table: Table, name: str) -> BindParameter[Any]:
    return bindparam(f"its_{name}", type_=table.c[name].type)


_SCORES = select(scores.c.sha256, scores.c.numbers).where(
    scores.c.sha256.in_(bindparam("its_sha256s", expanding=True)),
    scores.c.scorer == _given(scores, "scorer"),
    scores.c.version == _given(scores, "version"),
    scores.c.numbers.is_not(None),
)
_HASHES = select(hashes.c.job_id, hashes.c.sha256).where(
    hashes.c.service == _given(hashes, "service"),
    hashes.c.account == _given(hashes, "account"),
    hashes.c.job_id.in_(bindparam("its_jobs", expanding=True)),
)


@cache
def _write(table: Table, dialect: str) -> Insert:
    """Insert a row, or replace the row with its key."""
    values = {column: _given(table, column.name) for column in table.c}
    statement = insert_into(table, dialect).values(values)
    changes = {c.name: statement.excluded[c.name] for c in table.c if not c.primary_key}
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key), set_=changes
    )


class Scores:
    """The part of the history that stores scores and the hashes of outputs."""

    _database: Database
    _clock: Clock

    def save_scores(self, found: Iterable[ScoreLike]) -> None:
        """Save scores, all or none; the last one of an output, scorer and version wins.

        Args:
            found: The scores; those without values have an error.
        """
        self._write_all(
            scores,
            (
                {
                    "sha256": score.sha256,
                    "scorer": score.scorer,
                    "version": score.version,
                    "numbers": _text(score.values),
                    "error": score.error,
                    "scored_at": self._clock.now(),
                }
                for score in found
            ),
        )

    def scores(
        self, sha256s: Iterable[str], scorer: str, version: str
    ) -> dict[str, dict[str, float]]:
        """Return the values of a scorer, by the hash of the output.

        Args:
            sha256s: The hashes of the outputs, in hex.
            scorer: The scorer's name.
            version: Its version.

        Returns:
            The values of the scored outputs; those that failed are due again.
        """
        of_scorer = {"its_scorer": scorer, "its_version": version}
        return {
            row.sha256: json.loads(row.numbers)
            for some in batches(dict.fromkeys(sha256s))
            for row in self._database.rows(_SCORES, of_scorer | {"its_sha256s": some})
        }

    def save_sha256s(
        self, found: Mapping[str, str], *, service: str, account: str
    ) -> None:
        """Save the hashes of outputs, so that the outputs are not fetched again.

        Args:
            found: The SHA-256 hash of the output, in hex, by job id.
            service: The service of the jobs.
            account: The account of the jobs.
        """
        owner = {"service": service, "account": account}
        rows = ({**owner, "job_id": job, "sha256": sha} for job, sha in found.items())
        self._write_all(hashes, rows)

    def sha256s(
        self, job_ids: Iterable[str], *, service: str, account: str
    ) -> dict[str, str]:
        """Return the known hashes of outputs, in hex, by job id.

        Args:
            job_ids: The jobs.
            service: The service of the jobs.
            account: The account of the jobs.
        """
        owner = {"its_service": service, "its_account": account}
        return {
            row.job_id: row.sha256
            for some in batches(dict.fromkeys(job_ids))
            for row in self._database.rows(_HASHES, owner | {"its_jobs": some})
        }

    def _write_all(self, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        statement = _write(table, self._database.dialect)
        # Always in the same order, so that two transactions cannot deadlock.
        named = [{f"its_{name}": each for name, each in row.items()} for row in rows]
        named.sort(key=lambda row: (row.get("its_sha256"), row.get("its_job_id")))
        with self._database.transaction() as connection:
            for values in named:
                connection.execute(statement, values)


def _text(values: Mapping[str, float] | None) -> str | None:
    if values is None:
        return None
    return json.dumps({name: float(value) for name, value in values.items()})
