"""The sandbox, killed at any moment and restarted, loses and duplicates nothing."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from PIL import Image
from standardwebhooks import WebhookVerificationError

from mediakit.money import MICRO_PER_USD
from tests.sandbox.conftest import png
from tests.support.sandbox.killing import (
    OPENING_USD,
    Acknowledged,
    Load,
    Server,
)
from tests.support.sandbox.receivers import Answer, Received, Receiver, receiving
from tests.support.soak import trials
from tests.support.waiting import until

KILLS = trials(4, soak=100)
LONGEST_START_S = 0.5
# Most lives are too short for a render; some see several end.
LONGEST_LIVES_S = (0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 1.5)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    server.kill()


@pytest.fixture
def unverified() -> list[WebhookVerificationError]:
    """Deliveries that no receiver would accept."""
    return []


@pytest.fixture
def receiver(
    server: Server, unverified: list[WebhookVerificationError]
) -> Iterator[Receiver]:
    with server.http() as http:
        secret = http.get(f"{server.base_url}/v1/webhooks/secret").json()["secret"]

    def verify(received: Received) -> Answer:
        # On arrival: a timestamp is only good for five minutes.
        try:
            received.verified(secret)
        except WebhookVerificationError as problem:
            unverified.append(problem)
        time.sleep(0.05)  # so that kills meet attempts that are under way
        return Answer()

    with receiving(verify) as receiver:
        yield receiver


def test_a_sandbox_killed_at_random_moments_loses_and_duplicates_nothing(
    server: Server,
    receiver: Receiver,
    unverified: list[WebhookVerificationError],
    tell: Callable[[str], None],
) -> None:
    load = Load(server, upload(server, png()), receiver.url)
    known = load.acknowledged
    started_s = time.monotonic()
    with ThreadPoolExecutor() as pool:
        works = [(load.submit, 1), (load.submit, 2), (load.submit, 3), (load.read, 4)]
        works.append((load.upload, 5))
        busy = [pool.submit(work, seed) for work, seed in works]
        try:
            known.counts["kills while it starts"] = kill_again_and_again(server)
        finally:
            load.stop.set()
        for work in busy:
            work.result()
    killing_s = time.monotonic() - started_s
    with server.http() as http:
        until(lambda: all_is_done(http, server))
        assert_every_job_ended_once(http, server, known)
        assert_every_upload_is_whole(http, known)
    assert_every_end_was_announced(receiver, known)
    assert unverified == []
    server.kill()
    known.counts.update(facts_of_the_store(server.data_dir))
    assert known.counts["jobs run again"] > 0  # a kill did meet a running job
    counts = ", ".join(f"{n} {what}" for what, n in sorted(known.counts.items()))
    tell(f"{KILLS} kills in {killing_s:.0f} s; {counts}.")


def upload(server: Server, content: bytes) -> str:
    asked = {"content_type": "image/png", "size_bytes": len(content)}
    with server.http() as http:
        url = f"{server.base_url}/v1/media/uploads"
        granted = http.post(url, json=asked).json()
        http.put(granted["upload_url"], content=content, headers=granted["headers"])
    permanent: str = granted["url"]
    return permanent


def kill_again_and_again(server: Server) -> int:
    """Kill it, serving or still starting; return how often it was still starting."""
    moments, starting = Random(11), 0
    for _ in range(KILLS):
        if moments.random() < 0.2:
            time.sleep(moments.uniform(0, LONGEST_START_S))
            starting += 1
        else:
            server.await_ready()
            time.sleep(moments.uniform(0, moments.choice(LONGEST_LIVES_S)))
        server.kill()
        server.start()
    server.await_ready()
    return starting


def all_is_done(http: httpx.Client, server: Server) -> bool:
    """Tell whether nothing is queued, running, unsettled or to be delivered."""
    with closing(sqlite3.connect(server.data_dir / "sandbox.sqlite3")) as db:
        return not sum(
            db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]
            for rows in (
                "job WHERE status NOT IN ('completed', 'failed')",
                "charge WHERE state = 'pending'",
                "delivery WHERE status = 'pending'",
            )
        )


def assert_every_job_ended_once(
    http: httpx.Client, server: Server, known: Acknowledged
) -> None:
    charges = 0
    for job_id, order in known.jobs.items():
        job = http.get(f"{server.base_url}/v1/media/jobs/{job_id}").json()
        status = "completed" if order.error_code is None else "failed"
        assert (job["status"], job.get("error", {}).get("code")) == (
            status,
            order.error_code,
        )
        assert job["billing"] == {
            "state": "settled",
            "charge_micro_usd": order.charge_micro_usd,
        }
        assert ("deleted_at" in job) == (job_id in known.erased)
        if "output" in job:
            assert_whole(http, job["output"])
        charges += order.charge_micro_usd
    balance = http.get(f"{server.base_url}/billing/balance").json()
    opening = OPENING_USD * MICRO_PER_USD
    assert balance == {"balance_micro_usd": opening - charges}


def assert_whole(http: httpx.Client, output: dict[str, Any]) -> None:
    content = http.get(output[output["media_type"]]["url"]).content
    if output["media_type"] == "image":
        picture = Image.open(BytesIO(content))
        picture.load()
        assert picture.size == (64, 48)
    else:
        assert content[4:8] == b"ftyp"
        assert b"moov" in content


def assert_every_upload_is_whole(http: httpx.Client, known: Acknowledged) -> None:
    for url, content in known.uploads.items():
        answer = http.get(url)
        assert answer.status_code == 200
        assert answer.content == content
    known.counts["uploads"] = len(known.uploads)


def assert_every_end_was_announced(receiver: Receiver, known: Acknowledged) -> None:
    ids: dict[str, set[str]] = {}
    for received in receiver.received:
        data = received.event["data"]
        ids.setdefault(data["id"], set()).add(received.event_id)
        assert (data["billing"], data["status"]) == (None, ended_as(known, data["id"]))
    assert set(ids) == known.called_back
    assert all(len(of_job) == 1 for of_job in ids.values())
    known.counts["events"] = len(ids)
    known.counts["events that came again"] = len(receiver.received) - len(ids)
    known.counts["events cut off"] = receiver.cut_off_n


def ended_as(known: Acknowledged, job_id: str) -> str:
    return "completed" if known.jobs[job_id].error_code is None else "failed"


def facts_of_the_store(data_dir: Path) -> Counter[str]:
    """Check the store's rows: one of each kind for each job."""
    with closing(sqlite3.connect(data_dir / "sandbox.sqlite3")) as db:

        def one(sql: str) -> Any:
            return db.execute(sql).fetchone()[0]

        jobs = one("SELECT count(*) FROM job")
        assert one("PRAGMA integrity_check") == "ok"
        assert one("SELECT count(*) FROM idempotency") == jobs
        assert one("SELECT count(*) FROM charge") == jobs
        assert one("SELECT count(*) FROM ledger WHERE kind = 'charge'") == jobs
        assert one("SELECT sum(amount_micro_usd) FROM ledger") == (
            one("SELECT balance_micro_usd FROM org")
        )
        assert one("SELECT held_micro_usd + queued_n + running_n FROM org") == 0
        kept = db.execute(
            "SELECT file FROM job WHERE status = 'completed' AND deleted_us IS NULL"
            " UNION ALL SELECT file FROM upload WHERE stored_us IS NOT NULL"
        ).fetchall()
        again = one("SELECT sum(max(run_no - 1, 0)) FROM job")
    # A file for each output and each upload; no parts, no scratch.
    files = [path.name for path in (data_dir / "files").iterdir()]
    assert sorted(files) == sorted(name for (name,) in kept)
    assert list((data_dir / "scratch").iterdir()) == []
    return Counter({"jobs": jobs, "jobs run again": again})
