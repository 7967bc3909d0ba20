"""Spend as frames: integers of micro-USD, days in UTC.

It depends on the client's billing and on the history.
"""

from mediakit.spend.async_spend import AsyncSpend
from mediakit.spend.billing_responses import csv_frame, daily_frame, monthly_frame
from mediakit.spend.blocking_spend import Spend
from mediakit.spend.dates import day_range, month_text

__all__ = [
    "AsyncSpend",
    "Spend",
    "csv_frame",
    "daily_frame",
    "day_range",
    "month_text",
    "monthly_frame",
]
