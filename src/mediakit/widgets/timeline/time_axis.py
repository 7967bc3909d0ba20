"""Finds the time spans in a field's value, such as the keyframes of tracks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from mediakit.clock import MS_PER_S
from mediakit.media_limits import MediaName
from mediakit.rules import EndsBy, NoOverlap, Problem, Rule, Spans, UniqueIn
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import one_of

PER_S: Mapping[str, int] = {"ms": MS_PER_S, "s": 1}
"""Units per second; other units have no timeline."""

Item = dict[str, Any]


class Stretch(NamedTuple):
    """A start and a length on the timeline."""

    start_ms: float
    length_ms: float

    @property
    def end_ms(self) -> float:
        return round(self.start_ms + self.length_ms, 6)


@dataclass(frozen=True)
class Axis:
    """A list of items with time spans, as a function's rules describe it."""

    spec: FieldSpec  # the list, such as "tracks"
    spans: Spans
    rules: tuple[NoOverlap | EndsBy, ...]
    name: str = ""  # the property by which items differ; may be empty

    @classmethod
    def of(cls, spec: FieldSpec, rules: Iterable[Rule]) -> Axis | None:
        """Return the time axis of a field; None if no rule mentions spans."""
        here = [rule for rule in rules if spec.name in rule.reads]
        timed = [rule for rule in here if isinstance(rule, NoOverlap | EndsBy)]
        if not timed:
            return None
        spans = timed[0].spans
        names = (rule.name for rule in here if isinstance(rule, UniqueIn))
        same = tuple(rule for rule in timed if rule.spans == spans)
        axis = cls(spec, spans, same, next(names, ""))
        return axis if axis._fits else None

    @property
    def _fits(self) -> bool:
        item = self.spec.item
        kinds = () if item is None else (item, *item.variants.values())
        objects = [kind for kind in kinds if kind.kind == "object"]
        wanted = {self.spans.start, self.spans.length}
        return (
            self.spans.unit in PER_S
            and bool(objects)
            and all(wanted <= set(self._fields_of(each)) for each in objects)
        )

    def _fields_of(self, item: FieldSpec) -> Mapping[str, FieldSpec]:
        inner = item.fields.get(self.spans.inner)
        return inner.item.fields if inner is not None and inner.item else {}

    # The kinds of items.

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the tags of the kinds of items; "" for the only kind."""
        item = self.spec.item
        return tuple(item.variants) if item and item.variants else ("",)

    def kind_of(self, item: Item) -> str:
        return str(item.get(self.tag, "")) if self.tag else ""

    @property
    def tag(self) -> str | None:
        """Return the property that tells the kinds apart; None for a single kind."""
        return self.spec.item.tag if self.spec.item else None

    def fields_of(self, item: Item) -> Mapping[str, FieldSpec]:
        """Return the fields of a stretch in an item; none for an unknown kind."""
        kind = self.spec.item.chosen(item) if self.spec.item else None
        return {} if kind is None else self._fields_of(kind)

    def medium_of(self, item: Item) -> tuple[str, MediaName] | None:
        """Return the field for the medium of a stretch, and its medium."""
        for name, field in self.fields_of(item).items():
            if field.media_kind is not None:
                return name, field.media_kind
        return None

    @property
    def payload(self) -> dict[str, object]:
        """Return the data for editing a value on the page, besides its fields."""
        spans = self.spans
        return {
            "name": self.name,
            "one": one_of(self.spec.name),
            "inner": spans.inner,
            "start": spans.start,
            "length": spans.length,
            "per_s": PER_S[spans.unit],
        }

    def named(self, items: Iterable[Item]) -> list[Item]:
        """Name the unnamed items, if the rules require names."""
        named = list(items)
        for at, item in enumerate(named):
            if self.name and not item.get(self.name):
                named[at] = item | {self.name: self.free_name(named)}
        return named

    def is_blank(self, item: Item) -> bool:
        """Return whether only the kind is filled in."""
        begin, _, number = str(item.get(self.name, "")).rpartition("-")
        is_own_name = begin == one_of(self.spec.name) and number.isdecimal()
        ignored = {self.tag, self.spans.inner, *([self.name] if is_own_name else ())}
        return not any(self.inner(item)) and item.keys() <= ignored

    def free_name(self, items: Iterable[Item]) -> str:
        used = [item.get(self.name) for item in items]
        names = (f"{one_of(self.spec.name)}-{number}" for number in count(1))
        return next(name for name in names if name not in used)

    def most_in(self, item: Item) -> int | None:
        """Return how many stretches an item may have; None for any number."""
        kind = self.spec.item.chosen(item) if self.spec.item else None
        inner = None if kind is None else kind.fields.get(self.spans.inner)
        return None if inner is None else inner.max_length

    # The items and their stretches.

    def items(self, value: object) -> Iterator[Item]:
        """Yield the items of a value; anything but an object counts as empty."""
        for item in value if isinstance(value, list) else ():
            yield item if isinstance(item, dict) else {}

    def inner(self, item: Item) -> list[Item]:
        """Return the stretches of an item, including those without a time."""
        inner = item.get(self.spans.inner)
        if not isinstance(inner, list):
            return []
        return [each if isinstance(each, dict) else {} for each in inner]

    def stretch(self, span: Item) -> Stretch | None:
        """Return a stretch's times; None if they cannot be drawn."""
        start = self._ms(span.get(self.spans.start))
        length = self._ms(span.get(self.spans.length))
        if start is None or length is None or start < 0 or length <= 0:
            return None
        return Stretch(start, length)

    def stretches(self, item: Item) -> list[Stretch]:
        """Return the times of an item's stretches, sorted."""
        spans = (self.stretch(span) for span in self.inner(item))
        return sorted(each for each in spans if each is not None)

    @property
    def end_ms(self) -> float | None:
        """Return where the last stretch must end; None for anywhere."""
        ends = (rule.end for rule in self.rules if isinstance(rule, EndsBy))
        return min((ms for end in ends if (ms := self._ms(end))), default=None)

    def problems(self, value: object) -> list[Problem]:
        """Return the problems of stretches with a time, by the rules."""
        # The whole request is checked only when it is complete.
        nowhere = {self.spans.start: 0, self.spans.length: 0}
        timed = [
            {
                self.spans.inner: [
                    nowhere if self.stretch(span) is None else span
                    for span in self.inner(item)
                ]
            }
            for item in self.items(value)
        ]
        values = {self.spec.name: timed}
        return [each for rule in self.rules for each in rule.problems(values)]

    def _ms(self, number: object) -> float | None:
        if isinstance(number, bool) or not isinstance(number, int | float):
            return None
        # A typed integer may be too large for a float.
        if abs(number) > 2**53 or not math.isfinite(number):
            return None
        return round(number * MS_PER_S / PER_S[self.spans.unit], 6)

    def number(self, field: FieldSpec, ms: float) -> float:
        """Convert a time to the unit of the stretches, to the millisecond."""
        number = round(ms) * PER_S[self.spans.unit] / MS_PER_S
        whole = field.kind == "integer" or number == int(number)
        return round(number) if whole else number
