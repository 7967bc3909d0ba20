"""Plant small faults in a copy of the source, one by one, and see whether tests fail.

    python tools/small_faults.py [name or room ...]

Each fault is one line that is wrong: a rate, a comparison, a commit left out, an escape
forgotten, a unit swapped, a lock missing. `tests` names who is expected to notice it;
when they do not, all tests of its room run until one fails. It is for those who change
the suite: what it caught before, it must catch afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAULTS = Path(__file__).with_name("small_faults.toml")
ROOMS = {
    "client": ("tests/client", "tests/history", "tests/durability"),
    "sandbox": ("tests/sandbox",),
    "widgets": ("tests/widgets", "tests/base", "tests/browser/modules"),
    "money": ("tests/spend", "tests/sweep"),
}
PYTEST = ("-q", "-x", "-p", "no:cacheprovider")
TWO_AT_ONCE = ("-n", "2", "--dist", "worksteal")
LIMIT_S = 900


def plant(fault: dict[str, str], source: Path) -> None:
    """Write the fault into a copy of the source.

    Raises:
        SystemExit: The right line is not there, or not only once.
    """
    path = source / "mediakit" / fault["file"]
    text = path.read_text("utf-8")
    if text.count(fault["right"]) != 1:
        found = text.count(fault["right"])
        raise SystemExit(f"{fault['name']}: {found} times in {fault['file']}")
    path.write_text(text.replace(fault["right"], fault["wrong"]), "utf-8")


def first_failure(fault: dict[str, str], tests: list[str]) -> str | None:
    """Return the line of the first test that fails with this fault; None for none.

    Raises:
        SystemExit: There are no such tests, or they are left to `make soak`.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        plant(fault, source)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *PYTEST, *tests],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(source)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return f"the tests hang for {LIMIT_S} s"
    if done.returncode == 0:
        return None
    if done.returncode in NO_TESTS:
        raise SystemExit(f"{fault['name']}: {done.stdout[-500:]}{done.stderr[-500:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(FAILED)]
    return failed[0] if failed else done.stdout[-500:] + done.stderr[-500:]


FAILED = ("FAILED", "ERROR")
NO_TESTS = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


def main(wanted: list[str]) -> int:
    """Try the faults; return how many no test noticed."""
    faults = tomllib.loads(FAULTS.read_text("utf-8"))["fault"]
    missed = 0
    for fault in faults:
        if wanted and not {fault["name"], fault["room"]} & set(wanted):
            continue
        failure = first_failure(fault, fault["tests"].split())
        if failure is None:
            room = [path for path in ROOMS[fault["room"]] if (ROOT / path).exists()]
            failure = first_failure(fault, [*TWO_AT_ONCE, *room])
            failure = failure and f"not noticed by {fault['tests']}, but {failure}"
        missed += failure is None
        print(f"{fault['name']}: {failure or 'NOT NOTICED'}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
