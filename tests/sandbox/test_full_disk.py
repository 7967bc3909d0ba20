"""A disk that fills up under load, and is freed: nothing is lost, nothing stays."""

import resource
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import png
from tests.sandbox.test_sigkill import all_is_done, upload
from tests.support.sandbox.killing import Server, until
from tests.support.sandbox.receivers import PATIENCE_S, Answer, Received, receiving

pytestmark = pytest.mark.soak

UPSCALED_MICRO_USD = 126_000
GAP_S = 0.02
FULL_S = 0.5
FULL_TIMES = 3


@dataclass
class Load:
    """Submits one job after the other, each until it is accepted."""

    server: Server
    picture: str
    callback_url: str
    jobs: dict[str, int] = field(default_factory=dict)  # the price, by job id
    refused_n: int = 0
    stop: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def submit(self, client_n: int) -> None:
        """Submit until stopped, one job in two of those that are rendered."""
        fails = {"prompt": "sandbox:fail=provider_error"}
        orders = [("text-to-video", fails, 0)]
        orders.append(
            ("image-upscale", {"image_url": self.picture}, UPSCALED_MICRO_USD)
        )
        with self.server.http() as http:
            number = 0
            while not self.stop.is_set():
                kind, body, price = orders[number % 2]
                job_id = self._accepted(http, kind, body, f"{client_n}-{number}")
                with self.lock:
                    assert job_id not in self.jobs
                    self.jobs[job_id] = price
                number += 1
                time.sleep(GAP_S)

    def _accepted(
        self, http: httpx.Client, kind: str, body: dict[str, Any], key: str
    ) -> str:
        functions = self.server.fields["functions"]
        deadline_s = time.monotonic() + 3 * PATIENCE_S
        while time.monotonic() < deadline_s:
            answer = http.post(
                f"{self.server.base_url}/v1/media/{functions[kind]}",
                json=body | {"webhook_url": self.callback_url},
                headers={"Idempotency-Key": key},
            )
            if answer.status_code == 200:
                job_id: str = answer.json()["id"]
                return job_id
            assert answer.status_code == 500, answer.text
            with self.lock:
                self.refused_n += 1
            time.sleep(GAP_S)
        raise AssertionError("it was never accepted")


def assert_books_are_right(data_dir: Path, load: Load) -> None:
    with closing(sqlite3.connect(data_dir / "sandbox.sqlite3")) as db:

        def one(sql: str) -> Any:
            return db.execute(sql).fetchone()[0]

        ended = dict(db.execute("SELECT id, status FROM job").fetchall())
        charges = dict(db.execute("SELECT job, charge_micro_usd FROM charge"))
        entries = db.execute("SELECT job FROM ledger WHERE kind = 'charge'").fetchall()
        assert set(ended) == set(load.jobs)
        assert charges == {
            job: price if ended[job] == "completed" else 0
            for job, price in load.jobs.items()
        }
        assert sorted(job for (job,) in entries) == sorted(load.jobs)
        balance = one("SELECT balance_micro_usd FROM org")
        assert balance == one("SELECT sum(amount_micro_usd) FROM ledger")
        assert one("SELECT held_micro_usd + queued_n + running_n FROM org") == 0
        assert one("SELECT count(*) FROM delivery WHERE status <> 'delivered'") == 0
        assert one("PRAGMA integrity_check") == "ok"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    server.kill()


def test_writes_that_all_fail_for_a_while_under_load_lose_and_double_nothing(
    server: Server,
) -> None:
    pid = server.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    held = Event()
    held.set()

    def limit(size_bytes: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, hard))

    def take(received: Received) -> Answer:
        held.wait(PATIENCE_S)
        return Answer()

    def be_full_for_a_while() -> None:
        limit(hard)
        held.clear()  # some deliveries are under way when the disk is full
        before = len(receiver.received)
        until(lambda: len(receiver.received) > before)
        limit(1)
        held.set()
        refused_n, full_s = load.refused_n, time.monotonic()
        while time.monotonic() < full_s + FULL_S or load.refused_n < refused_n + 3:
            assert http.get(f"{server.base_url}/sandbox/status").is_success
            time.sleep(GAP_S)

    with (
        receiving(take) as receiver,
        ThreadPoolExecutor() as pool,
        server.http() as http,
    ):
        load = Load(server, upload(server, png()), receiver.url)
        busy = [pool.submit(load.submit, client_n) for client_n in range(3)]
        try:
            for _ in range(FULL_TIMES):
                be_full_for_a_while()
            limit(hard)
            accepted_n = len(load.jobs)
            until(lambda: len(load.jobs) >= accepted_n + 5)
        finally:
            held.set()
            limit(hard)
            load.stop.set()
        for one in busy:
            one.result()
        until(lambda: all_is_done(http, server))
        assert_books_are_right(server.data_dir, load)
        told = [received.event["data"]["id"] for received in receiver.received]
    # What was sent while nothing could be noted is not sent again.
    assert sorted(told) == sorted(load.jobs)
