"""Pagination: the cursor of the next page, under the names in use.

The interface does not show how a list is paged (spec 4.20), so names are matched
loosely: a string under a name such as `next_cursor` is the cursor, and any other sign
of further rows counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

DEEPEST = 3
_CURSOR = re.compile(
    r"(?!.*(prev|before|first|self|start))"
    r"(.*cursor.*|next.*|iterator|continuation.*|pagetoken)"
)
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "truncated"})
_DONE = frozenset({"done", "islast", "islastpage"})
_COUNT = re.compile(r"total(count|items|rows|results|records|entries)")
_PAGE = frozenset({"page", "currentpage", "pagenumber"})
_PAGES = frozenset({"totalpages", "pagecount", "lastpage", "pages"})


@dataclass(frozen=True)
class Continuation:
    """Where a paged list continues.

    Args:
        cursor: The cursor of the next page, or None if there is none.
        is_more: Whether the response reports more rows, apart from a cursor; None if it
            does not report that.
    """

    cursor: str | None = None
    is_more: bool | None = None

    @property
    def goes_on(self) -> bool:
        """Return whether there may be more rows."""
        return bool(self.cursor or self.is_more)


def continuation_of(
    body: object, rows_n: int, *, total_is_count: bool = False
) -> Continuation:
    """Read the pagination fields around the rows of a response.

    Args:
        body: The response, or the response without its rows.
        rows_n: The number of rows that were read so far, including this response.
        total_is_count: Whether a number under `total` counts rows; it may be money.
    """
    facts = [(_plain(name), value) for name, value in _around(body, DEEPEST)]
    named = [value for name, value in facts if _CURSOR.fullmatch(name)]
    # Neither a flag such as `hasNext` nor a page number is a cursor.
    texts = {value for value in named if isinstance(value, str) and value}
    cursors = {_cursor_in(text) for text in texts} - {None}
    cursor = cursors.pop() if len(cursors) == 1 else None
    signs = [value for name, value in facts if name in _MORE]
    signs += [not value for name, value in facts if name in _DONE]
    if any(sign is False for sign in signs):
        return Continuation(None, is_more=False)
    is_counted = any(
        count > rows_n
        for name, count in facts
        if _is_number(count)
        and (_COUNT.fullmatch(name) or (total_is_count and name == "total"))
    )
    numbers = [value for name, value in facts if name in _PAGE and _is_number(value)]
    lasts = [value for name, value in facts if name in _PAGES and _is_number(value)]
    is_early = bool(numbers and lasts) and max(numbers) < max(lasts)
    is_numbered = any(_is_number(value) for value in named)
    is_unread = bool(texts or is_numbered) and cursor is None
    if is_counted or is_early or is_unread or any(sign is True for sign in signs):
        return Continuation(cursor, is_more=True)
    is_last = bool(named or lasts) and cursor is None
    return Continuation(cursor, is_more=False if is_last else None)


def _around(body: object, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a response, except those of its rows."""
    if isinstance(body, Mapping) and depth:
        for name, value in body.items():
            yield str(name), value
            yield from _around(value, depth - 1)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _cursor_in(text: str) -> str | None:
    """Return a cursor, or the cursor in the URL of the next page."""
    if "://" not in text and not text.startswith(("/", "?")):
        return text
    try:
        return parse_qs(urlsplit(text).query).get("cursor", [None])[0]
    except ValueError:
        return None
