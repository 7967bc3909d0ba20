"""A cached property that may be read in a process that was just forked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801 - the usual name
    """A property that is computed once, without a lock, as in Python 3.12 and later.

    Python 3.11 computes it under a lock that all instances share. A process that is
    forked while another thread computes it would wait for that lock for ever.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
