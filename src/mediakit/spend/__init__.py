"""Spend as frames: integers of micro-USD, days in UTC.

It depends on the client's billing and on the history.
"""

from mediakit.spend.dates import day_range, month_text
from mediakit.spend.frames import csv_frame, daily_frame, monthly_frame
from mediakit.spend.spend import AsyncSpend, Spend

__all__ = [
    "AsyncSpend",
    "Spend",
    "csv_frame",
    "daily_frame",
    "day_range",
    "month_text",
    "monthly_frame",
]
