"""Every benchmark runs, with few rounds and jobs, and without installing anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.serving import ROOT

pytestmark = pytest.mark.soak

LIMIT_S = 600  # it ends one that hangs
BENCHMARKS = ROOT / "benchmarks"
# The constants of each that decide how long it takes; of a table, how many rows stay.
SMALL: dict[str, dict[str, Any]] = {
    "client_overhead": {
        "ROUNDS": 1,
        "PAIRS": {"one": 5, "50": 50},
        "TRANSPORTS": [],
        "SDKS": [],
    },
    "form_build": {"ROUNDS": 1, "PACKAGES": []},
    "history": {"ROUNDS": 1, "JOBS": 1_000, "CLAIMS": 10},
    "import_time": {"ROUNDS": 1},
    "lost_answers": {"PACKAGES": {}, "ROWS": 3},
    "price_and_check": {"ROUNDS": 1, "CALLS": 5},
    "render": {"ROUNDS": 1, "CASES": [["r1", {"duration": 3, "resolution": "720p"}]]},
    "sandbox_start": {"ROUNDS": 1},
    "sandbox_throughput": {
        "ROUNDS": 1,
        "SECONDS": 0.3,
        "WARM_UP_SECONDS": 0.1,
        "NPM": "no-npm",
    },
    "spend": {"ROWS": 10_000, "ROUNDS": 1},
    "spend_plots": {"ROUNDS": 1, "DAYS": 20},
    "sweeps": {
        "ROUNDS": 1,
        "SLOTS": {"animal": [*"abcdefghij"], "place": ["b"], "light": ["c"]},
        "FIELDS": {"duration": [3], "resolution": ["720p", "1080p"]},
        "LARGE": 40,
        "LARGE_TAKES": 1,
        "OWNED": 2,
        "CELLS": 20,
    },
    "transfers": {"ROUNDS": 1, "SIZE_BYTES": 1_000_000, "SDKS": []},
    "watching": {"JOBS": 20, "RUNS_S": [0.5, 1.0]},
}
# Missed limits mean nothing for so few rounds: only completion counts.
RUN = """
import json, runpy, sys
import importlib.util
path, small = sys.argv[1:]
sys.argv = [path]
sys.path.insert(0, path.rpartition("/")[0])
spec = importlib.util.spec_from_file_location("benchmark", path)
module = importlib.util.module_from_spec(spec)
sys.modules["benchmark"] = module
spec.loader.exec_module(module)
for name, value in json.loads(small).items():
    full = getattr(module, name)
    is_table = isinstance(full, tuple) and isinstance(value, int)
    setattr(module, name, full[:value] if is_table else value)
module.main()
"""


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_completes(name: str, tmp_path: Path) -> None:
    script = BENCHMARKS / f"{name}.py"
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(script), json.dumps(SMALL[name])],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert done.stdout
