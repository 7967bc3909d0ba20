"""The wheel and the sdist: built here, or by `make dist`, which names their folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.test_project import ROOT, project_files
from tests.support.environments import Environment, builder, built_once


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the wheel and the sdist, built from what git tracks."""
    if "MEDIAKIT_DIST" in os.environ:
        return Path(os.environ["MEDIAKIT_DIST"])

    def build(folder: Path) -> None:
        tree = tmp_path_factory.mktemp("tree") / "project"
        for path in project_files():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, tree / path)
        build_in(tree, folder, tmp_path_factory)

    return built_once(tmp_path_factory, "dist", build)


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    """Return the wheel."""
    [built] = dist.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def alone_on(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Environment]:
    """Return a function that installs the wheel alone on a Python, once for all.

    A copy of it has the modules that are compiled already.
    """

    def install(python: str) -> Environment:
        def build(folder: Path) -> None:
            Environment.make(folder, python).install(wheel)

        name = f"alone{python.replace(os.sep, '-')}"
        return Environment(built_once(tmp_path_factory, name, build))

    return install


def build_in(tree: Path, target: Path, factory: pytest.TempPathFactory) -> None:
    """Build the sdist and the wheel of a folder, without git."""
    what = ("-t", "sdist", "-t", "wheel", "-d", target)
    builder(factory).run("-m", "hatchling", "build", *what, cwd=tree)
