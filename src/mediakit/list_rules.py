"""Rules about lists: gaps between their items, and time spans on a timeline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mediakit.rules import Found, Problem, Rule, Values, any_of


@dataclass(frozen=True)
class Gaps:
    """The gaps between the items of a list, such as transitions between pictures.

    Args:
        items: The list.
        closed_by: The boolean field that adds one from the last item to the first.
        what: The name of a gap, such as "transition".
    """

    items: str
    closed_by: str
    what: str

    @property
    def reads(self) -> set[str]:
        """Return the fields that decide how many there are."""
        return {self.items, self.closed_by}

    def count(self, values: Values) -> int | None:
        """Count the gaps; None if there is no item."""
        items = values.get(self.items)
        if not isinstance(items, list) or not items:
            return None
        return len(items) - 1 + (values.get(self.closed_by) is True)


@dataclass(frozen=True)
class NeedsGap(Rule):
    """A single item needs the closing gap; otherwise there would be no gap."""

    gaps: Gaps

    @property
    def reads(self) -> set[str]:
        return self.gaps.reads

    @property
    def sentence(self) -> str:
        return f"A single item of {self.gaps.items} needs {self.gaps.closed_by} = true"

    def problems(self, values: Values) -> list[Problem]:
        if self.gaps.count(values) != 0:
            return []
        accepted = f"true when {self.gaps.items} has a single item"
        return [Problem(self.gaps.closed_by, got=False, accepted=accepted)]


@dataclass(frozen=True)
class OnePerGap(Rule):
    """A list with one item for each gap, including the closing one."""

    field: str
    gaps: Gaps

    @property
    def reads(self) -> set[str]:
        return self.gaps.reads | {self.field}

    @property
    def sentence(self) -> str:
        return (
            f"{self.field} has one item for each {self.gaps.what}, the closing one of "
            f"{self.gaps.closed_by} included"
        )

    def problems(self, values: Values) -> list[Problem]:
        each, needed = values.get(self.field), self.gaps.count(values)
        if not isinstance(each, list) or not each or not needed or len(each) == needed:
            return []
        accepted = f"a list of {needed}, one for each {self.gaps.what}"
        return [Problem(self.field, each, accepted)]


@dataclass(frozen=True)
class ShortWhenSeveral(Rule):
    """Several gaps have a lower limit than a single one.

    Args:
        each: A list with one number for each gap; it replaces `every`.
        every: One number for all gaps.
        most: The limit if there are several gaps.
        unit: The unit of the numbers.
        gaps: The gaps.
    """

    each: str
    every: str
    most: int
    unit: str
    gaps: Gaps

    @property
    def reads(self) -> set[str]:
        return self.gaps.reads | {self.each, self.every}

    @property
    def sentence(self) -> str:
        return f"Several {self.gaps.what}s are at most {self.most} {self.unit} each"

    def problems(self, values: Values) -> list[Problem]:
        if (self.gaps.count(values) or 0) < 2:
            return []
        what = self.gaps.what
        limit = f"at most {self.most} {self.unit} when there are several {what}s"
        each, every = values.get(self.each), values.get(self.every)
        if isinstance(each, list) and each:
            return [
                Problem(f"{self.each}[{index}]", number, limit)
                for index, number in enumerate(each)
                if number > self.most
            ]
        if isinstance(every, int) and every > self.most:
            return [Problem(self.every, every, limit)]
        return []


@dataclass(frozen=True)
class _OfItems(Rule):
    """A rule about the objects in a list."""

    items: str

    @property
    def reads(self) -> set[str]:
        return {self.items}


@dataclass(frozen=True)
class UniqueIn(_OfItems):
    """All items of a list have different values of one property."""

    name: str

    @property
    def sentence(self) -> str:
        return f"Each of {self.items} has a different {self.name}"

    def problems(self, values: Values) -> list[Problem]:
        first_at: dict[object, int] = {}
        problems = []
        for index, item in enumerate(_dicts(values.get(self.items))):
            value = item.get(self.name)
            first = first_at.setdefault(value, index)
            if first != index:
                accepted = f"different from that of {self.items}[{first}]"
                label = f"{self.items}[{index}].{self.name}"
                problems.append(Problem(label, value, accepted))
        return problems


@dataclass(frozen=True)
class SomeIn(_OfItems):
    """At least one item of a list has one of these values."""

    name: str
    among: tuple[object, ...]

    @property
    def sentence(self) -> str:
        return f"At least one of {self.items} has {self.name} {any_of(self.among)}"

    def problems(self, values: Values) -> list[Problem]:
        found = [item.get(self.name) for item in _dicts(values.get(self.items))]
        if not found or any(value in self.among for value in found):
            return []
        accepted = f"a list with at least one whose {self.name} is {any_of(self.among)}"
        got = Found(f"only {any_of(dict.fromkeys(found))}")
        return [Problem(self.items, got, accepted)]


@dataclass(frozen=True)
class MostInAll(_OfItems):
    """The lists inside a list have a limit on their total number of items."""

    inner: str
    most: int

    @property
    def sentence(self) -> str:
        return f"There are at most {self.most} {self.inner} in all {self.items}"

    def problems(self, values: Values) -> list[Problem]:
        count = sum(
            len(_dicts(item.get(self.inner))) for item in _dicts(values.get(self.items))
        )
        if count <= self.most:
            return []
        accepted = f"a list of at most {self.most} {self.inner} in all"
        return [Problem(self.items, Found(f"{count} {self.inner}"), accepted)]


@dataclass(frozen=True)
class Spans:
    """Time spans inside lists, such as the keyframes of tracks.

    Args:
        items: The list, such as "tracks".
        inner: The list of spans in each item, such as "keyframes".
        start: The property with the start of a span.
        length: The property with its length.
        unit: The unit of both.
    """

    items: str
    inner: str
    start: str
    length: str
    unit: str

    def rows(self, values: Values) -> Iterator[list[tuple[int, int, dict[str, Any]]]]:
        """Yield the spans of each item with their positions, ordered by start."""
        for at, item in enumerate(_dicts(values.get(self.items))):
            spans = [(at, n, s) for n, s in enumerate(_dicts(item.get(self.inner)))]
            yield sorted(spans, key=lambda span: span[2][self.start])

    def label(self, at: int, place: int) -> str:
        """Return the label of a span, such as "tracks[0].keyframes[2]"."""
        return f"{self.items}[{at}].{self.inner}[{place}]"

    def end(self, span: Mapping[str, Any]) -> float:
        """Return the end of a span."""
        return end_of(span[self.start], span[self.length])


@dataclass(frozen=True)
class _OfSpans(Rule):
    """A rule about time spans."""

    spans: Spans

    @property
    def reads(self) -> set[str]:
        return {self.spans.items}


@dataclass(frozen=True)
class NoOverlap(_OfSpans):
    """The spans of one item do not overlap; they may touch."""

    @property
    def sentence(self) -> str:
        spans = self.spans
        return f"The {spans.inner} of one of {spans.items} do not overlap"

    def problems(self, values: Values) -> list[Problem]:
        spans = self.spans
        problems = []
        for row in spans.rows(values):
            free_at, last = 0.0, (0, 0)
            for at, place, span in row:
                if span[spans.start] < free_at:
                    name = f"{spans.label(at, place)}.{spans.start}"
                    end = f"where {spans.label(*last)} ends"
                    accepted = f"at least {free_at:.12g} {spans.unit}, {end}"
                    problems.append(Problem(name, span[spans.start], accepted))
                if spans.end(span) > free_at:
                    free_at, last = spans.end(span), (at, place)
        return problems


@dataclass(frozen=True)
class EndsBy(_OfSpans):
    """All spans end by a given time."""

    end: int

    @property
    def sentence(self) -> str:
        return f"All {self.spans.inner} end by {self.end:,} {self.spans.unit}"

    def problems(self, values: Values) -> list[Problem]:
        spans = self.spans
        accepted = f"short enough to end by {self.end:,} {spans.unit}"
        return [
            Problem(
                f"{spans.label(at, place)}.{spans.length}",
                Found(f"an end at {spans.end(span):.12g} {spans.unit}"),
                accepted,
            )
            for row in spans.rows(values)
            for at, place, span in row
            if spans.end(span) > self.end
        ]


def end_of(start: float, length: float) -> float:
    """Add two numbers as decimals: 1.1 and 2.2 make 3.3.

    Beyond the sixth decimal, a sum of floats shows only binary rounding errors.
    """
    return round(start + length, 6)


def _dicts(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]
