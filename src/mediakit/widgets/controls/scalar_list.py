"""A list of numbers or texts, with one box for each item."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.messages import within
from mediakit.widgets.toolkit.styles import line_html


class ItemList(Control):
    """A list of numbers or texts, with buttons to add and to remove an item.

    An empty list is nothing. Numbers are not limited while they are typed: what is
    wrong with one of them stands below, with its place in the list.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        if spec.item is None:
            raise TypeError(f"the list {spec.name} does not say what its items are")
        self._item = spec.item
        self._boxes: list[Any] = []
        make = context.factory.make
        self.named = self._head = make(
            w.HTML,
            "mk-head-line",
            description=self.heading,
            tooltip=self.hint,
        )
        self._add = make(
            w.Button,
            "mk-small mk-adds",
            description="Add",
            tooltip=f"Add to {within(self.label)}",
        )
        self._drop = make(
            w.Button,
            "mk-small",
            description="Remove last",
            tooltip=f"Remove the last of {within(self.label)}",
            disabled=True,
        )
        self._add.on_click(context.guard(self._added))
        self._drop.on_click(context.guard(self._dropped))
        self._items = make(w.Box, "mk-items mk-column" if self._long else "mk-items")
        head = make(w.HBox, "mk-row", children=(self._head, self._add, self._drop))
        self.widget = make(w.VBox, "mk-list", children=(head, self._items))
        self.value = spec.default

    @property
    def _long(self) -> bool:
        return self._item.kind == "text"

    def read(self) -> object:
        """Return the items; None when there are none."""
        return [box.value for box in self._boxes] or None

    def write(self, value: object) -> None:
        """Show some items, keeping the boxes that are there."""
        values = list(value) if isinstance(value, list | tuple) else []
        self._remove_after(len(values))
        for box, item in zip(self._boxes, values, strict=False):
            box.value = item
        for item in values[len(self._boxes) :]:
            self._boxes.append(self._make_box(item))
        self._arrange()

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the boxes and the buttons."""
        return (*self._boxes, self._add, self._drop)

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; the buttons also follow the bounds."""
        for box in self._boxes:
            box.disabled = not enabled
        most = self.spec.max_length
        full = most is not None and len(self._boxes) >= most
        self._add.disabled = full or not enabled
        self._drop.disabled = not self._boxes or not enabled

    def _make_box(self, item: object) -> Any:
        types = {"integer": w.IntText, "number": w.FloatText}
        box = self.context.factory.make(
            types.get(self._item.kind, w.Text),
            "mk-wide" if self._long else "mk-bare",
            value=item,
            continuous_update=True,
            # Not shown, but read aloud.
            description=f"{self.label}, {len(self._boxes) + 1}",
        )
        self.watch(box)
        return box

    def _next_item(self) -> object:
        if self._long:
            return ""
        return self._boxes[-1].value if self._boxes else int(self._item.low or 0)

    def _added(self, _: object) -> None:
        self._boxes.append(self._make_box(self._next_item()))
        self._arrange()
        self.tell()

    def _dropped(self, _: object) -> None:
        if self._boxes:
            self._remove_after(len(self._boxes) - 1)
            self._arrange()
            self.tell()

    def _remove_after(self, count: int) -> None:
        self._boxes, gone = self._boxes[:count], self._boxes[count:]
        self._items.children = tuple(self._boxes)
        for box in gone:
            box.close()

    def _arrange(self) -> None:
        self._items.children = tuple(self._boxes)
        count = len(self._boxes)
        if not count:
            words = "Not set"
        elif self.spec.max_length is not None:
            words = f"{count} of at most {self.spec.max_length}"
        else:
            words = f"{count}"
        self._head.value = line_html(words)
        self.set_enabled(enabled=True)
