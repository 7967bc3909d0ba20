"""A history of an older version opens with all its submits and money."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect

from mediakit.errors import InputError
from mediakit.history import EntryState, History
from mediakit.history.admission.limits import BudgetUse
from mediakit.history.storage import migrations
from tests.support.submissions import HERE, completed, job, race, start, submission

VERSION_1 = Path(__file__).with_name("schema_version_1.sql")
UNIQUE = {"mediakit_entries_key_key"}  # SQLite does not list the index of a constraint
DRACHEN = "ein ÜBER-Drachen, 100% Wind"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.db"


@pytest.fixture
def old(path):
    with closing(sqlite3.connect(path)) as plain:
        plain.executescript(VERSION_1.read_text("utf-8"))
    return path


def described(path):
    """Describe every table and index by what can be told apart, whatever made it."""
    with closing(sqlite3.connect(path)) as plain:
        tables = plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in tables]
        shape = {name: columns(plain, name) for name in names}
        for name in names:
            for index in plain.execute(f"PRAGMA index_list({name})").fetchall():
                parts = plain.execute(f"PRAGMA index_info({index[1]})")
                shape[index[1]] = (index[2:], [part[2] for part in parts])
        return shape


def columns(plain, name):
    return {row[1:] for row in plain.execute(f"PRAGMA table_info({name})")}


def versions(path):
    with closing(sqlite3.connect(path)) as plain:
        return plain.execute("SELECT version FROM mediakit_version").fetchall()


def test_a_migrated_file_has_the_tables_of_a_new_one(old, tmp_path):
    History(old).close()
    History(tmp_path / "new.db").close()
    assert described(old) == described(tmp_path / "new.db")
    assert versions(old) == [(5,)]


def test_money_and_states_are_what_they_were(old):
    with History(old) as history:
        assert history.settled_total_micro_usd(**HERE) == 340_000
        assert history.reserved_micro_usd(**HERE) == 340_000 + 70_000
        assert [entry.key for entry in history.open_intents(**HERE)] == ["open"]
        unsettled = [entry.key for entry in history.unsettled(**HERE)]
        assert unsettled == ["running", "failed"]
        settled = history.find("media_settled")
        assert (settled.prompt, settled.project) == (DRACHEN, "Drachen")
        assert (settled.state, settled.charge_micro_usd) == (
            EntryState.SETTLED,
            340_000,
        )
        assert history.find_key("refused").error_message == "prompt is too long"
        assert history.uploaded(
            **HERE, sha256="ab" * 32, content_type="image/png"
        ).endswith("1.png")


def test_old_entries_count_against_no_budget_and_go_on_as_new_ones_do(old):
    with History(old) as history:
        assert history.find_key("open").budget is None
        assert history.budget_use("kites") == BudgetUse(0, 0)
        history.record_job("open", job("running", "media_open"))
        entry = history.record_job("open", completed(60_000, job_id="media_open"))
        assert history.find("media_open") == entry
        assert history.claim(submission("refused"))[1]
        assert history.claim(submission("newer"))[0].number == 6


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("über 100%", ["settled"]),
        ("DRACHEN wind", ["settled"]),
        ("media_running", ["running"]),
        ("gave UP", ["failed"]),
        ("422", ["refused"]),
        ("upscale", ["failed"]),
        ("dunes", ["refused", "open", "running"]),
    ],
)
def test_old_entries_are_found_by_their_words(old, text, keys):
    with History(old) as history:
        assert [entry.key for entry in history.page(text=text)] == keys


def test_a_long_history_is_searched_to_its_end_after_the_move(old, monkeypatch):
    monkeypatch.setattr(migrations, "_BATCH", 2)
    with History(old) as history:
        assert len(history.page(text="sandbox")) == 5


def test_a_second_opening_changes_nothing(old):
    History(old).close()
    before = described(old), old.stat().st_size
    History(old).close()
    assert (described(old), old.stat().st_size) == before


OPEN = """
import sys
from mediakit.history import History
sys.stdin.readline()
with History(sys.argv[1]) as history:
    print(len(history.page()))
"""


def test_processes_that_start_at_once_move_a_file_up_once(old):
    assert race([start(OPEN, old) for _ in range(3)]) == ["5\n"] * 3
    assert versions(old) == [(5,)]


def test_processes_that_start_at_once_make_one_history_on_postgres(postgres_url):
    assert race([start(OPEN, postgres_url) for _ in range(3)]) == ["0\n"] * 3


def test_postgres_has_the_columns_and_indexes_of_sqlite(postgres_url, path):
    def shape(place):
        with (
            History(place) as history,
            history._database._engine.connect() as connection,
        ):
            seen = inspect(connection)
            tables = sorted(seen.get_table_names())
            return {
                table: (
                    {column["name"] for column in seen.get_columns(table)},
                    {index["name"] for index in seen.get_indexes(table)} - UNIQUE,
                )
                for table in tables
            }

    assert shape(postgres_url) == shape(path)


def test_a_history_written_by_a_newer_mediakit_is_refused_and_left_alone(path):
    History(path).close()
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE mediakit_version SET version = 99")
    plain.close()
    with pytest.raises(InputError) as caught:
        History(path)
    newest = migrations.newest_version()
    assert "history must be" in str(caught.value)
    assert f"must be version {newest} or older" in str(caught.value)
    assert "Nothing was changed. Upgrade mediakit" in str(caught.value)
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT version FROM mediakit_version").fetchall() == [
            (99,)
        ]
    plain.close()


def test_an_older_history_moves_up_with_its_entries(path, monkeypatch):
    with History(path) as history:
        history.claim(submission())

    def add_a_column(connection):
        connection.exec_driver_sql("ALTER TABLE mediakit_entries ADD COLUMN mood TEXT")

    steps = (*migrations.MIGRATIONS, add_a_column)
    monkeypatch.setattr(migrations, "MIGRATIONS", steps)
    for _ in range(2):  # the second opening must not add it again
        with History(path) as history:
            assert history.find_key("k1").prompt == "a kite"
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT version FROM mediakit_version").fetchall() == [
            (migrations.newest_version(),)
        ]
        assert plain.execute("SELECT mood FROM mediakit_entries").fetchall() == [
            (None,)
        ]
    plain.close()


def test_a_migration_that_fails_leaves_the_database_as_it_was(path, monkeypatch):
    History(path).close()

    def half(connection):
        connection.exec_driver_sql("ALTER TABLE mediakit_entries ADD COLUMN mood TEXT")
        connection.exec_driver_sql("ALTER TABLE nowhere ADD COLUMN mood TEXT")

    steps = (*migrations.MIGRATIONS, half)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", steps)
        with pytest.raises(InputError, match="no such table: nowhere"):
            History(path)
    with History(path) as history:
        assert history.claim(submission())[1]
