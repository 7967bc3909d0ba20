"""Waits for a condition, for as long as a busy machine may need.

Other calls wait without a limit: pytest's `--timeout` ends what hangs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
PAUSE_S = 0.01


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It never did.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, "it never got there"
        time.sleep(PAUSE_S)
