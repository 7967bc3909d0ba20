"""Reading a delivery over ASGI: its headers first, its body within bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mediakit.webhooks.verifying import MAX_BODY_BYTES

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class RefusedError(Exception):
    """A delivery is not taken.

    Args:
        status: What is answered.
        words: Why, as a sentence.
        headers: Headers of the answer.
    """

    def __init__(
        self, status: int, words: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = headers


class GoneError(Exception):
    """The sender went away before it had sent everything."""


def check_size(scope: Scope) -> None:
    """Refuse a body that says itself that it is too large.

    Raises:
        RefusedError: It is larger than 1 MiB.
    """
    for name, value in scope["headers"]:
        # More digits than these are no length of anything.
        if name == b"content-length" and value.isdigit() and _too_large(value):
            raise _large()


def _too_large(digits: bytes) -> bool:
    return len(digits) > 18 or int(digits) > MAX_BODY_BYTES


async def read_body(receive: Receive, timeout_s: float) -> bytes:
    """Read a body.

    Args:
        receive: ASGI's.
        timeout_s: How long the whole body may take, real seconds.

    Raises:
        RefusedError: It is larger than 1 MiB, or does not come in time.
        GoneError: The sender went away.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await _whole(receive)
    except TimeoutError:
        words = f"The body did not come within {timeout_s:g} s."
        raise RefusedError(408, words) from None


async def _whole(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise _large()
        more = message.get("more_body", False)
    return bytes(body)


def _large() -> RefusedError:
    return RefusedError(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")


async def answer(
    send: Send,
    status: int,
    words: str | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Answer with a status, and a sentence where there is one to say."""
    body = b"" if words is None else json.dumps({"message": words}).encode()
    more = list(headers)
    if body:
        more.append((b"content-type", b"application/json"))
        more.append((b"content-length", str(len(body)).encode()))
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": more})
    await send({"type": "http.response.body", "body": body})
