"""A receiver of webhooks, to mount in any ASGI application (spec 6)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs
from anyio import to_thread

from mediakit.clock import Clock, SystemClock
from mediakit.errors import SignatureError
from mediakit.webhooks.claims import Claim, read_claim
from mediakit.webhooks.events import read_event
from mediakit.webhooks.handling import Handling, OnEvent
from mediakit.webhooks.inbox import Inbox
from mediakit.webhooks.keys import Secrets, keys_of
from mediakit.webhooks.reading import (
    GoneError,
    Receive,
    RefusedError,
    Scope,
    Send,
    answer,
    check_size,
    read_body,
)
from mediakit.webhooks.verifying import check_body, check_signature

logger = logging.getLogger(__name__)

BODY_TIMEOUT_S = 10.0
FILE_NAME = "webhooks.db"
TAKEN = 204
_SYSTEM = SystemClock()
# A sender tries again after any of these; the status is all that its log shows.
_STATUSES = {
    "missing_header": 400,
    "header": 400,
    "payload": 400,
    "timestamp": 401,
    "signature": 401,
    "secret": 500,
}

CurrentSecrets = Callable[[], Secrets]


class Receiver:
    """An ASGI application that takes webhooks; `receiver` makes one.

    Args:
        secret: Returns the secrets that are valid now.
        on_event: What takes the events.
        inbox: Where they are written down.
        clock: The receiver's time.
        body_timeout_s: How long a body may take to come, real seconds.
    """

    def __init__(
        self,
        secret: CurrentSecrets,
        on_event: OnEvent,
        inbox: Inbox,
        *,
        clock: Clock = _SYSTEM,
        body_timeout_s: float = BODY_TIMEOUT_S,
    ) -> None:
        self.inbox = inbox
        self._secret = secret
        self._clock = clock
        self._body_timeout_s = body_timeout_s
        self._handling = Handling(inbox, on_event, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one delivery, or begin and end with the application."""
        match scope["type"]:
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await receive()
                await send({"type": "websocket.close"})
            case _:
                await self._answer(scope, receive, send)

    async def start(self) -> None:
        """Handle what an earlier process left, before anything new comes.

        A server calls it when the receiver is its application. Mounted in another
        one, call it in that one's lifespan; otherwise the first delivery does it.
        """
        self._handling.start()

    async def stop(self) -> None:
        """Let what is being handled end, for ten seconds at most."""
        await self._handling.stop()

    async def _live(self, receive: Receive, send: Send) -> None:
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
            await self._take(scope, receive)
        except RefusedError as error:
            await _refuse(scope, send, error)
        except GoneError:
            return
        else:
            # Whether or not the sender is still there to hear it.
            try:
                await answer(send, TAKEN)
            finally:
                self._handling.start()

    async def _take(self, scope: Scope, receive: Receive) -> None:
        if scope["method"] != "POST":
            allowed = ((b"allow", b"POST"),)
            raise RefusedError(405, "Webhooks are sent with POST.", allowed)
        try:
            claim = read_claim(scope["headers"], self._clock.now())
            check_size(scope)
            body = await read_body(receive, self._body_timeout_s)
            self._verify(claim, body)
        except SignatureError as error:
            raise _refused(error) from error
        now = self._clock.now()
        await to_thread.run_sync(self.inbox.note, claim.id, body, now)

    def _verify(self, claim: Claim, body: bytes) -> None:
        check_body(body)
        check_signature(claim, body, keys_of(self._secret()))
        read_event(claim.id, body)


def receiver(
    secret: Secrets | CurrentSecrets,
    on_event: OnEvent,
    *,
    seen: str | Path | Inbox | None = None,
    name: str = "default",
    clock: Clock = _SYSTEM,
    body_timeout_s: float = BODY_TIMEOUT_S,
) -> Receiver:
    """Make an ASGI application that takes webhooks and hands over their events.

    A delivery is verified, written to a file, and only then answered with 204; the
    event is handled afterwards, however long that takes. So each event is handled at
    least once, also when the process is killed in between, and once only unless it
    is: a delivery that comes again is answered 204 and not handled again. When
    `on_event` raises, it is called again after 1 s, 10 s, 1 min, 10 min and 1 h; then
    the event is given up, until somebody has it replayed. Four are handled at once,
    in any order: the service does not send them in order either, and may send one
    before its submit has answered. Match them to jobs by `event.job.id`.

    Anything else is answered 4xx; without its headers the body is not read. Mount it
    as a route of its own, since senders follow no redirect to a path with a slash::

        Starlette(routes=[Route("/hooks", receiver(secret, on_event))])

    Args:
        secret: One secret, several during a rotation, or a function that returns
            those that are valid now, asked at each delivery and quick to answer.
        on_event: Called with each event; async, or not and then in a thread.
        seen: The file of what was received, which has to outlive the process; a file
            in `MEDIAKIT_HOME` when omitted. ":memory:" forgets with the process.
        name: Which receiver it is, where several share that file: each handles every
            event.
        clock: What the time of sending is compared with.
        body_timeout_s: How long a body may take to come, real seconds.

    Raises:
        SignatureError: A secret cannot be read ("secret").
        InputError: The file cannot be opened and written.
    """
    current = _current(secret)
    keys_of(current())
    inbox = seen if isinstance(seen, Inbox) else Inbox(seen or _file(), name=name)
    return Receiver(
        current, on_event, inbox, clock=clock, body_timeout_s=body_timeout_s
    )


def _current(secret: Secrets | CurrentSecrets) -> CurrentSecrets:
    if callable(secret):
        return secret
    # An iterator would be empty after the first delivery.
    given = tuple(secret) if isinstance(secret, Iterator) else secret
    return lambda: given


def _file() -> Path:
    home = os.environ.get("MEDIAKIT_HOME") or platformdirs.user_data_dir("mediakit")
    return Path(home) / FILE_NAME


def _refused(error: SignatureError) -> RefusedError:
    status = _STATUSES[error.reason]
    words = str(error) if status < 500 else "This receiver cannot read its own secret."
    return RefusedError(status, words)


async def _refuse(scope: Scope, send: Send, error: RefusedError) -> None:
    log = logger.error if error.status >= 500 else logger.warning
    log("a webhook was refused with %d: %s", error.status, error.__cause__ or error)
    # What is left of the body is not waited for.
    ends = scope.get("http_version", "1.1").startswith("1")
    close = ((b"connection", b"close"),) if ends else ()
    await answer(send, error.status, error.words, error.headers + close)
