"""The delivery log, page by page; its records have no fixed shape (spec 4.20)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mediakit.client.runtime.io_thread import networked
from mediakit.errors import ServiceError

DELIVERIES_PATH = "/v1/webhooks/deliveries"

Row = dict[str, Any]
Ask = Callable[[Mapping[str, str]], Awaitable[Any]]


class LogReading:
    """One reading of the log, page after page, to its end (spec 4.20).

    Args:
        ask: Requests the page of the given parameters.
        params: The filter, without the cursor.
    """

    def __init__(self, ask: Ask, params: Mapping[str, str]) -> None:
        self._ask = ask
        self._params = params
        self._cursor: str | None = None
        self._seen: set[str | None] = set()

    @networked
    async def next_page(self) -> list[Row] | None:
        """Return the next page's records; None after the last one."""
        if self._cursor in self._seen:
            return None
        self._seen.add(self._cursor)
        more = {} if self._cursor is None else {"cursor": self._cursor}
        body = await self._ask({**self._params, **more})
        # The first page had no cursor: without one now, this was the last page.
        self._cursor = text_in(body, "next_cursor")
        return rows_in(body)


def rows_in(body: Any) -> list[Row]:
    """Return the records of a list: the response itself, or its `data`.

    Raises:
        ServiceError: It has no list, which differs from an empty one.
    """
    rows = body.get("data") if isinstance(body, dict) else body
    if not isinstance(rows, list):
        raise ServiceError(
            "The service's response has no readable list of records, so it is not "
            "known whether there are any. A newer mediakit may read it.",
            status=200,
        )
    return [row for row in rows if isinstance(row, dict)]


def text_in(body: Any, name: str) -> str | None:
    """Return a text property of an object; None without it."""
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) and value else None
