"""Reads the spend that the studio shows, on the I/O thread."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mediakit.catalog import Catalog
from mediakit.errors import InputError, MediakitError
from mediakit.spend import AsyncSpend
from mediakit.widgets.dashboard.figures import forecast_figure, function_title
from mediakit.widgets.studio.spend_summary import SpendSummary, first_of_month, midnight
from mediakit.widgets.studio.spending.days import SpendDays, first_day, spend_days

if TYPE_CHECKING:
    from mediakit.blocking_client import Client


async def read_spend(client: Client, now: datetime) -> SpendSummary:
    """Read from the history what was spent, and how far the budget is used.

    Args:
        client: The client.
        now: The instant, in UTC.
    """
    spent = client.core.history.settled_total_micro_usd
    return SpendSummary(
        today_micro_usd=await spent(since=midnight(now)),
        month_micro_usd=await spent(since=first_of_month(now)),
        budget=await client.core.budget(),
    )


async def read_days(client: Client, now: datetime) -> SpendDays:
    """Read from the history what was charged on each of the last days.

    Args:
        client: The client.
        now: The instant, in UTC.
    """
    today = now.date()
    charges = await spend_of(client).charges(first_day(today), today)
    columns = ("day", "function", "kind", "charge_micro_usd")
    rows = zip(*(charges[name] for name in columns), strict=True)
    found = (
        (day.date(), _title(client.catalog, path, kind), int(charge))
        for day, path, kind, charge in rows
    )
    return spend_days(found, today)


def _title(catalog: Catalog, path: str, kind: object) -> str:
    try:
        return catalog.function(path).title
    except InputError:  # it may be bound elsewhere by now
        return function_title(path, kind)


async def read_outlook(client: Client) -> str:
    """Return the range of the month's end; empty where it cannot be read.

    Args:
        client: The client. Its service is asked for the days of some weeks, once.
    """
    try:
        found = await spend_of(client).forecast()
    except MediakitError:
        return ""  # the studio has a line of its own for a service that is not there
    return forecast_figure(found).text


def spend_of(client: Client) -> AsyncSpend:
    """Return the spend reports of a client."""
    components = client.components
    return AsyncSpend(
        components.billing, components.history, client.catalog, components.clock
    )
