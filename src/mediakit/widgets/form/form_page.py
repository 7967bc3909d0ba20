"""The page of a form: it reads entered values, and draws the form's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls import Wire, shown
from mediakit.widgets.form.fields_payload import axes_of, schema_payload
from mediakit.widgets.form.form_values import adapted, held_in, visible_fields
from mediakit.widgets.form.payload import found_payload, own_names, state_payload
from mediakit.widgets.form.python_code import code_of_form
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.sweep_panel import panel_payload
from mediakit.widgets.form.widget import EditorsWidget, FormWidget, OnMessage
from mediakit.widgets.timeline.layout import timeline_payload
from mediakit.widgets.toolkit.cell_outputs import CardHandle

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

Message = Mapping[str, Any]


class FormPage:
    """The widget of a form, and the value of each field on its page."""

    def __init__(
        self, client: Client, function: Function, on_message: OnMessage
    ) -> None:
        self.handle = CardHandle()  # the cards of its jobs, in the saved notebook
        self._catalog = client.catalog
        self._function = function
        self._axes = axes_of(function)
        self._wires: dict[str, Wire] = {}
        self._heard: dict[str, int] = {}  # the newest message of each view
        self._clicks: set[tuple[object, object]] = set()  # each submission pays once
        specs = function.fields.values()
        inner = (each for spec in specs for each in spec.with_inner())
        edits = bool(self._axes) or any(each.mask_of for each in inner)
        make = EditorsWidget if edits else FormWidget
        self.widget = make(on_message, hides=self.handle.live_rules)
        self.widget.carry_cards(self.handle)
        self.widget.shows = f"form for {function.kind}"
        facts = [client.service.label, "* required"]
        head = {"title": function.title, "doc": function.doc, "facts": facts}
        self.widget.show_form({"head": head, "returns": False, "focus": 0})

    def close(self) -> None:
        self.handle.close()
        self.widget.close()

    # Messages from the page.

    def is_news(self, message: Message) -> bool:
        """Record a message; return whether it is the newest of its view."""
        view = str(message["view"])
        number = int(message["number"])
        is_new = number > self._heard.get(view, 0)
        if is_new:
            self._heard[view] = number
        return is_new

    def is_first_click(self, message: Message) -> bool:
        """Record a click; return whether it is the first with its number."""
        click = (message["view"], message["number"])
        is_first = click not in self._clicks
        self._clicks.add(click)
        return is_first

    def read(self, state: FormState, wires: Mapping[str, Wire]) -> FormState:
        """Return the state with the page's values."""
        fields = visible_fields(state)
        if state.is_sentence_until_edited:
            state = state.saying("")
        for name, wire in wires.items():
            if name not in fields:
                continue  # the field belongs to another kind of body
            value = held_in(self._function, fields[name], wire)
            self._wires[name] = wire
            before = state.values.get(name)
            if repr(value) != repr(before):
                axis = self._axes.get(name)
                items = [] if axis is None else list(axis.items(value))
                if axis is not None and len(items) > sum(1 for _ in axis.items(before)):
                    value = axis.named(items)
                state = state.with_value(name, value)
        return adapted(state)

    def differs(self, state: FormState, wires: Mapping[str, Wire]) -> bool:
        """Return whether code has changed values since the page sent these."""
        return any(
            repr(held_in(self._function, spec, wires[name]))
            != repr(state.values.get(name))
            for name, spec in visible_fields(state).items()
            if name in wires
        )

    # Display.

    def draw(self, state: FormState, **once: object) -> None:
        """Draw the state; `once` is sent once."""
        fields = visible_fields(state)
        set_here = self._follow(state, fields)
        if "heard" in once:
            once["set"] = set_here
        wires = {name: self._wires[name] for name in fields}
        timelines = {
            n: timeline_payload(
                axis, state.values[n], state.problems_of(n), state.media_titles
            )
            for n, axis in self._axes.items()
        }
        parts = {
            "schema": schema_payload(self._function, fields, self._axes),
            "values": wires,
            "names": own_names(wires),
            "found": found_payload(state.inspections),
            "timelines": timelines,
            **state_payload(state, fields),
            "error": state.sentence,
            "code": code_of_form(self._catalog, state) if state.shows_code else "",
            **panel_payload(self._catalog, state),
        }
        self.widget.show_form(parts, **once)

    def _follow(self, state: FormState, fields: Mapping[str, FieldSpec]) -> list[str]:
        """Sync values to the page; return the changed fields."""
        changed = []
        for name, spec in fields.items():
            value = state.values.get(name)
            if name in self._wires:
                page_value = held_in(self._function, spec, self._wires[name])
                if repr(page_value) == repr(value):
                    continue
                changed.append(name)
            self._wires[name] = shown(spec, value)
        return changed
