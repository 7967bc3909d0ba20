"""The example projects pass, with the wheel in their own environment."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.environments import Environment
from tests.support.servers.serving import ROOT

EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
PYTHON = "{python}"
TESTS = ("pytest", "-p", "no:cacheprovider")
# It is pyright as a wheel that needs no Node.js; `make check` has mypy.
PYRIGHT = ("basedpyright", "--pythonpath", PYTHON)
TYPED_CALLS = Path(__file__).with_name("typed_calls.py")

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("example")]  # one environment


@dataclass(frozen=True)
class Project:
    """An example, with the environment that it runs in."""

    folder: Path
    environment: Environment

    def run(self, *words: str) -> str:
        python = self.environment.python
        arguments = (word.replace(PYTHON, python) for word in words)
        return self.environment.run("-m", *arguments, cwd=self.folder)


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.name)
def project(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    wheel: Path,
    alone_on: Callable[[str], Environment],
) -> Project:
    """Copy the example, and install it and the wheel where nothing else is."""
    place = tmp_path_factory.mktemp("example")
    folder = place / request.param.name
    shutil.copytree(request.param, folder, ignore=shutil.ignore_patterns(".*"))
    environment = alone_on(sys.executable).copied(place / "venv")
    environment.install(wheel, f"{folder}[test]", "basedpyright")
    return Project(folder, environment)


@pytest.mark.parametrize("command", [TESTS, PYRIGHT], ids=lambda words: words[0])
def test_an_example_passes(project: Project, command: tuple[str, ...]) -> None:
    assert project.run(*command)


def test_pyright_knows_the_types_of_the_calls_in_the_readme(project: Project) -> None:
    assert project.run(*PYRIGHT, "--level", "error", str(TYPED_CALLS))
