"""Many rows in one test: each is tried, and those that fail are named."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def assert_each(rows: Iterable[Row], check: Callable[[Row], None]) -> None:
    """Check every row, also after one that failed.

    A test of its own for each row costs more than most checks.

    Raises:
        AssertionError: There are no rows.
        ExceptionGroup: The failures, each with the row that it is about. An error that
            is no failed assertion ends the test at once.
    """
    failures: list[Exception] = []
    tried = 0
    for row in rows:
        tried += 1
        try:
            check(row)
        except Exception as failure:
            failure.add_note(f"The row: {row}")
            if not isinstance(failure, AssertionError):
                raise
            failures.append(failure)
    assert tried, "there are no rows"
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {tried} rows", failures)
