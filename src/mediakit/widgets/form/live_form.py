"""A displayed form: its state, its page, and what it depends on."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.clock import Clock
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.wire import Wire, shown
from mediakit.widgets.form.fields_payload import axes_of, fields_of, schema_payload
from mediakit.widgets.form.form_values import adapted, held_in, started
from mediakit.widgets.form.payload import found_payload, own_names, state_payload
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.widget import EditorsWidget, FormWidget, OnMessage
from mediakit.widgets.inputs.result_search import ResultSearch
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.timeline.layout import timeline_payload
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

TYPING_PAUSE_S = 0.4


class LiveForm:
    """Keeps a form's state and page in sync, from any thread."""

    def __init__(
        self,
        client: Client,
        function: Function,
        clock: Clock,
        *,
        on_message: OnMessage,
        show: Callable[[], object],  # called under the lock after each change
    ) -> None:
        self.client = client
        self.function = function
        self.clock = clock
        self.lock = threading.RLock()
        self.now = started(FormState.start(function))
        self.handle = CardHandle()  # the cards of its jobs, in the saved notebook
        self.tasks = TaskRunner(client.io, self.say)
        self.results = ResultSearch(client)
        self._show = show
        self._axes = axes_of(function)
        self._heard: dict[str, int] = {}
        self._wires: dict[str, Wire] = {}
        self._waiting: dict[str, int] = {}
        self._sentence = ""
        self._until_edited = False
        self._closed = False
        specs = function.fields.values()
        inner = (each for spec in specs for each in spec.with_inner())
        edits = bool(self._axes) or any(each.mask_of for each in inner)
        make = EditorsWidget if edits else FormWidget
        self.widget = make(on_message, hides=self.handle.live_rules)
        self.widget.carry_cards(self.handle)
        facts = [client.service.label, "* required"]
        head = {"title": function.title, "doc": function.doc, "facts": facts}
        self.widget.show_form({"head": head, "returns": False, "focus": 0, "wall": []})

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        self.widget.close()

    # State.

    @property
    def fields(self) -> dict[str, FieldSpec]:
        """Return the visible fields, of the chosen kind of body."""
        fields = fields_of(self.function, self.now.values)
        if self.function.tag is None:
            return fields
        return {n: s for n, s in fields.items() if n not in self.now.disabled}

    def change(self, changed: Callable[[FormState], FormState]) -> None:
        with self.lock:
            self.now = changed(self.now)
            self._show()

    def show(self) -> None:
        """Redraw the state because something else has changed."""
        with self.lock:
            self._show()

    def named(self, given: Collection[str] | None = None) -> None:
        """Name the initial rows of timelines, of all or the given fields."""
        for name, axis in self._axes.items():
            items = list(axis.items(self.now.values[name]))
            # Values from code are unchanged; only initial rows get names.
            is_filled = any(any(axis.inner(item)) for item in items)
            if not is_filled and (given is None or name in given):
                values = {**self.now.values, name: axis.named(items)}
                self.now = replace(self.now, values=values)

    def after_typing(self, what: str, act: Callable[[], Awaitable[object]]) -> None:
        """Await a function after a pause, unless it is requested again."""
        edits = self._waiting[what] = self._waiting.get(what, 0) + 1

        async def after() -> None:
            await self.clock.sleep(TYPING_PAUSE_S)
            if self._waiting.get(what) == edits:
                await act()

        self.tasks.run(after)

    # Messages from the page.

    def is_news(self, message: Mapping[str, Any]) -> bool:
        """Record a message; return whether it is the newest of its view."""
        view = str(message["view"])
        number = int(message["number"])
        is_new = number > self._heard.get(view, 0)
        if is_new:
            self._heard[view] = number
        return is_new

    def take(self, wires: Mapping[str, Wire]) -> list[str]:
        """Apply the page's values; return the changed fields."""
        fields = self.fields
        changed = []
        if self._until_edited:
            self._until_edited = False
            self._sentence = ""
        state = self.now
        for name, wire in wires.items():
            if name not in fields:
                continue  # the field belongs to another kind of body
            value = held_in(self.function, fields[name], wire)
            self._wires[name] = wire
            before = state.values.get(name)
            if repr(value) != repr(before):
                changed.append(name)
                axis = self._axes.get(name)
                items = [] if axis is None else list(axis.items(value))
                if axis is not None and len(items) > sum(1 for _ in axis.items(before)):
                    value = axis.named(items)
                state = state.with_value(name, value)
        self.now = adapted(state)
        return changed

    def differs(self, wires: Mapping[str, Wire]) -> bool:
        """Return whether code has changed values since the page sent these."""
        values = self.now.values
        return any(
            repr(held_in(self.function, spec, wires[name])) != repr(values.get(name))
            for name, spec in self.fields.items()
            if name in wires
        )

    # Display.

    def draw(self, parts: Payload, **more: object) -> None:
        """Draw the state and other parts; `more` is sent once."""
        state = self.now
        fields = self.fields
        set_here = self._follow(fields)
        wires = {name: self._wires[name] for name in fields}
        if "heard" in more:
            more["set"] = set_here
        timelines = {
            n: timeline_payload(
                axis, state.values[n], state.problems_of(n), state.media_titles
            )
            for n, axis in self._axes.items()
        }
        shown_parts = {
            "schema": schema_payload(self.function, fields, self._axes),
            "values": wires,
            "names": own_names(wires),
            "found": found_payload(state.inspections),
            "timelines": timelines,
            **state_payload(state, fields),
            "error": self._sentence,
            **parts,
        }
        self.widget.show_form(shown_parts, **more)

    def _follow(self, fields: Mapping[str, FieldSpec]) -> list[str]:
        """Sync values to the page; return the changed fields."""
        changed = []
        for name, spec in fields.items():
            value = self.now.values.get(name)
            if name in self._wires:
                held = held_in(self.function, spec, self._wires[name])
                if repr(held) == repr(value):
                    continue
                changed.append(name)
            self._wires[name] = shown(spec, value)
        return changed

    def say(self, text: str, *, until_edited: bool = False) -> None:
        """Show a sentence below the price, optionally until the next edit."""
        with self.lock:
            self._sentence = text
            self._until_edited = until_edited
            if not self._closed:
                self.widget.show_form({"error": text})
