"""No handler fails silently."""

from __future__ import annotations

import asyncio
import threading

from mediakit.widgets.toolkit.callbacks import guarded, guarded_async

DEFECT = "ZeroDivisionError: division by zero. This is a bug in mediakit. "


def test_a_coroutine_that_is_not_awaited_is_guarded_too() -> None:
    said: list[str] = []

    async def run() -> None:
        await guarded_async(said.append)(fail)()

    async def fail() -> None:
        _ = 1 / 0

    asyncio.run(run())
    assert said == [f"{DEFECT}Please report it."]


def test_a_handler_runs_alone_and_releases_the_lock_after_an_error() -> None:
    lock = threading.RLock()
    said: list[str] = []
    guard = guarded(said.append, lock)

    guard(lambda: 1 / 0)()
    other = threading.Thread(target=guard(lambda: said.append("ran")))
    other.start()
    other.join(60)
    assert said[1:] == ["ran"]
