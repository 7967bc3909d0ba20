"""The control of such a list: a timeline above the rows of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import anywidget
import ipywidgets as w
from traitlets import Bool, Dict

from mediakit.media import is_url
from mediakit.media_limits import MediaName
from mediakit.rules import Problem
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control, Note
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.nested.nested_control import NestedControl
from mediakit.widgets.timeline.edits import (
    Edit,
    Edited,
    Place,
    edited,
    with_lengths,
    with_names,
)
from mediakit.widgets.timeline.layout import Timeline, shape_of, timeline_of
from mediakit.widgets.timeline.time_axis import MS_PER_S, Axis
from mediakit.widgets.toolkit.styles import data_url

HERE = Path(__file__).parent


class TimelineWidget(anywidget.AnyWidget):
    """The timeline in the browser.

    What it shows is set here and never in the browser. What people do comes as a
    message with a name and some numbers; the timeline's "heard" is the number of the
    last message that it takes into account.
    """

    _esm = HERE / "timeline.js"
    _css = HERE / "timeline.css"
    timeline = Dict().tag(sync=True)
    posters = Dict().tag(sync=True)
    disabled = Bool(default_value=False).tag(sync=True)


class TimelineControl(NestedControl):
    """A timeline and a list of rows that show the same value.

    The list holds the value: an edit on the timeline changes the boxes in it, which
    stay in place, and what is typed into them moves the blocks.

    Args:
        axis: Where the stretches are in the field.
        context: What controls are made with.
        build: Makes the list.
    """

    def __init__(self, axis: Axis, context: WidgetContext, build: Build) -> None:
        super().__init__(axis.spec, context, build)
        self._axis = axis
        self._list = build(axis.spec, context)
        self._list.listen(self._list_changed)
        self._count = 0
        self._fresh: set[Place] = set()
        self._name_new()
        self._chosen: Place | None = None
        self._heard = 0
        shown = self._traits(self.shown)
        self._view = context.factory.make(TimelineWidget, "mk-wide", timeline=shown)
        self._view.on_msg(context.guard(self._done))
        self.named = self._list.named
        self.widget = context.factory.make(
            w.VBox, "mk-list", children=(self._view, self._list.widget)
        )

    @property
    def controls(self) -> Iterable[Control]:
        """Return the list."""
        return (self._list,)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return what people change in the list, and the timeline."""
        return (*super().parts, self._view)

    @property
    def note(self) -> Note:
        """Return what the list has to say."""
        return self._list.note

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; its value stays."""
        self._view.disabled = not enabled
        super().set_enabled(enabled=enabled)

    def set_required(self, *, required: bool) -> None:
        """Mark it as required, or not."""
        self._list.set_required(required=required)

    def read(self) -> object:
        """Return the items."""
        return self._list.value

    def write(self, value: object) -> None:
        """Show some items.

        Raises:
            ValueError: It holds what the list cannot show.
        """
        self._list.value = value
        self._fresh.clear()
        self._count = len(list(self._axis.items(self._list.value)))
        if value is None:
            self._count = 0
            self._name_new()
        self._draw()

    def _list_changed(self) -> None:
        with self.quietly():
            self._name_new()
        self.tell()

    def _name_new(self) -> None:
        """Give rows that were just added names of their own, where they need some."""
        items = list(self._axis.items(self._list.value))
        if len(items) > self._count:
            named = with_names(self._axis, items)
            if named != items:
                self._list.amend(named)
        self._count = len(items)

    def amend(self, value: object) -> None:
        """Show items of which few differ from the shown ones."""
        self._list.amend(value)
        self._draw()

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold what stands at a place in the list."""
        return self._list.reveal(place, at)

    def show_found(self, found: Mapping[MediaKey, Inspection]) -> None:
        """Show what was found out about the media, in the list and as pictures."""
        super().show_found(found)
        self._fit_fresh()
        self._draw()

    def _fit_fresh(self) -> None:
        """Give what was just placed the length of its clip, once that is known."""
        fitted = with_lengths(self._axis, self.value, self._fresh, self._known_ms)
        if fitted is not None:
            self._list.amend(fitted)
            self.tell()

    def _known_ms(self, kind: MediaName, url: str) -> float | None:
        found = self._found.get((kind, url))
        seconds = found.info.duration_s if found and found.info else None
        return None if seconds is None else seconds * MS_PER_S

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems at the blocks and in the list; return those of neither."""
        self._draw()
        return self._list.place_problems(problems, place)

    def tell(self) -> None:
        """Say that the value was changed by hand, and show it."""
        super().tell()
        self._draw()

    # What people do on the timeline.

    def _done(self, _: object, edit: Edit, __: object) -> None:
        number = edit.get("number")
        self._heard = number if isinstance(number, int) else self._heard
        before = self.value
        # What was done to other blocks than those that are here now comes too late.
        late = "at" in edit and edit.get("shape") != shape_of(self._axis, before)
        if self._enabled and not late:
            after = edited(self._axis, before, edit)
            if after is not None:
                self._take(after, before)
                self._note_fresh(edit, after)
        self._draw()

    def _note_fresh(self, edit: Edit, after: Edited) -> None:
        """Remember what was placed and not given a length by hand."""
        if edit.get("edit") == "add" and after.chosen is not None:
            self._fresh.add(after.chosen)
            self._fit_fresh()
        elif edit.get("edit") != "choose":
            self._fresh.clear()

    def _take(self, after: Edited, before: object) -> None:
        moved = shape_of(self._axis, after.value) != shape_of(self._axis, before)
        self._list.amend(after.value)
        if after.chosen is not None and (moved or after.chosen != self._chosen):
            place = self._axis.spans.label(*after.chosen)
            self._list.reveal(place, self.spec.name)
        self._chosen = after.chosen
        self._count = len(after.value)
        if after.value != before:
            self.tell()

    # What the timeline shows.

    def _draw(self) -> None:
        shown = self.shown
        with self._view.hold_sync():
            self._view.timeline = self._traits(shown)
            self._view.posters = self._posters(shown)

    @property
    def shown(self) -> Timeline:
        """Return what the timeline shows."""
        found = self._found.items()
        titles = {url: each.title for (_, url), each in found if each.title}
        return timeline_of(
            self._axis, self.value, self._problems, self._chosen, titles=titles
        )

    def _traits(self, shown: Timeline) -> dict[str, Any]:
        return asdict(shown) | {"heard": self._heard}

    def _posters(self, shown: Timeline) -> dict[str, str]:
        """Return small pictures by the media that they are of.

        A remote picture is fetched by the browser.
        """
        sources = {url: self._poster(kind, url) for kind, url in shown.pictures}
        return {url: source for url, source in sources.items() if source}

    def _poster(self, kind: str, url: str) -> str:
        found = self._found.get((cast("MediaName", kind), url))
        if found is not None and found.thumbnail is not None:
            return data_url(found.thumbnail)
        return url if is_url(url) and kind == "image" else ""
