"""The page of a form: the values that it holds, and everything that it draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mediakit.catalog import Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.wire import Wire, shown
from mediakit.widgets.form.fields_payload import fields_of, schema_payload
from mediakit.widgets.form.form_values import adapted, held_in
from mediakit.widgets.form.live_state import LiveState
from mediakit.widgets.form.payload import found_payload, own_names, state_payload
from mediakit.widgets.form.timelines import FormTimelines
from mediakit.widgets.form.widget import EditorsWidget, FormWidget, OnMessage
from mediakit.widgets.job.payload import Payload


class FormPage:
    """Keeps the page and the state of a form in step."""

    def __init__(
        self,
        function: Function,
        service: str,
        live: LiveState,
        on_message: OnMessage,
        hides: str,
    ) -> None:
        self.timelines = FormTimelines(function)
        self._function = function
        self._live = live
        self._heard: dict[str, int] = {}
        self._wires: dict[str, Wire] = {}
        self._sentence = ""
        self._until_edited = False
        self._closed = False
        specs = function.fields.values()
        inner = (each for spec in specs for each in spec.with_inner())
        edits = bool(self.timelines.names) or any(each.mask_of for each in inner)
        self.widget = (EditorsWidget if edits else FormWidget)(on_message, hides=hides)
        facts = [service, "* required"]
        head = {"title": function.title, "doc": function.doc, "facts": facts}
        self.widget.show_form({"head": head, "returns": False, "focus": 0, "wall": []})

    @property
    def fields(self) -> dict[str, FieldSpec]:
        """Return the fields that are shown, of the chosen kind of body."""
        state = self._live.now
        fields = fields_of(self._function, state.values)
        if self._function.tag is None:
            return fields
        return {n: s for n, s in fields.items() if n not in state.disabled}

    def is_news(self, message: Mapping[str, Any]) -> bool:
        """Note a message; return whether it is the newest of its view."""
        view = str(message["view"])
        number = int(message["number"])
        is_new = number > self._heard.get(view, 0)
        if is_new:
            self._heard[view] = number
        return is_new

    def take(self, wires: Mapping[str, Wire]) -> list[str]:
        """Take the page's values; return the fields that have changed."""
        fields = self.fields
        changed = []
        if self._until_edited:
            self._until_edited = False
            self._sentence = ""
        state = self._live.now
        for name, wire in wires.items():
            if name not in fields:
                continue  # of another kind of body
            value = held_in(self._function, fields[name], wire)
            self._wires[name] = wire
            if repr(value) != repr(state.values.get(name)):
                changed.append(name)
                state = state.with_value(name, self.timelines.listed(name, value))
        self._live.now = adapted(state)
        return changed

    def differs(self, wires: Mapping[str, Wire]) -> bool:
        """Return whether code has changed values since the page sent these."""
        values = self._live.now.values
        return any(
            repr(held_in(self._function, spec, wires[name])) != repr(values.get(name))
            for name, spec in self.fields.items()
            if name in wires and name not in self.timelines.names
        )

    def show(self, parts: Payload, **more: object) -> None:
        """Show the state and other parts; the page is told `more` once."""
        state = self._live.now
        fields = self.fields
        set_here = self._follow(fields)
        wires = {name: self._wires[name] for name in fields}
        if "heard" in more:
            more["set"] = set_here
        shown_parts = {
            "schema": schema_payload(self._function, fields),
            "values": wires,
            "names": own_names(wires),
            "found": found_payload(state.inspections),
            "timelines": self.timelines.payload(state),
            **state_payload(state, fields),
            "error": self._sentence,
            **parts,
        }
        self.widget.show_form(shown_parts, **more)

    def _follow(self, fields: Mapping[str, FieldSpec]) -> list[str]:
        """Give the page the values; return the fields where it held others."""
        changed = []
        for name, spec in fields.items():
            value = self._live.now.values.get(name)
            wire = self._wires.get(name)
            if name in self._wires:
                if repr(held_in(self._function, spec, wire)) == repr(value):
                    continue
                changed.append(name)
            self._wires[name] = shown(spec, value)
        return changed

    def say(self, text: str, *, until_edited: bool = False) -> None:
        """Show a sentence below the price, optionally until the next edit."""
        with self._live.lock:
            self._sentence = text
            self._until_edited = until_edited
            if not self._closed:
                self.widget.show_form({"error": text})

    def close(self) -> None:
        self._closed = True
        self.widget.close()
