"""A watched job: when it was last read, and its place in the poller's queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.poll_schedule import (
    PATIENT_FOR_S,
    UNREADABLE_FOR_S,
    gap_s,
    unknown_status,
    unreadable_charge,
)
from mediakit.errors import ServiceError
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
        unreadable_since_s: Since when the charge of its end is unreadable, if it is.
        rests: Its place while it is not due; None while it is lined up or read.
    """

    job: AsyncJob
    status: JobStatus
    began_s: float
    ended_s: float | None
    reads: int = 0
    failures: int = 0
    unknown_since_s: float | None = None
    unreadable_since_s: float | None = None
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
        billing = record.billing if status.terminal else None
        if billing is None or not billing.is_unreadable:
            self.unreadable_since_s = None
        elif self.unreadable_since_s is None:
            self.unreadable_since_s = now_s

    def lost(self, now_s: float) -> ServiceError | None:
        """Return why nobody waits for it any longer; None while it is readable.

        Its status or its charge has been unreadable for too long.
        """
        record = self.job.state.record
        unknown_s, unreadable_s = self.unknown_since_s, self.unreadable_since_s
        if unknown_s is not None and now_s - unknown_s >= PATIENT_FOR_S:
            return unknown_status(record)
        if unreadable_s is None or now_s - unreadable_s < UNREADABLE_FOR_S:
            return None
        return unreadable_charge(record, record.billing) if record.billing else None

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
            lost=self.lost(now_s) is not None,
        )


@dataclass(order=True)
class Place:
    """A place in a queue: the lowest rank first, then the oldest."""

    rank_s: float
    number: int
    watched: Watched = field(compare=False)
