"""Virtual environments of the available interpreters, with packages installed by uv."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.support.servers.serving import ROOT

LIMIT_S = 900.0
END_CHARACTERS = 5_000
OURS = ("MEDIAKIT_", "PYTHONPATH", "COVERAGE_")
INSTALL = (Path(sys.prefix, "bin", "uv"), "pip", "install", "--quiet", "--python")
NEWEST, LOWEST = "constraints.txt", "constraints-lowest.txt"


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, python: str = sys.executable) -> Self:
        """Make an environment with a Python."""
        run([python, "-m", "venv", "--without-pip", folder])
        return cls(folder)

    def copied(self, folder: Path) -> Self:
        """Copy it: the same files, with the modules that are compiled already."""
        shutil.copytree(self.folder, folder, symlinks=True, copy_function=os.link)
        return type(self)(folder)

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def install(self, *what: object, constraints: str = NEWEST) -> None:
        """Install packages with the versions of a constraints file."""
        run([*INSTALL, self.python, "--constraint", ROOT / constraints, *what])

    def run(self, *arguments: object, cwd: Path = ROOT, **variables: str) -> str:
        """Run its Python; return what it wrote."""
        return run([self.python, *arguments], cwd=cwd, **variables)


def run(command: Sequence[object], cwd: Path = ROOT, **variables: str) -> str:
    """Run a program without the settings of this process; return what it wrote.

    Raises:
        AssertionError: It failed; quotes the end of what it wrote.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**_nobodys(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-END_CHARACTERS:]}"
    return done.stdout


def _nobodys() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(OURS)}


def built_once(
    factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]
) -> Path:
    """Build a folder once for all processes of this test run; return it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, ready = shared / name, shared / f"{name}.ready"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            build(folder)
            ready.touch()
    return folder


def builder(factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with the build backend and the tools that check a build."""

    def build(folder: Path) -> None:
        tools = ("hatchling", "hatch-fancy-pypi-readme", "twine")
        Environment.make(folder).install(*tools)

    return Environment(built_once(factory, "builder", build))


def find_python(minor: int) -> str | None:
    """Find Python 3.`minor`: this one, on the path or among pyenv's."""
    if sys.version_info[:2] == (3, minor):
        return sys.executable
    wanted = f"(3, {minor})"
    for candidate in _candidates(minor):
        told = subprocess.run(
            [candidate, "-c", "import sys; print(sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if told.stdout.strip() == wanted:
            return str(candidate)
    return None


def _candidates(minor: int) -> Iterator[Path]:
    # One on the path may be pyenv's substitute for a version that is not active.
    if found := shutil.which(f"python3.{minor}"):
        yield Path(found)
    if pyenv := pyenv_versions():
        yield from sorted(pyenv.glob(f"3.{minor}.*/bin/python"))


def pyenv_versions() -> Path | None:
    """Return the folder of pyenv's interpreters, if there is one."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return root if root.is_dir() else None
