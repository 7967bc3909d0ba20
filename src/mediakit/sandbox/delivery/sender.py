"""Sends due deliveries, several at a time (spec 6.5)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING

from mediakit.cached import cached_property
from mediakit.clock import Clock
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.delivery.events import TEST
from mediakit.sandbox.delivery.outcome import SIGNING, Outcome
from mediakit.sandbox.delivery.schedule import MAX_ATTEMPTS, gap_us, push_back_us
from mediakit.sandbox.delivery.signatures import SigningError, signed_headers
from mediakit.sandbox.store.events import deliveries, endpoints, signing_secrets
from mediakit.sandbox.store.events.deliveries import (
    DELIVERED,
    FAILED,
    PENDING,
    AttemptRow,
    DeliveryRow,
)
from mediakit.sandbox.timing.clock import US_PER_S, to_us
from mediakit.sandbox.timing.wakeup import run_forever
from mediakit.sandbox.timing.work_retry import backoff_s

if TYPE_CHECKING:
    from mediakit.sandbox.delivery.attempt import Poster

DELIVERING = "delivering an event"
MAX_IN_FLIGHT = 20
GONE = 410


class Sender:
    """Attempts each due delivery and records the outcome.

    A delivery that the end of the process interrupts stays due: the next start sends
    it again, under the same `webhook-id`.

    Args:
        service: The shared state of the sandbox.
        system: The real clock, for `webhook-timestamp` and durations: receivers
            reject a timestamp that is not close to their own time.
        jitter: The source of the schedule's jitter.
    """

    def __init__(
        self, service: Service, system: Clock, jitter: Random | None = None
    ) -> None:
        self._service = service
        self._system = system
        self._jitter = jitter or Random()
        # An attempt that raised an error stays here until its retry.
        self._attempts: dict[str, asyncio.Task[None]] = {}
        # Outcomes that are not recorded yet: their attempts are not repeated.
        self._unrecorded: dict[str, tuple[int, Outcome]] = {}
        self._pauses_n = 0

    @cached_property
    def _poster(self) -> "Poster":
        # Imported with the first attempt: httpcore takes a while.
        from mediakit.sandbox.delivery.attempt import Poster

        return Poster(
            own_port=self._service.port,
            allow_loopback=self._service.settings.allow_loopback_callbacks,
            timeout_s=self._service.settings.delivery_timeout_s,
            system=self._system,
        )

    async def run(self) -> None:
        """Send for as long as the sandbox serves."""
        service = self._service
        try:
            await run_forever(
                service.health, "sending deliveries", service.deliveries, self._step
            )
        finally:
            await self._cancel()

    def _step(self) -> int | None:
        self._start_due(self._service.clock.now_us())
        return self._next_start_us()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Cancel the attempts in flight, and send nothing meanwhile."""
        self._pauses_n += 1
        try:
            await self._cancel()
            yield
        finally:
            self._pauses_n -= 1

    async def _cancel(self) -> None:
        for task in self._attempts.values():
            task.cancel()
        await asyncio.gather(*self._attempts.values(), return_exceptions=True)
        for delivery_id in self._attempts:
            self._service.health.forget(DELIVERING, delivery_id)
        self._attempts.clear()
        self._unrecorded.clear()

    def next_due_us(self) -> int | None:
        """Return when the next delivery is due, including one that is in flight."""
        broken = [name for name, task in self._attempts.items() if task.done()]
        return deliveries.next_due_us(self._service.db, besides=broken)

    async def do_due(self, now_us: int) -> int:
        """Attempt all due deliveries, wait for them, and return their number."""
        n = 0
        while in_flight := self._start_due(now_us):
            await asyncio.wait(in_flight)
            n += len(in_flight)
        return n

    def _next_start_us(self) -> int | None:
        if self._pauses_n or len(self._in_flight()) >= MAX_IN_FLIGHT:
            return None  # the end of either wakes the loop
        return deliveries.next_due_us(self._service.db, besides=self._attempts)

    def _in_flight(self) -> list[asyncio.Task[None]]:
        return [task for task in self._attempts.values() if not task.done()]

    def _start_due(self, now_us: int) -> list[asyncio.Task[None]]:
        free = 0 if self._pauses_n else MAX_IN_FLIGHT - len(self._in_flight())
        db = self._service.db
        for delivery in deliveries.due(db, now_us, besides=self._attempts, limit=free):
            self._start(delivery, broken_n=0)
        return self._in_flight()

    def _start(self, delivery: DeliveryRow, broken_n: int) -> None:
        task = asyncio.create_task(self._attempt(delivery.id), name=delivery.id)
        task.add_done_callback(lambda ended: self._ended(ended, delivery, broken_n))
        self._attempts[delivery.id] = task

    async def _attempt(self, delivery_id: str) -> None:
        at_us = self._service.clock.now_us()
        if delivery_id not in self._unrecorded:
            # Read again: since an attempt that raised an error, the delivery may have
            # been canceled or readdressed.
            delivery = deliveries.find(self._service.db, delivery_id)
            if delivery is not None and delivery.status == PENDING:
                outcome = await self._outcome(delivery)
                self._unrecorded[delivery_id] = at_us, outcome
        if delivery_id in self._unrecorded:
            self._record(delivery_id, *self._unrecorded[delivery_id])
            del self._unrecorded[delivery_id]
        del self._attempts[delivery_id]
        self._service.health.forget(DELIVERING, delivery_id)
        self._service.deliveries.wake()

    def _ended(
        self, task: asyncio.Task[None], delivery: DeliveryRow, broken_n: int
    ) -> None:
        if task.cancelled() or (problem := task.exception()) is None:
            return

        def retry() -> None:
            if self._attempts.get(delivery.id) is task:  # it was not canceled
                self._start(delivery, broken_n + 1)

        self._service.health.failed(DELIVERING, problem, delivery.id)
        task.get_loop().call_later(backoff_s(broken_n), retry)

    async def _outcome(self, delivery: DeliveryRow) -> Outcome:
        db = self._service.db
        body = deliveries.body_of(db, delivery.event)
        secrets = signing_secrets.signing(
            db, delivery.endpoint or delivery.org, self._service.clock.now_us()
        )
        timestamp_s = to_us(self._system.now()) // US_PER_S
        try:
            headers = signed_headers(secrets, delivery.event, timestamp_s, body)
        except SigningError:
            return Outcome(reason=SIGNING)
        return await self._poster.post(delivery.url, headers, body)

    def _record(self, delivery_id: str, at_us: int, outcome: Outcome) -> None:
        db, now_us = self._service.db, self._service.clock.now_us()
        with db.transaction():
            # Read again: it may have been canceled or reset meanwhile.
            delivery = deliveries.find(db, delivery_id)
            if delivery is None:
                return
            attempt = AttemptRow(
                n=delivery.attempts_n + 1,
                at_us=at_us,
                status_code=outcome.status_code,
                reason=outcome.reason,
                duration_ms=outcome.duration_ms,
            )
            deliveries.add_attempt(db, delivery_id, attempt)
            if outcome.reason is None:
                deliveries.end(db, delivery_id, DELIVERED, now_us)
            else:
                self._fail(delivery, outcome, now_us)

    def _fail(self, delivery: DeliveryRow, outcome: Outcome, now_us: int) -> None:
        db = self._service.db
        # A signing failure of the service does not count as an attempt.
        round_n = delivery.round_n + (outcome.reason != SIGNING)
        gone = outcome.status_code == GONE and delivery.endpoint is not None
        if gone or round_n >= MAX_ATTEMPTS or delivery.event_type == TEST:
            deliveries.end(db, delivery.id, FAILED, now_us)
        else:
            due_us = self._next_due_us(delivery, round_n, outcome, now_us)
            deliveries.postpone(db, delivery.id, round_n, due_us)
        if gone and delivery.endpoint is not None:
            endpoints.disable_gone(db, delivery.endpoint, now_us)

    def _next_due_us(
        self, delivery: DeliveryRow, round_n: int, outcome: Outcome, now_us: int
    ) -> int:
        # A broken secret may never sign, so signing failures also back off.
        failed_n = delivery.attempts_n + 1 if outcome.reason == SIGNING else round_n
        pushed_us = push_back_us(outcome.retry_after, self._system.now())
        return now_us + max(gap_us(failed_n, self._jitter), pushed_us)
