"""Generated sample histories, and resets."""

import csv
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.errors import ServiceError
from mediakit.sandbox.admin.seeding import US_PER_DAY, past_jobs
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.jobs.pricing import hold_of
from tests.sandbox.conftest import KITE, Api, StartSandbox, png
from tests.support.soak import trials

DAYS, JOBS = 90, 400
OPENING_MICRO_USD = 100_000_000


@pytest.fixture(scope="module")
def seeded(sandboxes: StartSandbox) -> tuple[Api, dict[str, Any]]:
    api = sandboxes()
    return api, api.running.seed(days=DAYS, jobs=JOBS, seed=1)


def today(api: Api) -> date:
    return datetime.fromisoformat(api.http.get("/sandbox/clock").json()["now"]).date()


def months(first: date, last: date) -> list[str]:
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return sorted({day.strftime("%Y-%m") for day in days})


def store(api: Api) -> sqlite3.Connection:
    return sqlite3.connect(DataDir(api.running.data_dir).database)


def test_a_seed_leaves_the_balance_as_it_was(
    seeded: tuple[Api, dict[str, Any]],
) -> None:
    api, added = seeded

    assert added["jobs"] == JOBS
    assert added["completed"] + added["failed"] == JOBS
    assert 0 < added["failed"] < JOBS / 5
    assert api.balance() == OPENING_MICRO_USD
    with closing(store(api)) as db:
        ledger = db.execute("SELECT kind, sum(amount_micro_usd) FROM ledger GROUP BY 1")
        assert dict(ledger.fetchall()) == {
            "opening": OPENING_MICRO_USD,
            "grant": added["spent_micro_usd"],
            "charge": -added["spent_micro_usd"],
        }
        lines = db.execute("SELECT amount_micro_usd FROM ledger ORDER BY at_us, seq")
        balance = 0
        for (amount,) in lines:
            balance += amount
            assert balance >= 0  # nothing was overdrawn at any time


def test_daily_monthly_and_csv_agree_with_the_seed(
    seeded: tuple[Api, dict[str, Any]],
) -> None:
    api, added = seeded
    last = today(api) - timedelta(days=1)
    first = last - timedelta(days=DAYS - 1)
    spent = added["spent_micro_usd"]

    days = {"start_date": str(first), "end_date": str(last)}
    daily = api.http.get("/billing/spend/daily", params=days).json()
    by_month = [
        api.http.get(f"/billing/monthly/{m}").json() for m in months(first, last)
    ]
    totals = [
        next(
            r
            for r in csv.DictReader(StringIO(api.http.get(f"{url}/csv").text))
            if r["model_id"] == "total"
        )
        for url in (f"/billing/monthly/{m}" for m in months(first, last))
    ]

    assert daily["total_micro_usd"] == spent
    assert sum(row["jobs"] for row in daily["rows"]) == added["completed"]
    assert {row["api_key_id"] for row in daily["rows"]} == set(added["api_key_ids"])
    assert sum(report["total_micro_usd"] for report in by_month) == spent
    assert sum(int(total["charge_micro_usd"]) for total in totals) == spent
    assert len({row["date"] for row in daily["rows"]}) > DAYS / 2


def test_outputs_of_sample_jobs_appear_as_erased(
    seeded: tuple[Api, dict[str, Any]],
) -> None:
    api, _ = seeded
    with closing(store(api)) as db:
        rows = db.execute(
            "SELECT job.id, job.status, job.file, charge.charge_micro_usd FROM job"
            " JOIN charge ON charge.job = job.id ORDER BY job.seq LIMIT 40"
        ).fetchall()
    assert {status for _, status, _, _ in rows} == {"completed", "failed"}

    for job_id, status, file, charge in rows:
        job = api.job(job_id)
        assert job["status"] == status
        assert "output" not in job
        assert job["deleted_at"]
        assert job["billing"] == {"state": "settled", "charge_micro_usd": charge}
        assert api.http.get(f"/v1/media/jobs/{job_id}/content").status_code == 410
        gone = 410 if status == "completed" else 404
        assert api.http.get(f"/files/{file}").status_code == gone


def test_the_same_seed_adds_nothing_even_on_another_day_after_a_restart(
    sandboxes: StartSandbox, tmp_path: Path
) -> None:
    api = sandboxes(tmp_path / "data", concurrency=0)
    asked = {"days": 10, "jobs": 20, "seed": 1}
    made = api.http.post("/sandbox/seed", json=asked)
    api.running.advance(hours=30)
    api.running.stop()
    api = sandboxes(tmp_path / "data", concurrency=0)

    again = api.http.post("/sandbox/seed", json=asked)

    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json()["added"] == 20
    assert again.json() == made.json() | {"added": 0}
    assert api.balance() == OPENING_MICRO_USD
    with closing(store(api)) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (20,)
        assert db.execute("SELECT count(*) FROM ledger").fetchone() == (22,)


def test_a_seed_returns_its_requests_on_demand(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(concurrency=0)
    asked = {"days": 30, "jobs": 60, "requests": True}
    answer = api.http.post("/sandbox/seed", json=asked).json()
    catalog = Catalog.default()

    requests = answer["requests"]

    assert sum(job["charge_micro_usd"] for job in requests) == answer["spent_micro_usd"]
    assert {job["api_key_id"] for job in requests} == set(answer["api_key_ids"])
    own = sha256(api.running.api_key.encode()).hexdigest()[:16]
    own_key_id = answer["api_key_ids"][0]
    accounts = {j["account"] for j in requests if j["api_key_id"] == own_key_id}
    assert accounts == {own}
    prompts = {job["body"]["prompt"] for job in requests if "prompt" in job["body"]}
    assert len(prompts) >= 15
    for job in requests:
        assert catalog.function(job["function"]).check(job["body"]) == []
        billing = api.job(job["job_id"])["billing"]
        assert billing["charge_micro_usd"] == job["charge_micro_usd"]
        assert (job["status"] == "failed") == (job["error"] is not None)
    times = [job["created_at"] for job in requests]
    assert times == sorted(times)
    again = api.http.post("/sandbox/seed", json=asked).json()
    assert again["requests"] == requests


def test_every_function_has_priced_sample_jobs() -> None:
    catalog = Catalog.default()
    jobs = trials(250, soak=3_000)
    past = past_jobs(
        catalog, days=365, jobs=jobs, keys_n=1, seed=3, now_us=20_000 * US_PER_DAY
    )

    completed = [job for job in past if job.columns["status"] == "completed"]
    failed = [job for job in past if job.columns["status"] == "failed"]
    assert {job.columns["function"] for job in completed} == {f.path for f in catalog}
    assert all(job.charge_micro_usd > 0 for job in completed)
    assert all(job.charge_micro_usd == 0 for job in failed)
    video = {"prompt": "x", "duration": 15, "resolution": "4k"}
    most = hold_of(catalog.function("text-to-video"), video)
    path = catalog.function("text-to-video").path
    kites = [job for job in completed if job.columns["function"] == path]
    assert most == max(job.charge_micro_usd for job in kites)


def test_a_reset_keeps_only_name_key_and_time(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(settle_after_s=0)
    api.running.advance(hours=100)
    picture = api.upload("image/png", png())
    job = api.settled(api.submit("image-upscale", {"image_url": picture})["id"])
    api.running.seed(days=5, jobs=10)
    api.running.fault("outage")
    key = api.http.get("/v1/webhooks/secret").json()
    before = datetime.fromisoformat(api.http.get("/sandbox/clock").json()["now"])

    api.running.reset()

    after = datetime.fromisoformat(api.http.get("/sandbox/clock").json()["now"])
    assert before <= after < before + timedelta(minutes=5)
    assert api.balance() == OPENING_MICRO_USD
    assert api.http.get(f"/v1/media/jobs/{job['id']}").status_code == 404
    assert api.http.get(picture).status_code == 404
    assert api.http.get("/sandbox/faults").json() == {"data": []}
    assert api.http.get("/v1/webhooks/secret").json() != key
    assert list((api.running.data_dir / "files").iterdir()) == []
    assert api.http.get("/sandbox/status").json()["identity"] == api.running.identity
    with closing(store(api)) as db:
        assert db.execute("SELECT kind FROM ledger").fetchall() == [("opening",)]


def test_a_reset_cuts_off_what_is_being_rendered(sandboxes: StartSandbox) -> None:
    api = sandboxes(concurrency=1)
    long = {"prompt": "a long kite", "duration": 15, "resolution": "1080p"}
    ids = [api.submit("text-to-video", long)["id"] for _ in range(2)]
    api.until(ids[0], lambda job: job["status"] == "running")

    api.running.reset()

    status = api.http.get("/sandbox/status").json()
    assert (status["running"], status["queued"]) == (0, 0)
    for job_id in ids:
        assert api.http.get(f"/v1/media/jobs/{job_id}").status_code == 404
    # It makes jobs as before, and nothing of the old ones ever turns up.
    job = api.ended(api.submit("text-to-video", KITE)["id"])
    assert job["status"] == "completed"
    folder: Path = api.running.data_dir
    assert len(list((folder / "files").iterdir())) == 1
    assert list((folder / "scratch").iterdir()) == []


def test_a_sandbox_that_is_gone_says_so(sandboxes: StartSandbox) -> None:
    api = sandboxes(concurrency=0)
    api.running.stop()

    with pytest.raises(ServiceError, match="No sandbox answers"):
        api.running.reset()
