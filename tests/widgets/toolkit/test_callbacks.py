"""No handler fails silently."""

from __future__ import annotations

import asyncio
import threading

from mediakit.errors import InputError
from mediakit.widgets.toolkit.callbacks import guarded, guarded_async

DEFECT = "ZeroDivisionError: division by zero. This is a defect in mediakit, "


def test_an_error_for_people_is_given_as_it_is() -> None:
    said: list[str] = []

    @guarded(said.append)
    def handle() -> None:
        raise InputError("duration", got=99, accepted="3 to 15 s")

    handle()
    assert said == ["duration must be 3 to 15 s (got 99). Nothing was sent."]


def test_any_other_error_is_called_a_defect() -> None:
    said: list[str] = []

    guarded(said.append)(lambda: 1 / 0)()
    assert said == [f"{DEFECT}please report it."]


def test_a_coroutine_that_nobody_waits_for_is_guarded_too() -> None:
    said: list[str] = []

    async def run() -> None:
        await guarded_async(said.append)(fail)()

    async def fail() -> None:
        _ = 1 / 0

    asyncio.run(run())
    assert said == [f"{DEFECT}please report it."]


def test_a_handler_runs_alone_and_releases_the_lock_after_an_error() -> None:
    lock = threading.RLock()
    said: list[str] = []
    guard = guarded(said.append, lock)

    guard(lambda: 1 / 0)()
    other = threading.Thread(target=guard(lambda: said.append("ran")))
    other.start()
    other.join(10)
    assert said[1:] == ["ran"]
