"""Histories and sandboxes of older versions: they open, and lose nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.errors import InputError, ServiceError
from mediakit.history import History, scores
from mediakit.history.migrations import MIGRATIONS
from mediakit.history.tables import metadata
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.store.migrations import MIGRATIONS as SANDBOX_MIGRATIONS
from tests.support.made_up_steps import history_step, install, sandbox_step
from tests.support.old_data import (
    FOLDERS,
    VERSIONS,
    facts_of,
    follows,
    put_history,
    put_home,
    put_sandbox,
    sharpness,
)
from tests.support.samples.media_samples import make_png
from tests.support.servers.postgres import database
from tests.support.submissions import race
from tests.support.submissions import start as start_process

RED = (200, 20, 20)
SMALL = (16, 12)
OPEN = """
import sys
from mediakit.history import History
from tests.support.made_up_steps import install
install()
sys.stdin.readline()
with History(sys.argv[1]) as history:
    print(len(history.page(limit=1_000)))
"""


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    """Return a folder with the data that an older version left behind."""
    found: Path = request.param
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path | str:
    """Make an old history; return its place."""
    place: Path | str = tmp_path / "history.sqlite3"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
    put_history(folder, place)
    return place


@pytest.fixture
def second_postgres_url(postgres_server: str) -> Iterator[str]:
    with database(postgres_server) as url:
        yield url


@pytest.fixture
def old_file(folder: Path, tmp_path: Path) -> Path:
    put_history(folder, tmp_path / "history.sqlite3")
    return tmp_path / "history.sqlite3"


@pytest.fixture
def old_sandbox(folder: Path, tmp_path: Path) -> Path:
    return put_sandbox(folder, tmp_path / "sandbox") / "sandbox.sqlite3"


@pytest.fixture
def version(folder: Path) -> int:
    """Return the version of the old history."""
    return int(folder.name)


@pytest.fixture
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for migrations in (MIGRATIONS, SANDBOX_MIGRATIONS):
        monkeypatch.setattr(migrations, "steps", [*migrations.steps])
    install()


def plainly(place: Any) -> Any:
    """Connect to a database without mediakit."""
    connect = sqlite3.connect if isinstance(place, Path) else psycopg.connect
    return closing(connect(place))


def tables_in(place: Any) -> dict[str, list[str]]:
    """Return the columns of each table, read without mediakit."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    if isinstance(place, Path):
        tables = (
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite%'"
        )
    with plainly(place) as plain:
        return {
            name: [
                column[0]
                for column in plain.execute(f"SELECT * FROM {name}").description
            ]
            for (name,) in plain.execute(tables).fetchall()
        }


def rows_in(place: Any, tables: dict[str, list[str]]) -> dict[str, list[Any]]:
    """Return all rows of these columns, but for the version of the schema."""
    with plainly(place) as plain:
        return {
            name: sorted(
                plain.execute(f"SELECT {', '.join(columns)} FROM {name}").fetchall(),
                key=repr,
            )
            for name, columns in tables.items()
            if name != "mediakit_version"
        }


def shape_of(place: Any) -> list[Any]:
    """Return the columns of each table and the indexes, whatever their order."""
    url = f"sqlite:///{place}"
    indexes = "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    if not isinstance(place, Path):
        url = place.replace("postgresql:", "postgresql+psycopg:", 1)
        indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'"
    with plainly(place) as plain:
        found = [" ".join(sql.split()) for (sql,) in plain.execute(indexes).fetchall()]
    engine = create_engine(url)
    seen = inspect(engine)
    columns = [
        (table, each["name"], str(each["type"]), each["nullable"])
        for table in seen.get_table_names()
        for each in seen.get_columns(table)
    ]
    engine.dispose()
    return [sorted(columns), sorted(found)]


def version_of(place: Any) -> list[Any]:
    with plainly(place) as plain:
        found: list[Any] = plain.execute("SELECT * FROM mediakit_version").fetchall()
    return found


# -- nothing is lost -------------------------------------------------------------------


def test_each_row_of_an_old_history_is_there_after_it_was_opened(old: Any) -> None:
    tables = tables_in(old)
    before = rows_in(old, tables)
    assert all(before.values()), "a table of the old history is empty"

    History(old).close()

    assert rows_in(old, tables) == before
    assert version_of(old) == [(MIGRATIONS.version,)]


@pytest.mark.usefixtures("_made_up")
def test_a_step_adds_a_column_and_a_table_and_keeps_each_row(old: Any) -> None:
    tables = tables_in(old)
    before = rows_in(old, tables)

    History(old).close()
    History(old).close()

    assert rows_in(old, tables) == before
    assert version_of(old) == [(MIGRATIONS.version,)]
    with plainly(old) as plain:
        moods = plain.execute("SELECT DISTINCT mood FROM mediakit_entries").fetchall()
        notes = plain.execute("SELECT note FROM mediakit_moods").fetchall()
    assert {mood.partition(" ")[0] for (mood,) in moods} == {"calm"}
    assert ("the best of all; Größe £5",) in notes


def test_a_migrated_history_has_the_shape_of_a_new_one(
    old: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    new: Any = tmp_path / "new.sqlite3"
    if not isinstance(old, Path):
        new = request.getfixturevalue("second_postgres_url")
    for place in (old, new):
        History(place).close()

    assert shape_of(old) == shape_of(new)


def test_a_migrated_sandbox_has_the_shape_of_a_new_one(
    old_sandbox: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.sqlite3"
    for place in (old_sandbox, new):
        SandboxDatabase(place).close()

    assert shape_of(old_sandbox) == shape_of(new)


@pytest.mark.usefixtures("_made_up")
def test_a_step_of_the_sandbox_keeps_each_row(old_sandbox: Path) -> None:
    tables = tables_in(old_sandbox)
    before = rows_in(old_sandbox, tables)
    assert before["charge"]
    assert before["attempt"]

    SandboxDatabase(old_sandbox).close()
    SandboxDatabase(old_sandbox).close()

    assert rows_in(old_sandbox, tables) == before
    with plainly(old_sandbox) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (
            SANDBOX_MIGRATIONS.version,
        )
        assert plain.execute("PRAGMA foreign_key_check").fetchall() == []
        assert plain.execute("SELECT DISTINCT mood FROM job").fetchall() == [("calm",)]


def test_a_broken_reference_is_noticed_before_a_step_of_the_sandbox_is_kept(
    old_sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget_orgs(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM org")

    monkeypatch.setattr(SANDBOX_MIGRATIONS, "steps", [forget_orgs])
    before = rows_in(old_sandbox, tables_in(old_sandbox))

    with pytest.raises(ServiceError, match="broken references"):
        SandboxDatabase(old_sandbox)

    assert rows_in(old_sandbox, tables_in(old_sandbox)) == before


# -- scores of version 11 --------------------------------------------------------------


def seen_in_11(sha256: str, row: dict[str, Any] | None) -> str:
    """Return the key of a score, as version 11 did."""
    if row is None:
        return sha256
    text = f"{sha256}\0{json.dumps(row, sort_keys=True)}"
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_scores_of_version_11_are_those_of_their_jobs(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    old: Any = tmp_path / "history.sqlite3"
    mark = "?"
    if place == "postgres":
        old, mark = request.getfixturevalue("postgres_url"), "%s"
    put_history(VERSIONS / "11", old)
    with plainly(old) as plain:
        query = (
            "SELECT e.job_id, h.sha256, c.point, e.body FROM mediakit_sweep_cells c"
            " JOIN mediakit_entries e ON e.asked_key = c.asked_key AND e.take = c.take"
            " JOIN mediakit_hashes h ON h.job_id = e.job_id ORDER BY c.number"
        )
        (first, sha256, point, body), _ = plain.execute(query).fetchall()
        row = {**json.loads(point), **json.loads(body), "job_id": first}
        score = json.dumps({"stars": 4, "reason": "It fits."})
        said = ("mine.judge", "1-0123", score, 1_795_918_460_000_000)
        for seen in (seen_in_11(sha256, row), seen_in_11("0" * 64, row)):
            values = (seen, *said)
            marks = ", ".join([mark] * len(values))
            plain.execute(f"INSERT INTO mediakit_scores VALUES ({marks})", values)
        plain.commit()
        query = "SELECT service, account FROM mediakit_hashes"
        owner = plain.execute(query).fetchone()

    with History(old) as history:
        names = {"service": owner[0], "account": owner[1]}
        found = scores.of_jobs(history, [first], **names)
        frame = history.frame(params=True)

    assert [(each.scorer, each.version, each.reason) for each in found] == [
        ("tests.support.old_data.sharpness", "2-b9907428532f82bd", "its bytes"),
        ("mine.judge", "1-0123", "It fits."),
    ]
    assert [dict(each.values) for each in found] == [{"score": 504.5}, {"stars": 4}]
    assert {each.cost_micro_usd for each in found} == {None}
    scored = frame[frame["score"].notna()]
    assert sorted(scored["score"]) == [503.5, 504.5]
    assert scored["stars"].sum() == 4


def test_a_role_of_a_team_has_the_same_rights_on_a_new_table(postgres_url: str) -> None:
    put_history(VERSIONS / "11", postgres_url)
    role = f"team_{os.getpid()}"
    rights = (
        "SELECT privilege_type FROM information_schema.table_privileges"
        f" WHERE grantee = '{role}' AND table_name = "
    )
    with psycopg.connect(postgres_url, autocommit=True) as plain:
        plain.execute(f"CREATE ROLE {role} LOGIN")
        plain.execute(f"GRANT SELECT, INSERT, UPDATE ON mediakit_scores TO {role}")
        try:
            History(postgres_url).close()
            found = [
                {each for (each,) in plain.execute(f"{rights}'{table}'").fetchall()}
                for table in ("mediakit_scores", "mediakit_job_scores")
            ]
        finally:
            plain.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    assert found == [{"SELECT", "INSERT", "UPDATE"}] * 2


# -- the same person, after an upgrade -------------------------------------------------


class Counting(httpx.AsyncHTTPTransport):
    """Counts the requests that ask for something to be made."""

    posts_n = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.posts_n += request.method == "POST"
        return await super().handle_async_request(request)


@pytest.fixture
def home(folder: Path, tmp_path: Path) -> Path:
    return put_home(folder, tmp_path / "home")


@pytest.fixture(params=["as it is", "migrated"])
def served(request: pytest.FixtureRequest, home: Path) -> Iterator[Path]:
    """Return a home whose old sandbox is served; its queued job stays in the queue."""
    if request.param == "migrated":
        request.getfixturevalue("_made_up")
    settings = Sandbox(
        home / "sandbox", concurrency=0, allow_loopback_callbacks=True, sketch=True
    )
    running = start(settings)
    yield home
    running.stop()


def person(home: Path, **settings: Any) -> Client:
    """Connect as the owner of the data did, whatever the sandbox's port."""
    return Client(
        home=home,
        catalog=Catalog.default(),
        project="kites",
        budget="$25",
        **settings,
    )


def test_jobs_money_sweeps_and_ratings_read_as_they_did(
    served: Path, folder: Path
) -> None:
    before = json.loads((folder / "facts.json").read_text("utf-8"))

    with person(served) as client:
        after = facts_of(client)

    assert {entry["state"] for entry in before["history"]} >= {
        "settled",
        "terminal",
        "refused",
        "unanswered",
        "submitted",
    }
    assert before["budget"][1] > 0
    assert in_columns_of(before, after) == before


def in_columns_of(before: Any, after: Any) -> Any:
    """Return the current rows, without the columns that have been added since."""
    if isinstance(before, dict) and isinstance(after, dict):
        return {n: in_columns_of(v, after.get(n)) for n, v in before.items()}
    if isinstance(before, list) and isinstance(after, list):
        assert len(before) == len(after)
        return [in_columns_of(*pair) for pair in zip(before, after, strict=True)]
    return after


def test_the_same_call_sends_nothing_after_an_upgrade(
    served: Path, version: int, tmp_path: Path
) -> None:
    counting = Counting()
    picture = make_png(tmp_path / "small.png", SMALL, RED)
    same: dict[str, Any] = {"image_url": picture, "model": "standard-max"}

    with person(served, transport=counting) as client:
        use = client.budget()
        jobs = [
            client.submit("image-upscale", prompt="a red kite", take=take, **same)
            for take in (1, 2, 3)
        ]
        plan = client.sweep("image-upscale", prompt=["dawn", "dusk"], **same)
        swept = plan.run(budget="$5")
        swept.wait(60)
        sharp = swept.score(sharpness, version="2")
        judged = swept.score(follows, version="1")
        assert client.budget() == use

    assert len({job.id for job in jobs}) == 3
    assert counting.posts_n == 0
    assert len(sharp) == 2
    # Judged outputs are not judged again.
    assert judged["cost_micro_usd"].count() == (2 if version < 12 else 0)


def test_a_request_without_a_response_is_paid_once_after_an_upgrade(
    served: Path, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "small.png", SMALL, RED)
    same: dict[str, Any] = {"image_url": picture, "model": "standard-max"}
    database = served / "sandbox" / "sandbox.sqlite3"

    with person(served) as client:
        before = client.budget()
        for prompt in ("no answer, no job", "no answer, but a job"):
            client.submit("image-upscale", prompt=prompt, **same)
        after = client.budget()

    # The job that was made meanwhile has ended: what was held for it is its charge.
    assert before is not None
    assert after is not None
    assert after.spent_micro_usd - before.spent_micro_usd == 756_000
    assert before.reserved_micro_usd - after.reserved_micro_usd == 756_000
    with plainly(database) as plain:
        prompts = [
            json.loads(body)["prompt"]
            for (body,) in plain.execute("SELECT body FROM job WHERE body IS NOT NULL")
            if "no answer" in body
        ]
    assert sorted(prompts) == ["no answer, but a job", "no answer, no job"]


@pytest.mark.usefixtures("_made_up")
def test_a_job_in_the_queue_at_the_upgrade_ends_at_the_price_that_was_held(
    home: Path, folder: Path
) -> None:
    before = json.loads((folder / "facts.json").read_text("utf-8"))
    (queued,) = (each for each in before["history"] if each["state"] == "submitted")
    settings = Sandbox(home / "sandbox", speed=20, allow_loopback_callbacks=True)
    running = start(settings)
    try:
        with person(home) as client:
            job = client.job(queued["job_id"])
            job.wait(60)
            job.settle(60)
            left = client.balance().balance_micro_usd
            assert job.charge_micro_usd == queued["reserved_micro_usd"] == 756_000
            assert before["balance"] - left == 756_000
    finally:
        running.stop()


# -- copies ----------------------------------------------------------------------------


@pytest.mark.usefixtures("_made_up")
def test_a_copy_with_the_newest_entries_is_kept_and_the_message_says_where(
    old_file: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    copy = old_file.with_name(f"{old_file.name}.version-{version}")
    with plainly(old_file) as plain:  # which keeps the newest row in the WAL
        plain.execute("UPDATE mediakit_judgements SET note = 'the newest'")
        plain.commit()
        before = rows_in(old_file, tables_in(old_file))
        with caplog.at_level(logging.WARNING, "mediakit"):
            History(old_file).close()
        History(old_file).close()

    assert rows_in(copy, tables_in(copy)) == before
    assert version_of(copy) == [(version,)]
    assert copy.stat().st_mode & 0o777 == 0o600
    (line,) = caplog.messages
    assert f"from version {version} to {MIGRATIONS.version}" in line
    assert str(copy) in line
    assert sorted(path.name for path in old_file.parent.glob("*version*")) == [
        copy.name
    ]


@pytest.mark.usefixtures("_made_up")
def test_a_copy_of_other_content_is_never_replaced(
    old_file: Path, version: int
) -> None:
    earlier = old_file.with_name(f"{old_file.name}.version-{version}")
    earlier.write_bytes(b"of an earlier upgrade")

    History(old_file).close()

    second = earlier.with_name(f"{earlier.name}-2")
    assert earlier.read_bytes() == b"of an earlier upgrade"
    assert version_of(second) == [(version,)]


def test_the_copy_restores_the_older_version(old_file: Path, version: int) -> None:
    tables = tables_in(old_file)
    before = rows_in(old_file, tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MIGRATIONS, "steps", [*MIGRATIONS.steps, history_step])
        History(old_file).close()
    with pytest.raises(InputError, match="python -m pip install -U jupyter-mediakit"):
        History(old_file)
    copy = old_file.with_name(f"{old_file.name}.version-{version}")

    History(copy).close()

    assert rows_in(copy, tables) == before


@pytest.mark.usefixtures("_made_up")
def test_the_sandbox_keeps_a_copy_and_says_where(
    old_sandbox: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = rows_in(old_sandbox, tables_in(old_sandbox))
    version = SANDBOX_MIGRATIONS.version - 1
    copy = old_sandbox.with_name(f"{old_sandbox.name}.version-{version}")

    with caplog.at_level(logging.WARNING, "mediakit"):
        SandboxDatabase(old_sandbox).close()

    assert rows_in(copy, tables_in(copy)) == before
    assert str(copy) in caplog.text


# -- what can go wrong -----------------------------------------------------------------


def test_processes_that_start_together_migrate_once(old: Any, version: int) -> None:
    before = rows_in(old, tables_in(old))
    made = {"mediakit_moods", *metadata.tables} - {*tables_in(old)}

    said = race([start_process(OPEN, old) for _ in range(3)])

    assert len(set(said)) == 1
    assert version_of(old) == [(MIGRATIONS.version + 1,)]
    tables = tables_in(old)
    assert all(tables.pop(name) for name in made)
    assert {name: len(rows) for name, rows in rows_in(old, tables).items()} == {
        name: len(rows) for name, rows in before.items()
    }
    if isinstance(old, Path):
        # A process that opens it between the two steps copies the version it sees.
        copies = {path.name for path in old.parent.glob("*version*")}
        first, second = (f"{old.name}.version-{n}" for n in (version, version + 1))
        assert first in copies
        assert copies <= {first, second}


@pytest.mark.usefixtures("_made_up")
@pytest.mark.parametrize("kind", ["history", "sandbox"])
def test_a_full_disk_at_the_copy_changes_nothing_and_says_so(
    kind: str, old_file: Path, old_sandbox: Path
) -> None:
    place = old_file if kind == "history" else old_sandbox
    before = place.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises((InputError, ServiceError)) as caught:
            History(place) if kind == "history" else SandboxDatabase(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert "could not be migrated" in str(caught.value)
    assert "Free disk space" in str(caught.value)
    assert list(place.parent.glob("*version*")) == []
    assert place.read_bytes() == before
    History(place).close() if kind == "history" else SandboxDatabase(place).close()


@pytest.mark.parametrize("kind", ["history", "sandbox"])
def test_a_full_disk_in_a_step_changes_nothing_and_says_so(
    kind: str,
    old_file: Path,
    version: int,
    old_sandbox: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = old_file if kind == "history" else old_sandbox
    tables = tables_in(place)
    before = rows_in(place, tables)

    def fill_the_disk(db: sqlite3.Connection) -> None:
        sandbox_step(db)
        db.execute("PRAGMA max_page_count = 1").fetchall()
        db.execute("CREATE TABLE large AS SELECT hex(zeroblob(1000000)) AS content")

    def fill_through_sqlalchemy(db: Any) -> None:
        history_step(db)
        db.exec_driver_sql("PRAGMA max_page_count = 1").fetchall()
        db.exec_driver_sql("CREATE TABLE large AS SELECT hex(zeroblob(1000000)) AS x")

    steps = [*MIGRATIONS.steps[: version - MIGRATIONS.first], fill_through_sqlalchemy]
    monkeypatch.setattr(MIGRATIONS, "steps", steps)
    monkeypatch.setattr(SANDBOX_MIGRATIONS, "steps", [fill_the_disk])
    with pytest.raises((InputError, ServiceError), match="disk is full") as caught:
        History(place) if kind == "history" else SandboxDatabase(place)

    assert "not changed. Free disk space" in str(caught.value)
    assert tables_in(place) == tables
    assert rows_in(place, tables) == before


@pytest.mark.usefixtures("_made_up")
def test_a_history_that_can_only_be_read_says_so_and_stays(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(old_file.parent)
    with plainly(old_file) as plain:
        plain.execute("PRAGMA journal_mode = DELETE")
    before = old_file.read_bytes()

    with pytest.raises(InputError, match="readonly database") as caught:
        History(f"sqlite:///file:{old_file}?mode=ro&uri=true")

    assert "was changed" in str(caught.value)
    assert old_file.read_bytes() == before
    assert list(old_file.parent.iterdir()) == [old_file]


@pytest.mark.usefixtures("_made_up")
def test_a_history_whose_copy_has_no_place_says_so_and_stays(
    old_file: Path, version: int
) -> None:
    before = rows_in(old_file, tables_in(old_file))
    # Nobody, root included, can put a file where a folder with a file is.
    part = old_file.with_name(f"{old_file.name}.version-{version}.part")
    part.mkdir()

    with pytest.raises(InputError, match="could not be migrated") as caught:
        History(old_file)

    assert "its folder can be written" in str(caught.value)
    assert rows_in(old_file, tables_in(old_file)) == before
    shutil.rmtree(part)


@pytest.mark.usefixtures("_made_up")
def test_a_role_that_may_not_change_the_tables_says_who_may(
    folder: Path, version: int, postgres_url: str
) -> None:
    put_history(folder, postgres_url)
    role = f"reader_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as plain:
        plain.execute(f"CREATE ROLE {role} LOGIN")
        plain.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        try:
            with pytest.raises(InputError, match=r"must be owner|denied") as caught:
                History(postgres_url.replace("postgres@", f"{role}@"))
        finally:
            plain.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    assert "Connect once as the owner of its tables." in str(caught.value)
    assert version_of(postgres_url) == [(version,)]
    History(postgres_url).close()


def test_a_newer_history_names_the_command_and_is_not_changed(old: Any) -> None:
    History(old).close()
    with plainly(old) as plain:
        newer = MIGRATIONS.version + 1
        plain.execute(f"UPDATE mediakit_version SET version = {newer}")
        plain.commit()
    before = rows_in(old, tables_in(old))

    with pytest.raises(InputError) as caught:
        History(old)

    assert f"has version {newer}, which a newer mediakit wrote" in str(caught.value)
    assert "python -m pip install -U jupyter-mediakit" in str(caught.value)
    assert rows_in(old, tables_in(old)) == before


@pytest.mark.parametrize("by", [1, -99])
def test_a_sandbox_of_another_version_says_what_to_do(
    old_sandbox: Path, by: int
) -> None:
    version = max(SANDBOX_MIGRATIONS.version + by, 1)
    with plainly(old_sandbox) as plain:
        plain.execute(f"PRAGMA user_version = {version}")

    with pytest.raises(ServiceError, match=f"has version {version}, ") as caught:
        SandboxDatabase(old_sandbox)

    is_newer = by > 0
    command = "python -m pip install -U jupyter-mediakit"
    assert (command in str(caught.value)) is is_newer
    assert "It was not changed." in str(caught.value)
