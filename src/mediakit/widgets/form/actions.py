"""The slow actions of a form: its look-ups, and the submission of its request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mediakit.api_models import JobStatus
from mediakit.client import AsyncJob
from mediakit.client.stopping import STOPPING, Stoppable
from mediakit.client.submissions import asking_from
from mediakit.errors import MediakitError, PriceError
from mediakit.estimates import Estimate
from mediakit.media import is_url
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.form.model import FormModel
from mediakit.widgets.form.python_code import is_extra
from mediakit.widgets.form.state import FormState, Owned
from mediakit.widgets.inputs.inspector import Inspector
from mediakit.widgets.toolkit.callbacks import sentence_of

ANOTHER = (
    "This request has already been submitted. This click sent nothing; press the "
    "button again for another take."
)
TO_PAY = "Press Generate again to pay this price."

SENDING_TEXT = "Sending the request."


class FormActions:
    """Look-ups and submissions of a form, whose results become its next state."""

    def __init__(
        self,
        model: FormModel,
        origin: str | None,  # the form that the jobs belong to
        *,
        show_job: Callable[[AsyncJob, str], Awaitable[object]],
        refresh_funds: Callable[[], object],
    ) -> None:
        self._model = model
        self._origin = origin
        self._show_job = show_job
        self._refresh_funds = refresh_funds
        self._inspector = Inspector(model.client.components.remote_media)
        self._call = Stoppable()

    # Media.

    def look_at_media_soon(self) -> None:
        """Inspect the media, unless they are edited again first."""
        self._model.after_typing("media", object(), lambda _: self.look_at_media())

    async def look_at_media(self) -> None:
        await self.look_at_files(self._model.state)
        results = await self._model.results.recognised(self._model.state.media.remote)
        if results:
            self._take(results)
        remote = self._model.state.media.unmeasured
        if remote:
            self._take(await self._inspector.measure(remote))

    async def look_at_files(self, state: FormState) -> None:
        """Inspect the local files of a form; one may have disappeared."""
        self._take(await self._inspector.look(state.media.files))

    async def _measure_again(self) -> None:
        """Copy newly read properties of media at URLs."""
        seen = self._model.state.inspections
        self._take(
            await self._inspector.measure(
                key for key, each in seen.items() if is_url(key[1]) and not each.title
            )
        )

    def _take(self, found: Mapping[MediaKey, Inspection]) -> None:
        self._model.change(lambda now: now.with_inspections(found))

    # An existing job of the request.

    def find_owned_soon(self) -> None:
        """Search for a job of the request, once per request and per look at funds."""
        state = self._model.state
        if not state.problems:
            # When the funds change, another form may have submitted the request.
            wanted = (state.body_digest, bool(state.media.unseen), state.funds)
            self._model.after_typing(
                "owned", wanted, lambda _: self._find_owned(self._model.state)
            )

    async def _find_owned(self, state: FormState) -> None:
        """Search the history for a job of the form's request."""
        if state.problems or state.media.unseen:
            return
        try:
            arguments = await self._arguments(state.body())
            components = self._model.client.components
            entry = await components.owned_entry(state.function.path, **arguments)
        except MediakitError:
            return  # a click on the button says what is wrong
        owned = None
        if entry is not None and entry.job_id is not None:
            is_completed = entry.status is JobStatus.COMPLETED
            owned = Owned(entry.job_id, is_completed, entry.take)
        self._model.change(lambda now: now.with_made(state.body_digest, owned))

    async def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `submit` for a body, with results as jobs."""
        function = self._model.function
        extra = {n: v for n, v in body.items() if is_extra(function, n, v)}
        plain = {n: value for n, value in body.items() if n not in extra}
        as_jobs = await self._model.results.as_jobs(function, plain)
        return {**as_jobs, "extra": extra}

    # Submitting.

    def start(
        self, clicked: FormState, seen: Estimate | None, *, another: bool
    ) -> None:
        """Submit the request of a state, at most at the price that was seen."""
        self._call = Stoppable()
        self._model.tasks.run(partial(self._send, clicked, seen, another=another))

    def stop(self) -> None:
        """Stop the submission in flight; nothing more is sent."""
        self._model.tasks.run(self._stop)

    async def _stop(self) -> None:
        await self._call.stop()
        if self._model.state.sending is not None:
            self._show_delay(STOPPING)

    async def _send(
        self, clicked: FormState, seen: Estimate | None, *, another: bool
    ) -> None:
        say = self._model.say
        try:
            await self.look_at_files(clicked)  # a file may have been deleted
            await self._find_owned(clicked)
            state = self._model.state
            ready = replace(state, values=clicked.values, sending=None)
            if ready.submit_reason is not None:
                say(f"{ready.submit_reason} Nothing was sent.")
            elif ready.is_another_take and not another:
                say(ANOTHER)
            else:
                job = await self._submit_and_explain(ready, seen)
                await self._show_job(job, ready.body_digest)
        except PriceError as error:
            # The clip at a URL may have changed.
            await self._measure_again()
            say(f"{error} {TO_PAY}", until_edited=True)
        except MediakitError as error:
            say(sentence_of(error))
        finally:
            self._model.change(partial(replace, sending=None, can_stop=False))
        self._refresh_funds()

    async def _submit_and_explain(
        self, ready: FormState, seen: Estimate | None
    ) -> AsyncJob:
        """Submit a request, and show the reason for a delay."""
        model = self._model
        return await self._call.run_explained(
            partial(self.submit, ready.body(), seen),
            model.client.components.delays,
            model.clock,
            self._show_delay,
            files={Path(path).name for _, path in ready.media.files},
        )

    def _show_delay(self, text: str) -> None:
        can_stop = not self._call.is_stopped
        self._model.change(partial(replace, sending=text, can_stop=can_stop))

    async def submit(self, body: Mapping[str, Any], seen: Estimate | None) -> AsyncJob:
        arguments = await self._arguments(body)
        with asking_from(self._origin):
            return await self._model.client.core.submit(
                self._model.function.path, take="next", max_price=seen, **arguments
            )
