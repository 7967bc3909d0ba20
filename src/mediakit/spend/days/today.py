"""What day it is where charges are dated: at the service."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from mediakit.clock import Clock

NO_DIFFERENCE = timedelta(0)


class ServiceClock:
    """The service's time, known from the `Date` of its responses.

    Charges are dated by the service's clock. Near midnight, or where this machine's
    clock is wrong, that is another day.

    Args:
        clock: Tells the time until the service has.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = NO_DIFFERENCE

    def note(self, told_at: datetime | None) -> None:
        """Note when the service says that it responded; None says nothing."""
        if told_at is not None:
            self._ahead = told_at - self._clock.now()

    def now(self) -> datetime:
        """Return the instant at the service, in UTC."""
        now = self._clock.now()
        try:
            return now + self._ahead
        except OverflowError:  # the service says the last second of the calendar
            return now

    def today(self) -> date:
        """Return the day at the service, in UTC."""
        return self.now().date()

    def month(self) -> str:
        """Return the month at the service, YYYY-MM in UTC."""
        return self.today().isoformat()[:7]
