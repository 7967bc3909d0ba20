"""Money in the store: holds, charges, ledger and balance under any order of events."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import ServiceError
from mediakit.records import ErrorCode
from mediakit.sandbox.store import admission, holds_and_charges, job_queue, named_values
from mediakit.sandbox.store.admission import KeyReusedError, NewJob, Repeatable
from mediakit.sandbox.store.database import Database, Value
from mediakit.sandbox.store.job_queue import Finished, JobRow
from mediakit.sandbox.store.organizations import keys
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG

OPENING = 12_000


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


class Books:
    """A store beside the few numbers that it must agree with."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.made = 0
        self.running: list[JobRow] = []
        self.pending: list[int] = []
        self.settled = 0

    def submit(self, price: int) -> None:
        free = holds_and_charges.balance_micro_usd(self.db, DEFAULT_ORG) - held(self.db)
        job = submit(self.db, str(self.made), price)
        self.made += 1
        assert job.error_code == ("insufficient_balance" if price > free else None)

    def start(self) -> None:
        job = job_queue.claim(self.db, 0)
        if job is not None:
            self.running.append(job)

    def next_running(self) -> JobRow | None:
        if not self.running:
            self.start()
        return self.running.pop(0) if self.running else None

    def complete(self, percent: int) -> None:
        if job := self.next_running():
            charge = job.hold_micro_usd * percent // 100
            assert job_queue.complete(self.db, job, finished(charge), **NOW)
            self.pending.append(charge)

    def fail(self) -> None:
        if job := self.next_running():
            assert job_queue.fail(self.db, job, ErrorCode.INTERNAL, "x", **NOW)

    def settle(self) -> None:
        holds_and_charges.settle_due(self.db, 0)
        self.settled += sum(self.pending)
        self.pending.clear()

    def kill(self) -> None:
        job_queue.requeue_running(self.db)
        self.running.clear()

    def assert_right(self) -> None:
        balance = holds_and_charges.balance_micro_usd(self.db, DEFAULT_ORG)
        assert balance == OPENING - self.settled
        assert balance == holds_and_charges.ledger_total_micro_usd(self.db, DEFAULT_ORG)
        assert 0 <= held(self.db) <= balance
        assert held(self.db) == self.in_flight()

    def in_flight(self) -> int:
        row = self.db.row(
            "SELECT (SELECT coalesce(sum(hold_micro_usd), 0) FROM job"
            " WHERE status IN ('queued', 'running'))"
            " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM charge"
            " WHERE state = 'pending') AS total"
        )
        assert row is not None
        total: int = row["total"]
        return total


NOW = {"now_us": 0, "settle_due_us": 0}

# Boundaries: nothing, one, half, just over two thirds, all, one too much.
PRICES = (0, 1, OPENING // 2, OPENING * 2 // 3 + 1, OPENING, OPENING + 1)
events = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sampled_from(PRICES)),
        st.tuples(st.just("complete"), st.sampled_from([0, 50, 100])),
        st.tuples(st.sampled_from(["start", "fail", "settle", "kill"])),
    ),
    max_size=40,
)


@given(events)
def test_the_balance_is_never_negative_and_is_the_start_minus_what_settled(
    happened: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "db") as db:
        books = Books(db)
        for event, *details in happened:
            getattr(books, event)(*details)
            books.assert_right()


def test_a_second_charge_of_a_job_is_refused_by_the_database(db: Database) -> None:
    submit(db, "a", 10)
    job = claimed(db)
    job_queue.complete(db, job, finished(10), now_us=0, settle_due_us=0)

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
    job_queue.complete(db, claimed(db), finished(10), now_us=0, settle_due_us=0)
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


def test_the_database_refuses_to_hold_more_than_the_balance(db: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        holds_and_charges.hold(db, DEFAULT_ORG, OPENING + 1)


def test_a_job_without_a_price_is_made_and_fails_with_invalid_input(
    db: Database,
) -> None:
    job = submit(db, "a", None)

    assert (job.status, job.error_code) == ("failed", "invalid_input")
    assert job.billing_state == "pending"
    assert held(db) == 0


def test_jobs_start_in_order_under_the_cap(db: Database) -> None:
    for name in "abc":
        submit(db, name)

    assert [claimed(db).id, claimed(db).id] == ["media_a", "media_b"]
    assert job_queue.claim(db, 0) is None
    job_queue.requeue_running(db)
    assert claimed(db).id == "media_a"


def test_a_job_does_not_start_before_it_is_due(db: Database) -> None:
    submit(db, "a", start_due_us=7)

    assert job_queue.claim(db, 6) is None
    assert job_queue.next_start_us(db) == 7
    assert job_queue.claim(db, 7) is not None


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
        job_queue.complete(db, claimed(db), finished(10), now_us=0, settle_due_us=0)
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


def test_queued_and_running_jobs_are_found_by_their_partial_indexes(
    db: Database,
) -> None:
    plan = db.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM job WHERE org = ? AND status = 'queued'"
        " ORDER BY seq LIMIT 1",
        DEFAULT_ORG,
    )

    assert "job_queued" in plan[0]["detail"]


def test_what_a_transaction_has_read_stays_true_until_it_commits(
    db: Database, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "db", timeout=0)
    with db.transaction():
        assert named_values.read(db, "name") is None
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM job")
    other.close()


def test_a_commit_that_fails_leaves_the_next_transaction_its_own(
    db: Database, tmp_path: Path
) -> None:
    def add_a_member_of_nothing() -> None:
        with db.transaction():
            db.run("PRAGMA defer_foreign_keys = ON")
            db.run(
                "INSERT INTO member (id, org, name, role)"
                " VALUES ('a', 'nothing', 'A', 'owner')"
            )

    with pytest.raises(sqlite3.IntegrityError):
        add_a_member_of_nothing()

    with db.transaction():
        named_values.write(db, "later", "kept")

    other = Database(tmp_path / "db")
    assert named_values.read(other, "later") == "kept"
    assert other.rows("SELECT * FROM member") == []
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


def test_a_job_is_not_claimed_unless_its_claimant_reads_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    admission.submit(db, new_job(db, "a"), None)

    def unread(db: Database, job_id: str) -> JobRow | None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(job_queue, "find", unread)
        with pytest.raises(sqlite3.OperationalError):
            job_queue.claim(db, 1)

    claimed = job_queue.claim(db, 1)
    assert claimed is not None
    assert claimed.run_no == 1
