"""Displays the delivery log in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from mediakit.client.account.blocking_deliveries import Deliveries
from mediakit.widgets.deliveries.html import (
    LoggedDelivery,
    deliveries_html,
    deliveries_text,
)
from mediakit.widgets.toolkit.cell_outputs import current_cell, publish


def display_deliveries(
    log: Deliveries,
    delivery_id: str | None,
    *,
    status: str | None,
    source_id: str | None,
    many: int,
) -> None:
    """Show deliveries in the cell that is being executed; see `Deliveries.show`."""
    if delivery_id is not None:
        found, more = [log.get(delivery_id)], False
    else:
        # One more than is shown tells whether there are more.
        every = log.list(status=status, source_id=source_id, page_size=many + 1)
        found = list(islice(every, many + 1))
        found, more = found[:many], len(found) > many
    logged = [
        LoggedDelivery(one, log.attempts(one.id) if one.id else ()) for one in found
    ]
    _show(logged, more=more)


def _show(logged: Sequence[LoggedDelivery], *, more: bool) -> None:
    text = deliveries_text(logged, more=more)
    if current_cell() is None:
        print(text)  # noqa: T201 - there is no cell to show it in
    else:
        publish({"text/html": deliveries_html(logged, more=more), "text/plain": text})
