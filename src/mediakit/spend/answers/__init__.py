"""What the billing endpoints answer, read into typed frames.

It stands on nothing but pandas and the amounts: no client, no network.
"""

from mediakit.spend.answers.frames import csv_frame, daily_frame, monthly_frame

__all__ = ["csv_frame", "daily_frame", "monthly_frame"]
