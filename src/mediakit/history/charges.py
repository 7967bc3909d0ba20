"""Settled charges of a service, selected by the time of settlement."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select

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

        query = settled_between(service, since, before)
        if project is not None:
            query = query.where(entries.c.project == project)
        return frame.params_frame(self._database.rows(query), taken)


def settled_between(
    service: str, since: datetime | None, before: datetime | None
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
        .where(entries.c.service == service, *bounds)
        .where(entries.c.charge_micro_usd.is_not(None))
        .order_by(None)
        .order_by(settled_at.desc(), entries.c.number.desc())
    )
