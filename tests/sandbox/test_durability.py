"""Killed at any moment and started again, the sandbox loses and doubles nothing."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from tests.sandbox.conftest import KITE, png

OPENING_MICRO_USD = 100_000_000
KILLS = 5
UPSCALES, VIDEOS = 24, 4
CHARGE_MICRO_USD = UPSCALES * 126_000 + VIDEOS * 204_000
PATIENCE_S = 60.0
KEY = "a-key-for-this-test"


class Server:
    """A sandbox in a process of its own, killed and started again at one address."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.start()

    def start(self) -> None:
        options = ["--data-dir", str(self.data_dir), "--api-key", KEY, "--json"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mediakit.sandbox", *options, "--speed", "20"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.fields: dict[str, Any] = json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def await_a_running_job(self) -> None:
        with self.http() as http:
            url = f"{self.fields['base_url']}/sandbox/status"
            while http.get(url).json()["running"] == 0:
                time.sleep(0.01)

    @contextmanager
    def http(self) -> Iterator[httpx.Client]:
        headers = {"X-API-Key": KEY}
        with httpx.Client(headers=headers, trust_env=False, timeout=10) as http:
            yield http


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    server.kill()


def persist(http: httpx.Client, method: str, url: str, **more: Any) -> httpx.Response:
    """Ask again, with the same key, until an answer comes."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            return http.request(method, url, **more)
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError("the server never came back")


def upload(server: Server, content: bytes) -> str:
    asked = {"content_type": "image/png", "size_bytes": len(content)}
    with server.http() as http:
        url = f"{server.fields['base_url']}/v1/media/uploads"
        granted = http.post(url, json=asked).json()
        http.put(granted["upload_url"], content=content, headers=granted["headers"])
    permanent: str = granted["url"]
    return permanent


def buy_all(server: Server, picture: str) -> dict[str, str]:
    """Submit every job under its own key; return the job ids by key."""
    video, upscale = ("text-to-video", KITE), ("image-upscale", {"image_url": picture})
    rest = [video] * (VIDEOS - 1) + [upscale] * UPSCALES
    random.Random(5).shuffle(rest)
    # A video first: it takes long enough for the first kill to meet it running.
    bodies: list[tuple[str, dict[str, Any]]] = [video, *rest]
    ids: dict[str, str] = {}
    with server.http() as http:
        for number, (kind, body) in enumerate(bodies):
            path = f"/v1/media/{server.fields['functions'][kind]}"
            url = f"{server.fields['base_url']}{path}"
            headers = {"Idempotency-Key": str(number)}
            answer = persist(http, "POST", url, json=body, headers=headers)
            ids[str(number)] = answer.json()["id"]
            time.sleep(0.05)
    return ids


def settled(server: Server, ids: list[str]) -> list[dict[str, Any]]:
    """Wait until every job has settled."""
    url = f"{server.fields['base_url']}/v1/media/jobs"
    deadline = time.monotonic() + PATIENCE_S
    with server.http() as http:
        while time.monotonic() < deadline:
            jobs = [http.get(f"{url}/{job_id}").json() for job_id in ids]
            if all((job["billing"] or {}).get("state") == "settled" for job in jobs):
                return jobs
            time.sleep(0.1)
    raise AssertionError(f"not all settled: {jobs}")


def test_killed_at_random_moments_it_loses_and_doubles_nothing(server: Server) -> None:
    picture = upload(server, png())
    moments = random.Random(11)
    with ThreadPoolExecutor(1) as pool:
        buying = pool.submit(buy_all, server, picture)
        server.await_a_running_job()
        for _ in range(KILLS):
            server.kill()
            server.start()
            time.sleep(moments.uniform(0.05, 0.7))
        ids = buying.result(timeout=PATIENCE_S)

    jobs = settled(server, list(ids.values()))

    assert len(set(ids.values())) == UPSCALES + VIDEOS
    assert {job["status"] for job in jobs} == {"completed"}
    charges = sum(job["billing"]["charge_micro_usd"] for job in jobs)
    assert charges == CHARGE_MICRO_USD
    with server.http() as http:
        balance = http.get(f"{server.fields['base_url']}/billing/balance").json()
        assert balance == {"balance_micro_usd": OPENING_MICRO_USD - CHARGE_MICRO_USD}
        for job in jobs:
            assert_whole(http, job["output"])
    server.kill()
    assert_store_is_exact(server.data_dir)


def assert_whole(http: httpx.Client, output: dict[str, Any]) -> None:
    content = http.get(output[output["media_type"]]["url"]).content
    if output["media_type"] == "image":
        picture = Image.open(BytesIO(content))
        picture.load()
        assert picture.size == (64, 48)
    else:
        assert content[4:8] == b"ftyp"
        assert b"moov" in content


def assert_store_is_exact(data_dir: Path) -> None:
    n = UPSCALES + VIDEOS
    with closing(sqlite3.connect(data_dir / "sandbox.sqlite3")) as db:

        def one(sql: str) -> Any:
            return db.execute(sql).fetchone()[0]

        assert one("PRAGMA integrity_check") == "ok"
        assert one("SELECT count(*) FROM job") == n
        assert one("SELECT count(*) FROM ledger WHERE kind = 'charge'") == n
        assert one("SELECT sum(amount_micro_usd) FROM ledger") == (
            OPENING_MICRO_USD - CHARGE_MICRO_USD
        )
        assert one("SELECT held_micro_usd + queued_n + running_n FROM org") == 0
        # A kill did meet a running job.
        assert one("SELECT max(run_no) FROM job") > 1
    # An output for each job, and the one upload; no parts, no scratch.
    assert len(list((data_dir / "files").iterdir())) == n + 1
    assert list((data_dir / "scratch").iterdir()) == []
