"""A sandbox in a separate process that is killed, and a load that continues."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Any

import httpx

from tests.sandbox.conftest import KITE
from tests.support import zygote
from tests.support.clients import http_client

KEY = "a-key-for-this-test"
OPENING_USD = 10_000
PATIENCE_S = 600.0
RETRY_GAP_S = 0.05
SPEED = 20
MAIN = """
import sys
from mediakit.sandbox import __main__ as command
class Sketched(command.Sandbox):
    sketch: bool = True  # nobody plays the films
command.Sandbox = Sketched
raise SystemExit(command.main(sys.argv[1:]))
"""


class Server:
    """A sandbox that is killed and started again on the same data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.starts = 0
        self.fields: dict[str, Any] = {}
        self.start()
        self.await_ready()

    @property
    def base_url(self) -> str:
        url: str = self.fields["base_url"]
        return url

    def start(self) -> None:
        self.is_ready = False
        options = ["--data-dir", str(self.data_dir), "--api-key", KEY, "--json"]
        options += ["--speed", str(SPEED), "--queue-size", "1000000"]
        options += ["--balance-usd", str(OPENING_USD)]
        # Each slot starts a render worker, which takes longer than the server: two of
        # them now and then.
        self.starts += 1
        concurrency = 1 if self.starts % 4 else 2
        options += ["--allow-loopback-callbacks", "--concurrency", str(concurrency)]
        self.process = zygote.start(MAIN, *options)

    def await_ready(self) -> None:
        if not self.is_ready:
            line = self.process.stdout.readline()
            assert line, f"it ended: {self.process.finish()[1][-3_000:]}"
            self.fields = json.loads(line)
            self.is_ready = True

    def kill(self) -> None:
        self.process.kill()
        self.process.finish()

    def store(self) -> sqlite3.Connection:
        """Open its database, for facts that the API does not show."""
        return sqlite3.connect(self.data_dir / "sandbox.sqlite3")

    def http(self) -> httpx.Client:
        """Return a client without a base URL, because each start has another port."""
        return http_client("", KEY)


@dataclass(frozen=True)
class RenderRequest:
    """One kind of job that the load submits."""

    kind: str
    body: dict[str, Any]
    weight: int
    charge_micro_usd: int
    error_code: str | None = None


def orders(picture: str) -> list[RenderRequest]:
    """Mostly jobs that end at once, some that are rendered, few that take long."""
    failing = KITE | {"prompt": "sandbox:fail=content_moderation"}
    return [
        RenderRequest("text-to-video", failing, 80, 0, "content_moderation"),
        RenderRequest("image-upscale", {"image_url": picture}, 19, 126_000),
        RenderRequest("text-to-video", KITE, 1, 204_000),
    ]


@dataclass
class Acknowledged:
    """The server's responses so far, which must stay true."""

    jobs: dict[str, RenderRequest] = field(default_factory=dict)  # by job id
    called_back: set[str] = field(default_factory=set)
    ended: dict[str, dict[str, Any]] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    uploads: dict[str, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)


class Load:
    """Submits, reads, erases and uploads until it is stopped."""

    def __init__(self, server: Server, picture: str, callback_url: str) -> None:
        self.acknowledged = Acknowledged()
        self.stop = Event()
        self._server = server
        self._orders = orders(picture)
        self._callback_url = callback_url

    def submit(self, seed: int) -> None:
        """Submit under one key after another, each until there is a response."""
        random, known = Random(seed), self.acknowledged
        weights = [order.weight for order in self._orders]
        with self._server.http() as http:
            for number in self._until_stopped(random):
                (order,) = random.choices(self._orders, weights)
                key, called_back = f"{seed}-{number}", random.random() < 0.5
                job_id = self._submit(http, order, key, called_back=called_back)
                with known.lock:
                    assert job_id not in known.jobs
                    known.jobs[job_id] = order
                    if called_back:
                        known.called_back.add(job_id)
                if random.random() < 0.2:
                    again = self._submit(http, order, key, called_back=called_back)
                    assert again == job_id
                    known.counts["repeats"] += 1

    def read(self, seed: int) -> None:
        """Read jobs and erase some; an ended job must never change."""
        random, known = Random(seed), self.acknowledged
        with self._server.http() as http:
            for _ in self._until_stopped(random):
                with known.lock:
                    job_id = random.choice([*known.jobs, ""])
                if job_id:
                    self._read(http, job_id, erase=random.random() < 0.1)

    def upload(self, seed: int) -> None:
        """Upload files; only uploads with a 200 response must persist."""
        random, known = Random(seed), self.acknowledged
        with self._server.http() as http:
            for _ in self._until_stopped(random):
                content = random.randbytes(random.randrange(1, 300_000))
                asked = {"content_type": "image/png", "size_bytes": len(content)}
                granted = self._persist(http, "POST", "/v1/media/uploads", json=asked)
                grant = granted.json()
                try:
                    put = http.put(
                        grant["upload_url"], content=content, headers=grant["headers"]
                    )
                except httpx.TransportError:
                    known.counts["uploads cut off"] += 1
                else:
                    assert put.status_code == 200
                    known.uploads[grant["url"]] = content

    def _until_stopped(self, random: Random) -> Iterator[int]:
        number = 0
        while not self.stop.wait(random.uniform(0, 0.04)):
            yield number
            number += 1

    def _submit(
        self, http: httpx.Client, order: RenderRequest, key: str, *, called_back: bool
    ) -> str:
        callback = {"webhook_url": self._callback_url} if called_back else {}
        path = f"/v1/media/{self._server.fields['functions'][order.kind]}"
        answer = self._persist(
            http,
            "POST",
            path,
            json=order.body | callback,
            headers={"Idempotency-Key": key},
        )
        assert answer.status_code == 200, answer.text
        job_id: str = answer.json()["id"]
        return job_id

    def _read(self, http: httpx.Client, job_id: str, *, erase: bool) -> None:
        known, path = self.acknowledged, f"/v1/media/jobs/{job_id}"
        job = self._persist(http, "GET", path).json()
        if job["status"] not in ("completed", "failed"):
            return
        lasting = {"status": job["status"], "error": job.get("error")}
        assert known.ended.setdefault(job_id, lasting) == lasting
        assert ("deleted_at" in job) >= (job_id in known.erased)
        if erase:
            answer = self._persist(http, "DELETE", path)
            assert answer.status_code == 200, answer.text
            known.erased.add(job_id)

    def _persist(
        self, http: httpx.Client, method: str, path: str, **more: Any
    ) -> httpx.Response:
        """Retry until there is a response."""
        patience_s, met_nobody = PATIENCE_S, 0
        while patience_s > 0:
            asked_at_s = time.monotonic()
            try:
                answer = http.request(method, self._server.base_url + path, **more)
            except httpx.TransportError as problem:
                met_nobody += isinstance(problem, httpx.ConnectError)
                cut_off = not isinstance(problem, httpx.ConnectError)
                self.acknowledged.counts["requests cut off"] += cut_off
                time.sleep(RETRY_GAP_S)
                # On a slow machine, many servers are killed before a request completes.
                if self.stop.is_set():
                    patience_s -= time.monotonic() - asked_at_s
            else:
                self.acknowledged.counts["requests that met nobody"] += met_nobody > 0
                return answer
        raise AssertionError("the server never came back")
