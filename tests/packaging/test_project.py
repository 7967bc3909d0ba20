"""The repository itself: what is in it, what must never be, and what it promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

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
KEY = re.compile(
    r"\b(?:sk|rk|ghp|gho|xox[abp]|AKIA|whsec)[-_]?[A-Za-z0-9]{24,}"
    r"|(?i:api_key|secret|password)\W{1,4}[\"'][A-Za-z0-9+/_-]{24,}[\"']"
)


def project_files() -> list[Path]:
    """List what git tracks, and what it would if it were added now."""
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


def test_no_file_holds_a_path_of_one_machine() -> None:
    found = [
        (str(path), match.group())
        for path, text in project_texts()
        for match in MACHINE_PATH.finditer(text)
    ]
    assert found == []


def test_no_file_holds_a_key() -> None:
    found = [str(path) for path, text in project_texts() if KEY.search(text)]
    assert found == []


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
def test_neither_mediakit_nor_a_form_loads_what_it_does_not_need_yet(
    module: str, heavy: set[str]
) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(told.stdout.split())
    assert module in loaded
    assert heavy & loaded == set()
