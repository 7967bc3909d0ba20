"""Waiting for a due time of the sandbox's clock, or for being woken."""

import asyncio
from collections.abc import Callable

from mediakit.sandbox.scheduling.clock import SandboxClock
from mediakit.sandbox.scheduling.health import Health, until_done


class Alarm:
    """One loop waits on it; anybody on the same event loop may ring it.

    Args:
        clock: The sandbox's clock, which due times are of.
    """

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the loop that waits, or keep its next wait from starting."""
        self._rung.set()

    async def wait(self, due_us: int | None) -> None:
        """Return once rung, or when an instant of the sandbox has come.

        Args:
            due_us: The instant; None waits for the ring alone.
        """
        seconds = None if due_us is None else self._clock.real_s_until(due_us)
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return
        self._rung.clear()


async def keep_doing(
    health: Health, work: str, alarm: Alarm, turn: Callable[[], int | None]
) -> None:
    """Do what is due, again and again, whatever a turn raises.

    Args:
        health: Knows while a turn fails.
        work: What is done.
        alarm: Rings when there may be new work.
        turn: Does what is due and returns when the next is; None when nothing waits.
    """
    while True:
        await alarm.wait(await until_done(health, work, turn))
