"""The timelines of a form: fields that are lists of what happens when; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from mediakit.catalog import Function
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.timeline.editor import TimelineEditor
from mediakit.widgets.timeline.time_axis import Axis


class FormTimelines:
    """Keeps the timelines of a form and its values in step."""

    def __init__(self, function: Function) -> None:
        axes = {n: Axis.of(s, function.rules) for n, s in function.fields.items()}
        self._editors = {n: TimelineEditor(axis) for n, axis in axes.items() if axis}
        self.names: Collection[str] = self._editors.keys()

    def began(
        self, state: FormState, given: Collection[str] | None = None
    ) -> FormState:
        """Return a form whose timelines can be edited, all or those given."""
        begins = {
            name: editor.began(state.values[name])
            for name, editor in self._editors.items()
            if given is None or name in given
        }
        return replace(state, values={**state.values, **begins})

    def listed(self, name: str, value: Any) -> Any:
        """Return the value of a field as its timeline lists it."""
        return self._editors[name].listed(value) if name in self.names else value

    def apply(
        self, state: FormState, name: str, edit: Mapping[str, Any]
    ) -> tuple[FormState, str | None]:
        """Return a form after an edit on a timeline, and the place it is about."""
        before = state.values[name]
        after, place = self._editors[name].apply(edit, before)
        if after != before:
            state = state.with_value(name, after)
        return self.fitted(state), place

    def fitted(self, state: FormState) -> FormState:
        """Return a form in which new blocks are as long as their clips."""
        for name, editor in self._editors.items():
            before = state.values[name]
            after = editor.fitted(before, state.inspections)
            if after != before:
                state = state.with_value(name, after)
        return state

    def payload(self, state: FormState) -> Payload:
        titles = state.media_titles
        return {
            name: editor.payload(state.values[name], state.problems_of(name), titles)
            for name, editor in self._editors.items()
        }
