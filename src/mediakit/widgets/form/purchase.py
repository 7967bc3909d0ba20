"""What a form pays for: what stood on the page, at the price that stood there, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.client import AsyncJob
from mediakit.client.progress import DelayMessages
from mediakit.client.submitting import asking_from
from mediakit.clock import Clock
from mediakit.errors import MediakitError
from mediakit.widgets.form.form_reads import FormReads
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.form.payload import Ends, is_dearer
from mediakit.widgets.form.state import FormState
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import sentence_of

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

ANOTHER = (
    "This request has already been submitted. This click sent nothing; press the "
    "button again for another take."
)
RISEN = "The price is now {}. Nothing was sent. Press Generate again to pay this price."

SENDING_TEXT = "Sending the request."
STEP_S = 1.0
SILENT_STEPS = 3


class Purchases:
    """Submits requests, one at a time."""

    def __init__(
        self,
        client: Client,
        function: Function,
        live: LiveState,
        reads: FormReads,
        tasks: TaskRunner,
        clock: Clock,
        asked_from: str | None,
        *,
        say: Callable[..., object],
        done: Callable[[AsyncJob, str], Awaitable[object]],
        ended: Callable[[], object],
    ) -> None:
        self._client = client
        self._function = function
        self._live = live
        self._reads = reads
        self._tasks = tasks
        self._clock = clock
        self._asked_from = asked_from
        self._say = say
        self._done = done
        self._ended = ended

    def start(self, seen: Ends | None, *, another: bool) -> None:
        """Submit what the form holds, never at a higher price than was seen."""
        clicked = self._live.now
        self._live.now = replace(clicked, sending=SENDING_TEXT)
        self._tasks.run(partial(self._send, clicked, seen, another=another))

    async def _send(
        self, clicked: FormState, seen: Ends | None, *, another: bool
    ) -> None:
        try:
            await self._reads.files(clicked)  # one may have vanished
            await self._reads.owned(clicked)
            ready = replace(self._live.now, values=clicked.values, sending=None)
            price = ready.estimate
            if ready.submit_reason is not None:
                self._say(f"{ready.submit_reason} Nothing was sent.")
            elif ready.is_another_take and not another:
                self._say(ANOTHER)
            elif seen and price and is_dearer((price.low, price.high), seen):
                self._say(RISEN.format(price.text), until_edited=True)
            else:
                await self._done(await self._explained(ready), ready.body_digest)
        except MediakitError as error:
            self._say(sentence_of(error))
        finally:
            self._live.change(lambda now: replace(now, sending=None))
        self._ended()

    async def _explained(self, ready: FormState) -> AsyncJob:
        """Submit a request, and show meanwhile what it waits for."""
        names = {Path(path).name for _, path in ready.media.files}
        delays = self._client.components.delays
        async with explained(delays, names, self._clock, self._show_delay):
            return await self.submit(ready.body())

    def _show_delay(self, text: str) -> None:
        self._live.change(lambda now: replace(now, sending=text))

    async def submit(self, body: Mapping[str, Any]) -> AsyncJob:
        """Submit the next take of a body."""
        arguments = await self._reads.arguments(body)
        with asking_from(self._asked_from):
            return await self._client.core.submit(
                self._function.path, take="next", **arguments
            )


@asynccontextmanager
async def explained(
    delays: DelayMessages,
    names: Collection[str],
    clock: Clock,
    show: Callable[[str], None],
) -> AsyncIterator[None]:
    """Show once a second what a request waits for, while it is being sent."""
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
