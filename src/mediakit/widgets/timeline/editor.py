"""A timeline at work: what is chosen, what is new, and what people do on it; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mediakit.history.titles import NO_NAMES
from mediakit.media_limits import MediaName
from mediakit.rules import Problem
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.timeline.edits import (
    Edit,
    Place,
    edited,
    with_lengths,
    with_names,
)
from mediakit.widgets.timeline.layout import shape_of, timeline_of
from mediakit.widgets.timeline.time_axis import MS_PER_S, Axis

Found = Mapping[MediaKey, Inspection]


class TimelineEditor:
    """Applies edits to the value of a field, which the form holds."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._count = 0
        self._fresh: set[Place] = set()
        self._chosen: Place | None = None
        self._heard = 0

    def began(self, value: object) -> object:
        """Return a value that came from code, with names for nameless rows."""
        self._fresh.clear()
        items = list(self._axis.items(value))
        # What code gives is as it is; only the rows to begin with are named.
        is_filled = any(any(self._axis.inner(item)) for item in items)
        self._count = len(items) if is_filled else 0
        return self.listed(value)

    def listed(self, value: object) -> object:
        """Return a value from the list of fields, with names for new rows."""
        items = list(self._axis.items(value))
        is_longer, self._count = len(items) > self._count, len(items)
        return with_names(self._axis, items) if is_longer else value

    def apply(self, edit: Edit, value: object) -> tuple[object, str | None]:
        """Return the value after an edit, and the place to unfold in the list."""
        number = edit.get("number")
        self._heard = number if isinstance(number, int) else self._heard
        shape = shape_of(self._axis, value)
        # What was done to other blocks than those that are here now comes too late.
        late = "at" in edit and edit.get("shape") != shape
        after = None if late else edited(self._axis, value, edit)
        if after is None:
            return value, None
        moved = shape_of(self._axis, after.value) != shape
        place = None
        if after.chosen is not None and (moved or after.chosen != self._chosen):
            place = self._axis.spans.label(*after.chosen)
        self._chosen, self._count = after.chosen, len(after.value)
        if edit.get("edit") == "add" and after.chosen is not None:
            self._fresh.add(after.chosen)
        elif edit.get("edit") != "choose":
            self._fresh.clear()
        return after.value, place

    def fitted(self, value: object, found: Found) -> object:
        """Return a value in which new blocks are as long as their clips."""

        def known_ms(kind: MediaName, url: str) -> float | None:
            seen = found.get((kind, url))
            seconds = seen.info.duration_s if seen and seen.info else None
            return None if seconds is None else seconds * MS_PER_S

        after = with_lengths(self._axis, value, self._fresh, known_ms)
        return value if after is None else after

    def payload(
        self,
        value: object,
        problems: Sequence[Problem],
        titles: Mapping[str, str] = NO_NAMES,
    ) -> dict[str, Any]:
        shown = timeline_of(self._axis, value, problems, self._chosen, titles=titles)
        return asdict(shown) | {"heard": self._heard}
