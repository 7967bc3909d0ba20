"""Keeps secrets out of errors and logs: the API key, and URLs that are signed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from mediakit.client.http.exchange import Answer

# A shorter key could occur in a response by chance.
SHORTEST_KEY_BYTES = 8

_PARTS_OF_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")
_in_mediakit_request: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)


def without_key(answer: Answer, api_key: str) -> Answer:
    """Remove the key from a response, because errors quote its message."""
    key = api_key.encode()
    if len(key) < SHORTEST_KEY_BYTES or key not in answer.content:
        return answer
    return replace(answer, content=answer.content.replace(key, b"***"))


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep the requests that are sent meanwhile out of the logs of httpx."""
    token = _in_mediakit_request.set(True)
    try:
        yield
    finally:
        _in_mediakit_request.reset(token)


class _DropOwnRequests(logging.Filter):
    """Drops the log records of our requests: a URL may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _in_mediakit_request.get()


for _name in ("httpx", *(f"httpcore.{part}" for part in _PARTS_OF_HTTPCORE)):
    logging.getLogger(_name).addFilter(_DropOwnRequests())
