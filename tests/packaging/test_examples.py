"""The example projects pass, with the wheel in their own environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.servers.serving import ROOT

EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
LIMIT_S = 1_200
PYTHON = "{python}"
TESTS = ("pytest", "-p", "no:cacheprovider")
# basedpyright is pyright as a wheel that needs no Node.js.
CHECKERS = (("mypy",), ("basedpyright", "--pythonpath", PYTHON))

pytestmark = pytest.mark.soak


@dataclass(frozen=True)
class Project:
    """An example, with the environment that it runs in.

    Args:
        folder: A copy of its files.
        python: The environment's Python.
        variables: The environment's variables.
    """

    folder: Path
    python: Path
    variables: dict[str, str]

    def run(self, *arguments: object) -> str:
        words = [f"{word}".replace(PYTHON, f"{self.python}") for word in arguments]
        done = subprocess.run(
            [self.python, "-m", *words],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-5_000:]
        return done.stdout


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.name)
def project(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Project:
    """Copy the example, and install it and the wheel where nothing else is."""
    place = tmp_path_factory.mktemp("example")
    folder = place / request.param.name
    shutil.copytree(request.param, folder, ignore=shutil.ignore_patterns(".*"))
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    venv.create(place / "venv", with_pip=True)
    project = Project(folder, place / "venv" / "bin" / "python", variables)
    quiet = ("--quiet", "--no-compile")
    project.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, ROOT)
    [wheel] = place.glob("mediakit-*.whl")
    pinned = ("--constraint", ROOT / "constraints.txt")
    project.run("pip", "install", *quiet, *pinned, wheel, ".[test]", "basedpyright")
    return project


def test_there_is_an_example() -> None:
    assert [path.name for path in EXAMPLES] == ["product_clips"]


@pytest.mark.parametrize("command", [TESTS, *CHECKERS], ids=lambda words: words[0])
def test_an_example_passes(project: Project, command: tuple[str, ...]) -> None:
    assert project.run(*command)
