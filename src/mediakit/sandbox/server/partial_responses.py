"""Responses that are truncated, and responses that are throttled."""

import asyncio
from collections.abc import Iterator

from starlette.types import Message, Receive, Send

BODY = "http.response.body"
CHUNKS_PER_S = 20


def first_bytes(send: Send, bytes_n: int | None) -> Send:
    """Send only the beginning of a response's body; the head announces all of it.

    Args:
        send: The ASGI send function.
        bytes_n: The number of bytes; None for half of the announced length.
    """
    left_n = bytes_n

    async def send_some(message: Message) -> None:
        nonlocal left_n
        if message["type"] != BODY:
            left_n = _announced_n(message) // 2 if left_n is None else left_n
            await send(message)
            return
        piece = message.get("body", b"")[:left_n]
        left_n = (left_n or 0) - len(piece)
        await send({"type": BODY, "body": piece, "more_body": True})

    return send_some


def throttled(send: Send, receive: Receive, bytes_per_s: float) -> Send:
    """Send a response's body slowly, until the client disconnects.

    Args:
        send: The ASGI send function.
        receive: The ASGI receive function, which reports a disconnection.
        bytes_per_s: The speed, bytes a real second.
    """
    chunk_n = max(1, round(bytes_per_s / CHUNKS_PER_S))
    connected = True

    async def send_slowly(message: Message) -> None:
        nonlocal connected
        if message["type"] != BODY:
            await send(message)
            return
        for chunk in _chunks(message.get("body", b""), chunk_n):
            wait_s = len(chunk) / bytes_per_s
            connected = connected and await _stays_connected(receive, wait_s)
            if connected:
                await send({"type": BODY, "body": chunk, "more_body": True})
        await send({"type": BODY, "more_body": message.get("more_body", False)})

    return send_slowly


def _chunks(body: bytes, chunk_n: int) -> Iterator[bytes]:
    return (body[at : at + chunk_n] for at in range(0, len(body), chunk_n))


async def _stays_connected(receive: Receive, for_s: float) -> bool:
    """Wait; return False at once when the client disconnects."""
    try:
        async with asyncio.timeout(for_s):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return True
    return False


def _announced_n(start: Message) -> int:
    headers = dict(start.get("headers", ()))
    return int(headers.get(b"content-length", 0))
