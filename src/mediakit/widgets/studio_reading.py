"""What the studio reads of spend, on the I/O thread."""

from __future__ import annotations

from datetime import datetime

from mediakit.client import Client, Job
from mediakit.widgets.studio_glance import Glance, first_of_month, midnight


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
    )
