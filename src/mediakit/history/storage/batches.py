"""Lists that a statement takes, as long as every database takes them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

LONGEST_LIST = 1_000


def batches(values: Iterable[T], size: int = LONGEST_LIST) -> Iterator[list[T]]:
    """Split values into lists of at most so many."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch
