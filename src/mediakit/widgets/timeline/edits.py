"""Applies edits on the timeline to the value of the field; pure.

An edit is what the browser sends: a name and some whole numbers. What does not fit the
value, because it changed meanwhile, changes nothing. Everything that an edit does not
name stays as it is, also what no timeline shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mediakit.media_limits import MediaName
from mediakit.widgets.controls.messages import one_of
from mediakit.widgets.timeline.time_axis import Axis, Item, Stretch

NEW_MS = 2_000
LEAST_MS = 100
FARTHEST_MS = 2**53
"""Beyond it, a number of the browser is no longer exact."""

Edit = Mapping[str, Any]
Place = tuple[int, int]
"""Which item, and which of its stretches."""


@dataclass(frozen=True)
class Edited:
    """A field's value after an edit, and what it was about."""

    value: list[Item]
    chosen: Place | None


def edited(axis: Axis, value: object, edit: Edit) -> Edited | None:
    """Return the value after an edit; None when the edit does not fit it."""
    change = _CHANGES.get(str(edit.get("edit")))
    items = value if isinstance(value, list) else []
    if change is None or not all(isinstance(item, dict) for item in items):
        return None
    return change(axis, items, edit)


def _choose(axis: Axis, items: list[Item], edit: Edit) -> Edited | None:
    place = _place(axis, items, edit)
    return None if place is None else Edited(items, place)


def _put(axis: Axis, items: list[Item], edit: Edit) -> Edited | None:
    place = _place(axis, items, edit)
    start, length = _ms(edit.get("start_ms")), _ms(edit.get("length_ms"))
    if place is None or start is None or length is None or length <= 0:
        return None
    row, at = place
    spans = axis.inner(items[row])
    spans[at] = _timed(axis, items[row], spans[at], Stretch(start, length))
    return Edited(with_spans(axis, items, row, spans), place)


def _remove(axis: Axis, items: list[Item], edit: Edit) -> Edited | None:
    place = _place(axis, items, edit)
    if place is None:
        return None
    row, at = place
    spans = axis.inner(items[row])
    del spans[at]
    chosen = (row, min(at, len(spans) - 1)) if spans else None
    # An item without any stretch is none: an empty one stays.
    return Edited(with_spans(axis, items, row, spans or [{}]), chosen)


def _add(axis: Axis, items: list[Item], edit: Edit) -> Edited | None:
    """Give the first stretch without a time one, or add another stretch."""
    row = _index(edit.get("row"), items)
    if row is None:
        return None
    spans = axis.inner(items[row])
    bare = [at for at, span in enumerate(spans) if axis.stretch(span) is None]
    most = axis.most_in(items[row])
    if not bare and most is not None and len(spans) >= most:
        return None
    at = bare[0] if bare else len(spans)
    stretch = _free(axis.stretches(items[row]), _ms(edit.get("start_ms")))
    before = spans[at] if bare else {}
    spans[at : at + 1] = [_timed(axis, items[row], before, stretch)]
    return Edited(with_spans(axis, items, row, spans), (row, at))


def _add_item(axis: Axis, items: list[Item], edit: Edit) -> Edited | None:
    """Add an item of a kind, in place of a last one that holds nothing."""
    kind = edit.get("kind")
    kept = items[:-1] if items and is_blank(axis, items[-1]) else items
    most = axis.spec.max_length
    if kind not in axis.kinds or (most is not None and len(kept) >= most):
        return None
    new: Item = {axis.tag: kind} if axis.tag else {}
    if axis.name:
        new[axis.name] = _free_name(kind or "item", [i.get(axis.name) for i in kept])
    return Edited([*kept, new | {axis.spans.inner: [{}]}], (len(kept), 0))


def is_blank(axis: Axis, item: Item) -> bool:
    """Return whether nothing but the kind was filled in yet."""
    known = {axis.tag, axis.spans.inner}
    own = is_own_name(axis, item.get(axis.name)) if axis.name else False
    known |= {axis.name} if own else set()
    return not any(axis.inner(item)) and all(name in known for name in item)


def is_own_name(axis: Axis, name: object) -> bool:
    """Return whether a name was given here, not by a person."""
    begin, _, number = str(name).rpartition("-")
    return begin == one_of(axis.spec.name) and number.isdecimal()


def with_names(axis: Axis, items: Sequence[Item]) -> list[Item]:
    """Name the items that have no name yet, where the rules ask for one."""
    named: list[Item] = []
    for item in items:
        if axis.name and not item.get(axis.name):
            taken = [each.get(axis.name) for each in (*items, *named)]
            item = item | {axis.name: _free_name(one_of(axis.spec.name), taken)}
        named.append(item)
    return named


def with_lengths(
    axis: Axis,
    value: object,
    fresh: set[Place],
    known_ms: Callable[[MediaName, str], float | None],
) -> list[Item] | None:
    """Return a value whose `fresh` blocks are as long as their media; or None."""
    items, changed = list(axis.items(value)), False
    for row, at in tuple(fresh):
        spans = axis.inner(items[row]) if row < len(items) else []
        before = axis.stretch(spans[at]) if at < len(spans) else None
        medium = axis.medium_of(items[row]) if before is not None else None
        url = spans[at].get(medium[0]) if medium is not None else None
        length_ms = (
            known_ms(medium[1], url) if medium and isinstance(url, str) else None
        )
        if before is None or length_ms is None:
            continue
        fresh.discard((row, at))
        if before.length_ms != NEW_MS:
            continue
        later = [s.start_ms for s in axis.stretches(items[row])]
        room = min((s for s in later if s > before.start_ms), default=math.inf)
        length = min(length_ms, room - before.start_ms)
        timed = Stretch(before.start_ms, max(LEAST_MS, math.floor(length)))
        spans[at] = _timed(axis, items[row], spans[at], timed)
        items, changed = with_spans(axis, items, row, spans), True
    return items if changed else None


def _timed(axis: Axis, item: Item, span: Item, stretch: Stretch) -> Item:
    """Return a span with new times; one that is the same to the millisecond stays."""
    fields, before = axis.fields_of(item), axis.stretch(span)
    names = (axis.spans.start, axis.spans.length)
    changed = {
        name: axis.number(fields[name], ms)
        for name, ms, old in zip(names, stretch, before or (None, None), strict=True)
        if name in fields and (old is None or round(old) != round(ms))
    }
    return span | changed


def _free(taken: Sequence[Stretch], start_ms: float | None) -> Stretch:
    """Return room for a new stretch: from a moment, or behind the last one."""
    if start_ms is None:
        return Stretch(max((each.end_ms for each in taken), default=0), NEW_MS)
    for each in taken:
        if each.start_ms <= start_ms < each.end_ms:
            start_ms = each.end_ms
    after = [each.start_ms for each in taken if each.start_ms >= start_ms]
    room_ms = min(after, default=start_ms + NEW_MS) - start_ms
    return Stretch(start_ms, max(LEAST_MS, min(NEW_MS, room_ms)))


def _free_name(kind: str, taken: Sequence[object]) -> str:
    number = 1
    while f"{kind}-{number}" in taken:
        number += 1
    return f"{kind}-{number}"


def with_spans(
    axis: Axis, items: list[Item], row: int, spans: list[Item]
) -> list[Item]:
    """Return items with other stretches in one of them."""
    return [
        item | {axis.spans.inner: spans} if at == row else item
        for at, item in enumerate(items)
    ]


def _place(axis: Axis, items: list[Item], edit: Edit) -> Place | None:
    row = _index(edit.get("row"), items)
    if row is None:
        return None
    at = _index(edit.get("at"), axis.inner(items[row]))
    return None if at is None else (row, at)


def _index(number: object, among: Sequence[object]) -> int | None:
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    return number if 0 <= number < len(among) else None


def _ms(number: object) -> float | None:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    known = math.isfinite(number) and 0 <= number <= FARTHEST_MS
    return round(number) if known else None


_CHANGES: Mapping[str, Callable[[Axis, list[Item], Edit], Edited | None]] = {
    "choose": _choose,
    "put": _put,
    "remove": _remove,
    "add": _add,
    "add-item": _add_item,
}
