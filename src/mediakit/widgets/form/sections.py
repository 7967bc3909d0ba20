"""The sections of a form: its main fields, and the others behind a button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as w

from mediakit.catalog import Function
from mediakit.rules import NeedsAny, OnlyWhen
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control


def is_main(function: Function, spec: FieldSpec) -> bool:
    """Return whether a field is always shown, not under "More settings".

    In the open is what must be given, it or another field, what the price is made
    from, media, the prompt, and what has a default that is more than on or off; but
    nothing that a rule may switch off.
    """
    if function.tag is not None:
        return True
    switched = {
        name
        for rule in function.rules
        if isinstance(rule, OnlyWhen)
        for name in rule.fields
    }
    if spec.name in switched:
        return False
    return (
        spec.required
        or any(
            isinstance(rule, NeedsAny) and spec.name in rule.fields
            for rule in function.rules
        )
        or spec.name in (function.declared.priced_by or ())
        or bool(spec.media_kind or (spec.item and spec.item.media_kind))
        or spec.name == _prompt(function)
        or (spec.default is not None and spec.kind != "boolean")
    )


def _prompt(function: Function) -> str | None:
    """Return the first text that people write at length."""
    return next((s.name for s in function.fields.values() if s.multiline), None)


class Section:
    """Some controls, each with a line below it.

    The lines are there before anybody can type: a box that gets another child draws
    all that stand behind it again, and interrupts typing there.

    Args:
        context: What widgets are made with.
        controls: The controls by field.
        folded: Whether they are not on the page yet; the lines are made when they are.
    """

    def __init__(
        self, context: WidgetContext, controls: Mapping[str, Control], *, folded: bool
    ) -> None:
        self._context = context
        self._controls = controls
        self._texts: Mapping[str, str] = {}
        self._notes = {} if folded else self._make_notes()
        self.widget = context.factory.make(w.VBox, "mk-fields", children=self._lines)

    def _make_notes(self) -> dict[str, Any]:
        make = self._context.factory.make
        return {
            name: make(w.HTML, "mk-note", value=self._texts.get(name, ""))
            for name in self._controls
        }

    @property
    def _lines(self) -> tuple[Any, ...]:
        pairs = ((c.widget, self._notes.get(n)) for n, c in self._controls.items())
        return tuple(each for pair in pairs for each in pair if each is not None)

    def change(self, controls: Mapping[str, Control]) -> None:
        """Show other controls from now on."""
        if list(controls.items()) != list(self._controls.items()):
            self._controls = controls
            self._notes = self._make_notes() if self._notes else {}
            self.widget.children = self._lines

    def unfold(self) -> None:
        """Get ready to be on the page."""
        if not self._notes:
            self._notes = self._make_notes()
            self.widget.children = self._lines

    def show_notes(self, texts: Mapping[str, str]) -> None:
        """Show a line of HTML below each control; nothing takes no room."""
        self._texts = texts
        for name, note in self._notes.items():
            note.value = texts.get(name, "")


class Fold:
    """A section of the form behind a button that unfolds it."""

    def __init__(self, context: WidgetContext, title: str, section: Section) -> None:
        self._section = section
        # A button, not an Accordion: its head cannot be reached by the keyboard.
        self._button = context.factory.make(
            w.ToggleButton, "mk-fold", description=title
        )
        self._button.observe(context.guard(self._turn), "value")
        self.widget = context.factory.make(
            w.VBox, "mk-fields", children=(self._button,)
        )

    def _turn(self, change: Any) -> None:
        if change.new:
            self._section.unfold()
        shown = (self._section.widget,) if change.new else ()
        self.widget.children = (self._button, *shown)
