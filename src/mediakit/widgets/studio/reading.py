"""What the studio reads of spend, on the I/O thread."""

from __future__ import annotations

from datetime import datetime

from mediakit.client import Client, Job
from mediakit.errors import MediakitError
from mediakit.spend import AsyncSpend
from mediakit.widgets.dashboard.figures import forecast_figure
from mediakit.widgets.studio.glance import Glance, first_of_month, midnight


async def read_spend(client: Client[Job], now: datetime) -> Glance:
    """Read from the history what was spent, and how far the budget is used.

    Args:
        client: The client.
        now: The instant, in UTC.
    """
    spent = client.core.history.settled_total_micro_usd
    return Glance(
        today_micro_usd=await spent(since=midnight(now)),
        month_micro_usd=await spent(since=first_of_month(now)),
        budget=await client.core.budget(),
        days_micro_usd=await _by_day(client, now),
    )


async def _by_day(client: Client[Job], now: datetime) -> tuple[int, ...]:
    today, sums = now.date(), [0] * now.day
    charges = await spend_of(client).charges(today.replace(day=1), today)
    pairs = zip(charges["day"].dt.day, charges["charge_micro_usd"], strict=True)
    for day, charge_micro_usd in pairs:
        sums[day - 1] += int(charge_micro_usd)
    return tuple(sums)


async def read_outlook(client: Client[Job]) -> str:
    """Return the range of the month's end; empty where it cannot be read.

    Args:
        client: The client. Its service is asked for the days of some weeks, once.
    """
    try:
        found = await spend_of(client).forecast()
    except MediakitError:
        return ""  # the studio has a line of its own for a service that is not there
    return forecast_figure(found).text


def spend_of(client: Client[Job]) -> AsyncSpend:
    """Return the spend reports of a client."""
    core = client.core
    return AsyncSpend(core.billing, core.history, core.catalog, core._clock)
