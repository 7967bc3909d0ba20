"""Money in the store: holds, charges, ledger and balance under any order of events."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mediakit.errors import ServiceError
from mediakit.records import ErrorCode
from mediakit.sandbox.store import admission, holds_and_charges, job_queue, named_values
from mediakit.sandbox.store.admission import KeyReusedError, NewJob, Repeatable
from mediakit.sandbox.store.database import Database, Value
from mediakit.sandbox.store.job_queue import Finished, JobRow
from mediakit.sandbox.store.organizations import keys
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG

OPENING = 12_000
NOW = {"now_us": 0, "settle_due_us": 0}


@contextmanager
def opened(
    path: Path, *, concurrency: int = 2, queue_size: int = 50
) -> Iterator[Database]:
    db = Database(path)
    keys.open_org(
        db,
        balance_micro_usd=OPENING,
        concurrency=concurrency,
        queue_size=queue_size,
        now_us=0,
    )
    keys.allow_key(db, "a-secret-key", 0)
    try:
        yield db
    finally:
        db.close()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path / "db") as db:
        yield db


def new_job(db: Database, name: str, price: int | None = 0, **change: Any) -> NewJob:
    caller = keys.find_caller(db, "a-secret-key")
    assert caller is not None
    fields: dict[str, Any] = {
        "id": f"media_{name}",
        "org": caller.org,
        "api_key": caller.api_key,
        "function": "v/m/f",
        "body": "{}",
        "webhook_url": None,
        "file": f"file-{name}",
        "price_micro_usd": price,
        "created_us": 0,
        "start_due_us": 0,
        "settle_due_us": 0,
    }
    return NewJob(**fields | change)


def submit(db: Database, name: str, price: int | None = 0, **change: Any) -> JobRow:
    made = admission.submit(db, new_job(db, name, price, **change), None)
    assert made is not None
    return made.job


def claimed(db: Database) -> JobRow:
    job = job_queue.claim(db, 0)
    assert job is not None
    return job


def finished(charge_micro_usd: int) -> Finished:
    return Finished("video", "video/mp4", {"output_seconds": 3}, charge_micro_usd, 5)


def held(db: Database) -> int:
    row = db.row("SELECT held_micro_usd AS held FROM org")
    assert row is not None
    amount: int = row["held"]
    return amount


def test_a_second_charge_of_a_job_is_refused_by_the_database(db: Database) -> None:
    submit(db, "a", 10)
    job = claimed(db)
    job_queue.complete(db, job, finished(10), **NOW)

    with pytest.raises(sqlite3.IntegrityError):
        holds_and_charges.open_charge(db, job.id, 10, hold_micro_usd=10, due_us=0)
    assert holds_and_charges.settle_due(db, 0) == 1
    with pytest.raises(sqlite3.IntegrityError):
        db.run(
            "INSERT INTO ledger (org, job, kind, amount_micro_usd, at_us)"
            " VALUES (?, ?, 'charge', -10, 0)",
            DEFAULT_ORG,
            job.id,
        )


def test_settling_twice_at_one_instant_collects_once(db: Database) -> None:
    submit(db, "a", 10)
    job_queue.complete(db, claimed(db), finished(10), now_us=0, settle_due_us=5)

    assert [holds_and_charges.settle_due(db, t) for t in (4, 5, 5)] == [0, 1, 0]
    assert holds_and_charges.balance_micro_usd(db, DEFAULT_ORG) == OPENING - 10


def test_what_was_held_for_a_charge_is_free_once_it_settles(db: Database) -> None:
    submit(db, "a", 10)
    job_queue.complete(db, claimed(db), finished(7), now_us=0, settle_due_us=5)

    holds_and_charges.settle_due(db, 4)
    assert held(db) == 10
    holds_and_charges.settle_due(db, 5)
    assert held(db) == 0


def test_a_charge_that_settles_meanwhile_is_collected_once(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(db, "a", 10)
    job_queue.complete(db, claimed(db), finished(10), **NOW)
    other, rows = Database(tmp_path / "db"), db.rows

    def rows_that_are_outdated(sql: str, *values: Value) -> list[sqlite3.Row]:
        found = rows(sql, *values)
        holds_and_charges.settle_due(other, 0)
        return found

    monkeypatch.setattr(db, "rows", rows_that_are_outdated)
    holds_and_charges.settle_due(db, 0)
    assert holds_and_charges.balance_micro_usd(db, DEFAULT_ORG) == OPENING - 10
    other.close()


@pytest.mark.parametrize(
    "statement", ["UPDATE ledger SET amount_micro_usd = 0", "DELETE FROM ledger"]
)
def test_the_ledger_is_append_only(db: Database, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.run(statement)


def test_jobs_start_in_order_under_the_cap(db: Database) -> None:
    for name in "abc":
        submit(db, name)

    assert [claimed(db).id, claimed(db).id] == ["media_a", "media_b"]
    assert job_queue.claim(db, 0) is None
    job_queue.requeue_running(db)
    assert claimed(db).id == "media_a"


def test_a_run_that_was_cut_off_cannot_end_the_job_any_more(db: Database) -> None:
    submit(db, "a", 10)
    cut_off = claimed(db)
    job_queue.requeue_running(db)
    again = claimed(db)

    assert not job_queue.complete(db, cut_off, finished(10), **NOW)
    assert not job_queue.fail(db, cut_off, ErrorCode.INTERNAL, "x", **NOW)
    assert job_queue.complete(db, again, finished(10), **NOW)
    assert not job_queue.complete(db, again, finished(10), **NOW)


def test_a_key_finds_its_job_and_refuses_another_request(db: Database) -> None:
    first = Repeatable("k", b"one")
    made = admission.submit(db, new_job(db, "a", 10), first)

    assert made is not None
    assert admission.submit(db, new_job(db, "b", 10), first) is None
    assert admission.find_repeated(db, DEFAULT_ORG, first) == made.job
    with pytest.raises(KeyReusedError):
        admission.submit(db, new_job(db, "c", 10), Repeatable("k", b"two"))
    assert job_queue.find(db, "media_c") is None
    assert held(db) == 10


def test_a_job_is_found_in_its_own_organization_only(db: Database) -> None:
    job = submit(db, "a")

    assert job_queue.find_in_org(db, DEFAULT_ORG, job.id) == job
    assert job_queue.find_in_org(db, "org_other", job.id) is None


def test_a_failed_transaction_leaves_nothing(db: Database) -> None:
    def half_done() -> None:
        with db.transaction():
            named_values.write(db, "name", "value")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_done()

    assert named_values.read(db, "name") is None


def test_an_organization_keeps_its_balance_and_takes_new_limits(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "db") as db:
        submit(db, "a", 10)
        job_queue.complete(db, claimed(db), finished(10), **NOW)
        holds_and_charges.settle_due(db, 0)
    with opened(tmp_path / "db", concurrency=7) as db:
        assert holds_and_charges.balance_micro_usd(db, DEFAULT_ORG) == OPENING - 10
        row = db.row("SELECT concurrency FROM org")
        assert row is not None
        assert row["concurrency"] == 7


def test_the_key_itself_is_not_in_the_database(tmp_path: Path) -> None:
    with opened(tmp_path / "db"):
        pass

    assert b"a-secret-key" not in (tmp_path / "db").read_bytes()


@pytest.mark.parametrize("version", [1, 99])
def test_a_file_of_another_version_is_refused_in_words(
    tmp_path: Path, version: int
) -> None:
    with opened(tmp_path / "db") as db:
        db.run(f"PRAGMA user_version = {version}")

    with pytest.raises(ServiceError, match="another version of mediakit"):
        Database(tmp_path / "db")


def test_what_a_transaction_has_read_stays_true_until_it_commits(
    db: Database, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "db", timeout=0)
    with db.transaction():
        assert named_values.read(db, "name") is None
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM job")
    other.close()


def test_a_full_disk_ends_a_transaction_with_its_own_error_and_is_survived(
    db: Database,
) -> None:
    def write() -> None:
        with db.transaction():
            named_values.write(db, "first", "small")
            named_values.write(db, "second", "x" * 100_000)

    db.rows("PRAGMA max_page_count = 1")  # no page more than there are
    with pytest.raises(sqlite3.OperationalError, match="full"):
        write()
    assert named_values.read(db, "first") is None
    db.rows("PRAGMA max_page_count = 1000000")

    write()
    assert named_values.read(db, "first") == "small"
