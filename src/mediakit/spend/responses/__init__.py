"""Billing responses as typed frames.

Depends only on pandas and the money helpers: no client, no network.
"""

from mediakit.spend.responses.frames import (
    csv_frame,
    daily_frame,
    joined,
    monthly_frame,
    warn_of_incomplete,
)

__all__ = [
    "csv_frame",
    "daily_frame",
    "joined",
    "monthly_frame",
    "warn_of_incomplete",
]
