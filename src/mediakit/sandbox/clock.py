"""The sandbox's own clock."""

from datetime import datetime

from mediakit.clock import US_PER_S, Clock, to_instant, to_us


def iso(us: int) -> str:
    """Format an instant for the wire, such as 2026-01-02T03:04:05.678901Z."""
    return to_instant(us).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class SandboxClock:
    """Real time since an epoch, scaled by a speed; it never goes back.

    The sandbox's clock follows the system's wall clock, not the monotonic clock, so
    that the day is right after the machine has slept. When the wall clock is set back,
    the sandbox's clock stops until the wall clock has caught up.
    """

    def __init__(self, system: Clock, *, epoch_us: int, speed: float = 1.0) -> None:
        self._system = system
        self._speed = speed
        self._epoch_us = epoch_us
        self._real_epoch_us = to_us(system.now())
        self._latest_us = epoch_us

    def now_us(self) -> int:
        """Return the sandbox's time in microseconds since 1970."""
        self._latest_us = max(self._latest_us, self._followed_us())
        return self._latest_us

    def _followed_us(self) -> int:
        real_us = to_us(self._system.now()) - self._real_epoch_us
        return self._epoch_us + round(real_us * self._speed)

    def now(self) -> datetime:
        """Return the sandbox's time in UTC."""
        return to_instant(self.now_us())

    def advance(self, seconds: float) -> None:
        """Skip sandbox time; the clock then continues as before."""
        self.advance_to(self.now_us() + round(seconds * US_PER_S))

    def advance_to(self, to_us: int) -> None:
        """Skip to an instant of the sandbox's time; a past one changes nothing."""
        if to_us > self.now_us():
            # Do not add to `now_us`: after the wall clock was set back, it stands
            # still until the wall clock has caught up, so the time would be lost.
            self._epoch_us += to_us - self._followed_us()

    def ahead_s(self) -> float:
        """Return the seconds by which the sandbox is ahead of the real clock."""
        return (self.now_us() - to_us(self._system.now())) / US_PER_S

    def us_in(self, real_s: float) -> int:
        """Return the time after some real seconds, in microseconds since 1970."""
        return self.now_us() + round(real_s * self._speed * US_PER_S)

    def real_s_until(self, due_us: int) -> float:
        """Return the real seconds until a sandbox instant; 0 if it has passed."""
        return max(0.0, (due_us - self.now_us()) / US_PER_S / self._speed)
