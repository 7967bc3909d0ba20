"""The wheel, which several tests install in environments of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.environments import builder, built_once


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""

    def build(folder: Path) -> None:
        backend = builder(tmp_path_factory)
        backend.run("-m", "hatchling", "build", "-t", "wheel", "-d", folder)

    [built] = built_once(tmp_path_factory, "wheel", build).glob("*.whl")
    return built
