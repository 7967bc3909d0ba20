"""A service that responds at once, in its own process, so it is never the limit.

It writes its port as a line of JSON. Every submission makes a running job; every read
returns the completed job and its cost, in the format that each client expects. With
`--ended`, a submission by mediakit makes a completed job at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import count

FILE = {"url": "http://127.0.0.1/out.mp4", "content_type": "video/mp4"}
NOT_HERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"
ENDED = "--ended" in sys.argv
numbers = count()


def job_of_ours(job_id: str, *, is_done: bool) -> dict[str, object]:
    return {
        "id": job_id,
        "status": "completed" if is_done else "running",
        "output": {"media_type": "video", "video": FILE} if is_done else None,
        "error": None,
        "usage": None,
        "billing": {"state": "settled", "charge_micro_usd": 204_000}
        if is_done
        else None,
    }


def job_of_fal(job_id: str, base_url: str, *, is_done: bool) -> dict[str, object]:
    if is_done:
        return {"status": "COMPLETED", "logs": None, "metrics": {}}
    url = f"{base_url}/fal/requests/{job_id}"
    urls = dict.fromkeys(("response_url", "status_url", "cancel_url"), url)
    return {"request_id": job_id, **urls}


def job_of_openai(job_id: str, *, is_done: bool) -> dict[str, object]:
    return {
        "id": job_id,
        "object": "video",
        "status": "completed" if is_done else "queued",
        "progress": 100 if is_done else 0,
        "model": "sora-2",
        "created_at": 1,
        "seconds": "4",
        "size": "720x1280",
    }


def job_of_replicate(job_id: str, *, is_done: bool) -> dict[str, object]:
    return {
        "id": job_id,
        "model": "maker/model",
        "version": "v",
        "status": "succeeded" if is_done else "starting",
        "input": {},
        "output": FILE["url"] if is_done else None,
        "logs": "",
        "error": None,
        "urls": {},
    }


def job_of_google(job_id: str, *, is_done: bool) -> dict[str, object]:
    name = f"publishers/google/models/veo/operations/{job_id}"
    if not is_done:
        return {"name": name}
    video = {"gcsUri": FILE["url"], "mimeType": FILE["content_type"]}
    return {"name": name, "done": True, "response": {"videos": [video]}}


def answer(method: bytes, path: str, base_url: str) -> dict[str, object] | None:
    """Return the response; None for an unknown path."""
    is_done = method == b"GET"
    job_id = path.rsplit("/", 1)[-1] if is_done else f"media_{next(numbers)}"
    if path.startswith("/fal/"):
        return job_of_fal(job_id.split("?")[0], base_url, is_done=is_done)
    if path.startswith("/openai/"):
        return job_of_openai(job_id, is_done=is_done)
    if path.startswith("/replicate/"):
        return job_of_replicate(job_id, is_done=is_done)
    if path.startswith("/genai/"):
        # This client also reads with POST.
        return job_of_google("1", is_done=path.endswith(":fetchPredictOperation"))
    if path == "/billing/balance":
        return {"balance_micro_usd": 1_000_000_000_000}
    if path.startswith("/v1/media/"):
        return job_of_ours(job_id, is_done=is_done or ENDED)
    return None


class Conversation(asyncio.Protocol):
    """One connection, kept alive."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while True:
            head, found, rest = self._received.partition(b"\r\n\r\n")
            length = _length(head)
            if not found or len(rest) < length:
                return
            self._received = rest[length:]
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        host, port = self._transport.get_extra_info("sockname")
        said = answer(method, path.decode(), f"http://{host}:{port}")
        if said is None:
            self._transport.write(NOT_HERE)
            return
        body = json.dumps(said).encode()
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )


def _length(head: bytes) -> int:
    _, found, after = head.lower().partition(b"content-length:")
    return int(after.split(b"\r\n", 1)[0]) if found else 0


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Conversation, "127.0.0.1", 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    asyncio.run(serve())  # noqa: TID251 - its own process
