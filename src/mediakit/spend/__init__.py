"""What was spent, as frames: integers of micro-USD, days in UTC."""

from mediakit.spend.api import AsyncSpend, Spend
from mediakit.spend.dates import day_range, month_text
from mediakit.spend.frames import csv_frame, daily_frame, monthly_frame

__all__ = [
    "AsyncSpend",
    "Spend",
    "csv_frame",
    "daily_frame",
    "day_range",
    "month_text",
    "monthly_frame",
]
