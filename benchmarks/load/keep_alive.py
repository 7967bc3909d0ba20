"""A fast HTTP/1.1 client in its own process that sends requests in a loop.

It reads its settings as JSON from standard input, keeps a number of connections busy
for a number of seconds, and writes its counts as JSON. It implements only as much HTTP
as it needs to be fast, and reports its processor time to show that it was not the
limit.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from itertools import count
from typing import Any
from urllib.parse import urlsplit

KEY_PLACE = b"{key}"
"""Replaced by a unique text in each request."""


class Conversation(asyncio.Protocol):
    """One connection that sends the next request when a response is complete."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if found and _is_whole(head.lower(), rest):
            self._received = b""
            self._load.counted[int(head[9:12])] += 1
            self._ask()

    def _ask(self) -> None:
        request = self._load.next_request()
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)


class Load:
    """The state that all connections share.

    Args:
        order: `url`, `method`, `headers`, `body` (a text or null), `connections` and
            `seconds`.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._request = _request(order)
        self._numbers = count()
        self._open = order["connections"]
        self.counted: Counter[int] = Counter()

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        self._end: asyncio.Future[None] = loop.create_future()
        url = urlsplit(self._order["url"])
        started_s, cpu_s = time.perf_counter(), time.process_time()
        self._until_s = started_s + self._order["seconds"]
        for _ in range(self._order["connections"]):
            host, port = url.hostname, url.port
            await loop.create_connection(lambda: Conversation(self), host, port)
        await self._end
        return {
            "statuses": self.counted,
            "seconds": time.perf_counter() - started_s,
            "cpu_seconds": time.process_time() - cpu_s,
        }

    def next_request(self) -> bytes | None:
        """Return the next request; None when the time is over."""
        if time.perf_counter() > self._until_s:
            return None
        return self._request.replace(KEY_PLACE, b"%d" % next(self._numbers))

    def lost(self, problem: Exception | None) -> None:
        self._open -= 1
        if not self._end.done() and (problem is not None or self._open == 0):
            self._end.set_exception(problem) if problem else self._end.set_result(None)


def _request(order: dict[str, Any]) -> bytes:
    url, body = urlsplit(order["url"]), (order["body"] or "").encode()
    lines = [f"{order['method']} {url.path} HTTP/1.1", f"Host: {url.netloc}"]
    lines += [f"{name}: {value}" for name, value in order["headers"].items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _is_whole(head: bytes, rest: bytes) -> bool:
    _, found, after = head.partition(b"\r\ncontent-length:")
    if found:
        return len(rest) >= int(after.partition(b"\r\n")[0])
    return rest.endswith(b"0\r\n\r\n")  # the body is chunked


def main() -> None:
    """Run with the settings from standard input."""
    with asyncio.Runner() as runner:
        print(json.dumps(runner.run(Load(json.load(sys.stdin)).run())))


if __name__ == "__main__":
    main()
