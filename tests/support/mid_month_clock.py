"""A clock in the middle of a month, for sums that must not be split by its end."""

from __future__ import annotations

from datetime import datetime, timedelta

from mediakit.clock import SystemClock


class MidMonthClock(SystemClock):
    """The machine's clock, set forward to noon of the 15th of next month.

    Attributes:
        ahead: How far it is set forward.
    """

    def __init__(self) -> None:
        today = super().now()
        next_month = today.replace(day=28) + timedelta(days=4)
        middle = next_month.replace(day=15, hour=12, minute=0)
        self.ahead = middle - today

    def now(self) -> datetime:
        return super().now() + self.ahead
