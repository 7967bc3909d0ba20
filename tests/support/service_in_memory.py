"""An in-memory service and file storage, used with `httpx.MockTransport`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

import mediakit as mk
from tests.support.advancing_clock import AdvancingClock

KEY = "key-0123456789abcdef"
API = "https://api.example.com"
FILES = "https://files.example.net"
CHARGE_MICRO_USD = 340_000
SETTLED = {"state": "settled", "charge_micro_usd": CHARGE_MICRO_USD}
FILE = {"url": f"{FILES}/a.mp4", "content_type": "video/mp4"}
OUTPUT = b"the bytes of a clip" * 1_000
COMPLETED: dict[str, Any] = {
    "status": "completed",
    "output": {"media_type": "video", "video": FILE},
    "billing": SETTLED,
}

Answer = Callable[[str, int], Awaitable[httpx.Response]]


class ServiceInMemory:
    """Makes one job for each key, and completes each at its first read.

    Attributes:
        on_submit: Returns the response to a submission, by its key and the number of
            earlier ones.
        on_read: Returns the response to a read, by the job and the number of earlier
            reads.
    """

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.jobs: dict[str, str] = {}
        self.posts: list[str] = []
        self.reads: list[str] = []
        self.files: dict[str, bytes] = {"/a.mp4": OUTPUT}
        self.balance_micro_usd = 50_000_000
        self.on_submit: Answer = self.accepts
        self.on_read: Answer = self.completes

    def client(self, home: Path, **settings: Any) -> mk.Client:
        """Return a client of this service; waiting takes no time."""
        usual: dict[str, Any] = {"clock": AdvancingClock()}
        usual["catalog"] = mk.Catalog.default()
        transport = httpx.MockTransport(self.handle)
        return mk.Client(API, KEY, home=home, transport=transport, **usual | settings)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests.append(request)
        self.loops.add(asyncio.get_running_loop())
        path = request.url.path
        if request.url.host not in API:
            return self._file(request)
        if path == "/billing/balance":
            return httpx.Response(
                200, json={"balance_micro_usd": self.balance_micro_usd}
            )
        if request.method == "GET":
            job_id = path.rpartition("/")[2]
            self.reads.append(job_id)
            return await self.on_read(job_id, self.reads.count(job_id) - 1)
        if path == "/v1/media/uploads":
            url = f"{FILES}/upload-{len(self.files)}.png"
            put = {"upload_url": f"{url}?signature=x", "headers": {}, "url": url}
            return httpx.Response(200, json=put)
        key = request.headers["Idempotency-Key"]
        self.posts.append(key)
        return await self.on_submit(key, len(self.posts) - 1)

    def _file(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "PUT":
            self.files[path] = request.content
            return httpx.Response(200)
        return httpx.Response(200, content=self.files[path], headers={"ETag": '"1"'})

    async def accepts(self, key: str, _: int = 0) -> httpx.Response:
        """Create or find the job of a key."""
        job_id = self.jobs.setdefault(key, f"media_{len(self.jobs) + 1}")
        return httpx.Response(200, json={"id": job_id, "status": "queued"})

    async def completes(self, job_id: str, _: int = 0) -> httpx.Response:
        """Return a completed and settled job."""
        return httpx.Response(200, json={"id": job_id, **COMPLETED})

    async def runs(self, job_id: str, _: int = 0) -> httpx.Response:
        """Return a running job."""
        return httpx.Response(200, json={"id": job_id, "status": "running"})

    def fails(self, failure: Exception, *, makes_jobs: bool = False) -> Answer:
        """Break the connection, before or after the job is created."""

        async def answer(key: str, _: int) -> httpx.Response:
            if makes_jobs:
                await self.accepts(key)
            raise failure

        return answer

    def in_turn(self, *answers: Answer) -> Answer:
        """Return the responses in order, then repeat the last one."""

        async def answer(name: str, before: int) -> httpx.Response:
            return await answers[min(before, len(answers) - 1)](name, before)

        return answer

    def by_job(self, **answers: Answer) -> Answer:
        """Give answers of their own about some jobs; the others complete."""

        async def answer(job_id: str, before: int) -> httpx.Response:
            return await answers.get(job_id, self.completes)(job_id, before)

        return answer


def tells(code: int = 200, /, **fields: Any) -> Answer:
    """Say the same of every job, with a status code of HTTP."""

    async def answer(job_id: str, _: int) -> httpx.Response:
        return httpx.Response(code, json={"id": job_id, **fields})

    return answer


def says(response: httpx.Response) -> Answer:
    """Return the same response to every request."""

    async def answer(*_: object) -> httpx.Response:
        return httpx.Response(
            response.status_code, headers=response.headers, content=response.content
        )

    return answer
