"""A webhook receiver to mount in any ASGI application (spec 6)."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread

from mediakit.clock import Clock, SystemClock
from mediakit.errors import SignatureError
from mediakit.private_folders import data_folder
from mediakit.webhooks.events import read_event
from mediakit.webhooks.inbox import Dispatcher, Inbox, OnEvent
from mediakit.webhooks.verifying import (
    MAX_BODY_BYTES,
    Secrets,
    check_body,
    check_signature,
    keys_of,
    parse_headers,
)

logger = logging.getLogger(__name__)

BODY_TIMEOUT_S = 10.0
FILE_NAME = "webhooks.db"
ACCEPTED_STATUS = 204
_SYSTEM = SystemClock()
# Senders retry after any of these; their log shows only the status.
_STATUSES = {
    "missing_header": 400,
    "header": 400,
    "payload": 400,
    "timestamp": 401,
    "signature": 401,
    "secret": 500,
}

CurrentSecrets = Callable[[], Secrets]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Receiver(Dispatcher):
    """An ASGI application that receives webhooks; `receiver` makes one.

    Args:
        secret: Returns the secrets that are valid now.
        on_event: The function that handles the events.
        inbox: Where the events are stored.
        handler: The handler's name, which together with the secrets names the inbox.
        clock: The receiver's clock.
    """

    def __init__(
        self,
        secret: CurrentSecrets,
        on_event: OnEvent,
        inbox: Inbox,
        *,
        handler: str | None = None,
        clock: Clock = _SYSTEM,
    ) -> None:
        super().__init__(inbox, on_event, clock)
        self._handler = handler
        self._keys: tuple[bytes, ...] = ()
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive one delivery, or start and stop with the application."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                break
            await self.start()
            await send({"type": "lifespan.startup.complete"})
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._receive(scope, receive)
        except RejectedError as error:
            await _refuse(scope, send, error)
        except DisconnectedError:
            return
        else:
            # Even if the sender has disconnected.
            try:
                await _respond(send, ACCEPTED_STATUS)
            finally:
                await self.start()

    async def _receive(self, scope: Scope, receive: Receive) -> None:
        if scope["method"] != "POST":
            raise RejectedError(405, "Webhooks are sent with POST.")
        try:
            signed = parse_headers(scope["headers"], self._clock.now())
            body = await _read_body(scope, receive)
            keys = keys_of(self._secret())
            check_body(body)
            check_signature(signed, body, keys)
            read_event(signed.id, body)
        except SignatureError as error:
            status = _STATUSES[error.reason]
            own = "This receiver cannot read its own secret."
            raise RejectedError(status, str(error) if status < 500 else own) from error
        await to_thread.run_sync(self.set_valid_keys, keys)
        await to_thread.run_sync(self.inbox.add, signed.id, body, self._clock.now())

    def set_valid_keys(self, keys: tuple[bytes, ...]) -> None:
        """Name the inbox after the valid keys, unless it has a name."""
        if self._handler is not None and keys != self._keys:
            self.inbox.name_by_keys(self._handler, keys)
        self._keys = keys


def receiver(
    secret: Secrets | CurrentSecrets,
    on_event: OnEvent,
    *,
    inbox: str | Path | Inbox | None = None,
    name: str | None = None,
    clock: Clock = _SYSTEM,
) -> Receiver:
    """Make an ASGI application that receives webhooks and passes on their events.

    The receiver verifies each delivery, writes it to a file and only then responds
    204; it handles the event afterwards, however long that takes. So each event is
    handled at least once, even if the process is killed, and only once unless it is
    killed: a repeated delivery gets 204 and is not handled again. If `on_event` raises,
    it is called again after 1 s, 10 s, 1 min, 10 min and 1 h; then the event counts as
    failed until it is replayed. Four events are handled at once, in any order: the
    service does not send them in order either, and may send one before it has responded
    to its submission. Use `event.job.id` to match events to jobs.

    Any other request gets a 4xx; if the headers are not valid, the body is not read.
    Mount the receiver as its own route, since senders do not follow redirects to a path
    with a slash::

        Starlette(routes=[Route("/hooks", receiver(secret, on_event))])

    Args:
        secret: One secret, several during a rotation, or a fast function that returns
            the secrets that are valid now; it is called for each delivery.
        on_event: Called with each event; if it is not async, in a thread.
        inbox: The file that stores the events; it must outlive the process. By default
            a file in `MEDIAKIT_HOME`; ":memory:" lasts as long as the process.
        name: The receiver's name, when several share that file: each handles every
            event. In the default file, the secret and the name of `on_event` identify a
            receiver without a name; after a restart, it finds the events that it did
            not finish.
        clock: The clock that the time of sending is compared with.

    Raises:
        SignatureError: A secret cannot be read ("secret").
        InputError: The file cannot be opened and written, or this user has no home.
    """
    current = _current(secret)
    keys = keys_of(current())
    handler = _name_of(on_event) if inbox is None and name is None else None
    if not isinstance(inbox, Inbox):
        inbox = Inbox(
            inbox or data_folder() / FILE_NAME, name=name or handler or "default"
        )
    application = Receiver(current, on_event, inbox, handler=handler, clock=clock)
    application.set_valid_keys(keys)
    return application


def _current(secret: Secrets | CurrentSecrets) -> CurrentSecrets:
    if callable(secret):
        return secret
    # An iterator would be empty after the first delivery.
    secrets = tuple(secret) if isinstance(secret, Iterator) else secret
    return lambda: secrets


def _name_of(handler: OnEvent) -> str:
    """Return a name of a handler that stays the same after a restart."""
    function = inspect.unwrap(getattr(handler, "func", handler))
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = function.__module__
    return f"{_program() if module == '__main__' else module}:{name}"


def _program() -> str:
    main = sys.modules["__main__"]
    notebook = getattr(main, "__vsc_ipynb_file__", os.environ.get("JPY_SESSION_NAME"))
    file = notebook or getattr(main, "__file__", None)
    return str(Path(file).absolute()) if file else str(Path.cwd())


# -- ASGI -------------------------------------------------------------------------


class RejectedError(Exception):
    """A delivery is rejected with this status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class DisconnectedError(Exception):
    """The sender disconnected before the body was complete."""


async def _refuse(scope: Scope, send: Send, error: RejectedError) -> None:
    log = logger.error if error.status >= 500 else logger.warning
    log("a webhook was rejected with %d: %s", error.status, error.__cause__ or error)
    headers = [(b"allow", b"POST")]
    if scope.get("http_version", "1.1").startswith("1"):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await _respond(send, error.status, error.words, headers)


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """Read a body of at most 1 MiB that arrives in time."""
    too_large = RejectedError(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
    content_length = dict(scope["headers"]).get(b"content-length", b"")
    if content_length.isdigit() and int(content_length[:18]) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    more = True
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise DisconnectedError
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise too_large
                more = message.get("more_body", False)
    except TimeoutError:
        words = f"The body did not arrive within {BODY_TIMEOUT_S:g} s."
        raise RejectedError(408, words) from None
    return bytes(body)


async def _respond(
    send: Send,
    status: int,
    words: str = "",
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Send a response with a status and, optionally, a sentence."""
    body = json.dumps({"message": words}).encode() if words else b""
    if body:
        length = str(len(body)).encode()
        content = [(b"content-type", b"application/json"), (b"content-length", length)]
        headers = [*headers, *content]
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
