"""A disk that fills up under load, and is freed: nothing is lost, nothing stays."""

import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx
import pytest

from mediakit.sandbox.core.service import Service
from tests.sandbox.conftest import StartSandbox, png
from tests.sandbox.test_sigkill import all_is_done, upload
from tests.support.sandbox.killing import Server, until
from tests.support.sandbox.receivers import PATIENCE_S, Answer, Received, receiving

UPSCALED_MICRO_USD = 126_000
GAP_S = 0.02
FULL_S = 0.5
# Long enough that a few bodies fill the pages that are left.
WORDS = "dune " * 400


@dataclass
class Load:
    """Submits one job after the other, each until it is accepted."""

    base_url: str
    functions: dict[str, str]
    api_key: str
    picture: str
    callback_url: str
    jobs: dict[str, int] = field(default_factory=dict)  # the price, by job id
    refused_n: int = 0
    stop: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def submit(self, client_n: int) -> None:
        """Submit until stopped, one job in two of those that are rendered."""
        fails = {"prompt": f"sandbox:fail=provider_error {WORDS}"}
        orders = [("text-to-video", fails, 0)]
        orders.append(
            ("image-upscale", {"image_url": self.picture}, UPSCALED_MICRO_USD)
        )
        with client(self.api_key) as http:
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
        deadline_s = time.monotonic() + 3 * PATIENCE_S
        while time.monotonic() < deadline_s:
            answer = http.post(
                f"{self.base_url}/v1/media/{self.functions[kind]}",
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


def client(api_key: str) -> httpx.Client:
    return httpx.Client(
        headers={"X-API-Key": api_key}, trust_env=False, verify=False, timeout=60
    )


def go_through(
    server: Server,
    api_key: str,
    fill: Callable[[], None],
    free: Callable[[], None],
    problems: set[str],
) -> None:
    """Let the disk be full now and then in a load, and check what is left.

    Args:
        server: The sandbox.
        api_key: Its key.
        fill: Lets writes fail.
        free: Lets them succeed again.
        problems: What the sandbox must have complained of at some time.
    """
    held = Event()
    held.set()

    def take(received: Received) -> Answer:
        held.wait(PATIENCE_S)
        return Answer()

    seen: set[str] = set()

    def look() -> None:
        answer = http.get(f"{server.base_url}/sandbox/status")
        found = answer.json()["problems"]
        assert answer.status_code == (503 if found else 200)
        seen.update(problem.partition(":")[0] for problem in found)

    def be_full_for_a_while() -> bool:
        free()
        held.clear()  # some deliveries are under way when the disk is full
        before = len(receiver.received)
        until(lambda: len(receiver.received) > before)
        fill()
        held.set()
        refused_n, full_s = load.refused_n, time.monotonic()
        while time.monotonic() < full_s + FULL_S or load.refused_n < refused_n + 3:
            look()
            time.sleep(GAP_S)
        return bool(seen) and seen >= problems

    with (
        receiving(take) as receiver,
        ThreadPoolExecutor() as pool,
        client(api_key) as http,
    ):
        picture = upload(server, png())
        functions = server.fields["functions"]
        load = Load(server.base_url, functions, api_key, picture, receiver.url)
        busy = [pool.submit(load.submit, client_n) for client_n in range(3)]
        try:
            until(be_full_for_a_while)
            free()
            accepted_n = len(load.jobs)
            until(lambda: len(load.jobs) >= accepted_n + 5)
        finally:
            held.set()
            free()
            load.stop.set()
        for one in busy:
            one.result()
        until(lambda: all_is_done(http, server))
        until(lambda: http.get(f"{server.base_url}/sandbox/status").is_success)
        assert_books_are_right(server.data_dir, load)
        told = [received.event["data"]["id"] for received in receiver.received]
    # What was sent while nothing could be noted is not sent again.
    assert sorted(told) == sorted(load.jobs)


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


class Embedded(Server):
    """A sandbox of this process, as the load sees a server."""

    def __init__(self, data_dir: Path, base_url: str, functions: Any) -> None:
        self.data_dir = data_dir
        self.fields = {"base_url": base_url, "functions": functions}
        self.api_key = ""

    @contextmanager
    def http(self) -> Iterator[httpx.Client]:
        with client(self.api_key) as http:
            yield http


def test_a_disk_that_fills_up_under_load_and_is_freed_loses_and_doubles_nothing(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    api = sandboxes(
        tmp_path,
        allow_loopback_callbacks=True,
        settle_after_s=0.2,
        queue_size=100_000,
        balance_micro_usd=10**12,
    )
    server = Embedded(tmp_path, api.running.base_url, dict(api.running.functions))
    server.api_key = api.running.api_key
    assert api.running._host is not None
    service: Service = api.running._host._server.config.app.state.service  # type: ignore[union-attr]

    def limit(pages: int) -> None:
        # SQLite takes no limit below the pages that there are.
        service.db.rows(f"PRAGMA max_page_count = {pages}")

    go_through(
        server, api.running.api_key, lambda: limit(1), lambda: limit(2**31 - 2), set()
    )


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

    def limit(size_bytes: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, hard))

    problems = {"settling charges", "ending a job", "delivering an event"}
    go_through(
        server,
        "a-key-for-this-test",
        lambda: limit(1),
        lambda: limit(hard),
        problems,
    )
