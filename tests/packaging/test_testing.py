"""The fixtures that other projects' tests get from `mediakit.testing`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mediakit as mk
from mediakit.testing import RunningSandbox

LOADED = """
import sys
import pytest
before = set(sys.modules)
import mediakit.testing
print(*sorted(set(sys.modules) - before))
"""
TWO_TESTS = """
from datetime import UTC, datetime, timedelta
import pytest
import mediakit as mk

def test_one(mediakit_sandbox, mediakit_client):
    mediakit_sandbox.fault("fail_render")
    mediakit_sandbox.advance(hours=30)
    with pytest.raises(mk.JobFailedError):
        mediakit_client.run("text-to-image", prompt="a kite")

def test_two(mediakit_sandbox, mediakit_client):
    assert len(mediakit_client.history.frame()) == 0
    assert mediakit_sandbox.clear_faults() == 0
    now = datetime.fromisoformat(mediakit_sandbox.advance()["now"])
    assert now - datetime.now(UTC) < timedelta(hours=1)
"""


def test_the_plugin_imports_nothing_before_a_fixture_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) == {"mediakit", "mediakit.testing"}


def test_code_that_connects_by_itself_finds_the_sandbox(
    mediakit_sandbox: RunningSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    with mk.connect() as client:
        assert client.service.base_url == mediakit_sandbox.base_url
        assert len(client.history.frame()) == 0
    assert "no real money" in capsys.readouterr().out


def test_a_job_of_the_fixture_is_charged(mediakit_client: mk.Client) -> None:
    job = mediakit_client.run("text-to-image", prompt="a red kite")

    assert job.settle().charge_micro_usd == 50_000


@pytest.mark.mediakit_sandbox(balance_micro_usd=10_000)
class TestMarker:
    def test_the_marker_changes_a_setting(self, mediakit_client: mk.Client) -> None:
        with pytest.raises(mk.BalanceError):
            mediakit_client.submit("text-to-image", prompt="a red kite")

    @pytest.mark.mediakit_sandbox(balance_micro_usd=70_000)
    def test_the_nearest_marker_wins(self, mediakit_client: mk.Client) -> None:
        assert mediakit_client.balance().balance_micro_usd == 70_000


@pytest.mark.soak
def test_each_test_has_a_sandbox_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["mediakit.testing"]\n')
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, "--strict-markers"], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
