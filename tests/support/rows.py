"""Many rows in one test: each is tried, and those that fail are named."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Row = TypeVar("Row")


def assert_each(rows: Iterable[Row], check: Callable[[Row], None]) -> None:
    """Check every row, also after one that failed.

    A test of its own for each row costs more than most checks.

    Raises:
        AssertionError: There are no rows.
        BaseExceptionGroup: The failures, each with the row that it is about. An error
            that is no failed assertion ends the test at once.
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
