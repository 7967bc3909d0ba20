"""Prints the CPU seconds of a test run, by folder, and the slowest tests."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

CPU = "cpu_s"
SLOWEST_N = 10
TICKS_HZ = os.sysconf("SC_CLK_TCK")
ALL = Path(__file__).parents[2] / "build" / "cpu_seconds.json"


def _cpu_s() -> float:
    """Return the CPU seconds of this process and its children."""
    # Running children count, too: otherwise a shared server's time would be added to
    # the test in which it ends.
    return sum(map(_used_s, (os.getpid(), *_descendants(os.getpid()))))


def _descendants(pid: int) -> Iterator[int]:
    try:
        tasks = [
            path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")
        ]
    except OSError:  # it has ended meanwhile, or this is not Linux
        return
    for child in map(int, " ".join(tasks).split()):
        yield child
        yield from _descendants(child)


def _used_s(pid: int) -> float:
    """Return the CPU seconds of a process and its ended children; 0 once it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    # utime, stime, cutime and cstime, the fields 14 to 17; a name may have spaces.
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICKS_HZ


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to count with the first test."""
    session.config.stash[_COUNTED_S] = _cpu_s()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:
    """Add the seconds to the report that xdist sends to the main process."""
    if call.when == "teardown":
        now_s, before_s = _cpu_s(), item.config.stash[_COUNTED_S]
        # Killed children that were not waited for are not counted, so the result is at
        # least 0.
        item.user_properties.append((CPU, max(0.0, now_s - before_s)))
        item.config.stash[_COUNTED_S] = now_s
    yield


_COUNTED_S = pytest.StashKey[float]()


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
    line(f"{_cpu_s():.0f} CPU seconds, of which in tests:")
    line(", ".join(f"{room} {used_s:.0f}" for room, used_s in rooms.most_common()))
    line(f"The {SLOWEST_N} slowest tests, in CPU seconds:")
    for name in sorted(tests, key=tests.__getitem__, reverse=True)[:SLOWEST_N]:
        line(f"{tests[name]:7.1f}  {name}")
