"""Calling something on an event loop, from wherever the caller is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def call_on(
    loop: asyncio.AbstractEventLoop,
    act: Callable[P, object],
    *args: P.args,
    **kwargs: P.kwargs,
) -> None:
    """Call a function on a loop: now if this is it, else as soon as it gets to it.

    To wake a loop from outside takes a system call and a turn of the loop.

    Raises:
        RuntimeError: The loop is closed.
    """
    if _running_loop() is loop:
        act(*args, **kwargs)
    else:
        loop.call_soon_threadsafe(lambda: act(*args, **kwargs))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
