"""The repository: required and forbidden contents, and its promises."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from runpy import run_path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import mediakit

ROOT = Path(__file__).parents[2]
KB = 1_000
MAX_FILE_BYTES = 100 * KB
MAX_SCREENSHOT_BYTES = 300 * KB
PICTURES = (Path("docs/images"), Path("tests/plots/references"))

# Put together here, so that this file does not hold what it looks for.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("deb", "debian", "org"),
        ("anaconda", "org"),
    )
]
# An example in a sentence may be at home with "me".
MACHINE_PATH = re.compile(
    r"(?<![\w.)}])/(?:(?:home|Users)/(?!me/)|(?:root|work|opt|mnt)/)\w"
)
# On the package index, `mediakit` is another project.
FOREIGN_INSTALL = re.compile(
    r"\binstall(?: -\S+)* [\"'`]?mediakit(?![\w.-])|(?<![\w-])mediakit\[\w+(?:,\w+)*\]"
)
USER_TEXTS = {"README.md", "CHANGELOG.md", "docs", "examples", "notebooks", "src"}
OLD_DATA = "tests/history/versions/"
KEY = re.compile(
    r"\b(?:sk|rk|ghp|gho|xox[abp]|AKIA|whsec)[-_]?[A-Za-z0-9]{24,}"
    r"|(?i:api_key|secret|password)\W{1,4}[\"'][A-Za-z0-9+/_-]{24,}[\"']"
)


def project_files() -> list[Path]:
    """List tracked files, and untracked ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = {name for name in listed.stdout.split("\0") if name}
    return sorted(Path(name) for name in names if (ROOT / name).is_file())


def project_texts() -> Iterator[tuple[Path, str]]:
    for path in project_files():
        try:
            yield path, (ROOT / path).read_text("utf-8")
        except UnicodeDecodeError:
            assert path.parent in PICTURES, f"{path} is neither text nor a picture"


def project_metadata() -> dict[str, object]:
    metadata: dict[str, object] = tomllib.loads(
        (ROOT / "pyproject.toml").read_text("utf-8")
    )["project"]
    return metadata


def test_no_notebook_stores_an_output() -> None:
    for path in project_files():
        if path.suffix == ".ipynb":
            notebook = json.loads((ROOT / path).read_text("utf-8"))
            for cell in notebook["cells"]:
                assert not cell.get("outputs"), f"{path}, cell {cell['id']}"
                assert cell.get("execution_count") is None, f"{path}, cell {cell['id']}"
            assert "widgets" not in notebook["metadata"], path


def test_no_file_names_a_package_registry() -> None:
    named = [
        (str(path), host)
        for path, text in project_texts()
        for host in REGISTRY_HOSTS
        if host in text
    ]
    assert named == []


def test_nothing_tells_a_user_to_install_another_project_of_this_name() -> None:
    sentences = [
        (str(path), match.group())
        for path, text in project_texts()
        if path.parts[0] in USER_TEXTS
        for match in FOREIGN_INSTALL.finditer(text)
    ]
    assert sentences == []


def test_no_file_holds_a_path_of_one_machine() -> None:
    found = [
        (str(path), match.group())
        for path, text in project_texts()
        for match in MACHINE_PATH.finditer(text)
    ]
    assert found == []


def test_no_file_holds_a_key() -> None:
    found = [str(path) for path, text in project_texts() if KEY.search(text)]
    # The secrets of sandboxes that ended open nothing.
    assert [name for name in found if not name.startswith(OLD_DATA)] == []


def test_no_file_is_large() -> None:
    large = [
        (str(path), size)
        for path in project_files()
        if (size := (ROOT / path).stat().st_size)
        > (MAX_SCREENSHOT_BYTES if path.parent in PICTURES else MAX_FILE_BYTES)
    ]
    assert large == []


def test_the_version_is_the_same_everywhere() -> None:
    released = re.findall(
        r"^## \[?(\d[^\]\s]*)", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert project_metadata()["version"] == released[0] == mediakit.__version__


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (
            "mediakit",
            {"IPython", "av", "ipywidgets", "matplotlib", "pandas", "sqlalchemy"}
            | {"starlette"},
        ),
        ("mediakit.widgets.form.controller", {"matplotlib", "pandas", "starlette"}),
    ],
)
def test_mediakit_and_a_form_import_only_the_modules_they_need(
    module: str, heavy: set[str]
) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(told.stdout.split())
    assert module in loaded
    assert heavy & loaded == set()


def test_the_maps_of_floors_and_rooms_are_those_that_imports_obey() -> None:
    with_maps = run_path(str(ROOT / "tools" / "write_maps.py"))["with_maps"]
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert page.count("generated by `make docs`") == 2
    assert with_maps(page) == page


def test_every_place_to_look_in_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = page.partition("| to change | look in |\n|---|---|\n")[2].partition("\n\n")[
        0
    ]
    paths = re.findall(r"`([\w/.]+)`", rows)
    assert len(paths) > 20
    bases = (ROOT, ROOT / "src" / "mediakit")
    assert [p for p in paths if not any((base / p).exists() for base in bases)] == []


def test_a_class_name_stands_for_one_class() -> None:
    counts = Counter(
        node.name
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, n in counts.items() if n > 1] == []


# -- dependencies ----------------------------------------------------------------------


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
