"""Run the tests. The few that fail are run once more, alone, and are named.

A browser, a kernel and hundreds of processes share two cores with whatever else the
machine does, so that in some runs one of 6,000 tests meets an unusual delay.
Such a test is printed as one to repair, and does not refuse what has nothing to do with
it. Tests that kill and restart at random get no second run: what they see is a defect.

    python -m tools.run_tests [ARGUMENTS OF PYTEST]
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

MOST_RUN_AGAIN = 4  # more than these is no accident
NEVER_RUN_AGAIN = ("tests/durability/", "tests/spec/")
GROUP = re.compile(r"@[\w-]+$")  # what pytest-xdist adds to the id of a test


class Failures:
    """A plugin of pytest that keeps which tests failed."""

    def __init__(self) -> None:
        self.test_ids: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the id of a test that failed."""
        test_id = GROUP.sub("", report.nodeid)
        if report.failed and test_id not in self.test_ids:
            self.test_ids.append(test_id)


def are_run_again(test_ids: list[str]) -> bool:
    """Return whether failures may be accidents of a busy machine."""
    return 0 < len(test_ids) <= MOST_RUN_AGAIN and not any(
        test_id.startswith(NEVER_RUN_AGAIN) for test_id in test_ids
    )


def main(arguments: list[str]) -> int:
    """Run the tests, and some of them twice; return pytest's exit status."""
    failures = Failures()
    status = pytest.main(arguments, plugins=[failures])
    test_ids = failures.test_ids
    if status != pytest.ExitCode.TESTS_FAILED or not are_run_again(test_ids):
        return int(status)
    sys.stdout.write(f"\nRunning what failed again, alone ({len(test_ids)}):\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "--timeout", "900", *test_ids]
    status_alone = subprocess.run(command, check=False).returncode
    if status_alone == 0:
        names = "\n".join(test_ids)
        sys.stdout.write(f"\nFailed at first and passed alone, to repair:\n{names}\n")
    return status_alone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
