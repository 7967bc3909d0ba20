"""The wheel and the sdist: the same bytes from the same files, and no other files.

`make soak` runs these tests, because they install the build backend.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

import mediakit
from tests.packaging.test_project import ROOT, project_files
from tests.support.environments import builder

pytestmark = pytest.mark.soak

NAME = f"mediakit-{mediakit.__version__}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a copy of the files that git tracks."""
    folder = tmp_path_factory.mktemp("tree") / "project"
    for path in project_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return build(folder, tmp_path_factory)


def build(folder: Path, factory: pytest.TempPathFactory) -> Path:
    target = ("-t", "sdist", "-t", "wheel", "-d", folder.parent / "dist")
    builder(factory).run("-m", "hatchling", "build", *target, cwd=folder)
    return folder.parent / "dist"


def contents(dist: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in dist.iterdir()}


def only(dist: Path, pattern: str) -> Path:
    [path] = dist.glob(pattern)
    return path


def test_a_build_from_the_sdist_gives_the_same_bytes(
    tree: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with tarfile.open(only(tree, "*.tar.gz")) as sdist:
        sdist.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    (folder / "PKG-INFO").unlink()  # written by the first build
    again = contents(build(folder, tmp_path_factory))

    assert sorted(again) == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    assert again == contents(tree)


def test_the_wheel_holds_the_package_and_its_metadata_alone(tree: Path) -> None:
    with zipfile.ZipFile(only(tree, "*.whl")) as wheel:
        names = {Path(name) for name in wheel.namelist()}
    source = Path("src/mediakit")
    tracked = {p.relative_to("src") for p in project_files() if source in p.parents}
    about = {path for path in names if path.parts[0].endswith(".dist-info")}

    assert names - about == tracked
    assert Path("mediakit/py.typed") in names
    assert {"METADATA", "RECORD", "WHEEL", "LICENSE"} == {path.name for path in about}


def test_the_sdist_holds_what_git_tracks(tree: Path) -> None:
    with tarfile.open(only(tree, "*.tar.gz")) as sdist:
        names = {Path(*Path(name).parts[1:]) for name in sdist.getnames()}

    assert names - {Path("PKG-INFO")} == set(project_files())
