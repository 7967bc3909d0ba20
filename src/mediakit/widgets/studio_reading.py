"""What the studio reads of balance and spend, on the I/O thread."""

from __future__ import annotations

from datetime import datetime

from mediakit.client import Client, Job
from mediakit.errors import MediakitError
from mediakit.widgets.errands import read_funds
from mediakit.widgets.funds import Funds
from mediakit.widgets.studio_glance import Glance, first_of_month, midnight


async def read_spend(client: Client[Job], now: datetime, funds: Funds) -> Glance:
    """Read from the history what was spent, and how far the budget is used.

    Args:
        client: The client.
        now: The instant, in UTC.
        funds: What is known of the balance so far.
    """
    spent = client.core.history.settled_total_micro_usd
    return Glance(
        funds=funds,
        today_micro_usd=await spent(since=midnight(now)),
        month_micro_usd=await spent(since=first_of_month(now)),
        budget=await client.core.budget(),
    )


async def read_known_funds(client: Client[Job]) -> Funds:
    """Read the balance; without an answer, what is held and why there is none."""
    try:
        return await read_funds(client)
    except MediakitError as error:
        return Funds(
            held_micro_usd=client.reserved_micro_usd(),
            trouble=f"The balance is not known. {error}",
        )
