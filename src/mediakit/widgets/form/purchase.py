"""Submits a form's request once, at the price shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mediakit.client import AsyncJob
from mediakit.client.stopping import STOPPING, Stoppable
from mediakit.client.submissions import asking_from
from mediakit.errors import MediakitError, PriceError
from mediakit.estimates import Estimate
from mediakit.widgets.form.form_lookups import FormLookups
from mediakit.widgets.form.live_form import LiveForm
from mediakit.widgets.form.state import FormState
from mediakit.widgets.toolkit.callbacks import sentence_of

ANOTHER = (
    "This request has already been submitted. This click sent nothing; press the "
    "button again for another take."
)
TO_PAY = "Press Generate again to pay this price."

SENDING_TEXT = "Sending the request."


class Purchases:
    """Submits a form's requests, one at a time, as jobs of the form `origin`."""

    def __init__(
        self,
        live: LiveForm,
        lookups: FormLookups,
        origin: str | None,
        *,
        show_job: Callable[[AsyncJob, str], Awaitable[object]],
        refresh_funds: Callable[[], object],
    ) -> None:
        self._live = live
        self._lookups = lookups
        self._origin = origin
        self._show_job = show_job
        self._refresh_funds = refresh_funds
        self._call = Stoppable()

    def start(self, seen: Estimate | None, *, another: bool) -> None:
        """Submit the form's request, at most at the price that was seen."""
        clicked = self._live.now
        self._live.now = replace(clicked, sending=SENDING_TEXT, can_stop=False)
        self._call = Stoppable()
        send = partial(self._send, clicked, seen, another=another)
        self._live.tasks.run(send)

    def stop(self) -> None:
        """Stop the submission in flight; nothing more is sent."""
        self._live.tasks.run(self._stop)

    async def _stop(self) -> None:
        await self._call.stop()
        if self._live.now.sending is not None:
            self._show_delay(STOPPING)

    async def _send(
        self, clicked: FormState, seen: Estimate | None, *, another: bool
    ) -> None:
        say = self._live.say
        try:
            await self._lookups.files(clicked)  # a file may have been deleted
            await self._lookups.owned(clicked)
            ready = replace(self._live.now, values=clicked.values, sending=None)
            if ready.submit_reason is not None:
                say(f"{ready.submit_reason} Nothing was sent.")
            elif ready.is_another_take and not another:
                say(ANOTHER)
            else:
                job = await self._submit_and_explain(ready, seen)
                await self._show_job(job, ready.body_digest)
        except PriceError as error:
            # The clip behind a URL may have changed.
            await self._lookups.measure_again()
            say(f"{error} {TO_PAY}", until_edited=True)
        except MediakitError as error:
            say(sentence_of(error))
        finally:
            self._live.change(partial(replace, sending=None, can_stop=False))
        self._refresh_funds()

    async def _submit_and_explain(
        self, ready: FormState, seen: Estimate | None
    ) -> AsyncJob:
        """Submit a request, and show what it is waiting for."""
        live = self._live
        return await self._call.run_explained(
            partial(self.submit, ready.body(), seen),
            live.client.components.delays,
            live.clock,
            self._show_delay,
            files={Path(path).name for _, path in ready.media.files},
        )

    def _show_delay(self, text: str) -> None:
        can_stop = not self._call.is_stopped
        self._live.change(partial(replace, sending=text, can_stop=can_stop))

    async def submit(self, body: Mapping[str, Any], seen: Estimate | None) -> AsyncJob:
        arguments = await self._lookups.arguments(body)
        with asking_from(self._origin):
            return await self._live.client.core.submit(
                self._live.function.path, take="next", max_price=seen, **arguments
            )
