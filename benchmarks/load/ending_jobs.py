"""A service whose jobs end at random times, in its own process.

It writes its port as a line of JSON. Every submission makes a job that runs for a time
between the two numbers of its command line, in seconds, and is settled at its end;
every read is recorded. `GET /report` returns the starts, the ends and the reads, in
monotonic seconds, and resets them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from itertools import count
from typing import Any

FILE = {"url": "http://127.0.0.1/out.mp4", "content_type": "video/mp4"}
OUTPUT = {"media_type": "video", "video": FILE}
PAID = {"state": "settled", "charge_micro_usd": 204_000}


class Jobs:
    """The end times of the jobs, and the times of their reads."""

    def __init__(self, shortest_s: float, longest_s: float) -> None:
        self._random = random.Random(1)
        self._runs_s = (shortest_s, longest_s)
        self._numbers = count()
        self._begins: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._reads: list[tuple[float, str]] = []

    def answer(self, method: str, path: str) -> Any:
        if path == "/report":
            report = {
                "begins": self._begins,
                "ends": self._ends,
                "reads": self._reads,
            }
            self._begins, self._ends, self._reads = {}, {}, []
            return report
        if path == "/billing/balance":
            return {"balance_micro_usd": 1_000_000_000_000}
        now_s = time.monotonic()
        if method == "POST":
            job_id = f"media_{next(self._numbers)}"
            self._begins[job_id] = now_s
            self._ends[job_id] = now_s + self._random.uniform(*self._runs_s)
            return {"id": job_id, "status": "queued"}
        job_id = path.rsplit("/", 1)[-1]
        if job_id not in self._ends:
            return None
        self._reads.append((now_s, job_id))
        if now_s < self._ends[job_id]:
            return {"id": job_id, "status": "running"}
        done = {"status": "completed", "output": OUTPUT, "billing": PAID}
        return {"id": job_id, **done}


class Conversation(asyncio.Protocol):
    """One connection, kept alive."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while True:
            head, found, rest = self._received.partition(b"\r\n\r\n")
            length = _length(head)
            if not found or len(rest) < length:
                return
            self._received = rest[length:]
            method, path, _ = head.decode().split(" ", 2)
            said = self._jobs.answer(method, path)
            status = b"404 Not Found" if said is None else b"200 OK"
            body = json.dumps(said).encode()
            self._transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (status, len(body), body)
            )


def _length(head: bytes) -> int:
    _, found, after = head.lower().partition(b"content-length:")
    return int(after.split(b"\r\n", 1)[0]) if found else 0


async def serve(jobs: Jobs) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Conversation(jobs), "127.0.0.1", 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    shortest_s, longest_s = map(float, sys.argv[1:])
    asyncio.run(serve(Jobs(shortest_s, longest_s)))  # noqa: TID251 - its own process
