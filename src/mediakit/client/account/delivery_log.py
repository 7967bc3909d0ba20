"""The delivery log as the service pages it; its records have no fixed shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mediakit.client.runtime.io_thread import networked
from mediakit.errors import ServiceError

DELIVERIES_PATH = "/v1/webhooks/deliveries"

# Objects of these names tell of the page, not of what is on it.
_ABOUT_PAGES = frozenset({"links", "meta", "page", "pagination", "paging"})
_CURSORS = ("next_cursor", "nextCursor", "cursor")

Row = dict[str, Any]
Ask = Callable[[Mapping[str, str]], Awaitable[Any]]


class LogReading:
    """One reading of the log, page after page, to its end (spec 4.20).

    Args:
        ask: Asks for the page that some parameters name.
        params: What is asked for, without the cursor.
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
        # None was seen with the first page: without another cursor this was the last.
        self._cursor = _cursor_in(body)
        return rows_in(body)


def rows_in(body: Any) -> list[Row]:
    """Return the records of a list, wherever the answer keeps it.

    Raises:
        ServiceError: It has no list, which is not the same as an empty one.
    """
    parts = [part for name, part in _objects_in(body) if name not in _ABOUT_PAGES]
    near, far = _lists_in(body), [each for part in parts for each in _lists_in(part)]
    if not near and not far:
        raise ServiceError(
            "The service answered with no list of records that can be found, so it is "
            "not known whether there are any. A newer mediakit may find it.",
            status=200,
        )
    return _rows_of(near) or _rows_of(far)


def _lists_in(part: Any) -> list[list[Any]]:
    if isinstance(part, list):
        return [part]
    values = part.values() if isinstance(part, dict) else ()
    return [value for value in values if isinstance(value, list)]


def _rows_of(lists: list[list[Any]]) -> list[Row]:
    return [row for rows in lists for row in rows if isinstance(row, dict)]


def _objects_in(body: Any) -> list[tuple[str, Row]]:
    fields = body.items() if isinstance(body, dict) else ()
    return [(name, value) for name, value in fields if isinstance(value, dict)]


def _cursor_in(body: Any) -> str | None:
    """Return where the next page begins; None after the last one.

    The first name that is there at all decides: a `cursor` beside a `next_cursor` of
    null is the page's own.
    """
    places = [body, *(part for _, part in _objects_in(body))]
    for name in _CURSORS:
        if any(isinstance(place, dict) and name in place for place in places):
            found = (text_in(place, name) for place in places)
            return next((cursor for cursor in found if cursor), None)
    return None


def text_in(body: Any, name: str) -> str | None:
    """Return a text of an object; None where there is none."""
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) and value else None
