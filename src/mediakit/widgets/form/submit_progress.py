"""Shows in a form why a submission is slow, while it is being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from mediakit.client.progress import DelayMessages
from mediakit.clock import Clock

SENDING_TEXT = "Sending the request."
STEP_S = 1.0
SILENT_STEPS = 3


@asynccontextmanager
async def explained(
    delays: DelayMessages,
    names: Collection[str],
    clock: Clock,
    show: Callable[[str], None],
) -> AsyncIterator[None]:
    """Say once a second what a request waits for, as long as it is being sent.

    Args:
        delays: Knows what it waits for.
        names: The names of its local files.
        clock: Gives the seconds.
        show: Shows a sentence in place of the one before.
    """
    telling = asyncio.ensure_future(_tell(delays, names, clock, show))
    try:
        yield
    finally:
        telling.cancel()


async def _tell(
    delays: DelayMessages,
    names: Collection[str],
    clock: Clock,
    show: Callable[[str], None],
) -> None:
    silent_steps = 0
    while True:
        await clock.sleep(STEP_S)
        uploading = delays.upload_text(names)
        silent_steps = 0 if uploading else silent_steps + 1
        is_late = silent_steps >= SILENT_STEPS
        show(uploading or (delays.submit_text() if is_late else SENDING_TEXT))
