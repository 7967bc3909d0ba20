"""Settled charges of a service, selected by the time of settlement."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Row, Select, func, select

from mediakit.history.storage.database import Database
from mediakit.history.storage.tables import entries

if TYPE_CHECKING:
    import pandas as pd


class Charges:
    """The part of the history that lists charges."""

    _database: Database

    def charges(
        self,
        *,
        service: str,
        since: datetime | None = None,
        before: datetime | None = None,
        project: str | None = None,
        taken: Collection[str] = (),
    ) -> "pd.DataFrame":
        """Return the settled charges of a service as a frame (spec 2.2).

        An index finds them, so the length of the history does not matter.

        Args:
            service: The service, with all its accounts.
            since: Only those first seen settled at this instant or later.
            before: Only those first seen settled before this instant.
            project: Only of this project.
            taken: Names that the column of a parameter must not have.

        Returns:
            The columns of `frame(params=True)`; the newest settlement first.
        """
        from mediakit.history.entries import frame

        rows: list[Row[Any]] = []
        for account in self._accounts(service):
            query = settled_between(service, account, since, before)
            if project is not None:
                query = query.where(entries.c.project == project)
            rows += self._database.rows(query)
        # Within one instant the newest entry comes first, as in the query.
        rows.sort(key=lambda row: row.settled_at, reverse=True)
        return frame.params_frame(rows, taken)

    def _accounts(self, service: str) -> Iterator[str]:
        """Yield the accounts of a service, with one index lookup for each."""
        column = entries.c.account
        query = select(func.min(column)).where(entries.c.service == service)
        account: str | None = self._database.rows(query)[0][0]
        while account is not None:
            yield account
            account = self._database.rows(query.where(column > account))[0][0]


def settled_between(
    service: str, account: str, since: datetime | None, before: datetime | None
) -> Select[Any]:
    """Select, for `params_frame`, the charges settled in an interval."""
    from mediakit.history.entries.frame import params_query

    settled_at = entries.c.settled_at
    bounds: list[ColumnElement[bool]] = [
        settled_at.is_not(None) if since is None else settled_at >= since
    ]
    if before is not None:
        bounds.append(settled_at < before)
    return (
        params_query()
        .where(entries.c.service == service, entries.c.account == account, *bounds)
        .where(entries.c.charge_micro_usd.is_not(None))
        .order_by(None)
        .order_by(settled_at.desc(), entries.c.number.desc())
    )
