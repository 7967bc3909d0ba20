"""Sending an order so that its job is made once, whatever happens on the way."""

from __future__ import annotations

from mediakit.client.answers import (
    NOT_CHARGED,
    error_of,
    failed_job,
    parse,
    rejection,
    retry_after_s,
)
from mediakit.client.orders import next_attempt
from mediakit.client.transport import Answer, NoAnswerError, Transport
from mediakit.clock import Clock
from mediakit.errors import ServiceError
from mediakit.history import Entry, History, Intent
from mediakit.records import Job

SUBMIT_RETRY_FOR_S = 60.0
LONGEST_RETRY_AFTER_S = 120.0
REJECTED_TRIES = 3
REJECTED_BACKOFF_S = 1.0


class Submitter:
    """Sends intents that the history holds, and writes down what became of them.

    Args:
        transport: Sends.
        history: Remembers.
        clock: Gives the time between tries.
        retry_for_s: Seconds to go on asking while no answer comes.
    """

    def __init__(
        self,
        transport: Transport,
        history: History,
        clock: Clock,
        *,
        retry_for_s: float = SUBMIT_RETRY_FOR_S,
    ) -> None:
        self._transport = transport
        self._history = history
        self._clock = clock
        self._retry_for_s = retry_for_s

    async def send(self, intent: Intent) -> tuple[Entry, Job]:
        """Send an intent until its job is known.

        A rejection for want of room or of the service is tried again under a fresh
        key, after the time the service asks for.

        Raises:
            BalanceError: The balance cannot carry it.
            RateLimitError: The service asks to wait for longer than this call does.
            InputError: The service refused the body.
            ServiceError: No answer came; the history keeps the intent and its key.
        """
        tries = 1
        while True:
            answer = await self._ask(intent)
            job = self._job(answer)
            if job is None:
                raise self._refused(intent, answer)
            entry = self._history.record_job(intent.key, job)
            if answer.status == 200:
                return entry, job
            pause_s = _pause_s(answer, tries)
            if pause_s is None:
                raise rejection(answer, job, self._clock)
            await self._clock.sleep(pause_s)
            tries += 1
            intent = next_attempt(intent)
            self._history.claim(intent)

    async def _ask(self, intent: Intent) -> Answer:
        """Post an intent, the same key and bytes again while no answer comes."""
        may_have_arrived = False

        async def once() -> Answer:
            nonlocal may_have_arrived
            try:
                answer = await self._transport.exchange(
                    "POST",
                    f"/v1/media/{intent.function}",
                    content=intent.body,
                    headers={"Idempotency-Key": intent.key},
                )
            except NoAnswerError as error:
                may_have_arrived = may_have_arrived or error.sent
                raise
            if _from_a_gateway(answer):
                may_have_arrived = True
                raise NoAnswerError(f"HTTP {answer.status}", sent=True)
            return answer

        try:
            return await self._transport.again(once, for_s=self._retry_for_s)
        except NoAnswerError as error:
            raise self._silence(error, may_have_arrived=may_have_arrived) from error

    def _silence(self, error: NoAnswerError, *, may_have_arrived: bool) -> ServiceError:
        where = f"The service at {self._transport.service.base_url}"
        if not may_have_arrived:
            return ServiceError(
                f"{where} cannot be reached ({error.reason}). Nothing was sent and "
                "nothing is charged. Check the base URL and the network; the same "
                "call tries again."
            )
        return ServiceError(
            f"{where} took the request and did not answer ({error.reason}), so it is "
            "not known whether the job was made. The history keeps its key: the same "
            "call, or the next start, finds the job or makes it, once."
        )

    def _job(self, answer: Answer) -> Job | None:
        if answer.status == 200:
            return parse(Job, answer)
        return failed_job(answer)

    def _refused(self, intent: Intent, answer: Answer) -> Exception:
        error = error_of(answer, f"the function {intent.function}", self._clock)
        self._history.record_refusal(
            intent.key,
            code=str(answer.status),
            message=answer.message or NOT_CHARGED,
        )
        return error


def _from_a_gateway(answer: Answer) -> bool:
    """Tell a 5xx that is neither of the two error shapes (spec 7.1)."""
    return answer.status >= 500 and not answer.message and "status" not in answer.fields


def _pause_s(answer: Answer, tries: int) -> float | None:
    """Return how long to wait before a fresh attempt; None for no more attempts."""
    if answer.status not in (429, 503) or tries >= REJECTED_TRIES:
        return None
    asked_s = retry_after_s(answer)
    if asked_s is None:
        return REJECTED_BACKOFF_S * float(1 << (tries - 1))
    return asked_s if asked_s <= LONGEST_RETRY_AFTER_S else None
