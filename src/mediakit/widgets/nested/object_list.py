"""The control of a list of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import ipywidgets as w
from traitlets import TraitError

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control
from mediakit.widgets.controls.messages import label_of, one_of, within
from mediakit.widgets.nested.list_item import Entry
from mediakit.widgets.nested.nested_control import NestedControl, at_place, share
from mediakit.widgets.nested.objects import Fields
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import close_tree

MOST_UNFOLDED = 3


class ObjectList(NestedControl):
    """Rows that people add, remove, move and fold.

    A list that must have items begins with them. When there are many rows, only those
    at work are unfolded; the controls of the others are not there.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context, build)
        if spec.item is None:
            raise TypeError(f"the list {spec.name} does not say what its items are")
        # An item that is there is given: nothing switches it off.
        self._item = replace(spec.item, required=True)
        self.one = within(one_of(label_of(spec)))
        self._entries = self._make_entries(spec.default)
        make = context.factory.make
        self.named = self._head = make(
            w.HTML,
            "mk-wide mk-head-line mk-rows-head",
            description=self.heading,
            tooltip=self.hint,
            value=self._count_html,
        )
        self._rows = make(w.VBox, "mk-entries", children=self._lines)
        self._add = self.button(
            f"Add {self.one}",
            f"Add to {within(self.label)}",
            self._added,
            "mk-small mk-add mk-adds",
        )
        self.widget = make(
            w.VBox, "mk-list", children=(self._head, self._rows, self._add)
        )
        self.set_enabled(enabled=True)

    def button(
        self,
        text: str,
        tooltip: str,
        press: Callable[[], object],
        classes: str = "mk-small",
    ) -> Any:
        """Make a button.

        Args:
            text: What depends on it.
            tooltip: What it does, in more words.
            press: What it does.
            classes: Names of the style sheet.
        """
        # Off until the bounds are known, which costs nothing where it stays off.
        button = self.context.factory.make(
            w.Button, classes, description=text, tooltip=tooltip, disabled=True
        )
        button.on_click(self.context.guard(lambda _: press()))
        return button

    def make_item(self) -> Control:
        """Make the control of one row."""
        if self._item.kind == "object" and self._item.fields:
            return Fields(self._item, self.context, self._build)
        named = self._item.kind != "variants"
        return self._build(
            replace(self._item, name=self.one if named else ""), self.context
        )

    @property
    def fewest(self) -> int:
        """Return how many rows must stay; a list that may be left out may be empty."""
        return max(1, self.spec.min_length or 1) if self.spec.to_fill_in else 0

    @property
    def controls(self) -> Iterable[Control]:
        """Return the controls of the rows that are unfolded."""
        return [e.control for e in self._entries if e.control is not None]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return the rows."""
        return tuple(self._entries)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return what people change in the rows, and the buttons."""
        buttons = (button for entry in self._entries for button in entry.buttons)
        return (*super().parts, *buttons, self._add)

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; the buttons also follow the bounds."""
        super().set_enabled(enabled=enabled)
        count = len(self._entries)
        most = self.spec.max_length
        self._add.disabled = not enabled or (most is not None and count >= most)
        for index, entry in enumerate(self._entries):
            entry.set_enabled(
                up=enabled and index > 0,
                down=enabled and index < count - 1,
                remove=enabled and count > self.fewest,
            )

    def read(self) -> object:
        """Return the items; None when there are none."""
        return [entry.value for entry in self._entries] or None

    def write(self, value: object) -> None:
        """Show some items; None means the fewest that there may be.

        Raises:
            ValueError: It is no list, or holds what a control cannot show.
        """
        if value is not None and not isinstance(value, list | tuple):
            raise ValueError(f"{value!r} is not {self.spec.accepted}")
        gone, self._entries = self._entries, self._make_entries(value)
        self._arrange()
        for entry in gone:
            close_tree(entry.widget)

    def become(self, spec: FieldSpec) -> bool:
        """Become a list of other objects in place; its rows stay."""
        frames = [e.control for e in self._entries if isinstance(e.control, Fields)]
        item = spec.item
        if item is None or item.kind != self._item.kind or not item.fields:
            return False
        if len(frames) != len(list(self.controls)):
            return False
        self.spec, self._item = spec, replace(item, required=True)
        for frame in frames:
            frame.change(self._item, frame.read())
        return True

    def amend(self, value: object) -> None:
        """Show items of which few differ from the shown ones; the others stay."""
        if not isinstance(value, list):
            super().amend(value)
            return
        gone = [self._drop(value) for _ in self._entries[len(value) :]]
        for entry, item in zip(self._entries, value, strict=False):
            entry.amend(item)
        for item in value[len(self._entries) :]:
            few = len(self._entries) < MOST_UNFOLDED
            self._entries.append(Entry(self, len(self._entries), item, unfolded=few))
        if gone or len(self._rows.children) != len(self._entries):
            self._arrange()
            self.renew()
        for entry in gone:
            close_tree(entry.widget)

    def _drop(self, value: list[object]) -> Entry:
        """Take out the first row that is none of the first of some items."""
        pairs = zip(self._entries, value, strict=False)
        kept = takewhile(lambda pair: pair[0].value == pair[1], pairs)
        return self._entries.pop(sum(1 for _ in kept))

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold and mark the row at a place, and fold the others: it is at work."""
        found = at_place(self._entries, place, at)
        for entry in self._entries:
            entry.mark(chosen=entry is found)
            if found is not None and entry is not found:
                entry.fold()
        if found is None:
            return self
        found.unfold()
        self.renew()
        inner = found.control
        return self if inner is None else inner.reveal(place, at + found.step)

    def _make_entries(self, value: Sequence[object] | None) -> list[Entry]:
        items = [None] * self.fewest if value is None else value
        few = len(items) <= MOST_UNFOLDED
        entries: list[Entry] = []
        try:
            for index, item in enumerate(items):
                unfolded = few or item is None
                entries.append(Entry(self, index, item, unfolded=unfolded))
        except (TraitError, ValueError):
            for entry in entries:
                close_tree(entry.widget)
            raise
        return entries

    def _added(self) -> None:
        if len(self._entries) >= MOST_UNFOLDED:
            for other in self._entries:
                other.fold()
        self._entries.append(Entry(self, len(self._entries), unfolded=True))
        self._changed()

    def move(self, entry: Entry, by: int) -> None:
        """Move a row up or down."""
        index = self._entries.index(entry)
        target = min(max(0, index + by), len(self._entries) - 1)
        self._entries.insert(target, self._entries.pop(index))
        self._changed()

    def remove(self, entry: Entry) -> None:
        """Take a row away."""
        self._entries.remove(entry)
        self._changed()
        close_tree(entry.widget)

    def _changed(self) -> None:
        with self.quietly():
            self._arrange()
        self.renew()
        self.tell()

    def _arrange(self) -> None:
        """Number the rows, count them, and put them into their order."""
        for index, entry in enumerate(self._entries):
            entry.number(index)
        self._rows.children = self._lines
        self._head.value = self._count_html
        self.set_enabled(enabled=self._enabled)

    @property
    def _lines(self) -> tuple[Any, ...]:
        return tuple(entry.widget for entry in self._entries)

    @property
    def _count_html(self) -> str:
        count, most = len(self._entries), self.spec.max_length
        words = f"{count} of at most {most}" if count and most else str(count or "none")
        return line_html(words)

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems at the rows that they concern; return the others."""
        return share(self._entries, problems, place)
