"""The webhook deliveries of an organization, and their secret (spec 4.20)."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from mediakit.api_models import Attempt, Delivery, DeliveryStatus
from mediakit.client.account import AccountReader
from mediakit.client.answers import HttpResponse, NoAnswerError, parse
from mediakit.client.blocking import Blocking, blocking
from mediakit.client.http import is_not_now
from mediakit.client.io_thread import networked
from mediakit.client.pages import Continuation, continuation_of
from mediakit.client.webhook_secret import Secret, secret_in
from mediakit.errors import IncompleteDataWarning, InputError, ServiceError
from mediakit.safe_text import shown_url

if TYPE_CHECKING:
    import pandas as pd

DELIVERIES_PATH = "/v1/webhooks/deliveries"
SECRET_PATH = "/v1/webhooks/secret"
ROTATED = (
    "The secret was rotated all the same: read the new one with "
    "client.deliveries.secret(), or in the portal, and give it to your receivers."
)
LARGEST_PAGE = 100
LONGEST_OVERLAP_S = 86_400
REPLAY_FOR_S = 5.0
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


class AsyncDeliveries(AccountReader):
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
            limit: The most deliveries to read, from 1; all of them when omitted.

        Returns:
            One row per delivery; the same columns without any. Instants are
            datetime64[us, UTC] and attempts Int64. Columns that mediakit does not know
            follow as they were sent; the address omits its query, which may hold a
            token.

        Raises:
            InputError: An argument is invalid; nothing was sent.
            ServiceError: The service does not answer.
        """
        if status is not None and status not in list(DeliveryStatus):
            accepted = f"one of {', '.join(DeliveryStatus)}"
            raise InputError("status", got=status, accepted=accepted, spec="4.20")
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputError("limit", got=limit, accepted="a whole number from 1")
        asked = {"status": status, "source_id": source_id, "endpoint_id": endpoint_id}
        params = {name: str(value) for name, value in asked.items() if value}
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
                # The service does not know a cursor under this name.
                following, cursor = Continuation(), None
                break
            ids_before |= ids
            rows_n += len(page)
            yield page
            following = continuation_of(body, rows_n, total_is_count=True)
            cursor = following.cursor
            # A cursor that comes again would lead in a circle.
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
            InputError: It is not an id; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not answer.
        """
        what = f"the delivery {delivery_id}"
        return parse(Delivery, await self._read(_path(delivery_id), what))

    @networked
    async def attempts(self, delivery_id: str, /) -> Sequence[Attempt]:
        """Read the attempts of a delivery, oldest first; see `Attempt.words`.

        Raises:
            InputError: It is not an id; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not answer.
        """
        path = f"{_path(delivery_id)}/attempts"
        answer = await self._read(path, f"the delivery {delivery_id}")
        return [Attempt.model_validate(row) for row in _rows_in(answer.json())]

    @networked
    async def replay(self, delivery_id: str, /) -> Delivery:
        """Resend a delivered or failed delivery under the same id (spec 3.2).

        Returns:
            The delivery as it is now.

        Raises:
            InputError: It is not an id; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ConflictError: It is not in a state for that.
            ServiceError: The service does not answer.
        """
        path = f"{_path(delivery_id)}/replay"
        tries = 0

        async def once() -> HttpResponse:
            nonlocal tries
            tries += 1
            return await self._transport.exchange("POST", path)

        # A repeated delivery has the same id: receivers recognize it.
        answer = await self._transport.until_answered(
            once, for_s=REPLAY_FOR_S, again=is_not_now
        )
        if answer.status == 409 and tries > 1:
            # An attempt without a response may have replayed it.
            now = await self.get(delivery_id)
            if now.status == DeliveryStatus.PENDING:
                return now
        what = f"the delivery {delivery_id}"
        return parse(Delivery, self._checked(answer, what, "It was not sent again."))

    @networked
    async def secret(self) -> Secret:
        """Read the secret that signs deliveries to a `webhook_url` (spec 6.6).

        The first read creates it. Only `reveal()` shows it.

        Raises:
            ServiceError: The service does not answer.
        """
        return secret_in(await self._read(SECRET_PATH, "the signing secret"))

    @networked
    async def rotate_secret(self, *, overlap_s: int = LONGEST_OVERLAP_S) -> Secret:
        """Create a new secret; the previous one also signs for a time (spec 6.6).

        Args:
            overlap_s: Seconds for which both sign, 0 to 86,400.

        Returns:
            The new secret; both sign until its `previous_expires_at`.

        Raises:
            InputError: The overlap is invalid; nothing was sent.
            AuthError: The member of this key is neither owner nor admin.
            ServiceError: No response; the error says what that means.
        """
        if type(overlap_s) is not int or not 0 <= overlap_s <= LONGEST_OVERLAP_S:
            accepted = f"a whole number from 0 to {LONGEST_OVERLAP_S:,}"
            raise InputError("overlap_s", got=overlap_s, accepted=accepted, spec="6.6")
        content = json.dumps({"expire_in_seconds": overlap_s}).encode()
        try:
            # No retry: after two rotations the receivers' secret no longer signs.
            answer = await self._transport.exchange(
                "POST", f"{SECRET_PATH}/rotate", content=content
            )
        except NoAnswerError as error:
            if error.sent:
                text = (
                    f"The service did not answer ({error.reason}), so it is not known "
                    "whether the secret was rotated. mediakit does not try again: "
                    "compare client.deliveries.secret() with the secret of your "
                    "receiver."
                )
            else:
                text = (
                    f"The service cannot be reached ({error.reason}). Nothing was "
                    "sent, and the secret is unchanged."
                )
            raise ServiceError(text, in_doubt=error.sent) from error
        then = "Only owners and admins may rotate it." if answer.status == 403 else ""
        checked = self._checked(answer, "the signing secret", then)
        return secret_in(checked, ROTATED)


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

    known = [Delivery.model_validate(row).model_dump() for row in rows]
    for delivery in known:
        delivery["url"] = delivery["url"] and shown_url(delivery["url"])
    columns = {
        name: pd.Series([each[name] for each in known], dtype=dtype)
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
