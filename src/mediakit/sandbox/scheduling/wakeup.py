"""Waits for a due time of the sandbox's clock, or for a wakeup."""

import asyncio
from collections.abc import Callable

from mediakit.sandbox.scheduling.clock import SandboxClock
from mediakit.sandbox.scheduling.work_retry import Health, retry_until_done


class Wakeup:
    """One task waits on it; any code on the same event loop may wake that task.

    Args:
        clock: The sandbox's clock, which due times refer to.
    """

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Wake the waiting task, or make its next wait return at once."""
        self._woken.set()

    async def wait(self, due_us: int | None) -> None:
        """Return once woken, or at an instant of the sandbox's clock.

        Args:
            due_us: The instant; None waits for a wakeup alone.
        """
        seconds = None if due_us is None else self._clock.real_s_until(due_us)
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()


async def run_forever(
    health: Health, work: str, wakeup: Wakeup, step: Callable[[], int | None]
) -> None:
    """Do due work in a loop, whatever a step raises.

    Args:
        health: Reports the work while a step fails.
        work: The name of the work.
        wakeup: Wakes the loop when there may be new work.
        step: Does what is due and returns the next due time; None when nothing is
            pending.
    """
    while True:
        await wakeup.wait(await retry_until_done(health, work, step))
