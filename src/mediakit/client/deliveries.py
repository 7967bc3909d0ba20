"""The webhook deliveries of an organization, and their secret (spec 4.20)."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from mediakit.api_models import Attempt, Delivery, DeliveryStatus
from mediakit.client.blocking import Blocking, blocking
from mediakit.client.http import is_not_now
from mediakit.client.io_thread import networked
from mediakit.client.pagination import Continuation, continuation_of
from mediakit.client.responses import HttpResponse, parse
from mediakit.client.retries import REPLAY_RETRY_FOR_S
from mediakit.client.webhook_secret import SecretReader
from mediakit.errors import IncompleteDataWarning, InputError, ServiceError
from mediakit.safe_text import shown_url

if TYPE_CHECKING:
    import pandas as pd

DELIVERIES_PATH = "/v1/webhooks/deliveries"
LARGEST_PAGE = 100
_INSTANT = "datetime64[us, UTC]"
COLUMNS = {
    "id": "str",
    "status": "str",
    "event_type": "str",
    "source_id": "str",
    "attempts": "Int64",
    "created_at": _INSTANT,
    "next_attempt_at": _INSTANT,
    "ended_at": _INSTANT,
    "endpoint_id": "str",
    "url": "str",
    "event_id": "str",
}

Row = dict[str, Any]
Page = list[Row]


class AsyncDeliveries(SecretReader):
    """The delivery log of an organization; reading it is free (spec 4.20)."""

    def __repr__(self) -> str:
        return f"<delivery log of {self._transport.service.label}>"

    @networked
    async def list(
        self,
        *,
        status: str | None = None,
        source_id: str | None = None,
        endpoint_id: str | None = None,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """Read deliveries as a frame, newest first.

        Args:
            status: Only those that are "pending", "delivered", "failed" or
                "canceled".
            source_id: Only those of this job.
            endpoint_id: Only those to this endpoint.
            limit: The maximum number of deliveries, from 1; all of them when omitted.

        Returns:
            One row per delivery; the same columns without any. Instants are
            datetime64[us, UTC] and attempts Int64. Unknown columns follow as they were
            sent; the address omits the query, which may hold a token.

        Raises:
            InputError: An argument is invalid; nothing was sent.
            ServiceError: The service does not respond.
        """
        if status is not None and status not in list(DeliveryStatus):
            accepted = f"one of {', '.join(DeliveryStatus)}"
            raise InputError("status", got=status, accepted=accepted, spec="4.20")
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputError("limit", got=limit, accepted="a whole number from 1")
        filters = {"status": status, "source_id": source_id, "endpoint_id": endpoint_id}
        params = {name: str(value) for name, value in filters.items() if value}
        rows: Page = []
        async for page in self.pages(**params, limit=min(limit or 100, LARGEST_PAGE)):
            rows += page
            if limit is not None and len(rows) >= limit:
                break
        return _frame(rows[:limit])

    async def pages(self, **params: str | int) -> AsyncIterator[Page]:
        """Yield the log page by page, on the I/O thread."""
        query = {name: str(value) for name, value in params.items()}
        page_size = int(query.get("limit", LARGEST_PAGE))
        seen: set[str | None] = {None}
        cursor: str | None = None
        rows_n = 0
        ids_before: set[object] = set()
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            answer = await self._read(
                DELIVERIES_PATH, "the delivery log", params=query | more
            )
            body = answer.json()
            page = _rows_in(body)
            ids = {row.get("id") for row in page}
            if page and None not in ids and ids <= ids_before:
                # The service ignores this name of the cursor parameter.
                following, cursor = Continuation(), None
                break
            ids_before |= ids
            rows_n += len(page)
            yield page
            following = continuation_of(body, rows_n, total_is_count=True)
            cursor = following.cursor
            # A repeated cursor would loop forever.
            if cursor in seen:
                break
            seen.add(cursor)
        is_unsaid = following.is_more is None and cursor is None
        if following.is_more or (is_unsaid and len(page) >= page_size):
            text = (
                f"Only {rows_n:,} deliveries could be read: the log has (or may have) "
                "more pages, but the service does not say how to request them."
            )
            warnings.warn(text, IncompleteDataWarning, stacklevel=2)

    @networked
    async def get(self, delivery_id: str, /) -> Delivery:
        """Read one delivery.

        Raises:
            InputError: The id is invalid; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not respond.
        """
        what = f"the delivery {delivery_id}"
        return parse(Delivery, await self._read(_path(delivery_id), what))

    @networked
    async def attempts(self, delivery_id: str, /) -> Sequence[Attempt]:
        """Read the attempts of a delivery, oldest first; see `Attempt.words`.

        Raises:
            InputError: The id is invalid; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not respond.
        """
        path = f"{_path(delivery_id)}/attempts"
        answer = await self._read(path, f"the delivery {delivery_id}")
        return [Attempt.model_validate(row) for row in _rows_in(answer.json())]

    @networked
    async def replay(self, delivery_id: str, /) -> Delivery:
        """Resend a delivered or failed delivery under the same id (spec 3.2).

        Returns:
            The updated delivery.

        Raises:
            InputError: The id is invalid; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ConflictError: The delivery is in another state.
            ServiceError: The service does not respond.
        """
        path = f"{_path(delivery_id)}/replay"
        tries = 0

        async def once() -> HttpResponse:
            nonlocal tries
            tries += 1
            return await self._transport.exchange("POST", path)

        # A replay is safe to repeat: it has the same ID, by which receivers recognise
        # it.
        answer = await self._transport.until_answered(
            once, for_s=REPLAY_RETRY_FOR_S, again=is_not_now
        )
        if answer.status == 409 and tries > 1:
            # An earlier try without a response may have replayed the delivery.
            now = await self.get(delivery_id)
            if now.status == DeliveryStatus.PENDING:
                return now
        what = f"the delivery {delivery_id}"
        return parse(Delivery, self._checked(answer, what, "It was not sent again."))


class Deliveries(Blocking):
    """The delivery log of an organization; reading it is free (spec 4.20)."""

    core: AsyncDeliveries

    list = blocking(AsyncDeliveries.list)
    get = blocking(AsyncDeliveries.get)
    attempts = blocking(AsyncDeliveries.attempts)
    replay = blocking(AsyncDeliveries.replay)
    secret = blocking(AsyncDeliveries.secret)
    rotate_secret = blocking(AsyncDeliveries.rotate_secret)


def _frame(rows: Page) -> pd.DataFrame:
    import pandas as pd

    deliveries = [Delivery.model_validate(row).model_dump() for row in rows]
    for delivery in deliveries:
        delivery["url"] = delivery["url"] and shown_url(delivery["url"])
    columns = {
        name: pd.Series([each[name] for each in deliveries], dtype=dtype)
        for name, dtype in COLUMNS.items()
    }
    more = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    columns |= {name: pd.Series([row.get(name) for row in rows]) for name in more}
    return pd.DataFrame(columns)


def _rows_in(body: Any) -> Page:
    """Return the records of a list response, or of the only list inside it."""
    rows = body
    if isinstance(body, dict):
        lists = [value for value in body.values() if isinstance(value, list)]
        rows = body["data"] if "data" in body or len(lists) != 1 else lists[0]
    if isinstance(rows, dict):
        return _rows_in(rows)
    if not isinstance(rows, list):
        raise ServiceError(
            "The service sent a list that cannot be read, so it is not known whether "
            "there are any records. A newer version of mediakit may be able to read "
            "it.",
            status=200,
        )
    return [row for row in rows if isinstance(row, dict)]


def _path(delivery_id: object) -> str:
    """Return the path of a delivery; its id must be one path segment."""
    text = delivery_id if isinstance(delivery_id, str) else ""
    if not text or not all(c.isalnum() or c in "-_." for c in text) or ".." in text:
        raise InputError(
            "delivery_id", got=delivery_id, accepted="the id of a delivery"
        )
    return f"{DELIVERIES_PATH}/{text}"
