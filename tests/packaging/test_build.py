"""The wheel and the sdist: the same bytes from the same files, and no other files.

`make soak` runs these tests, because they install the build backend.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import mediakit
from tests.packaging.conftest import build_in
from tests.packaging.test_project import project_files
from tests.support.environments import builder

pytestmark = pytest.mark.soak

NAME = f"jupyter_mediakit-{mediakit.__version__}"
MAX_WHEEL_BYTES, MAX_SDIST_BYTES = 1_500_000, 8_000_000
RELATIVE_LINK = re.compile(r"\]\((?!https?:)[^)]*\)")


def contents(dist: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in dist.iterdir()}


def only(dist: Path, pattern: str) -> Path:
    [path] = dist.glob(pattern)
    return path


def test_a_build_from_the_sdist_gives_the_same_bytes(
    dist: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as sdist:
        sdist.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    (folder / "PKG-INFO").unlink()  # written by the first build
    build_in(folder, tmp_path / "dist", tmp_path_factory)
    again = contents(tmp_path / "dist")

    assert sorted(again) == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    assert again == contents(dist)


def test_the_wheel_has_only_the_package_and_its_metadata(dist: Path) -> None:
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = {Path(name) for name in wheel.namelist()}
    source = Path("src/mediakit")
    tracked = {p.relative_to("src") for p in project_files() if source in p.parents}
    about = {path for path in names if path.parts[0].endswith(".dist-info")}

    assert names - about == tracked
    assert Path("mediakit/py.typed") in names
    assert {"METADATA", "RECORD", "WHEEL", "LICENSE"} == {path.name for path in about}


def test_the_sdist_holds_what_git_tracks(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as sdist:
        names = {Path(*Path(name).parts[1:]) for name in sdist.getnames()}

    assert names - {Path("PKG-INFO")} == set(project_files())


def test_a_package_index_accepts_the_metadata_and_shows_no_dead_link(
    dist: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = (only(dist, "*.whl"), only(dist, "*.tar.gz"))
    report = builder(tmp_path_factory).run("-m", "twine", "check", "--strict", *files)
    with zipfile.ZipFile(files[0]) as wheel:
        [path] = [name for name in wheel.namelist() if name.endswith("METADATA")]
        metadata = message_from_bytes(wheel.read(path))

    assert report.count("PASSED") == 2
    assert metadata["Name"] == "jupyter-mediakit"
    description = metadata.get_payload()
    assert isinstance(description, str)
    assert "## The same job in eight lines" in description
    assert RELATIVE_LINK.findall(description) == []


def test_a_build_is_small_and_carries_scripts_and_styles(dist: Path) -> None:
    wheel = only(dist, "*.whl")
    with zipfile.ZipFile(wheel) as archive:
        suffixes = {Path(name).suffix for name in archive.namelist()}

    assert suffixes >= {".css", ".js", ".py"}
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    assert only(dist, "*.tar.gz").stat().st_size < MAX_SDIST_BYTES
