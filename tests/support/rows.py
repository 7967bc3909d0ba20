"""Many rows in one test: all are checked, and the failed ones are named."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Row = TypeVar("Row")


def assert_each(rows: Iterable[Row], check: Callable[[Row], None]) -> None:
    """Check every row, also after one that failed.

    A separate test for each row takes longer than most checks.

    Raises:
        AssertionError: There are no rows.
        BaseExceptionGroup: The failures, each with its row. An error other than a
            failed assertion ends the test at once.
    """
    failures: list[BaseException] = []
    tried = 0
    for row in rows:
        tried += 1
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"The row: {row}")
            # `pytest.raises` fails with an exception of pytest's own.
            if not isinstance(failure, AssertionError | pytest.fail.Exception):
                raise
            failures.append(failure)
    assert tried, "there are no rows"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {tried} rows", failures)
