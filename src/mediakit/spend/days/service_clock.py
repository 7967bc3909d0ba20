"""The current day by the service's clock, which dates charges."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from mediakit.clock import Clock

NO_DIFFERENCE = timedelta(0)


class ServiceClock:
    """The service's time, known from the `Date` of its responses.

    Charges are dated by the service's clock. Near midnight, or if this machine's
    clock is wrong, the day can differ.

    Args:
        clock: Gives the time until the service's is known.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = NO_DIFFERENCE
        self.is_known = False

    def note(self, responded_at: datetime | None) -> None:
        """Record the time at which the service responded; None is ignored."""
        if responded_at is not None:
            self._ahead = responded_at - self._clock.now()
            self.is_known = True

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
