"""A schema that is created once, whatever versions and forks there are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import inspect

from mediakit.errors import InputError
from mediakit.history import History
from mediakit.history.migrations import MIGRATIONS
from tests.support.submissions import start

VERSION = MIGRATIONS.version

UNIQUE = {"mediakit_entries_key_key"}  # SQLite does not list the index of a constraint


def plainly(place: Any) -> Any:
    """Connect to a database without mediakit."""
    connect = sqlite3.connect if isinstance(place, Path) else psycopg.connect
    return closing(connect(place))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([MIGRATIONS.first - 1], f"version {MIGRATIONS.first - 1}"),
        ([VERSION, VERSION], f"the versions {VERSION}, {VERSION}"),
        ([], "no version"),
    ],
)
def test_a_history_older_than_the_first_step_is_refused_and_not_changed(
    place: Any, rows: list[int], found: str
) -> None:
    History(place).close()
    with plainly(place) as plain:
        plain.execute("DELETE FROM mediakit_version")
        for version in rows:
            plain.execute(f"INSERT INTO mediakit_version VALUES ({version})")
        plain.commit()
    before = place.read_bytes() if isinstance(place, Path) else None

    with pytest.raises(InputError) as caught:
        History(place)

    said = str(caught.value)
    is_file = isinstance(place, Path)
    name = str(place) if is_file else urlsplit(place).path.removeprefix("/")
    assert f"history has {found}" in said
    assert f" {name} was not changed. Move it away, or name" in said
    assert before is None or place.read_bytes() == before


def test_postgres_has_the_columns_and_indexes_of_sqlite(
    postgres_url: str, tmp_path: Path
) -> None:
    def shape(place: Any) -> dict[str, tuple[set[str], set[str]]]:
        with (
            History(place) as history,
            history.database.reading() as connection,
        ):
            seen = inspect(connection)
            return {
                table: (
                    {column["name"] for column in seen.get_columns(table)},
                    {str(index["name"]) for index in seen.get_indexes(table)} - UNIQUE,
                )
                for table in sorted(seen.get_table_names())
            }

    assert shape(postgres_url) == shape(tmp_path / "history.db")


# -- forks -----------------------------------------------------------------------------


FORK = """
import os, sys
from mediakit.history import History
from tests.support.submissions import completed, submission, job

history = History(sys.argv[1])
history.claim(submission("before"))
child = os.fork()
if child == 0:
    with History(sys.argv[1]) as its_own:
        its_own.record_job("before", job("running"))
        its_own.claim(submission("child"))
    history.claim(submission("child again"))
    sys.exit()  # the way that takes everything down, connections too
history.claim(submission("parent"))
assert os.waitpid(child, 0)[1] == 0
history.claim(submission("parent again"))
history.record_job("before", completed())
history.close()
"""


def test_a_forked_child_and_its_parent_write_to_one_history(place: Any) -> None:
    process = start(FORK, place)
    process.finish()

    assert process.returncode == 0
    with History(place) as history:
        keys = {entry.key for entry in history.page(limit=1_000)}
        one = history.find("media_1")
    assert keys == {"before", "child", "child again", "parent", "parent again"}
    assert one is not None
    assert one.charge_micro_usd == 340_000


WAITS = """
import os, threading
from mediakit.forks import no_fork

inside, go_on = threading.Event(), threading.Event()
left = []

def work():
    with no_fork():
        inside.set()
        go_on.wait()
        with no_fork():  # what is inside comes to its end
            left.append(1)

thread = threading.Thread(target=work)
thread.start()
inside.wait()
threading.Timer(0.2, go_on.set).start()
with no_fork():  # of the forking thread, which never waits for itself
    child = os.fork()
    if child == 0:
        with no_fork():
            os._exit(len(left))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
with no_fork():
    thread.join()
"""


def test_a_fork_waits_for_the_work_of_other_threads() -> None:
    process = start(WAITS, "")
    process.finish()

    assert process.returncode == 0
