"""When and how often a client's jobs are polled until their charge is settled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random

from mediakit.api_models import BillingState, JobStatus
from mediakit.client.async_job import AsyncJob
from mediakit.client.io_thread import IOThread, io_thread
from mediakit.client.job_state import JobState
from mediakit.client.job_texts import unclear_text, unreadable_text
from mediakit.clock import Clock, SystemClock
from mediakit.errors import (
    AnswerError,
    MediakitError,
    NotFoundError,
    RateLimitError,
    ServiceError,
)

# If the usual runtime is unknown, read often while an image may be ready, then less
# often.
BRISK_INTERVALS_S = (0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
# If the usual runtime is known, a few early reads show that the job runs; then read
# rarely until the expected end.
EARLY_INTERVALS_S = (0.3, 0.7, 1.5)
NEAR_SHARE_OF_USUAL = 0.6
LONGEST_EARLY_INTERVAL_S = 15.0
SHARE_OF_ELAPSED = 0.04
MIN_INTERVAL_S = 0.3
MAX_INTERVAL_S = 5.0

PENDING_INTERVALS_S = (1.0, 2.0, 5.0)
# An event never has the charge. The first read waits as long as two reads would take:
# most charges have settled by then.
INTERVAL_AFTER_EVENT_S = PENDING_INTERVALS_S[0] + PENDING_INTERVALS_S[1]
UNAVAILABLE_INTERVAL_S = 30.0
# Two reads: a charge that neither can read is not waited for any longer.
UNREADABLE_FOR_S = UNAVAILABLE_INTERVAL_S
FAST_SETTLING_S = 1_800.0
SLOW_SETTLING_INTERVAL_S = 300.0

BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 15.0)
UNREADABLE_TIMEOUT_S = 120.0
JITTER = 0.1


def running_interval_s(
    reads_n: int, *, elapsed_s: float = 0.0, usual_s: float | None = None
) -> float:
    """Return the seconds until the next read of a job that is still running."""
    if usual_s is None:
        return _nth(BRISK_INTERVALS_S, reads_n)
    left_s = NEAR_SHARE_OF_USUAL * usual_s - elapsed_s
    if left_s > MIN_INTERVAL_S:
        return min(
            _nth((*EARLY_INTERVALS_S, LONGEST_EARLY_INTERVAL_S), reads_n), left_s
        )
    return min(max(SHARE_OF_ELAPSED * elapsed_s, MIN_INTERVAL_S), MAX_INTERVAL_S)


def settling_interval_s(
    billing: BillingState | None, reads_n: int, *, settling_s: float = 0.0
) -> float:
    """Return the seconds until the next read of an ended job (spec 2.2)."""
    if settling_s > FAST_SETTLING_S:
        return SLOW_SETTLING_INTERVAL_S
    if billing is BillingState.UNAVAILABLE:
        return UNAVAILABLE_INTERVAL_S
    return _nth(PENDING_INTERVALS_S, reads_n)


def poll_interval_s(
    state: JobState,
    reads_n: int,
    *,
    elapsed_s: float = 0.0,
    settling_s: float = 0.0,
) -> float:
    """Return the seconds until the next read of a job."""
    billing = state.record.billing
    # A job has a billing once it has ended, whatever its status.
    if state.record.status.terminal or billing is not None:
        billing_state = None if billing is None else billing.state
        # An unknown state is polled like a pending one.
        return settling_interval_s(billing_state, reads_n, settling_s=settling_s)
    return running_interval_s(
        reads_n, elapsed_s=elapsed_s, usual_s=state.usual_runtime_s
    )


def jittered_s(seconds: float, random: Random) -> float:
    """Lengthen an interval slightly; a shorter one would violate spec 2.2."""
    return seconds * random.uniform(1.0, 1.0 + JITTER)


def is_temporary(error: BaseException) -> bool:
    """Return whether an error may be temporary, or caused by this machine."""
    if not isinstance(error, AnswerError) or error.status is None:
        return True
    if error.status == 404:
        # A NotFoundError has lasted for minutes; any other 404 may pass.
        return isinstance(error, ServiceError)
    return error.status < 400 or error.status == 429 or error.status >= 500


def is_service_wide(error: BaseException) -> bool:
    """Return whether an error concerns the whole service, not one job."""
    if not isinstance(error, AnswerError):
        return False
    return error.status is None or error.status == 429


def retry_delay_s(error: BaseException, failures_n: int, random: Random) -> float:
    """Return the seconds until a retry: as the service requests, or a backoff."""
    retry_after_s = error.retry_after_s if isinstance(error, RateLimitError) else None
    if retry_after_s is None:
        return jittered_s(_nth(BACKOFF_S, failures_n - 1), random)
    return max(retry_after_s, BACKOFF_S[0])


def _nth(intervals_s: tuple[float, ...], index: int) -> float:
    return intervals_s[min(index, len(intervals_s) - 1)]


# -- the reads of one process ----------------------------------------------------------


READS_PER_S = 20.0
# Leaves room in each second for reads that the network delays.
RATE_HEADROOM = 0.9


class ReadLimiter:
    """Limits the reads per second, first come, first served."""

    def __init__(
        self, reads_per_s: float = READS_PER_S, *, clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self.interval_s = 1.0 / (RATE_HEADROOM * reads_per_s)
        self._queue = asyncio.Lock()  # waiters are woken in order
        self._free_at_s = 0.0
        self._waiting_n = 0

    @property
    def queue_wait_s(self) -> float:
        """Return how long the current queue takes."""
        return self._waiting_n * self.interval_s

    async def acquire(self, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Wait for a turn; return False once it is no longer needed."""
        self._waiting_n += 1
        try:
            async with self._queue:
                while is_wanted():
                    now_s = self._clock.monotonic_s()
                    if now_s >= self._free_at_s:
                        self._free_at_s = now_s + self.interval_s
                        return True
                    await self._clock.sleep(self._free_at_s - now_s)
                return False
        finally:
            self._waiting_n -= 1


@cache
def _read_limiter_of(_: IOThread) -> ReadLimiter:
    return ReadLimiter()


def process_read_limiter() -> ReadLimiter:
    """Return the limiter that all clients in this process share."""
    return _read_limiter_of(io_thread())


# -- the jobs of one client ------------------------------------------------------------


log = logging.getLogger("mediakit.client")

READS_AT_ONCE = 8

Read = Callable[[AsyncJob], Awaitable[None]]


@dataclass(eq=False)
class PolledJob:
    """A job and its polling state; instants are seconds of the clock."""

    job: AsyncJob
    status: JobStatus
    began_s: float
    ended_s: float | None
    reads_n: int = 0  # since its status last changed
    failures_n: int = 0  # since the last read that succeeded
    unclear_since_s: float | None = None  # while its status or charge is unreadable
    is_sleeping: bool = False  # not due yet: neither queued nor being read
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    def record_read(self, now_s: float) -> None:
        """Record a successful read."""
        record = self.job.state.record
        is_new = record.status is not self.status
        self.failures_n = 0
        self.reads_n = 0 if is_new else self.reads_n + 1
        self.status = record.status
        if record.status.terminal and self.ended_s is None:
            self.ended_s = now_s
        if unreadable_text(record) is None:
            self.unclear_since_s = None
        elif self.unclear_since_s is None or is_new:
            self.unclear_since_s = now_s

    def unreadable_error(self, now_s: float) -> MediakitError | None:
        """Return why waiting ends while the job is unreadable; None if readable."""
        timeout_s = UNREADABLE_FOR_S if self.status.terminal else UNREADABLE_TIMEOUT_S
        since_s = self.unclear_since_s
        has_timed_out = since_s is not None and now_s - since_s >= timeout_s
        if not has_timed_out:
            return None
        record = self.job.state.record
        text = unclear_text(record, SLOW_SETTLING_INTERVAL_S)
        return ServiceError(text, status=200, job_id=record.id)

    def interval_s(self, now_s: float) -> float:
        """Return the seconds until the next read."""
        if self.unreadable_error(now_s) is not None:
            return SLOW_SETTLING_INTERVAL_S
        return poll_interval_s(
            self.job.state,
            self.reads_n,
            elapsed_s=now_s - self.began_s,
            settling_s=0.0 if self.ended_s is None else now_s - self.ended_s,
        )


class Poller:
    """Reads jobs until their charge is settled, one task per job."""

    def __init__(
        self,
        read: Read,
        clock: Clock,
        limiter: ReadLimiter | None = None,
        random: Random | None = None,
    ) -> None:
        self._read = read
        self._clock = clock
        self.limiter = limiter  # None for the limiter of this process
        self._random = random or Random()
        self._polled: dict[str, PolledJob] = {}
        self._reading_n = 0
        self._slot_freed = asyncio.Event()
        # Failed reads since the last usable response, and when reading resumes.
        self._failures_n = 0
        self._paused_until_s = 0.0
        self._refusal: AnswerError | None = None

    def watch(self, job: AsyncJob, *, at_once: bool = False) -> None:
        """Start polling a job, unless it is polled already; `at_once` reads it now."""
        now_s = self._clock.monotonic_s()
        if self._refusal is not None and now_s < self._paused_until_s:
            job.end(self._refusal)
        if job.id in self._polled:
            return
        state, age_s = job.state, 0.0
        if state.submitted_at is not None:
            age_s = (self._clock.now() - state.submitted_at).total_seconds()
        status = state.record.status
        ended_s = now_s if status.terminal else None
        polled = PolledJob(job, status, now_s - max(0.0, age_s), ended_s)
        self._begin(polled, 0.0 if at_once else self._interval_s(polled, now_s))

    def stop(self) -> None:
        """Stop all polling; the jobs continue at the service."""
        polled, self._polled = self._polled, {}
        for each in polled.values():
            if each.task is not None:
                each.task.cancel()

    def on_end_reported(self, job: AsyncJob) -> None:
        """Record that an event or another read reported the end of a job."""
        polled = self._polled.get(job.id)
        # If the job is queued for a read or being read, that read continues.
        if polled is None or polled.task is None or not polled.is_sleeping:
            return
        if job.state.is_over:
            del self._polled[job.id]
            polled.task.cancel()
        elif not polled.status.terminal:
            polled.task.cancel()
            now_s = self._clock.monotonic_s()
            polled.record_read(now_s)
            # An event has no billing; another read of the job may have set it.
            has_billing = job.state.record.billing is not None
            event_interval_s = jittered_s(INTERVAL_AFTER_EVENT_S, self._random)
            interval_s = (
                self._interval_s(polled, now_s) if has_billing else event_interval_s
            )
            self._begin(polled, interval_s)

    # -- the task of a job --------------------------------------------------------

    def _begin(self, polled: PolledJob, first_interval_s: float) -> None:
        self._polled[polled.job.id] = polled
        polled.is_sleeping = True
        polled.task = asyncio.create_task(self._watch(polled, first_interval_s))
        polled.task.add_done_callback(partial(self._end, polled))

    def _end(self, polled: PolledJob, task: asyncio.Task[None]) -> None:
        if polled.task is not task:
            return
        polled.task = None  # breaks a reference cycle
        if self._polled.get(polled.job.id) is polled:
            del self._polled[polled.job.id]

    async def _watch(self, polled: PolledJob, interval_s: float | None) -> None:
        limiter = self.limiter or process_read_limiter()
        while interval_s is not None and not polled.job.state.is_over:
            polled.is_sleeping = True
            await self._clock.sleep(interval_s)
            if polled.status.terminal and limiter.queue_wait_s > 0:
                await self._clock.sleep(limiter.queue_wait_s)
            polled.is_sleeping = False
            is_due = await self._wait_for_turn(polled.job, limiter)
            interval_s = await self._read_once(polled) if is_due else None

    async def _wait_for_turn(self, job: AsyncJob, limiter: ReadLimiter) -> bool:
        """Wait for a turn; return False if another read has settled the job."""

        def is_wanted() -> bool:
            return not job.state.is_over and self._may_read

        while not job.state.is_over:
            pause_s = self._paused_until_s - self._clock.monotonic_s()
            if pause_s > 0:
                await self._clock.sleep(pause_s)
            elif not self._may_read:
                self._slot_freed.clear()
                await self._slot_freed.wait()
            elif await limiter.acquire(is_wanted):
                return True
        return False

    @property
    def _may_read(self) -> bool:
        # A service with errors gets one read at a time.
        at_once = 1 if self._failures_n else READS_AT_ONCE
        is_paused = self._clock.monotonic_s() < self._paused_until_s
        return self._reading_n < at_once and not is_paused

    async def _read_once(self, polled: PolledJob) -> float | None:
        """Read a job; return the seconds until its next read, or None if it is done."""
        self._reading_n += 1
        try:
            await self._read(polled.job)
            return self._on_success(polled)
        except AnswerError as error:
            return self._on_failure(polled, error)
        except Exception as error:
            # After any error, waiting calls must not wait forever.
            log.exception("reading the job %s failed", polled.job.id)
            return self._on_failure(polled, error)
        finally:
            self._reading_n -= 1
            self._slot_freed.set()

    # -- the result of a read -------------------------------------------------------

    def _interval_s(self, polled: PolledJob, now_s: float) -> float:
        return jittered_s(polled.interval_s(now_s), self._random)

    def _on_success(self, polled: PolledJob) -> float:
        now_s = self._clock.monotonic_s()
        polled.record_read(now_s)
        if self._failures_n:
            self._failures_n = 0
            self._refusal = None
            self._report_trouble(None)
        error = polled.unreadable_error(now_s)
        if error is not None:
            polled.job.end(error)
        return self._interval_s(polled, now_s)

    def _on_failure(self, polled: PolledJob, error: Exception) -> float | None:
        if isinstance(error, NotFoundError):
            # The 404 may come from a gateway: the job may be found later.
            polled.job.end(error)
            return jittered_s(SLOW_SETTLING_INTERVAL_S, self._random)
        if isinstance(error, MediakitError) and not is_temporary(error):
            polled.job.end(error)
            return None
        polled.failures_n += 1
        if not is_service_wide(error):
            wait_s = retry_delay_s(error, polled.failures_n, self._random)
            polled.job.trouble(trouble_text(error, wait_s))
            return wait_s
        now_s = self._clock.monotonic_s()
        if now_s >= self._paused_until_s:  # of concurrent reads, the first counts
            self._failures_n += 1
        wait_s = retry_delay_s(error, self._failures_n, self._random)
        self._paused_until_s = max(self._paused_until_s, now_s + wait_s)
        self._report_trouble(trouble_text(error, wait_s))
        if wait_s > UNREADABLE_TIMEOUT_S and isinstance(error, AnswerError):
            # Waiting calls end; polling continues when the service allows it.
            self._refusal = error
            for each in tuple(self._polled.values()):
                each.job.end(error)
        return 0.0

    def _report_trouble(self, trouble: str | None) -> None:
        for polled in tuple(self._polled.values()):
            polled.job.trouble(trouble)


def trouble_text(error: Exception, wait_s: float) -> str:
    """Return a sentence on the error and the time of the next attempt."""
    reason = str(error) if isinstance(error, MediakitError) else type(error).__name__
    end = "" if reason.endswith("?") else "."
    then = "" if isinstance(error, RateLimitError) else "; the job continues"
    return f"{reason.rstrip('.')}{end} Retrying in {wait_s:,.0f} s{then}."
