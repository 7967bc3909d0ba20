"""One row in the control of a list of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import ipywidgets as w
from traitlets import TraitError

from mediakit.errors import InputError
from mediakit.rules import Problem
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.messages import (
    folded_text,
    problems_text,
    summary_text,
)
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import close_tree

CHOSEN = "mk-chosen"
UNFOLDABLE = "a value that its fields can show; change it in code, or remove it"


class Entries(Protocol):
    """The list that a row belongs to."""

    context: WidgetContext
    one: str
    """What one item is called."""

    def make_item(self) -> Control:
        """Make the control of one row."""

    def button(self, text: str, tooltip: str, press: Callable[[], object]) -> Any:
        """Make a button."""

    def move(self, entry: Entry, by: int) -> None:
        """Move a row up or down."""

    def remove(self, entry: Entry) -> None:
        """Take a row away."""

    def renew(self) -> None:
        """Show once more what is known."""

    def tell(self) -> None:
        """Say that the value was changed by hand."""


class Entry:
    """A row with its head; its control is there only while it is unfolded.

    Args:
        owner: The list.
        index: Its place in the list, from 0.
        value: Its value; None means the control's own.
        unfolded: Make its control at once.

    Raises:
        ValueError: No control can show its value.
    """

    def __init__(
        self, owner: Entries, index: int, value: object = None, *, unfolded: bool
    ) -> None:
        self._owner = owner
        self._index = index
        self._value = value
        self._note: Any = None
        self.control = self._make_control() if unfolded else None
        self.buttons: tuple[Any, ...] = self._make_buttons() if unfolded else ()
        make = owner.context.factory.make
        # A button, not an Accordion: its head cannot be reached by the keyboard.
        self._fold = make(w.ToggleButton, "mk-fold mk-title", **self._fold_traits)
        self._fold.observe(owner.context.guard(self._turned), "value")
        self._head = make(w.HBox, "mk-row", children=(self._fold, *self.buttons))
        self.widget = make(w.VBox, "mk-entry", children=self._lines)

    @property
    def step(self) -> str:
        """Return its place in the list, such as "[0]"."""
        return f"[{self._index}]"

    @property
    def value(self) -> object:
        """Return its value, also while it is folded."""
        return self._value if self.control is None else self.control.value

    @property
    def _fold_traits(self) -> dict[str, Any]:
        unfolded = self.control is not None
        name = f"{self._owner.one[:1].upper()}{self._owner.one[1:]} {self._index + 1}"
        summary = "" if unfolded else summary_text(self._value)
        return {
            "value": unfolded,
            "description": f"{name} · {summary}" if summary else name,
        }

    @property
    def _lines(self) -> tuple[Any, ...]:
        body = () if self.control is None else (self.control.widget,)
        note = () if self._note is None else (self._note,)
        return (self._head, *body, *note)

    def number(self, index: int) -> None:
        """Take another place in the list."""
        self._index = index
        self._fold.description = self._fold_traits["description"]

    def _turned(self, change: Any) -> None:
        if change.new == (self.control is not None):
            return
        if change.new:
            self.unfold()
        else:
            self.fold()
        self._owner.renew()

    def unfold(self) -> None:
        """Make its control and its buttons, which show its value."""
        if self.control is not None:
            return
        try:
            self.control = self._make_control()
        except (TraitError, ValueError) as error:
            self._fold.value = False
            place = self._fold.description
            raise InputError(place, got=self._value, accepted=UNFOLDABLE) from error
        self.buttons = self._make_buttons()
        self._show_fold()

    def fold(self) -> None:
        """Keep its value, and close its control and its buttons."""
        if self.control is None:
            return
        gone = (self.control.widget, *self.buttons)
        self._value = self.control.value
        self.control, self.buttons = None, ()
        self._show_fold()
        for widget in gone:
            close_tree(widget)

    def amend(self, value: object) -> None:
        """Show a value that differs from the shown one in few places."""
        if self.control is not None:
            self.control.amend(value)
        elif value != self._value:
            self._value = value
            self._show_fold()

    def mark(self, *, chosen: bool) -> None:
        """Show that it is what is at work, or not."""
        change = self.widget.add_class if chosen else self.widget.remove_class
        change(CHOSEN)

    def _show_fold(self) -> None:
        for name, value in self._fold_traits.items():
            setattr(self._fold, name, value)
        self._head.children = (self._fold, *self.buttons)
        self.widget.children = self._lines

    def _make_control(self) -> Control:
        control = self._owner.make_item()
        try:
            if self._value is not None:
                control.value = self._value
        except (TraitError, ValueError):
            close_tree(control.widget)
            raise
        control.listen(self._owner.tell)
        return control

    def _make_buttons(self) -> tuple[Any, ...]:
        owner = self._owner
        which = f"this {owner.one}"
        return (
            owner.button("Up", f"Move {which} up", lambda: owner.move(self, -1)),
            owner.button("Down", f"Move {which} down", lambda: owner.move(self, 1)),
            owner.button("Remove", f"Remove {which}", lambda: owner.remove(self)),
        )

    def set_enabled(self, *, up: bool, down: bool, remove: bool) -> None:
        """Switch its buttons on and off."""
        for button, enabled in zip(self.buttons, (up, down, remove), strict=False):
            button.disabled = not enabled

    def show(self, problems: tuple[Problem, ...], place: str) -> None:
        """Show what is wrong with it; while it is folded, all of it in words.

        Args:
            problems: The problems of its value.
            place: Where it stands.
        """
        if self.control is None:
            text = folded_text(problems, place)
        else:
            left = self.control.place_problems(problems, place)
            text = problems_text((p for p in left if not p.is_missing), place)
        html = line_html(text, "bad")
        if self._note is not None:
            self._note.value = html
        elif html:
            self._note = self._owner.context.factory.make(w.HTML, "mk-note", value=html)
            self.widget.children = self._lines
