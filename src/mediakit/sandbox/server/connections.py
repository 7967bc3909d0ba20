"""Connections of clients: dropped on request, and closed when they never end."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

DROP = "drop_connection"
HEAD_TIMEOUT_S = 30.0
LINGER_S = 10.0
MAX_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with its gaps closed and a door opened.

    A head (the request line and the headers) may otherwise come for ever, in time or
    in bytes: the server waits for its end, and its parser keeps what it has. So may
    the rest of a body that was refused: the server reads on and throws it away.

    ASGI has no word for closing a connection without an answer, and a client cannot
    tell that from a server that died: exactly what faults are there to show. So each
    request carries the means in its state, under `DROP`. This is the one place that
    knows of the transport.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes: int | None = None  # None while no head is awaited
        self._head_is_new = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as uvicorn narrows it, too
        self, transport: asyncio.Transport
    ) -> None:
        """Begin to wait for a first head."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._close_within(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._close_within(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head has grown out of all bounds."""
        self._head_is_new = False
        super().data_received(data)
        if self._head_bytes is not None:
            self._await_head(data)

    def on_message_begin(self) -> None:
        """Give the request the means to drop its connection."""
        super().on_message_begin()
        self.scope["state"][DROP] = self.transport.close
        self._head_bytes, self._head_is_new = 0, True

    def on_headers_complete(self) -> None:
        """Stop waiting: the handler bounds what follows."""
        self._head_bytes = None
        self._close_within(None)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait a little for the rest of a body that nobody read."""
        if self.cycle.more_body:
            self._close_within(LINGER_S)
        super().on_response_complete()

    def on_message_complete(self) -> None:
        """Stop waiting for the rest."""
        self._close_within(None)
        super().on_message_complete()

    def _await_head(self, data: bytes) -> None:
        # Most heads come whole, in one piece of data, and never get here.
        if self._deadline is None:
            self._close_within(HEAD_TIMEOUT_S)
        # What came before a head in the same piece of data does not count for it.
        if self._head_bytes is not None and not self._head_is_new:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.close()

    def _close_within(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.transport.close)
