"""Forks: a child of a process with an open history works on the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mediakit.history import History
from tests.support.soak import BOTH_DATABASES
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


@pytest.fixture(params=BOTH_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "sqlite":
        return tmp_path / "history.db"
    return request.getfixturevalue("postgres_url")


def test_a_forked_child_and_its_parent_write_to_one_history(place: Any) -> None:
    process = start(FORK, place)
    process.communicate()

    assert process.returncode == 0
    with History(place) as history:
        keys = {entry.key for entry in history.page(limit=1_000)}
        one = history.find("media_1")
    assert keys == {"before", "child", "child again", "parent", "parent again"}
    assert one is not None
    assert one.charge_micro_usd == 340_000
