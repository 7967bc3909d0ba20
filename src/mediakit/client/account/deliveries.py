"""The delivery log, its replays and the signing secret (spec 4.20, 6.6)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, overload

from mediakit.client.account.delivery_log import (
    DELIVERIES_PATH,
    LogReading,
    Row,
    rows_in,
)
from mediakit.client.account.delivery_range import in_range, instant_of
from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.response_parsing import error_of, parse
from mediakit.client.http.service_client import ServiceClient
from mediakit.client.runtime.io_thread import networked
from mediakit.client.runtime.signing_secret import Secret
from mediakit.clock import Clock
from mediakit.errors import AnswerError, InputError, ServiceError
from mediakit.records import Attempt, Delivery, DeliveryStatus, Record

if TYPE_CHECKING:
    import pandas as pd

SECRET_PATH = "/v1/webhooks/secret"
LARGEST_PAGE = 100
LONGEST_OVERLAP_S = 86_400
REPLAY_FOR_S = 5.0

When = str | date | datetime
"""An instant with its offset, or a day in UTC; as text in ISO 8601."""


class _SecretAnswer(Record):
    """The response of the secret's endpoints."""

    secret: str
    previous_expires_at: datetime | None = None


@dataclass(frozen=True)
class Refused:
    """A delivery that could not be replayed.

    Args:
        id: The delivery.
        why: Why, in words.
    """

    id: str
    why: str


@dataclass(frozen=True)
class Replays:
    """The outcome of replaying several deliveries.

    Args:
        sent: The replayed deliveries, as the log shows them now.
        refused: Those that could not be replayed.
    """

    sent: tuple[Delivery, ...]
    refused: tuple[Refused, ...]

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        sent = "1 delivery" if len(self.sent) == 1 else f"{len(self.sent)} deliveries"
        return f"<{sent} sent again{refused}>"


class AsyncDeliveryList:
    """Deliveries, read page by page during iteration.

    Each iteration reads the log again, starting with the newest.

    Args:
        log: Reads the pages.
        params: The filter.
    """

    def __init__(self, log: AsyncDeliveries, params: Mapping[str, str]) -> None:
        self._log = log
        self._params = params

    def __repr__(self) -> str:
        asked = ", ".join(f"{k}={v}" for k, v in self._params.items() if k != "limit")
        return f"<deliveries{f' with {asked}' if asked else ''}, read page by page>"

    def reading(self) -> LogReading:
        """Start an iteration."""
        return self._log.reading(self._params)

    async def __aiter__(self) -> AsyncIterator[Delivery]:
        reading = self.reading()
        while (page := await reading.next_page()) is not None:
            for row in page:
                yield Delivery.model_validate(row)

    @networked
    async def rows(self) -> Sequence[Row]:
        """Read all of them, as the service sends them."""
        reading, rows = self.reading(), []
        while (page := await reading.next_page()) is not None:
            rows += page
        return rows


class AsyncDeliveries:
    """The delivery log of an organization; reading it is free (spec 4.20).

    Args:
        transport: Sends the requests.
        clock: Gives the time for errors that name an instant.
    """

    def __init__(self, transport: ServiceClient, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    def __repr__(self) -> str:
        return f"<delivery log of {self._transport.service.label}>"

    def list(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        endpoint_id: str | None = None,
        page_size: int = LARGEST_PAGE,
    ) -> AsyncDeliveryList:
        """Return deliveries, newest first; each page is read when it is reached.

        Args:
            status: Only those that are "pending", "delivered", "failed" or
                "canceled".
            source_id: Only those of this job.
            endpoint_id: Only those to this endpoint.
            page_size: Deliveries per page, 1 to 100.

        Raises:
            InputError: An argument is invalid; nothing was sent.
        """
        _check_whole("page_size", page_size, 1, LARGEST_PAGE, spec="4.20")
        filters = {
            "status": _status(status),
            "source_id": source_id,
            "endpoint_id": endpoint_id,
        }
        asked = {name: value for name, value in filters.items() if value is not None}
        return AsyncDeliveryList(self, {**asked, "limit": str(page_size)})

    def reading(self, params: Mapping[str, str]) -> LogReading:
        """Start an iteration over the log."""

        async def ask(params: Mapping[str, str]) -> Any:
            answer = await self._transport.read(DELIVERIES_PATH, params=params)
            return self._checked(answer, "the delivery log").json()

        return LogReading(ask, params)

    @networked
    async def frame(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        endpoint_id: str | None = None,
    ) -> pd.DataFrame:
        """Read deliveries as a frame.

        Args:
            status: Only those that are "pending", "delivered", "failed" or
                "canceled".
            source_id: Only those of this job.
            endpoint_id: Only those to this endpoint.

        Returns:
            One row per delivery, newest first; the same dtypes without any. Instants
            are datetime64[us, UTC], attempts Int64, closed sets categories; the
            address omits its query, which may hold a token.

        Raises:
            InputError: An argument is invalid; nothing was sent.
            ServiceError: The service does not answer.
        """
        from mediakit.client.account.delivery_frame import deliveries_frame

        found = self.list(status=status, source_id=source_id, endpoint_id=endpoint_id)
        return deliveries_frame(await found.rows())

    @networked
    async def get(self, delivery_id: str, /) -> Delivery:
        """Read one delivery.

        Args:
            delivery_id: Its id.

        Raises:
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not answer.
        """
        answer = await self._transport.read(_path(delivery_id))
        return parse(Delivery, self._checked(answer, f"the delivery {delivery_id}"))

    @networked
    async def attempts(self, delivery_id: str, /) -> Sequence[Attempt]:
        """Read the attempts of a delivery, oldest first; see `Attempt.words`.

        Args:
            delivery_id: The delivery's id.

        Raises:
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not answer.
        """
        answer = await self._transport.read(f"{_path(delivery_id)}/attempts")
        body = self._checked(answer, f"the delivery {delivery_id}").json()
        return [Attempt.model_validate(row) for row in rows_in(body)]

    # -- replays ------------------------------------------------------------------

    @overload
    async def replay(self, delivery_id: str, /) -> Delivery: ...

    @overload
    async def replay(
        self,
        /,
        *,
        status: str,
        since: When | None = None,
        until: When | None = None,
    ) -> Replays: ...

    @networked
    async def replay(
        self,
        delivery_id: str | None = None,
        /,
        *,
        status: str | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> Delivery | Replays:
        """Replay one delivery, or all with a status in a range (spec 3.2).

        Receivers get it under the same `webhook-id`.

        Args:
            delivery_id: The delivery.
            status: All with this status, such as "failed"; not together with an id.
            since: Of these, only those created at this instant or later.
            until: Of these, only those created before this instant.

        Returns:
            The delivery as it is now; for several, the outcome of each.

        Raises:
            InputError: Neither, or both, are given, or an instant cannot be read;
                nothing was sent.
            NotFoundError: The organization has no such delivery.
            ConflictError: It is not in a state for that.
            ServiceError: The service does not answer.
        """
        if (delivery_id is None) == (status is None):
            got = None if status is None else status
            accepted = 'either the id of one delivery, or status="failed"'
            raise InputError("delivery_id", got=got, accepted=accepted)
        span = instant_of("since", since), instant_of("until", until)
        if delivery_id is not None:
            if span != (None, None):
                accepted = "nothing beside the id of one delivery"
                raise InputError("since", got=since or until, accepted=accepted)
            return await self._replay(delivery_id)
        # Find all of them first, because a replay moves a delivery in the log.
        rows = await self.list(status=status).rows()
        found = [Delivery.model_validate(row) for row in rows]
        return await self._replay_all([d for d in found if in_range(d, *span)])

    async def _replay_all(self, found: Sequence[Delivery]) -> Replays:
        sent, refused = [], []
        for delivery in found:
            if delivery.id is None:
                refused.append(Refused("", "the log names no id for it"))
                continue
            try:
                sent.append(await self._replay(delivery.id))
            except AnswerError as error:
                if error.status not in (404, 409):
                    raise
                refused.append(Refused(delivery.id, str(error)))
        return Replays(tuple(sent), tuple(refused))

    async def _replay(self, delivery_id: str) -> Delivery:
        path, tries = f"{_path(delivery_id)}/replay", 0

        async def once() -> Answer:
            nonlocal tries
            tries += 1
            return await self._transport.exchange("POST", path)

        try:
            # A repeated delivery has the same id: receivers recognise it.
            answer = await self._transport.retry_until_answered(
                once, for_s=REPLAY_FOR_S
            )
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        if answer.status == 409 and tries > 1:
            # An attempt without a response may have replayed it.
            now = await self.get(delivery_id)
            if now.status == DeliveryStatus.PENDING:
                return now
        what = f"the delivery {delivery_id}"
        return parse(Delivery, self._checked(answer, what, "It was not sent again."))

    # -- the secret ---------------------------------------------------------------

    @networked
    async def secret(self) -> Secret:
        """Read the secret that signs deliveries to a `webhook_url` (spec 6.6).

        Only `reveal()` shows it. The first read creates it.

        Raises:
            ServiceError: The service does not answer.
        """
        answer = await self._transport.read(SECRET_PATH)
        return self._secret_in(self._checked(answer, "the signing secret"))

    @networked
    async def rotate_secret(self, *, overlap_s: int = LONGEST_OVERLAP_S) -> Secret:
        """Create a new secret; for a time the previous one signs too (spec 6.6).

        Args:
            overlap_s: Seconds for which both sign, 0 to 86,400.

        Returns:
            The new secret; both sign until its `previous_expires_at`.

        Raises:
            InputError: The overlap is invalid; nothing was sent.
            AuthError: The key's owner may not rotate it; owners and admins may.
            ServiceError: No response; the error says what that means.
        """
        _check_whole("overlap_s", overlap_s, 0, LONGEST_OVERLAP_S, spec="6.6")
        content = json.dumps({"expire_in_seconds": overlap_s}).encode()
        try:
            # No retry: after two rotations the receivers' secret no longer signs.
            answer = await self._transport.exchange(
                "POST", f"{SECRET_PATH}/rotate", content=content
            )
        except NoAnswerError as error:
            raise _unrotated(error) from error
        return self._secret_in(self._checked(answer, "the rotation of the secret"))

    def _secret_in(self, answer: Answer) -> Secret:
        fields = answer.fields
        try:
            said = _SecretAnswer.model_validate(fields)
        except ValueError:
            # Not shown: the response may hold the secret under another name.
            raise ServiceError(
                f"The service answered {answer.status} without a secret that can be "
                "read.",
                status=answer.status,
            ) from None
        return Secret(said.secret, previous_expires_at=said.previous_expires_at)

    def _checked(self, answer: Answer, what: str, then: str = "") -> Answer:
        if not 200 <= answer.status < 300:
            raise error_of(answer, what, self._clock, then=then)
        return answer


def _unrotated(error: NoAnswerError) -> ServiceError:
    if not error.sent:
        return ServiceError(
            f"The service does not answer ({error.reason}). Nothing was sent, and the "
            "secret stays."
        )
    return ServiceError(
        f"The service did not answer ({error.reason}), so it is not known whether the "
        "secret was rotated. This is not retried automatically: read .secret() and "
        "compare."
    )


def _check_whole(field: str, value: object, low: int, high: int, spec: str) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value not in range(low, high + 1):
        accepted = f"a whole number from {low} to {high:,}"
        raise InputError(field, got=value, accepted=accepted, spec=spec)


def _status(status: str | None) -> str | None:
    words = [known.value for known in DeliveryStatus]
    if status is not None and status not in words:
        accepted = f"one of {', '.join(words)}"
        raise InputError("status", got=status, accepted=accepted, spec="4.20")
    return None if status is None else str(status)


def _path(delivery_id: object) -> str:
    """Return where a delivery is read; an id is one segment of a path."""
    text = delivery_id if isinstance(delivery_id, str) else ""
    if not text or not all(c.isalnum() or c in "-_." for c in text) or ".." in text:
        raise InputError(
            "delivery_id", got=delivery_id, accepted="the id of a delivery"
        )
    return f"{DELIVERIES_PATH}/{text}"
