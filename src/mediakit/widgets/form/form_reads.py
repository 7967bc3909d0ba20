"""What a form reads after an edit: its media, and a job of the same request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.clock import Clock
from mediakit.errors import MediakitError
from mediakit.records import JobStatus
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.form.python_code import is_extra
from mediakit.widgets.form.state import FormState, Owned
from mediakit.widgets.inputs.inspector import Inspector
from mediakit.widgets.inputs.result_search import Results
from mediakit.widgets.toolkit.background_tasks import TaskRunner

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TYPING_PAUSE_S = 0.4


class FormReads:
    """Inspects media and searches the history, once typing has paused."""

    def __init__(
        self,
        client: Client,
        function: Function,
        live: LiveState,
        tasks: TaskRunner,
        clock: Clock,
        results: Results,
        fitted: Callable[[FormState], FormState],
    ) -> None:
        self._components = client.components
        self._inspector = Inspector(client.components.remote_media)
        self._function = function
        self._live = live
        self._results = results
        self._tasks = tasks
        self._clock = clock
        self._fitted = fitted
        self._edits: dict[str, int] = {}
        self._asked: tuple[str, bool] | None = None

    def media_soon(self) -> None:
        """Inspect the media, unless they are edited again meanwhile."""
        self._soon("media", self.media)

    async def media(self) -> None:
        """Inspect the media that the form holds."""
        await self.files(self._live.now)
        results = await self._results.recognised(self._live.now.media.remote)
        if results:
            self._take(results)
        remote = self._live.now.media.unmeasured
        if remote:
            self._take(await self._inspector.measure(remote))

    async def files(self, state: FormState) -> None:
        """Inspect the local files of a form; one may have vanished."""
        self._take(await self._inspector.look(state.media.files))

    def _take(self, found: Mapping[MediaKey, Inspection]) -> None:
        self._live.change(lambda now: self._fitted(now.with_inspections(found)))

    def owned_soon(self) -> None:
        """Look for a job of what the form holds, once for each request."""
        state = self._live.now
        wanted = (state.body_digest, bool(state.media.unseen))
        if wanted != self._asked and not state.problems:
            self._asked = wanted
            self._soon("owned", lambda: self.owned(self._live.now))

    def ask_again(self) -> None:
        """Search again: another form may have submitted the request."""
        self._asked = None

    async def owned(self, state: FormState) -> None:
        """Ask the history for a job of the request that a form holds."""
        if state.problems or state.media.unseen:
            return
        try:
            entry = await self._components.owned_entry(
                self._function.path, **await self.arguments(state.body())
            )
        except MediakitError:
            return  # a click on the button says what is wrong
        owned = None
        if entry is not None and entry.job_id is not None:
            owned = Owned(entry.job_id, entry.status is JobStatus.COMPLETED)
        self._live.change(lambda now: now.with_made(state.body_digest, owned))

    async def arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `submit` takes for a body, with results as jobs."""
        extra = {n: v for n, v in body.items() if is_extra(self._function, n, v)}
        plain = {n: value for n, value in body.items() if n not in extra}
        return {**await self._results.as_jobs(self._function, plain), "extra": extra}

    def close(self) -> None:
        """Start no more searches."""
        self._edits.clear()

    def _soon(self, what: str, look: Callable[[], Awaitable[object]]) -> None:
        edits = self._edits[what] = self._edits.get(what, 0) + 1

        async def after_typing() -> None:
            await self._clock.sleep(TYPING_PAUSE_S)
            if self._edits.get(what) == edits:
                await look()

        self._tasks.run(after_typing)
