"""Money in the store: holds, charges, ledger and balance under any order of events."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mediakit.api_models import ErrorCode
from mediakit.sandbox.store import admission, jobs, money, orgs
from mediakit.sandbox.store.database import SandboxDatabase, Value
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.orgs import DEFAULT_ORG
from tests.sandbox.store.rows import new_job

OPENING = 12_000
NOW = {"now_us": 0, "settle_due_us": 0}


@contextmanager
def opened(
    path: Path, *, concurrency: int = 2, queue_size: int = 50
) -> Iterator[SandboxDatabase]:
    db = SandboxDatabase(path)
    orgs.open_default(
        db,
        "a-secret-key",
        balance_micro_usd=OPENING,
        concurrency=concurrency,
        queue_size=queue_size,
        now_us=0,
    )
    try:
        yield db
    finally:
        db.close()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SandboxDatabase]:
    with opened(tmp_path / "db") as db:
        yield db


def submit(db: SandboxDatabase, name: str, price: int = 0) -> JobRow:
    caller = orgs.find_caller(db, "a-secret-key")
    assert caller is not None
    new = new_job(name, caller.org, caller.api_key, price)
    return admission.submit(db, new, None)[0]


def claimed(db: SandboxDatabase) -> JobRow:
    job = jobs.claim(db, 0)
    assert job is not None
    return job


def complete(db: SandboxDatabase, job: JobRow, charge_micro_usd: int) -> bool:
    return jobs.complete(db, job, charge_micro_usd, media_type="video", **NOW)


def held(db: SandboxDatabase) -> int:
    return int(db.value("SELECT held_micro_usd FROM org"))


def balance(db: SandboxDatabase) -> int:
    return int(orgs.find_org(db, DEFAULT_ORG)["balance_micro_usd"])


def test_a_second_charge_of_a_job_is_refused_by_the_database(
    db: SandboxDatabase,
) -> None:
    submit(db, "a", 10)
    job = claimed(db)
    complete(db, job, 10)

    with pytest.raises(sqlite3.IntegrityError):
        money.open_charge(db, job.id, 10, hold_micro_usd=10, due_us=0)
    assert money.settle_due(db, 0) == 1
    with pytest.raises(sqlite3.IntegrityError):
        db.run(
            "INSERT INTO ledger (org, job, kind, amount_micro_usd, at_us)"
            " VALUES (?, ?, 'charge', -10, 0)",
            DEFAULT_ORG,
            job.id,
        )


def test_a_charge_that_settles_concurrently_is_collected_once(
    db: SandboxDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(db, "a", 10)
    complete(db, claimed(db), 10)
    other, rows = SandboxDatabase(tmp_path / "db"), db.all

    def rows_that_are_outdated(sql: str, *values: Value) -> list[sqlite3.Row]:
        found = rows(sql, *values)
        money.settle_due(other, 0)
        return found

    monkeypatch.setattr(db, "all", rows_that_are_outdated)
    money.settle_due(db, 0)
    assert balance(db) == OPENING - 10
    other.close()


def test_jobs_start_in_order_under_the_cap(db: SandboxDatabase) -> None:
    for name in "abc":
        submit(db, name)

    assert [claimed(db).id, claimed(db).id] == ["media_a", "media_b"]
    assert jobs.claim(db, 0) is None
    jobs.requeue_running(db)
    assert claimed(db).id == "media_a"


def test_a_run_that_was_cut_off_cannot_end_the_job_any_more(
    db: SandboxDatabase,
) -> None:
    submit(db, "a", 10)
    cut_off = claimed(db)
    jobs.requeue_running(db)
    again = claimed(db)

    assert not complete(db, cut_off, 10)
    assert not jobs.fail(db, cut_off, ErrorCode.INTERNAL, "x", **NOW)
    assert complete(db, again, 10)
    assert not complete(db, again, 10)


def test_an_organization_keeps_its_balance_and_takes_new_limits(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "db") as db:
        submit(db, "a", 10)
        complete(db, claimed(db), 10)
        money.settle_due(db, 0)
    with opened(tmp_path / "db", concurrency=7) as db:
        assert balance(db) == OPENING - 10
        assert db.value("SELECT concurrency FROM org") == 7


def test_rows_read_in_a_transaction_do_not_change_until_it_commits(
    db: SandboxDatabase, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "db", timeout=0)
    with db.transaction():
        assert db.value("SELECT value FROM meta WHERE name = 'name'") is None
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM job")
    other.close()


def test_a_full_disk_ends_a_transaction_with_its_own_error_and_is_survived(
    db: SandboxDatabase,
) -> None:
    def write() -> None:
        with db.transaction():
            db.insert("meta", name="first", value="small")
            db.insert("meta", name="second", value="x" * 100_000)

    db.all("PRAGMA max_page_count = 1")  # no page more than there are
    with pytest.raises(sqlite3.OperationalError, match="full"):
        write()
    assert db.value("SELECT value FROM meta WHERE name = 'first'") is None
    db.all("PRAGMA max_page_count = 1000000")

    write()
    assert db.value("SELECT value FROM meta WHERE name = 'first'") == "small"
