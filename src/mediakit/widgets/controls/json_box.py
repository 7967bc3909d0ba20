"""A text box for JSON: for values of any shape, and for undeclared fields."""

from __future__ import annotations

import json
from collections.abc import Mapping

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.json_values import (
    FURTHER,
    NotJson,
    read_further,
    read_json,
)

EXAMPLE = 'JSON, such as {"strength": 0.5} or [1, 2]'
FURTHER_EXAMPLE = 'Such as {"style": "noir", "steps": 30}'


class JsonBox(Control):
    """Any value, written as JSON; an empty box is nothing.

    A text that is no JSON is a value too, a `NotJson`, so that it is neither lost nor
    sent.
    """

    example = EXAMPLE

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        self.widget = self.named = context.factory.make(
            w.Textarea,
            "mk-json",
            description=self.heading,
            placeholder=self.example,
            tooltip=self.hint,
            value=_text(spec.default),
            continuous_update=True,
        )
        self.watch(self.widget)

    def read(self) -> object:
        """Return the value; a `NotJson` for a text that is none."""
        return read_json(self.widget.value)

    def write(self, value: object) -> None:
        """Show a value; a text that means it already stays as it is.

        Raises:
            ValueError: JSON cannot hold it.
        """
        # Not by ==, for which true is 1.
        if isinstance(value, NotJson) or repr(value) != repr(self.read()):
            self.widget.value = _text(value)


class FurtherBox(JsonBox):
    """The fields that an open function, or an open object, takes beyond the known.

    Args:
        known: The fields that have a control of their own.
        context: What controls are made with.
    """

    example = FURTHER_EXAMPLE

    def __init__(self, known: Mapping[str, FieldSpec], context: WidgetContext) -> None:
        self._known = known
        super().__init__(FURTHER, context)

    @property
    def label(self) -> str:
        """Return its name, with what is to be typed."""
        return "Additional fields (JSON)"

    def read(self) -> object:
        """Return the properties; a `NotJson` for a text that is no such object."""
        return read_further(self.widget.value, self._known)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, NotJson):
        return str(value)
    try:
        # As people write it: one property a line, small things on one.
        short = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(short) <= 60:
            return short
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold it: {error}") from error
