"""Sends due deliveries, several at a time, and retries them (spec 6.5)."""

import asyncio
import logging
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

import httpx
from standardwebhooks import Webhook

from mediakit.clock import MS_PER_S, US_PER_S, Clock
from mediakit.sandbox.events import TEST
from mediakit.sandbox.outbound import (
    CONNECT_TIMEOUT_S,
    BlockedError,
    Outbound,
    UnresolvedError,
    check_callback_addresses,
    parsed,
)
from mediakit.sandbox.service import SandboxService
from mediakit.sandbox.store import deliveries, endpoints
from mediakit.sandbox.store.deliveries import DELIVERED, FAILED, DeliveryRow
from mediakit.sandbox.work_loop import RETRY_S, persist

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 20
GONE = 410
MAX_ANSWER_BYTES = 64 * 1024

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
GAPS_S = (
    5,
    5 * MINUTE_S,
    30 * MINUTE_S,
    2 * HOUR_S,
    5 * HOUR_S,
    10 * HOUR_S,
    14 * HOUR_S,
    24 * HOUR_S,
)
MAX_ATTEMPTS = len(GAPS_S) + 1
# Pauses vary in both directions, so that nine attempts still take "about 55 hours".
JITTER = 0.1
PUSH_BACK_CAP_S = HOUR_S


def gap_us(failed_n: int, jitter: Random) -> int:
    """Return the time between a failed attempt and the next, in microseconds."""
    gap_s = GAPS_S[min(failed_n, len(GAPS_S)) - 1]
    return round(gap_s * jitter.uniform(1 - JITTER, 1 + JITTER) * US_PER_S)


def push_back_us(retry_after: str | None) -> int:
    """Return the wait that a receiver requests, in microseconds; at most an hour."""
    text = (retry_after or "").strip()
    seconds = float(text) if text.isascii() and text.isdigit() else 0.0
    return round(min(seconds, PUSH_BACK_CAP_S) * US_PER_S)


@dataclass(frozen=True)
class AttemptOutcome:
    """The outcome of one attempt; `reason` explains a failure (spec 6.5)."""

    status_code: int | None = None
    reason: str | None = None
    retry_after: str | None = None
    duration_ms: int = 0


class WebhookSender:
    """Attempts each due delivery and records the outcome.

    A delivery that the end of the process interrupts stays due: it is sent again after
    a restart, under the same `webhook-id`.
    """

    def __init__(
        self, service: SandboxService, system: Clock, jitter: Random | None = None
    ) -> None:
        self._service = service
        self._system = system
        self._jitter = jitter or Random()
        self._attempts: dict[str, asyncio.Task[None]] = {}
        self._timeout_s = service.settings.delivery_timeout_s
        may_loop_back = service.settings.allow_loopback_callbacks
        self._outbound = Outbound(allow_loopback=may_loop_back)

    def tasks(self) -> Collection[asyncio.Task[None]]:
        """Return the attempts in flight."""
        return tuple(self._attempts.values())

    def start_due(self, now_us: int) -> int:
        """Start attempts of due deliveries, up to a limit; return their number."""
        free = MAX_IN_FLIGHT - len(self._attempts)
        db = self._service.db
        due = deliveries.due(db, now_us, besides=self._attempts, limit=free)
        for delivery in due:
            task = asyncio.create_task(self._attempt(delivery), name=delivery.id)
            self._attempts[delivery.id] = task
        return len(due)

    def next_due_us(self) -> int | None:
        """Return when the next delivery that is not in flight is due."""
        if len(self._attempts) >= MAX_IN_FLIGHT:
            return None  # the end of a running attempt wakes the loop
        return deliveries.next_due_us(self._service.db, besides=self._attempts)

    async def _attempt(self, delivery: DeliveryRow) -> None:
        at_us = self._service.clock.now_us()
        try:
            outcome = await self._outcome(delivery)
            # Record an outcome whatever happens, so that the attempt is not repeated.
            await persist(
                "recording a delivery",
                lambda: self._record(delivery.id, at_us, outcome),
            )
        except Exception:
            logger.exception("The sandbox could not attempt %s.", delivery.id)
            await asyncio.sleep(RETRY_S)
        finally:
            del self._attempts[delivery.id]
            self._service.work.wake()

    async def _outcome(self, delivery: DeliveryRow) -> AttemptOutcome:
        db = self._service.db
        body = deliveries.body_of(db, delivery.event)
        secrets = endpoints.signing_secrets(
            db, delivery.endpoint or delivery.org, self._service.clock.now_us()
        )
        sent_at = self._system.now()
        try:
            signatures = [
                Webhook(secret).sign(delivery.event, sent_at, body.decode())
                for secret in secrets
            ]
        except Exception:  # noqa: BLE001 - the library raises several
            return AttemptOutcome(reason="signing")
        headers = {
            "webhook-id": delivery.event,
            "webhook-timestamp": str(int(sent_at.timestamp())),
            "webhook-signature": " ".join(signatures),
        }
        return await self._post(delivery.url, headers, body)

    async def _post(
        self, url: str, headers: Mapping[str, str], body: bytes
    ) -> AttemptOutcome:
        """Post an event once (spec 6.3)."""
        started_s = self._system.monotonic_s()
        response: httpx.Response | None = None
        reason = None
        try:
            # The addresses are checked again, because the host may have changed them
            # since the URL was accepted.
            check = partial(
                check_callback_addresses, parsed(url), own_port=self._service.port
            )
            async with (
                asyncio.timeout(self._timeout_s),
                self._outbound.exchange(
                    "POST",
                    url,
                    headers={"Content-Type": "application/json", **headers},
                    content=body,
                    timeouts_s={"connect": min(CONNECT_TIMEOUT_S, self._timeout_s)},
                    check=check,
                ) as response,
            ):
                await _drain(response)
        except (BlockedError, httpx.TransportError, OSError) as problem:
            reason = _reason(problem)
        passed_ms = round((self._system.monotonic_s() - started_s) * MS_PER_S)
        if response is None:
            return AttemptOutcome(reason=reason, duration_ms=passed_ms)
        code = response.status_code
        return AttemptOutcome(
            status_code=code,
            reason=None if response.is_success else f"http_{code // 100}xx: {code}",
            retry_after=response.headers.get("retry-after"),
            duration_ms=passed_ms,
        )

    def _record(self, delivery_id: str, at_us: int, outcome: AttemptOutcome) -> None:
        db = self._service.db
        now_us = self._service.clock.now_us()
        with db.transaction():
            # Read the delivery again: it may have been canceled or reset in the
            # meantime.
            delivery = deliveries.find(db, delivery_id)
            if delivery is None:
                return
            deliveries.add_attempt(
                db,
                delivery_id,
                delivery.attempts_n + 1,
                at_us=at_us,
                status_code=outcome.status_code,
                reason=outcome.reason,
                duration_ms=outcome.duration_ms,
            )
            if outcome.reason is None:
                deliveries.end(db, delivery_id, DELIVERED, now_us)
            else:
                self._fail(delivery, outcome, now_us)

    def _fail(
        self, delivery: DeliveryRow, outcome: AttemptOutcome, now_us: int
    ) -> None:
        db = self._service.db
        # A signing failure of the service does not count as an attempt.
        round_n = delivery.round_n + (outcome.reason != "signing")
        gone = outcome.status_code == GONE and delivery.endpoint is not None
        if gone or round_n >= MAX_ATTEMPTS or delivery.event_type == TEST:
            deliveries.end(db, delivery.id, FAILED, now_us)
        else:
            gap = gap_us(max(round_n, 1), self._jitter)
            due_us = now_us + max(gap, push_back_us(outcome.retry_after))
            deliveries.postpone(db, delivery.id, round_n, due_us)
        if gone and delivery.endpoint is not None:
            endpoints.disable_gone(db, delivery.endpoint, now_us)


def _reason(problem: BaseException) -> str:
    """Return why there was no response, in the terms of spec 6.5."""
    match problem:
        case UnresolvedError():
            return "connect"
        case BlockedError():
            return "blocked"
        case TimeoutError():
            return "timeout"
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__context__
    return "connect" if cause is None else "tls"


async def _drain(response: httpx.Response) -> None:
    """Read and discard the receiver's response, up to a limit."""
    size_bytes = 0
    async for chunk in response.aiter_raw():
        size_bytes += len(chunk)
        if size_bytes >= MAX_ANSWER_BYTES:
            return
