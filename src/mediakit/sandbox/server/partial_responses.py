"""Answers that end in the middle, and answers that come in drops."""

import asyncio
from collections.abc import Iterator

from starlette.types import Message, Receive, Send

BODY = "http.response.body"
DROPS_PER_S = 20


def first_bytes(send: Send, bytes_n: int | None) -> Send:
    """Let only the beginning of an answer's body through; its head promises it all.

    Args:
        send: Sends.
        bytes_n: So many bytes; None for half of what the head promises.
    """
    left_n = bytes_n

    async def send_some(message: Message) -> None:
        nonlocal left_n
        if message["type"] != BODY:
            left_n = _promised_n(message) // 2 if left_n is None else left_n
            await send(message)
            return
        piece = message.get("body", b"")[:left_n]
        left_n = (left_n or 0) - len(piece)
        await send({"type": BODY, "body": piece, "more_body": True})

    return send_some


def in_drops(send: Send, receive: Receive, bytes_per_s: float) -> Send:
    """Let an answer's body through slowly, for as long as somebody listens.

    Args:
        send: Sends.
        receive: Tells when nobody listens any more.
        bytes_per_s: How fast it goes, in real seconds.
    """
    drop_n = max(1, round(bytes_per_s / DROPS_PER_S))
    listening = True

    async def send_slowly(message: Message) -> None:
        nonlocal listening
        if message["type"] != BODY:
            await send(message)
            return
        for piece in _pieces(message.get("body", b""), drop_n):
            listening = listening and await _listens(receive, len(piece) / bytes_per_s)
            if listening:
                await send({"type": BODY, "body": piece, "more_body": True})
        await send({"type": BODY, "more_body": message.get("more_body", False)})

    return send_slowly


def _pieces(body: bytes, piece_n: int) -> Iterator[bytes]:
    return (body[at : at + piece_n] for at in range(0, len(body), piece_n))


async def _listens(receive: Receive, for_s: float) -> bool:
    """Wait so long; tell at once when the connection is gone."""
    try:
        async with asyncio.timeout(for_s):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return True
    return False


def _promised_n(start: Message) -> int:
    headers = dict(start.get("headers", ()))
    return int(headers.get(b"content-length", 0))
