"""Looks up a form's media, and an existing job of its request, after an edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mediakit.api_models import JobStatus
from mediakit.errors import MediakitError
from mediakit.media import is_url
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.form.live_form import LiveForm
from mediakit.widgets.form.python_code import is_extra
from mediakit.widgets.form.state import FormState, Owned
from mediakit.widgets.inputs.inspector import Inspector


class FormLookups:
    """Inspects media and searches the history, once typing pauses."""

    def __init__(self, live: LiveForm) -> None:
        self._live = live
        self._inspector = Inspector(live.client.components.remote_media)
        self._searched: tuple[str, bool] | None = None

    def media_soon(self) -> None:
        """Inspect the media, unless they are edited again first."""
        self._live.after_typing("media", self.media)

    async def media(self) -> None:
        await self.files(self._live.now)
        results = await self._live.results.recognised(self._live.now.media.remote)
        if results:
            self._take(results)
        remote = self._live.now.media.unmeasured
        if remote:
            self._take(await self._inspector.measure(remote))

    async def measure_again(self) -> None:
        """Copy newly read properties of media behind URLs."""
        seen = self._live.now.inspections
        self._take(
            await self._inspector.measure(
                key for key, each in seen.items() if is_url(key[1]) and not each.title
            )
        )

    async def files(self, state: FormState) -> None:
        """Inspect the local files of a form; one may have disappeared."""
        self._take(await self._inspector.look(state.media.files))

    def _take(self, found: Mapping[MediaKey, Inspection]) -> None:
        self._live.change(lambda now: now.with_inspections(found))

    def owned_soon(self) -> None:
        """Search for a job of the form's request, once per request."""
        state = self._live.now
        wanted = (state.body_digest, bool(state.media.unseen))
        if wanted != self._searched and not state.problems:
            self._searched = wanted
            self._live.after_typing("owned", lambda: self.owned(self._live.now))

    def search_again(self) -> None:
        """Search again: another form may have submitted the request."""
        self._searched = None

    async def owned(self, state: FormState) -> None:
        """Search the history for a job of the form's request."""
        if state.problems or state.media.unseen:
            return
        try:
            arguments = await self.arguments(state.body())
            components = self._live.client.components
            entry = await components.owned_entry(state.function.path, **arguments)
        except MediakitError:
            return  # a click on the button says what is wrong
        owned = None
        if entry is not None and entry.job_id is not None:
            is_completed = entry.status is JobStatus.COMPLETED
            owned = Owned(entry.job_id, is_completed, entry.take)
        self._live.change(lambda now: now.with_made(state.body_digest, owned))

    async def arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `submit` for a body, with results as jobs."""
        function = self._live.function
        extra = {n: v for n, v in body.items() if is_extra(function, n, v)}
        plain = {n: value for n, value in body.items() if n not in extra}
        as_jobs = await self._live.results.as_jobs(function, plain)
        return {**as_jobs, "extra": extra}
