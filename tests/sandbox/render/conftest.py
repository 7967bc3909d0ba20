"""The studio in which the tests of this folder render."""

from pathlib import Path

import pytest

from tests.sandbox.render.studio import Studio


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)
