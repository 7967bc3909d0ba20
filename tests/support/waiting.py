"""Waits for a condition, for as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0
PAUSE_S = 0.01


def until(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It never did.
    """
    deadline_s = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline_s, "it never got there"
        time.sleep(PAUSE_S)
