"""Rules about the objects in a list, and about time spans on a timeline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mediakit.rules import Found, Problem, Rule, Values


@dataclass(frozen=True)
class UniqueIn(Rule):
    """All items of a list have different values of one property."""

    items: str
    name: str

    @property
    def reads(self) -> set[str]:
        return {self.items}

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
class Spans:
    """Time spans inside lists, such as the keyframes of tracks."""

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
