"""The benchmark of a key press runs in the JupyterLab of these tests."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from tests.browser.harness import Lab
from tests.support.servers.serving import ROOT

pytestmark = pytest.mark.browser

KEYS = 3


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    path = ROOT / "benchmarks" / "keystroke.py"
    spec = spec_from_file_location("benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])  # it adds the project's folder
    spec.loader.exec_module(module)
    return module


@pytest.mark.soak
def test_each_key_is_timed_to_the_price_and_in_our_handler(
    lab: Lab, benchmark: Any
) -> None:
    benchmark.KEYS, benchmark.WARM_UP = KEYS, 1

    for times_ms in benchmark.measure(lab):
        assert len(times_ms) == KEYS
        assert all(time_ms > 0 for time_ms in times_ms)
