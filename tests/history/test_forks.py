"""Forks: both processes write, and neither damages the other's history."""

import pytest

from mediakit.history import History
from mediakit.history.storage.forking import FORKS
from tests.support.soak import BOTH_DATABASES
from tests.support.submissions import HERE, start

FORK = """
import os, sqlite3, sys, threading
from mediakit.history import History
from tests.support.submissions import completed, submission, job

history = History(sys.argv[1])
history.claim(submission("before"))
child = os.fork()
if child == 0:
    history.record_job("before", job("running"))
    history.claim(submission("child"))
    grandchild = os.fork()
    if grandchild == 0:
        history.claim(submission("grandchild"))
        sys.exit()  # the way that takes everything down, connections too
    assert os.waitpid(grandchild, 0)[1] == 0
    history.claim(submission("child again"))
    sys.exit()
history.claim(submission("parent"))
assert os.waitpid(child, 0)[1] == 0
history.claim(submission("parent again"))
history.record_job("before", completed())
history.close()
"""

OUTLIVED = """
import os, sys
from mediakit.history import History
from tests.support.submissions import submission

history = History(sys.argv[1])
history.claim(submission("parent"))
its_end, hold = os.pipe()
if os.fork() == 0:
    os.close(hold)
    history.claim(submission("child"))
    os.read(its_end, 1)  # the parent has closed its history and is gone
    history.claim(submission("child again"))
    os._exit(0)
os.close(its_end)
history.close()
print("closed", flush=True)
os._exit(0)
"""

THREADS = """
import os, sys, threading
from mediakit.history import History
from tests.support.submissions import submission

history = History(sys.argv[1])
def work(name):
    for n in range(60):
        history.claim(submission(f"{name} {n}"))
        history.find_key(f"{name} {n}")
threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(3)]
for thread in threads:
    thread.start()
for n in range(10):
    child = os.fork()
    if child == 0:
        history.claim(submission(f"child {n}"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for thread in threads:
    thread.join()
print(len(history.page(limit=1_000)))
"""


@pytest.fixture(params=BOTH_DATABASES)
def place(request, tmp_path):
    if request.param == "sqlite":
        return tmp_path / "history.db"
    return request.getfixturevalue("postgres_url")


def run(script, place):
    process = start(script, place)
    printed, _ = process.communicate()
    assert process.returncode == 0
    return printed


def keys(place):
    with History(place) as history:
        return {entry.key for entry in history.page(limit=1_000, **HERE)}


def test_parent_child_and_grandchild_write_to_one_history(place):
    run(FORK, place)
    expected = {"before", "child", "grandchild", "child again"}
    assert keys(place) == expected | {"parent", "parent again"}
    with History(place) as history:
        assert history.find("media_1").charge_micro_usd == 340_000


def test_what_a_child_writes_after_its_parent_closed_is_not_lost(place):
    """SQLite deletes its log with the last connection, the child's included."""
    run(OUTLIVED, place)
    assert keys(place) == {"parent", "child", "child again"}


def test_threads_write_while_their_process_forks(place):
    assert run(THREADS, place) == "190\n"


def test_a_child_has_its_own_copy_of_a_history_in_memory():
    script = """
import os
from mediakit.history import History
from tests.support.submissions import submission
history = History("sqlite://")
history.claim(submission("k1"))
child = os.fork()
if child == 0:
    history.claim(submission("k2"))
    os._exit(len(history.page()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(history.page()))
"""
    assert run(script, "") == "2 1\n"


def test_a_deleted_history_is_not_notified_of_forks(tmp_path):
    history = History(tmp_path / "history.db")
    database = history._database
    assert database in FORKS._watched
    history.close()
    del history, database
    assert not [one for one in FORKS._watched if str(tmp_path) in one.name]
