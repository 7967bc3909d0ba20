"""A service with scripted job outcomes, without a network."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from mediakit import Catalog, Client
from mediakit.client.polling import ReadLimiter
from mediakit.errors import InputError
from tests.support.advancing_clock import AdvancingClock
from tests.support.new_history import with_history

BASE_URL = "http://service.test"
KEY = "a-key-for-this-test"
CATALOG = Catalog.default()


@dataclass
class Outcome:
    """What becomes of one submit.

    Args:
        fails: The code that its job fails with; None for a result.
        factor: Its charge per estimated micro-USD.
        reads: The number of reads before it has ended.
        settles: The number of reads after its end before its charge is known.
        rejects: The HTTP status of a rejection instead of a job.
        code: The code of that rejection.
        message: What the rejection says.
        retry_after_s: The `Retry-After` of the rejection.
        loses_answer: Whether the job is created but the response is lost.
        is_charged: Charges the job even if it fails.
    """

    fails: str | None = None
    factor: float = 1.0
    reads: int = 0
    settles: int = 0
    rejects: int | None = None
    code: str = "rate_limited"
    message: str = "Not now."
    retry_after_s: float | None = None
    loses_answer: bool = False
    is_charged: bool = False


@dataclass
class Sold:
    """One job of the service."""

    id: str
    outcome: Outcome
    price_micro_usd: int
    body: dict[str, Any]
    reads: int = 0
    settles: int = 0

    @property
    def charge_micro_usd(self) -> int:
        if self.outcome.fails and not self.outcome.is_charged:
            return 0
        return int(self.price_micro_usd * self.outcome.factor)


@dataclass
class Service:
    """Runs jobs, whose outcome is decided when they are submitted.

    Args:
        decide: Decides by the body, and how often it was submitted before.
        balance_micro_usd: What the account can spend before the first job.
        files: How often the file of a prompt was asked for.
        lost_files: The prompts whose files are gone.
        file_of: Makes the file of a prompt; the prompt itself by default.
    """

    decide: Callable[[dict[str, Any], int], Outcome] = lambda *_: Outcome()
    balance_micro_usd: int = 10**12
    jobs: dict[str, Sold] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, dict[str, Any]] = field(default_factory=dict)
    posts: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    lost_files: frozenset[str] = frozenset()
    file_of: Callable[[str], bytes] = str.encode
    most_at_once: int = 0
    gate: threading.Event | None = None

    def __post_init__(self) -> None:
        self._numbers = count(1)

    @property
    def charged_micro_usd(self) -> int:
        """Return what all jobs cost."""
        return sum(job.charge_micro_usd for job in self.jobs.values())

    @property
    def sold_n(self) -> int:
        """Return how many jobs completed or will."""
        return sum(not job.outcome.fails for job in self.jobs.values())

    def handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/billing/balance":
            left_micro_usd = self.balance_micro_usd - self.charged_micro_usd
            return httpx.Response(200, json={"balance_micro_usd": left_micro_usd})
        if job := self.jobs.get(Path(path).stem) if path.endswith(".mp4") else None:
            return self._file(job)
        if request.method == "GET":
            return self._read(path.rsplit("/", 1)[-1])
        return self._submit(request)

    def _file(self, job: Sold) -> httpx.Response:
        prompt = str(job.body.get("prompt"))
        self.files[prompt] += 1
        if prompt in self.lost_files:
            return httpx.Response(410)
        return httpx.Response(200, content=self.file_of(prompt))

    def _read(self, job_id: str) -> httpx.Response:
        if job_id in self.rejected:
            return httpx.Response(200, json=self.rejected[job_id])
        job = self.jobs.get(job_id)
        if job is None:
            return httpx.Response(404, json={"message": "no such job"})
        job.reads += 1
        if job.reads > job.outcome.reads:
            job.settles += 1
        return httpx.Response(200, json=self._record(job))

    def _record(self, job: Sold) -> dict[str, Any]:
        if job.reads < job.outcome.reads or (self.gate and not self.gate.is_set()):
            return {"id": job.id, "status": "running"}
        billing: dict[str, Any] = {"state": "pending"}
        if job.settles >= job.outcome.settles:
            billing = {"state": "settled", "charge_micro_usd": job.charge_micro_usd}
        if job.outcome.fails:
            error = {"code": job.outcome.fails, "message": "It was told to."}
            return {"id": job.id, "status": "failed", "error": error} | {
                "billing": billing
            }
        file = {"url": f"{BASE_URL}/{job.id}.mp4", "content_type": "video/mp4"}
        output = {"media_type": "video", "video": file}
        return {"id": job.id, "status": "completed", "output": output} | {
            "billing": billing
        }

    def _submit(self, request: httpx.Request) -> httpx.Response:
        key, body = request.headers["Idempotency-Key"], json.loads(request.content)
        if key in self.keys:
            return httpx.Response(200, json=self._record(self.jobs[self.keys[key]]))
        text = request.content.decode()
        outcome = self.decide(body, self.posts[text])
        self.posts[text] += 1
        job_id = f"media_{next(self._numbers):06d}"
        if outcome.rejects is not None:
            return self._rejected(job_id, outcome)
        path = request.url.path.removeprefix("/v1/media/")
        price = _price_micro_usd(path, body)
        self.jobs[job_id] = job = Sold(job_id, outcome, price, body)
        self.keys[key] = job_id
        unsettled = [j for j in self.jobs.values() if j.settles < j.outcome.settles]
        self.most_at_once = max(self.most_at_once, len(unsettled))
        if outcome.loses_answer:
            raise httpx.ReadError("the connection was reset", request=request)
        return httpx.Response(200, json=self._record(job))

    def _rejected(self, job_id: str, outcome: Outcome) -> httpx.Response:
        error = {"code": outcome.code, "message": outcome.message}
        headers = {}
        if outcome.retry_after_s is not None:
            headers["Retry-After"] = f"{outcome.retry_after_s:g}"
        record = {"id": job_id, "status": "failed", "error": error}
        free = {"state": "settled", "charge_micro_usd": 0}
        self.rejected[job_id] = {**record, "billing": free}
        return httpx.Response(outcome.rejects or 429, json=record, headers=headers)

    def client(self, home: Path, **more: Any) -> Client:
        """Return a client of this service, whose waits are short."""
        clock = AdvancingClock()
        client = Client(
            BASE_URL,
            KEY,
            home=with_history(home),
            catalog=CATALOG,
            clock=clock,
            transport=httpx.MockTransport(self.handle),
            **more,
        )
        # These tests read more jobs than the default limit of a process allows in their
        # time.
        client.components.jobs.poller.limiter = ReadLimiter(2_000, clock=clock)
        return client


def _price_micro_usd(path: str, body: dict[str, Any]) -> int:
    try:
        return CATALOG.function(path).estimate(body).high or 0
    except InputError:
        return 0
