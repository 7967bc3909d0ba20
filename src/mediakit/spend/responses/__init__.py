"""Billing responses as typed frames.

Depends only on pandas and the money helpers: no client, no network.
"""

from mediakit.spend.responses.frames import (
    csv_frame,
    daily_frame,
    monthly_frame,
    warn_of_unread,
)

__all__ = ["csv_frame", "daily_frame", "monthly_frame", "warn_of_unread"]
