"""Client connections: dropped on request, and closed after a timeout."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

DROP = "drop_connection"
HEAD_TIMEOUT_S = 30.0
LINGER_S = 10.0
MAX_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """uvicorn's connection with limits on what it reads, and a way to drop it.

    uvicorn limits neither the time nor the size of a head (the request line and the
    headers): it waits for the end, and its parser keeps all bytes. Nor does it limit
    the rest of a rejected body, which it reads and discards.

    ASGI cannot close a connection without a response, which to a client looks as if
    the server had died; some faults need exactly that. So the state of each request
    has a function that does it, under `DROP`. Only this class uses the transport.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes: int | None = None  # None while no head is expected
        self._head_is_new = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as uvicorn narrows it, too
        self, transport: asyncio.Transport
    ) -> None:
        """Start to wait for the first head."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._close_within(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._close_within(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data; close the connection when a head is too large."""
        self._head_is_new = False
        super().data_received(data)
        if self._head_bytes is not None:
            self._await_head(data)

    def on_message_begin(self) -> None:
        """Give the request a function that drops its connection."""
        super().on_message_begin()
        self.scope["state"][DROP] = self.transport.close
        self._head_bytes, self._head_is_new = 0, True

    def on_headers_complete(self) -> None:
        """Stop waiting: the handler limits what follows."""
        self._head_bytes = None
        self._close_within(None)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait briefly for the rest of a body that the handler did not read."""
        if self.cycle.more_body:
            self._close_within(LINGER_S)
        super().on_response_complete()

    def on_message_complete(self) -> None:
        """Stop waiting for the rest."""
        self._close_within(None)
        super().on_message_complete()

    def _await_head(self, data: bytes) -> None:
        # Most heads arrive in one piece of data and never get here.
        if self._deadline is None:
            self._close_within(HEAD_TIMEOUT_S)
        # Bytes before a head in the same piece of data do not count towards it.
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
