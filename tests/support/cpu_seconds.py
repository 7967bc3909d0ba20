"""Prints what a run of the tests cost: CPU seconds, by room, and the dearest tests."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

CPU = "cpu_s"
DEAREST = 10
ALL = Path(__file__).parents[2] / "build" / "cpu_seconds.json"


def _cpu_s(*, with_living: bool) -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = os.times()
    own_s = used.user + used.system + used.children_user + used.children_system
    return own_s + (_living_s() if with_living else 0.0)


def _living_s() -> float:
    # Looking for them takes 8 ms: only for tests whose work is done by other processes.
    total_s = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            used = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total_s += used.user + used.system + used.children_user + used.children_system
    return total_s


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the CPU seconds of a test with its fixtures."""
    in_browser = item.get_closest_marker("browser") is not None
    item.stash[_BEFORE] = _cpu_s(with_living=in_browser)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:
    """Add them to the report that xdist sends to the process that prints."""
    if call.when == "teardown":
        in_browser = item.get_closest_marker("browser") is not None
        used_s = _cpu_s(with_living=in_browser) - item.stash[_BEFORE]
        item.user_properties.append((CPU, used_s))
    yield


_BEFORE = pytest.StashKey[float]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the CPU seconds of the run."""
    tests: dict[str, float] = {}
    for report in (one for kind in terminalreporter.stats.values() for one in kind):
        if getattr(report, "when", None) == "teardown":
            tests[report.nodeid] = dict(report.user_properties).get(CPU, 0.0)
    if not tests:
        return
    ALL.parent.mkdir(exist_ok=True)
    ALL.write_text(json.dumps(tests, indent=0))
    rooms: Counter[str] = Counter()
    for name, used_s in tests.items():
        rooms[name.removeprefix("tests/").split("::")[0].split("/")[0]] += used_s  # type: ignore[assignment]
    line = terminalreporter.write_line
    line(f"{_cpu_s(with_living=False):.0f} CPU seconds, of which in tests:")
    line(", ".join(f"{room} {used_s:.0f}" for room, used_s in rooms.most_common()))
    line(f"The {DEAREST} dearest tests, in CPU seconds:")
    for name in sorted(tests, key=tests.__getitem__, reverse=True)[:DEAREST]:
        line(f"{tests[name]:7.1f}  {name}")
