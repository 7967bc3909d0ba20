"""What is declared is what is imported, and what the constraints hold."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.packaging.test_project import ROOT, project_metadata

# Each with the newest Python that it is for.
CONSTRAINTS = {"constraints.txt": "3.14", "constraints-lowest.txt": "3.12"}
# Packages that belong to another one, or to a distribution of another name.
HOMES = {
    "mediakit": "jupyter-mediakit",
    "PIL": "pillow",
    "httpcore": "httpx",
    "mlflow": "mlflow-skinny",
    "jupyter_core": "ipykernel",  # asked only in a kernel of a Jupyter server
    "pydantic_core": "pydantic",
    "traitlets": "ipywidgets",
}


@pytest.mark.parametrize("file", CONSTRAINTS)
def test_constraints_hold_every_dependency(file: str) -> None:
    binder = (ROOT / "binder" / "requirements.txt").read_text("utf-8").splitlines()
    python = CONSTRAINTS[file]
    names = {canonicalize_name(one.name) for one in requirements(python=python)}
    names.add(canonicalize_name(binder[-1]))
    assert names - pinned(file).keys() == {"jupyter-mediakit"}


def test_the_lowest_constraints_are_the_floors_of_what_people_install() -> None:
    floors = {
        canonicalize_name(one.name): Version(floor.version)
        for one in requirements(python="3.12", without={"dev", "docs", "soak"})
        for floor in one.specifier
        if floor.operator == ">="
    }
    lowest = pinned("constraints-lowest.txt")
    assert {name: lowest[name] for name in floors} == floors


def test_the_core_imports_each_of_its_dependencies_and_no_other() -> None:
    extras = project_metadata()["optional-dependencies"]
    assert isinstance(extras, dict)
    core = {canonicalize_name(one.name) for one in requirements(without=set(extras))}
    others = {canonicalize_name(one.name) for one in requirements()} - core
    imported = {
        canonicalize_name(HOMES.get(name, name)) for name in imported_packages()
    }

    assert core - imported == set()
    assert imported - core - others == set()


def requirements(
    *, python: str = "3.14", without: Collection[str] = ()
) -> Iterator[Requirement]:
    """Yield the dependencies of the core, and of all extras but some, on a Python."""
    metadata = project_metadata()
    core, extras = metadata["dependencies"], metadata["optional-dependencies"]
    assert isinstance(core, list)
    assert isinstance(extras, dict)
    chosen = (lines for extra, lines in extras.items() if extra not in without)
    for text in chain(core, *chosen):
        requirement, on = Requirement(text), {"python_version": python}
        if requirement.marker is None or requirement.marker.evaluate(on):
            yield requirement


def pinned(file: str) -> dict[str, Version]:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


# Lines of imports; to parse all of the source would take many times as long.
IMPORT = re.compile(
    r"^ *(?:from ([\w.]+) import\b|import ([\w.]+(?: as \w+)?)(?: *#.*)?$)",
    re.MULTILINE,
)


def imported_packages() -> set[str]:
    """Return the packages, of other people, that the source imports anywhere."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for source, name in IMPORT.findall(path.read_text("utf-8")):
            found.add((source or name.split()[0]).partition(".")[0])
    return found - sys.stdlib_module_names - {"_typeshed"}
