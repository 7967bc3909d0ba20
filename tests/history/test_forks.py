"""Forks: a child of a process with an open history works on the same file."""

from __future__ import annotations

from typing import Any

from mediakit.history import History
from tests.support.submissions import start

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


OUTLIVES = """
import os, sys
from mediakit.history import History
from tests.support.submissions import submission

history = History(sys.argv[1])
history.claim(submission("before"))
closed, close = os.pipe()
begun, begin = os.pipe()
child = os.fork()
if child == 0:
    with History(sys.argv[1]) as its_own:
        its_own.claim(submission("child"))
        os.write(begin, b"1")
        os.read(closed, 1)
        its_own.claim(submission("child again"))
    os._exit(0)
os.read(begun, 1)
history.close()
os.write(close, b"1")
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_parent_that_closes_its_history_takes_nothing_from_its_child(
    place: Any,
) -> None:
    process = start(OUTLIVES, place)
    process.finish()

    assert process.returncode == 0
    with History(place) as history:
        keys = {entry.key for entry in history.page(limit=1_000)}
    assert keys == {"before", "child", "child again"}


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
