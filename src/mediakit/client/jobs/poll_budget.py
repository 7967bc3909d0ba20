"""Limits the rate at which a process polls jobs, over all its clients."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from mediakit.clock import Clock, SystemClock
from mediakit.errors import AnswerError

READS_PER_S = 20.0
# A burst of two makes up for a late event loop. The steady rate leaves room in each
# second for the burst and for reads that the network delays.
BURST = 2
STEADY_SHARE = 0.9


@dataclass(eq=False)
class Lane:
    """The state of the polling of one client; it ends with the client.

    Args:
        paused_until_s: When polling continues, in seconds of the budget's clock.
        failures: The number of consecutive reads without a usable response.
        closed_by: Why calls do not wait during a pause; None for a short pause.
    """

    paused_until_s: float = 0.0
    failures: int = 0
    closed_by: AnswerError | None = None


@dataclass(frozen=True, order=True)
class _Ticket:
    rank_s: float
    number: int


class PollBudget:
    """A rate limit for reads; each read needs a turn.

    The lowest rank is next. There is no background task: waiting reads check for
    their turn themselves, and one that misses its turn is skipped.

    Args:
        reads_per_s: The highest number of turns within any one second, from 3.
        clock: Gives time; the system's by default.
    """

    def __init__(
        self, reads_per_s: float = READS_PER_S, *, clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self.steady_reads_per_s = STEADY_SHARE * (reads_per_s - BURST)
        self._gap_s = 1.0 / self.steady_reads_per_s
        self._free_at_s = 0.0
        self._numbers = count()
        self._waiting: set[_Ticket] = set()

    def pause(self, lane: Lane, seconds: float) -> None:
        """Pause a lane for a number of seconds."""
        until_s = self._clock.monotonic_s() + seconds
        lane.paused_until_s = max(lane.paused_until_s, until_s)

    def refusal(self, lane: Lane) -> AnswerError | None:
        """Return why calls do not wait in a lane now; None if they may."""
        over = self._clock.monotonic_s() >= lane.paused_until_s
        return None if over else lane.closed_by

    async def turn(self, lane: Lane, rank_s: float) -> None:
        """Wait for a turn in a lane; the lowest rank comes first.

        Args:
            lane: The lane of its client.
            rank_s: When it started to wait, in seconds of the clock; later for a read
                that may wait longer.
        """
        ticket = _Ticket(rank_s, next(self._numbers))
        try:
            while (wait_s := self._wait_s(ticket, lane)) > 0:
                await self._clock.sleep(wait_s)
        finally:
            self._waiting.discard(ticket)

    def _wait_s(self, ticket: _Ticket, lane: Lane) -> float:
        """Return the seconds until the next check; 0 takes the turn."""
        now_s = self._clock.monotonic_s()
        if lane.paused_until_s > now_s:
            self._waiting.discard(ticket)
            return lane.paused_until_s - now_s
        self._waiting.add(ticket)
        ahead = {other for other in self._waiting if other < ticket}
        wait_s = self._free_at_s + len(ahead) * self._gap_s - now_s
        if wait_s <= 0:
            # Those ahead missed their turn.
            self._waiting -= ahead
            saved_s = (BURST - 1) * self._gap_s
            self._free_at_s = max(self._free_at_s, now_s - saved_s) + self._gap_s
        return wait_s


_of_process = PollBudget()


def process_budget() -> PollBudget:
    """Return the budget of this process."""
    return _of_process
