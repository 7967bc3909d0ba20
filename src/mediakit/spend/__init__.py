"""What was spent, as frames: integers of micro-USD, days in UTC."""

from mediakit.spend.answers import csv_frame, daily_frame, monthly_frame
from mediakit.spend.api import AsyncSpend
from mediakit.spend.blocking import Spend
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
