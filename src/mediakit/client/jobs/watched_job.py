"""A watched job: when it was last read, and its place in the poller's queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.poll_schedule import PATIENT_FOR_S, gap_s
from mediakit.records import JobStatus


@dataclass
class Watched:
    """A job and the state of its polling.

    Args:
        job: The job.
        status: Its status at the last read.
        began_s: When it was submitted, in seconds of the clock.
        ended_s: When its end was seen; None before.
        reads: The number of reads since its status last changed.
        failures: The number of failed reads since the last successful one.
        unknown_since_s: Since when its status is unknown; None if it is known.
        rests: Its place while it is not due; None while it is lined up or read.
    """

    job: AsyncJob
    status: JobStatus
    began_s: float
    ended_s: float | None
    reads: int = 0
    failures: int = 0
    unknown_since_s: float | None = None
    rests: Place | None = field(default=None, repr=False, compare=False)

    def was_read(self, now_s: float) -> None:
        """Note a successful read."""
        record = self.job.state.record
        status = record.status
        self.failures = 0
        self.reads = self.reads + 1 if status is self.status else 0
        self.status = status
        if status.terminal and self.ended_s is None:
            self.ended_s = now_s
        if record.unknown_status is None:
            self.unknown_since_s = None
        elif self.unknown_since_s is None:
            self.unknown_since_s = now_s

    def is_lost(self, now_s: float) -> bool:
        """Return whether its status has been unknown for too long."""
        since_s = self.unknown_since_s
        return since_s is not None and now_s - since_s >= PATIENT_FOR_S

    def gap_s(self, now_s: float, *, listened: bool = False) -> float:
        """Return the seconds until it should be read again.

        Args:
            now_s: The time, in seconds of the clock.
            listened: An event reports its end.
        """
        settling_s = 0.0 if self.ended_s is None else now_s - self.ended_s
        return gap_s(
            self.job.state,
            self.reads,
            elapsed_s=now_s - self.began_s,
            settling_s=settling_s,
            listened=listened,
            lost=self.is_lost(now_s),
        )


@dataclass(order=True)
class Place:
    """A place in a queue: the lowest rank first, then the oldest."""

    rank_s: float
    number: int
    watched: Watched = field(compare=False)
