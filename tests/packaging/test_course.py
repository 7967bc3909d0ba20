"""The course on one sandbox: as scripts made by jupytext, and under papermill.

No notebook has a magic or an await outside a function, so plain Python runs their
scripts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mediakit.history import History
from tests.support.notebooks import PATHS, copied, ipython_environment
from tests.support.offline import Offline

LIMIT_S = 240
COURSE = [path.stem for path in PATHS]
NEW_JOBS_EACH_TIME = {"02_webhooks": 2}

JUPYTEXT = ["-m", "jupytext", "--to=py", "--quiet"]
PAPERMILL = ["-m", "papermill", "--kernel=python3", "{}.ipynb", "{}.done.ipynb"]


def run(folder: Path, environment: Mapping[str, str], command: list[str]) -> None:
    """Run a Python program among the notebooks, without a network."""
    offline = Offline(folder)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder / "notebooks",
        env={**environment, **offline.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, (
        f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    )
    assert offline.outside == set()


def jobs(folder: Path) -> int:
    """Return how many jobs the history has."""
    history = History(folder / "home" / "history.sqlite3")
    count = len(history.frame())
    history.close()
    return count


pytestmark = pytest.mark.soak


# One test, because each run after the first must find the jobs of the one before.
def test_the_course_runs_as_scripts_and_under_papermill_and_pays_once(
    tmp_path: Path,
) -> None:
    copied(tmp_path)
    environment = ipython_environment(tmp_path)
    run(tmp_path, environment, [*JUPYTEXT, *(f"{name}.ipynb" for name in COURSE)])
    for name in COURSE:
        run(tmp_path, environment, [f"{name}.py"])

    for name in COURSE:
        before = jobs(tmp_path)
        run(tmp_path, environment, [word.format(name) for word in PAPERMILL])
        assert jobs(tmp_path) - before == NEW_JOBS_EACH_TIME.get(name, 0), name
