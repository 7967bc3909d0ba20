"""Places of a history: accepted ones, errors, and file permissions."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from mediakit.errors import InputError, MediakitError
from mediakit.history import History
from tests.support.servers.postgres import USER, postgres
from tests.support.servers.serving import free_port
from tests.support.submissions import job, submission


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "history.db"


@pytest.fixture
def history(path):
    with History(path) as opened:
        yield opened


# -- SQLite -----------------------------------------------------------------------


def test_a_file_that_is_not_a_database_is_refused_and_not_changed(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database, and longer than one header " * 100)
    before = notes.read_bytes()
    with pytest.raises(InputError, match="file is not a database"):
        History(notes)
    assert notes.read_bytes() == before


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("  ", r"history must be .*Nothing was changed"),
        (Path(), "unable to open database file"),
        (Path("file", "history.db"), "Set MEDIAKIT_HISTORY to another file"),
    ],
)
def test_a_place_that_cannot_be_a_history_is_refused(tmp_path, place, sentence):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=sentence):
        History(tmp_path / place if isinstance(place, Path) else place)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://me:hunter2@db.example/team?password=hunter2",
        "mysql://me:hunter2@db.example/team",
        "://hunter2",
    ],
)
def test_a_database_that_is_not_supported_is_named_without_its_password(url):
    with pytest.raises(InputError, match="must be a file's path") as caught:
        History(url)
    assert "hunter2" not in str(caught.value)


def rights(path):
    return oct(path.stat().st_mode & 0o777)


def test_only_the_user_can_read_new_files_and_folders(tmp_path):
    before = os.umask(0o022)
    try:
        with History(tmp_path / "new" / "home" / "history.db") as history:
            history.claim(submission())
            files = sorted((tmp_path / "new" / "home").iterdir())
            assert [file.suffix for file in files] == [".db", ".db-shm", ".db-wal"]
            assert {rights(file) for file in files} == {"0o600"}
    finally:
        os.umask(before)
    assert rights(tmp_path / "new" / "home") == "0o700"


# -- Postgres ---------------------------------------------------------------------


def test_any_of_the_usual_postgres_urls_opens_the_same_history(postgres_url):
    with History(postgres_url) as history:
        entry, _ = history.claim(submission())
    for scheme in ("postgres", "postgresql+psycopg"):
        url = postgres_url.replace("postgresql", scheme, 1)
        with History(url) as again:
            assert again.find_key("k1") == entry


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@127.0.0.1:{port}/team",
        "postgresql://127.0.0.1:{port}/team?user=me&password=hunter2",
        "postgresql://me:hunter2@127.0.0.1:{port}/team?sslmode=hunter2",
        "postgresql://me:hunter2@127.0.0.1:{port}/team?connect_timeout=hunter2",
    ],
)
def test_a_postgres_out_of_reach_is_named_without_its_password(url):
    with pytest.raises(InputError) as caught:
        History(url.format(port=free_port()))
    assert "history must be a database" in str(caught.value)
    assert "(got '127.0.0.1/team')" in str(caught.value)
    assert "Nothing was changed. Set MEDIAKIT_HISTORY to another" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def cut_all_connections(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "application_name = 'mediakit' AND datname = current_database()"
        )


def test_a_connection_that_was_lost_between_two_calls_is_opened_again(postgres_url):
    with History(postgres_url) as history:
        history.claim(submission())
        cut_all_connections(postgres_url)
        assert history.find_key("k1").prompt == "a kite"
        cut_all_connections(postgres_url)
        assert history.record_job("k1", job()).job_id == "media_1"


def test_a_connection_that_is_lost_during_a_claim_is_a_readable_error(
    postgres_url, monkeypatch
):
    def cut_first(connection, *_):
        cut_all_connections(postgres_url)
        connection.execute(text("SELECT 1"))

    with History(postgres_url) as history:
        with monkeypatch.context() as patch:
            patch.setattr("mediakit.history.spending_limits.add_to_totals", cut_first)
            with pytest.raises(MediakitError, match="could not be written") as caught:
                history.claim(submission(body=b"hunter2"))
        assert "Repeating the call is safe" in str(caught.value)
        assert "hunter2" not in str(caught.value)
        assert history.find_key("k1") is None
        assert history.claim(submission())[1]


def test_characters_that_postgres_cannot_store_are_replaced(postgres_url):
    with History(postgres_url) as history:
        history.claim(submission(prompt="a\0b", project="half \ud83d of a pair"))
        message = "no \0 luck"
        history.record_refusal("k1", code="422", message=message)
        entry = history.find_key("k1")
        assert (entry.prompt, entry.project) == ("a\ufffdb", "half ? of a pair")
        assert entry.error_message == "no \ufffd luck"
        assert entry.body == submission().body
        assert len(history.frame(project="half \ud83d of a pair")) == 1
        assert history.unsettled(service="sandbox") == []


def test_a_locked_database_is_a_readable_error_without_the_body(path):
    with History(path, busy_timeout_s=0.01) as history:
        plain = sqlite3.connect(path, isolation_level=None)
        plain.execute("BEGIN IMMEDIATE")
        with pytest.raises(MediakitError, match="could not be written: database is lo"):
            history.claim(submission(body=b"hunter2"))
        plain.close()
        assert history.find_key("k1") is None
        assert history.claim(submission())[1]


def test_a_password_with_an_at_sign_is_not_taken_for_a_host_and_shown():
    with pytest.raises(InputError, match="write %40") as caught:
        History("postgresql://me:hun@ter2@db.example/team")
    assert "ter2" not in str(caught.value)


def test_a_repr_of_a_postgres_history_shows_no_user_and_no_password(postgres_url):
    url = postgres_url.replace("postgres@", "postgres:hunter2@")
    with History(url) as history:
        assert repr(history).startswith("History('test_")
        assert "hunter2" not in repr(history)


# -- over TCP --------------------------------------------------------------------------


PASSWORD = "p@ss:w/rd-of-the-team"
QUOTED = "p%40ss%3Aw%2Frd-of-the-team"
ALLOWED = b"""local all postgres trust
host all all 127.0.0.1/32 scram-sha-256
"""


def url(port: int, password: str = QUOTED) -> str:
    return f"postgresql://team:{password}@localhost:{port}/kites"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    more = {"listen_addresses": "127.0.0.1", "port": str(port)}
    with postgres({"pg_hba.conf": ALLOWED}, **more) as socket_dir:
        place = f"host={socket_dir} port={port} user={USER}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET password_encryption = 'scram-sha-256'")
            connection.execute(f"CREATE USER team PASSWORD '{PASSWORD}'".encode())
            connection.execute("CREATE DATABASE kites OWNER team")
        yield port


@pytest.mark.soak
def test_a_history_opens_with_a_password(port: int) -> None:
    with History(url(port)) as history:
        assert len(history.frame()) == 0
        assert PASSWORD not in repr(history)
        assert QUOTED not in repr(history)


@pytest.mark.soak
@pytest.mark.parametrize("wrong", ["sesame-9", ""])
def test_a_wrong_password_is_a_sentence_without_it(port: int, wrong: str) -> None:
    with pytest.raises(MediakitError) as refused:
        History(url(port, wrong)).frame()

    assert "localhost" in str(refused.value)
    assert "sesame-9" not in str(refused.value)
