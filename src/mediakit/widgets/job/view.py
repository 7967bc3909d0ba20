"""One displayed job: its display state, its saved card, and its actions.

Updates arrive and are passed on on the I/O thread, so that a job moves on the page
while the kernel computes, sleeps or waits.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.client import AsyncJob, JobState, recipes
from mediakit.client.download_targets import NameTakenError
from mediakit.client.io_thread import io_thread
from mediakit.client.job_acts import BUTTON_CHANGED, Act, Consent, Do, Outcome, Pricing
from mediakit.client.media_inputs import output_of
from mediakit.client.sidecar import SUFFIX
from mediakit.client.stopping import PendingSubmissions, Stoppable
from mediakit.client.submissions import asking_from
from mediakit.clock import Clock, SystemClock
from mediakit.errors import MediakitError, PriceError
from mediakit.widgets.job.card import card_html, card_text
from mediakit.widgets.job.payload import (
    JobHost,
    Payload,
    Shown,
    job_payload,
    offered,
    price_now,
)
from mediakit.widgets.job.player import Embedded
from mediakit.widgets.job.preview import (
    FETCH_MAX_BYTES,
    NO_PREVIEW,
    embedded_of,
    look_at,
    playable_copy,
    poster_kept,
)
from mediakit.widgets.job.uses import FINALIZE, ResultForm, uses_of_job
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

log = logging.getLogger("mediakit.widgets")

Answer = Callable[..., object]
"""Sends the page the answer to a message: named values, and bytes."""

SECOND_CLICK_S = 0.9
"""A click this soon after a paid click is the second of a double click."""
NO_HOST = JobHost()


class JobView:
    """The view of one job on a page and in a saved notebook."""

    def __init__(
        self,
        job: AsyncJob,
        client: Client | None = None,
        *,
        home: JobHost | None = None,
        embed: bool = False,  # whether to embed the result in the notebook
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        recalled: bool = False,  # from the history: show the poster at once
        arrives: bool = False,  # just submitted: the page scrolls to it
    ) -> None:
        self._job = job
        self.home = home or NO_HOST
        self._clock = clock or SystemClock()
        self._environment = os.environ if environment is None else environment
        self._lock = threading.RLock()
        preview = poster_kept(job) if recalled else NO_PREVIEW
        self._shown = Shown(preview, arrives=arrives)
        self._embed = embed
        self._embedded: Embedded | None = None
        self._opened = self._looked = self._closed = False
        self._priced: set[str] = set()
        self._seen = threading.Event()
        self._card_listeners: list[Callable[[], None]] = []
        self._listeners: list[Callable[[], None]] = []
        self._forms: dict[str, ResultForm] = {}
        self._paid_at_s = float("-inf")
        self._client = client
        self._pending = PendingSubmissions("requests", self._show_delay)
        self._guard = guarded(self._complain)
        io = client.io if client is not None else io_thread()
        self._tasks = TaskRunner(io, self._complain)
        self._unsubscribe = job.subscribe(self._guard(self._on_state))
        if client is not None:
            self._tasks.run(partial(self._learn_names, client), "names")

    # -- display -------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Return the job's id."""
        return self._job.id

    @property
    def state(self) -> JobState:
        """Return the job's newest state."""
        return self._job.state

    @property
    def payload(self) -> Payload:
        """Return the job as data for the page."""
        return job_payload(self.state, self._shown, self.home, self._environment)

    @property
    def card_html(self) -> str:
        """Return the job as HTML for a saved notebook."""
        return card_html(
            self.state,
            self._shown.preview,
            environment=self._environment,
            embedded=self._embedded,
            as_of=self._clock.now(),
        )

    @property
    def card_text(self) -> str:
        """Return the job as plain text."""
        return card_text(self.state, self._shown.preview, self._clock.now())

    def on_card(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the card has changed; return an unsubscriber."""
        return _added(self._card_listeners, listener)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the payload has changed; return an unsubscriber."""
        return _added(self._listeners, listener)

    def open(self) -> None:
        """Load the preview of the result once there is one, for the page."""
        self._opened = True
        self._look()
        self._price()

    def wait_until_seen(self, timeout_s: float) -> bool:
        """Wait until the preview, if any, is loaded; not on the I/O thread."""
        return self.state.has_output and self._seen.wait(timeout_s)

    def close(self) -> None:
        """Close the view; the job and its forms' jobs continue."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            forms, self._forms = self._forms, {}
        self._unsubscribe()
        self._card_listeners.clear()
        self._listeners.clear()
        self._tasks.close()
        for form in forms.values():
            form.close()

    # -- updates from the job -------------------------------------------------------

    def _on_state(self, _: JobState) -> None:
        # Read the newest state, because two threads may report out of order.
        if self._closed:
            return
        if self.state.is_erased:
            self._change(preview=NO_PREVIEW)
            self._embedded = None
        self._look()
        self._price()
        self._tell(card=True)

    @property
    def _acts(self) -> tuple[Act, ...]:
        return offered(self.state, self.home, self._environment)

    def _price(self) -> None:
        """Read the price of each paid act once it is offered."""
        if not self._opened:
            return
        for act in self._acts:
            if act.price is not None and act.name not in self._priced:
                self._priced.add(act.name)
                task = partial(self._bring_price, act.name, act.price)
                self._tasks.run(task, f"price of {act.name}")

    async def _bring_price(self, name: str, price: Pricing) -> None:
        estimate = await price(self._job)
        with self._lock:
            self._change(prices={**self._shown.prices, name: estimate})
        self._tell()

    def _look(self) -> None:
        if self._opened and not self._looked and self.state.has_output:
            self._looked = True
            self._tasks.run(self._bring_result, "look")

    async def _bring_result(self) -> None:
        try:
            preview = await look_at(self._job)
            if self.state.has_output:
                self._change(preview=preview)
                self._tell(card=True)
            if self._embed:
                self._embedded = await embedded_of(self._job, preview)
                self._say(self._embedded.note)
                self._tell(card=True)
        finally:
            self._seen.set()

    async def _learn_names(self, client: Client) -> None:
        """Show the media of the request by their names."""
        if await client.components.media_names.learn(self.state.entry):
            self._tell(card=True)

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._shown = replace(self._shown, **changes)

    def _say(self, note: str, *, alert: bool = False) -> None:
        self._change(note=note, is_alert=alert)
        self._tell()

    def _complain(self, sentence: str) -> None:
        self._say(sentence, alert=True)

    def _tell(self, *, card: bool = False) -> None:
        if self._closed:
            return
        for listener in (*self._listeners, *(self._card_listeners if card else ())):
            listener()

    # -- user actions --------------------------------------------------------------

    def act(self, name: str, message: Mapping[str, Any], answer: Answer) -> None:
        """Carry out an action for the page; `answer` sends the reply."""
        if name in ("copy", "file"):
            task = partial(self._send, name, answer)
            self._tasks.run(task, f"{name} {message.get('number')}")
        elif name == "recipe":
            task = partial(self._send_recipe, answer)
            self._tasks.run(task, f"{name} {message.get('number')}")
        elif name == "close_form":
            self._close_form(str(message.get("path")))
        elif name == "stop":
            self._tasks.run(self._pending.stop)
        for act in self._acts:
            if act.name == name:
                self._guard(self._act)(act, message, answer)

    def _act(self, act: Act, message: Mapping[str, Any], answer: Answer) -> None:
        if act.do is not None and act.is_paid:
            self._buy(act, act.do, message)
        elif act.do is not None:
            consent = Consent(ticked=message.get("ticked") is True)
            self._run(act, partial(self._do, partial(act.do, self._job, consent)))
        elif act.name == "vary" and self.home.vary is not None:
            self._say(self.home.vary(self.state))
        elif act.name == "use":
            self._use(str(message.get("path")))
        elif act.name == "save":
            overwrite = message.get("overwrite") is True
            self._run(act, partial(self._save, answer, overwrite=overwrite))

    def _buy(self, act: Act, do: Do, message: Mapping[str, Any]) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._paid_at_s < SECOND_CLICK_S:
            return
        self._paid_at_s = now_s
        price = price_now(act, self.state, self._shown)
        text, label = act.text(price), message.get("text")
        if label not in (None, text):
            self._complain(BUTTON_CHANGED.format(text, label))
            return
        ask = partial(do, self._job, Consent(price))
        self._run(act, partial(self._submit, act, ask))

    def _show_delay(self) -> None:
        self._change(delay=self._pending.text, can_stop=self._pending.can_stop)
        self._tell()

    async def _submit(self, act: Act, ask: Callable[[], Awaitable[Outcome]]) -> str:
        try:
            with asking_from(self.home.origin):
                if self._client is None:
                    result = await Stoppable().run(ask)
                else:
                    delays = self._client.components.delays
                    result = await self._pending.run(ask, delays, self._clock)
        except PriceError:
            if act.price is not None:
                # The new price is on the button before the error appears.
                await self._bring_price(act.name, act.price)
            raise
        return self._take_in(result)

    async def _do(self, task: Callable[[], Awaitable[Outcome]]) -> str:
        return self._take_in(await task())

    def _take_in(self, result: Outcome) -> str:
        """Show the job that an act has made; return a message."""
        if isinstance(result, AsyncJob) and self.home.add is not None:
            self.home.add(result)
        return result if isinstance(result, str) else ""

    def _run(self, act: Act, task: Callable[[], Awaitable[str]]) -> None:
        """Run an act on the I/O thread, one at a time, and show that it runs."""
        with self._lock:
            if act.name in self._shown.busy:
                return
            self._change(busy=self._shown.busy | {act.name})
        self._say(act.meanwhile)

        async def run() -> None:
            note, alert = "", True
            try:
                note, alert = await task(), False
            except MediakitError as error:
                note = sentence_of(error)
            finally:
                self._change(busy=self._shown.busy - {act.name})
                self._say(note, alert=alert)

        self._tasks.run(run, act.name)

    async def _save(self, answer: Answer, *, overwrite: bool) -> str:
        try:
            has_recipe = recipes.are_on()
            path = await self._job.download(overwrite=overwrite, recipe=has_recipe)
        except NameTakenError:
            answer(taken=True)
            return ""
        answer(taken=False)
        return (
            f"Saved to {path}. {path.name}{SUFFIX}, next to it, has the prompt, the "
            "settings and the charge."
        )

    async def _send(self, name: str, answer: Answer) -> None:
        """Send the result's bytes, or those of a copy that any browser plays."""
        try:
            if name == "copy":
                data = await playable_copy(self._job)
            else:
                data = await self._job.fetch_output(FETCH_MAX_BYTES)
        except MediakitError as error:
            more = " Try “Save to folder”." if name == "file" else ""
            answer(problem=sentence_of(error) + more)
        else:
            answer(buffers=[data])

    async def _send_recipe(self, answer: Answer) -> None:
        """Send the edits that add the recipe to the file on the page."""
        size_bytes, edits = 0, list[recipes.Edit]()
        try:
            if recipes.are_on():
                size_bytes, edits = await self._job.recipe_edits()
        except MediakitError as error:
            log.info("the file is saved without its recipe: %s", error)
        places = [[edit.start, edit.end] for edit in edits]
        answer(size=size_bytes, places=places, buffers=[e.content for e in edits])

    def _use(self, path: str) -> None:
        """Open the form of a function that takes the result, and fill it in."""
        uses = self.home.uses
        if uses is None:
            return
        offered_uses = uses_of_job(uses.catalog, self.state)
        use = next(each for each in offered_uses if each.function.path == path)
        output = output_of(self._job, use.medium, "result")
        self._say("" if use.text is None else FINALIZE)
        if uses.elsewhere is not None:
            uses.elsewhere(use, output)
        elif uses.open is not None:
            form = self._forms.pop(path, None) or uses.open(use)
            # The most recent form comes first, next to the result.
            self._forms = {path: form, **self._forms}
            self._show_forms()
            form.take_result(use, output)

    def _close_form(self, path: str) -> None:
        form = self._forms.pop(path, None)
        if form is not None:
            self._show_forms()
            form.close()

    def _show_forms(self) -> None:
        models = ((path, form.widget.model_id) for path, form in self._forms.items())
        self._change(forms=tuple(models))
        self._tell()


def _added(
    listeners: list[Callable[[], None]], listener: Callable[[], None]
) -> Callable[[], None]:
    listeners.append(listener)
    return lambda: listeners.remove(listener) if listener in listeners else None
