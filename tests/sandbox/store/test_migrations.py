"""A file of an older version opens with all its money and jobs."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mediakit.sandbox.server.data_dir import DataDir
from mediakit.sandbox.store import admission, jobs, money
from mediakit.sandbox.store.admission import Repeatable
from mediakit.sandbox.store.database import PRAGMAS, Database
from mediakit.sandbox.store.organizations import keys, organizations
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG
from mediakit.sandbox.store.schema import SCHEMA_VERSION
from tests.sandbox.conftest import StartSandbox

VERSION_1 = Path(__file__).with_name("schema_version_1.sql")
API_KEY = "a-key-of-version-1"
OPENING, CHARGED, PENDING, HELD = 1_000_000, 204_000, 50_000, 300_000
BALANCE = OPENING - CHARGED
FUNCTION = "sandbox/text-to-video/text-to-video"

ROWS = f"""
INSERT INTO org VALUES
  ('{DEFAULT_ORG}', 'Sandbox', {BALANCE}, {PENDING + 2 * HELD}, 2, 50, 1, 1);
INSERT INTO job (id, org, api_key, function, status, body, hold_micro_usd, file,
  media_type, content_type, error_code, error_message, usage, created_us, start_due_us,
  ended_us) VALUES
  ('media_settled', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 'completed', '{{}}',
   {CHARGED}, 'f1', 'video', 'video/mp4', NULL, NULL, '{{"output_seconds": 3}}', 1, 1,
   2),
  ('media_pending', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 'completed', '{{}}',
   {PENDING}, 'f2', 'video', 'video/mp4', NULL, NULL, NULL, 1, 1, 2),
  ('media_failed', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 'failed', '{{}}', 0, 'f3',
   NULL, NULL, 'insufficient_balance', 'No.', NULL, 1, 1, 2),
  ('media_running', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 'running', '{{}}', {HELD},
   'f4', NULL, NULL, NULL, NULL, NULL, 1, 1, NULL),
  ('media_queued', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 'queued', '{{}}', {HELD},
   'f5', NULL, NULL, NULL, NULL, NULL, 1, 1, NULL);
INSERT INTO idempotency VALUES ('{DEFAULT_ORG}', 'again', x'01', 'media_settled');
INSERT INTO charge VALUES
  ('media_settled', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 1, {CHARGED}, {CHARGED},
   'settled', 3, 3),
  ('media_pending', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 1, {PENDING}, {PENDING},
   'pending', 4, NULL),
  ('media_failed', '{DEFAULT_ORG}', 'key_1', '{FUNCTION}', 0, 0, 0, 'settled', 3, 3);
INSERT INTO ledger (org, job, kind, amount_micro_usd, at_us) VALUES
  ('{DEFAULT_ORG}', NULL, 'opening', {OPENING}, 1),
  ('{DEFAULT_ORG}', 'media_settled', 'charge', -{CHARGED}, 3),
  ('{DEFAULT_ORG}', 'media_failed', 'charge', 0, 3);
INSERT INTO upload VALUES
  ('up.png', '{DEFAULT_ORG}', 'key_1', 'image/png', 5, 9, 1, 2);
INSERT INTO meta VALUES
  ('clock', '{{"epoch_us": 5, "real_us": 5, "speed": 1.0}}');
PRAGMA user_version = 1;
"""


def write_version_1(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.executescript(PRAGMAS + VERSION_1.read_text("utf-8"))
        # The key comes between the tables and the rows that refer to it.
        old.execute("PRAGMA foreign_keys = OFF")
        digest = hashlib.sha256(API_KEY.encode()).digest()
        old.execute(
            "INSERT INTO api_key VALUES ('key_1', ?, ?, 'active', 1)",
            (DEFAULT_ORG, digest),
        )
        old.executescript(ROWS)
        assert old.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[Database]:
    write_version_1(tmp_path / "db")
    db = Database(tmp_path / "db")
    yield db
    db.close()


def described(db: Database) -> dict[str, object]:
    """Describe every table by what can be told apart, whatever made it."""
    names = [
        row["name"]
        for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    shape: dict[str, object] = {
        row["name"]: (row["type"], row["tbl_name"])
        for row in db.rows(
            "SELECT * FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex%'"
        )
    }
    for name in names:
        columns = db.rows(f"PRAGMA table_info({name})")
        references = db.rows(f"PRAGMA foreign_key_list({name})")
        shape[f"columns of {name}"] = {tuple(row)[1:] for row in columns}
        shape[f"references of {name}"] = {tuple(row)[2:] for row in references}
    return shape


def test_a_migrated_file_has_the_tables_of_a_new_one(
    migrated: Database, tmp_path: Path
) -> None:
    new = Database(tmp_path / "new")

    assert described(migrated) == described(new)
    new.close()
    version = migrated.row("PRAGMA user_version")
    assert version is not None
    assert version[0] == SCHEMA_VERSION
    assert migrated.rows("PRAGMA foreign_key_check") == []
    assert [tuple(row) for row in migrated.rows("PRAGMA integrity_check")] == [("ok",)]
    for pragma, value in (("foreign_keys", 1), ("legacy_alter_table", 0)):
        row = migrated.row(f"PRAGMA {pragma}")
        assert row is not None
        assert row[0] == value


def test_money_is_what_it_was(migrated: Database) -> None:
    org = organizations.find_org(migrated, DEFAULT_ORG)

    assert money.balance_micro_usd(migrated, DEFAULT_ORG) == BALANCE
    assert money.ledger_total_micro_usd(migrated, DEFAULT_ORG) == BALANCE
    assert org["held_micro_usd"] == PENDING + 2 * HELD
    assert (org["mode"], org["credit_micro_usd"]) == ("prepaid", 0)
    assert (org["per_minute"], org["per_day"], org["suspended"]) == (None, None, 0)


def test_what_was_pending_settles_once(migrated: Database) -> None:
    assert money.settle_due(migrated, 4) == 1
    assert money.settle_due(migrated, 4) == 0
    assert money.balance_micro_usd(migrated, DEFAULT_ORG) == BALANCE - PENDING
    assert money.ledger_total_micro_usd(migrated, DEFAULT_ORG) == BALANCE - PENDING


def test_jobs_keys_and_uploads_are_there(migrated: Database) -> None:
    caller = keys.find_caller(migrated, API_KEY)
    assert caller is not None
    assert (caller.org, caller.api_key, caller.role) == (DEFAULT_ORG, "key_1", "owner")
    repeated = admission.find_repeated(
        migrated, DEFAULT_ORG, Repeatable("again", b"\x01")
    )
    assert repeated is not None
    assert repeated.charge_micro_usd == CHARGED
    assert repeated.usage == {"output_seconds": 3}
    uploads = migrated.rows("SELECT file FROM upload")
    assert [row["file"] for row in uploads] == ["up.png"]
    # What ran when the old server was killed starts again, then what waited.
    assert jobs.requeue_running(migrated) == 1
    started = [jobs.claim(migrated, 5) for _ in range(3)]
    assert [job and job.id for job in started] == [
        "media_running",
        "media_queued",
        None,
    ]


def test_the_ledger_is_append_only_still(migrated: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        migrated.run("DELETE FROM ledger")
    with pytest.raises(sqlite3.IntegrityError):
        money.enter(
            migrated,
            DEFAULT_ORG,
            "charge",
            -1,
            credit_micro_usd=0,
            at_us=5,
            job_id="media_settled",
        )


def test_a_second_opening_changes_nothing(migrated: Database, tmp_path: Path) -> None:
    before = migrated.rows("SELECT * FROM ledger ORDER BY seq")
    again = Database(tmp_path / "db")

    rows = again.rows("SELECT * FROM ledger ORDER BY seq")

    again.close()
    assert [tuple(row) for row in rows] == [tuple(row) for row in before]
    assert [row["seq"] for row in rows] == [1, 2, 3]


def test_a_sandbox_goes_on_where_an_older_one_stopped(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    data_dir = DataDir(tmp_path)
    data_dir.open_account(API_KEY)
    write_version_1(data_dir.database)

    api = sandboxes(tmp_path, concurrency=0)

    assert api.running.api_key == API_KEY
    assert api.settled("media_settled")["billing"]["charge_micro_usd"] == CHARGED
    assert api.settled("media_pending")["billing"]["charge_micro_usd"] == PENDING
    assert api.job("media_running")["status"] == "queued"
    assert api.job("media_failed")["error"]["code"] == "insufficient_balance"
    assert api.balance() == BALANCE - PENDING
