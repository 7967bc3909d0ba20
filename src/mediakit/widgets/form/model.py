"""The state of a form, and the one place where it changes."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from mediakit.catalog import Function
from mediakit.clock import Clock
from mediakit.widgets.form.form_page import FormPage
from mediakit.widgets.form.form_values import started
from mediakit.widgets.form.state import FormState
from mediakit.widgets.inputs.result_search import ResultSearch
from mediakit.widgets.toolkit.background_tasks import TaskRunner

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TYPING_PAUSE_S = 0.4

T = TypeVar("T")


class FormModel:
    """Holds a form's state and shows it; from any thread, nothing else writes it."""

    def __init__(
        self,
        client: Client,
        function: Function,
        clock: Clock,
        page: FormPage,
        *,
        after_change: Callable[[], object],  # called under the lock
    ) -> None:
        self.client = client
        self.function = function
        self.clock = clock
        self.page = page
        self.lock = threading.RLock()
        self.is_closed = False
        self.tasks = TaskRunner(client.io, self.say)
        self.results = ResultSearch(client)
        self._after_change = after_change
        self._state = started(FormState.start(function))
        self._wanted: dict[str, object] = {}

    @property
    def state(self) -> FormState:
        return self._state

    def change(
        self, changed: Callable[[FormState], FormState], **once: object
    ) -> FormState:
        """Replace the newest state with the next one, and show it.

        Visible changes are sent to the page in one message, together with `once`.
        """
        with self.lock:
            self._state = changed(self._state)
            if not self.is_closed:
                self.page.draw(self._state, **once)
                self._after_change()
            return self._state

    def say(self, text: str, *, until_edited: bool = False) -> None:
        """Show a sentence below the price, optionally until the next edit."""
        # Nothing else is drawn: the sentence may be about a state that cannot be.
        with self.lock:
            self._state = self._state.saying(text, until_edited=until_edited)
            if not self.is_closed:
                self.page.widget.show_form({"error": text})

    def after_typing(
        self, what: str, wanted: T, act: Callable[[T], Awaitable[object]]
    ) -> None:
        """Call a function once typing pauses, unless something else is wanted by then.

        It is not called again while the same is wanted.
        """
        with self.lock:
            if self._wanted.get(what) == wanted:
                return
            self._wanted[what] = wanted

        async def after() -> None:
            await self.clock.sleep(TYPING_PAUSE_S)
            if self._wanted.get(what) is wanted:
                await act(wanted)

        if wanted is not None:
            self.tasks.run(after)

    def close(self) -> None:
        self.is_closed = True
        self._wanted.clear()
        self.page.close()
