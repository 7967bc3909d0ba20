"""Read a delivery over ASGI: first its headers, then its body within limits."""

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


class RejectedError(Exception):
    """A delivery is rejected.

    Args:
        status: The status of the response.
        words: The reason, as a sentence.
        headers: Headers of the response.
    """

    def __init__(
        self, status: int, words: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = headers


class DisconnectedError(Exception):
    """The sender disconnected before the body was complete."""


def check_size(scope: Scope) -> None:
    """Reject a body whose `Content-Length` is too large.

    Raises:
        RejectedError: It is larger than 1 MiB.
    """
    for name, value in scope["headers"]:
        # A number with more digits cannot be a valid length.
        if name == b"content-length" and value.isdigit() and _too_large(value):
            raise _large()


def _too_large(digits: bytes) -> bool:
    return len(digits) > 18 or int(digits) > MAX_BODY_BYTES


async def read_body(receive: Receive, timeout_s: float) -> bytes:
    """Read a body.

    Args:
        receive: ASGI's `receive`.
        timeout_s: The limit for the whole body, real seconds.

    Raises:
        RejectedError: It is larger than 1 MiB, or does not arrive in time.
        DisconnectedError: The sender disconnected.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await _whole(receive)
    except TimeoutError:
        words = f"The body did not arrive within {timeout_s:g} s."
        raise RejectedError(408, words) from None


async def _whole(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise _large()
        more = message.get("more_body", False)
    return bytes(body)


def _large() -> RejectedError:
    return RejectedError(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")


async def answer(
    send: Send,
    status: int,
    words: str | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Send a response with a status and, if given, a sentence."""
    body = b"" if words is None else json.dumps({"message": words}).encode()
    more = list(headers)
    if body:
        more.append((b"content-type", b"application/json"))
        more.append((b"content-length", str(len(body)).encode()))
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": more})
    await send({"type": "http.response.body", "body": body})
