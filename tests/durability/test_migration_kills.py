"""A migration that is killed leaves the complete old or new version."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mediakit.history.migrations import MIGRATIONS
from mediakit.sandbox.store.migrations import MIGRATIONS as SANDBOX_MIGRATIONS
from tests.history.test_migrations import plainly, rows_in, tables_in
from tests.support.made_up_steps import STATEMENTS_N
from tests.support.old_data import FOLDERS, put_history, put_sandbox
from tests.support.soak import BOTH_DATABASES, trials
from tests.support.submissions import start

KILLS = trials(4, soak=25)
OPEN = """
import sys
from pathlib import Path
from mediakit.history import History
from mediakit.sandbox.store.database import SandboxDatabase
from tests.support.made_up_steps import install
install()
place = sys.argv[1]
print("start", flush=True)
is_sandbox = place.endswith("sandbox.sqlite3")
(SandboxDatabase(Path(place)) if is_sandbox else History(place)).close()
print("end", flush=True)
"""
LINES_N = STATEMENTS_N + 1


@pytest.fixture(params=[*BOTH_DATABASES, "sandbox"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Make an old history or sandbox; return the location of its database."""
    folder = FOLDERS[0]
    if request.param == "sandbox":
        return put_sandbox(folder, tmp_path / "sandbox") / "sandbox.sqlite3"
    place: Path | str = tmp_path / "history.sqlite3"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
    put_history(folder, place)
    return place


def version_in(place: Any) -> int:
    is_sandbox = isinstance(place, Path) and place.name == "sandbox.sqlite3"
    query = "SELECT version FROM mediakit_version"
    with plainly(place) as plain:
        row = plain.execute("PRAGMA user_version" if is_sandbox else query).fetchone()
    found: int = row[0]
    return found


def restore(
    place: Any, content: bytes, version: int, tables: dict[str, list[str]]
) -> None:
    """Revert the steps, so that they can be killed again."""
    if isinstance(place, Path):
        for suffix in ("-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
        place.write_bytes(content)
        return
    new = tables_in(place).keys() - tables.keys()
    with plainly(place) as plain:
        plain.execute("ALTER TABLE mediakit_entries DROP COLUMN IF EXISTS mood")
        for table in new:
            plain.execute(f"DROP TABLE {table}")
        plain.execute(f"UPDATE mediakit_version SET version = {version}")
        plain.commit()


def test_a_killed_migration_leaves_the_complete_old_or_new_version(
    old: Any, tell: Callable[[str], None]
) -> None:
    content = old.read_bytes() if isinstance(old, Path) else b""
    tables = tables_in(old)
    before, version = rows_in(old, tables), version_in(old)
    newest = MIGRATIONS.version if version > 10 else SANDBOX_MIGRATIONS.version
    moments, counts = Random(11), Counter[str]()
    for number in range(KILLS):
        process = start(OPEN, old, "--report")
        # The first runs are killed at each line once, the others at random times.
        line = number % (LINES_N + 1) + 1
        for _ in range(line):
            process.stdout.readline()
        time.sleep(moments.uniform(0, 0.01))
        process.kill()
        process.finish()

        found = version_in(old)
        counts[f"version {found}"] += 1
        assert found in range(version, newest + 2)
        assert rows_in(old, tables) == before
        there = tables_in(old)
        has_mood = any("mood" in columns for columns in there.values())
        assert has_mood is (found == newest + 1)
        is_new = "mediakit_job_scores" in there.keys() - tables.keys()
        assert is_new is (version < 12 <= found)
        if is_new:
            scores = {"mediakit_job_scores": there["mediakit_job_scores"]}
            assert len(rows_in(old, scores)["mediakit_job_scores"]) == 2
        if found > version:
            restore(old, content, version, tables)

    process = start(OPEN, old)
    said, _ = process.finish()

    assert said == "start\nend\n"
    assert version_in(old) == newest + 1
    assert rows_in(old, tables) == before
    if isinstance(old, Path):
        with plainly(old) as plain:
            assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        copies = [path.name for path in old.parent.glob("*version*")]
        assert copies == [f"{old.name}.version-{version}"]
    tell(f"Migrations killed: {KILLS}, left {dict(counts)}")
    assert counts[f"version {version}"]
