"""Rules between the fields of a request, as data.

Each rule checks a body, has a sentence that describes it, and disables or requires
fields of a form. Rules see the body's values with defaults filled in; null counts as
omitted, 0 and false as given, an empty list as not given.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from mediakit.safe_text import shown

Values = Mapping[str, object]


class ValueDescription(str):
    """A description of a value, shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Problem:
    """One problem with one field.

    Args:
        field: The field, such as "duration" or "images[0]".
        got: The value that was given; None if there was none.
        accepted: What is accepted, in words.
        said: A predicate that follows the field's name, if "must be" and `accepted` do
            not fit.
        required: For a missing value, the condition that requires it, such as " when
            detail is true"; "" for always. None for any other problem.
    """

    field: str
    got: object
    accepted: str
    message: str = dataclass_field(default="", compare=False)
    required: str | None = None

    @property
    def is_missing(self) -> bool:
        """Return whether a required value is missing."""
        return self.required is not None

    @property
    def predicate(self) -> str:
        """Describe the problem, to follow the field's name: "must be at most 9"."""
        if self.message:
            return self.message
        if self.required is not None:
            return f"is required{self.required or f' ({self.accepted})'}"
        if self.got is None:
            return f"is missing: {self.accepted}"
        return f"must be {self.accepted}"

    @property
    def detail(self) -> str:
        """Describe the problem and the value, to follow the field's name."""
        came = "" if self.got is None or self.message else f" (got {shown(self.got)})"
        return f"{self.predicate}{came}"

    @property
    def sentence(self) -> str:
        """Return the problem as a sentence."""
        return f"{self.field} {self.detail}"

    @property
    def root(self) -> str:
        """Return the top-level field: "images" for "images[0]"."""
        return self.field.split("[", 1)[0].split(".", 1)[0]


def has_value(values: Values, field: str) -> bool:
    """Return whether a field has a value; null and an empty list do not count."""
    value = values.get(field)
    return value is not None and value != []


@dataclass(frozen=True)
class When:
    """A condition on one field: its value is (or is not) one of these values."""

    field: str
    among: tuple[object, ...]
    inverted: bool = False

    def holds(self, values: Values) -> bool:
        """Return whether the condition holds."""
        return (values.get(self.field) in self.among) is not self.inverted

    @property
    def text(self) -> str:
        """Return the condition in words: "model is wonder-3 or wonder-3.5"."""
        verb = "is not" if self.inverted else "is"
        return f"{self.field} {verb} {any_of(self.among)}"


def when(field: str, *among: object) -> When:
    """Make a condition: the field's value is one of these."""
    return When(field, among)


def unless(field: str, *among: object) -> When:
    """Make a condition: the field's value is none of these."""
    return When(field, among, inverted=True)


def any_of(values: Iterable[object]) -> str:
    """Join values as "a, b or c", with booleans as in JSON."""
    words = [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def all_of(words: Iterable[str]) -> str:
    """Join words as "a, b and c"."""
    words = list(words)
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


class Rule:
    """The base class of all rules; by default, it has no effect."""

    @property
    def reads(self) -> set[str]:
        """Return the fields that this rule reads."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence."""
        raise NotImplementedError

    def problems(self, values: Values) -> list[Problem]:
        """Return the problems found by this rule."""
        return []

    def disables(self, field: str, values: Values) -> str | None:
        """Return why the field does not apply; None if it does."""
        return None

    def requires(self, field: str, values: Values) -> bool:
        """Return whether the field is required, given the other values."""
        return False

    def warnings(self, values: Values) -> list[Problem]:
        """Return likely mistakes that are allowed."""
        return []


@dataclass(frozen=True)
class _OfFields(Rule):
    """A rule about fields."""

    fields: tuple[str, ...]

    @property
    def reads(self) -> set[str]:
        return {*self.fields}


@dataclass(frozen=True)
class _Conditional(_OfFields):
    """A rule about fields under a condition."""

    condition: When

    @property
    def reads(self) -> set[str]:
        return {*self.fields, self.condition.field}


@dataclass(frozen=True)
class OnlyWhen(_Conditional):
    """Fields that may be given only under a condition."""

    @property
    def sentence(self) -> str:
        verb = "applies" if len(self.fields) == 1 else "apply"
        return f"{all_of(self.fields)} {verb} only when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        if self.condition.holds(values):
            return []
        accepted = f"left out unless {self.condition.text}"
        return [
            Problem(field, values[field], accepted)
            for field in self.fields
            if has_value(values, field)
        ]

    def disables(self, field: str, values: Values) -> str | None:
        applies = field not in self.fields or self.condition.holds(values)
        return None if applies else f"applies only when {self.condition.text}"


@dataclass(frozen=True)
class NeededWhen(_Conditional):
    """Fields that are required under a condition."""

    @property
    def sentence(self) -> str:
        verb = "is" if len(self.fields) == 1 else "are"
        return f"{all_of(self.fields)} {verb} required when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        if not self.condition.holds(values):
            return []
        return [
            Problem(field, None, "a value", required=f" when {self.condition.text}")
            for field in self.fields
            if not has_value(values, field)
        ]

    def requires(self, field: str, values: Values) -> bool:
        return field in self.fields and self.condition.holds(values)


@dataclass(frozen=True)
class LimitedWhen(Rule):
    """A field that accepts only some of its values under a condition."""

    limit: When  # true of the accepted values
    words: str
    condition: When

    @property
    def reads(self) -> set[str]:
        return {self.limit.field, self.condition.field}

    @property
    def sentence(self) -> str:
        return f"{self.limit.field} accepts {self.words} when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        field = self.limit.field
        applies = self.condition.holds(values) and has_value(values, field)
        if not applies or self.limit.holds(values):
            return []
        accepted = f"{self.words} when {self.condition.text}"
        return [Problem(field, values[field], accepted)]


@dataclass(frozen=True)
class NeedsAny(_OfFields):
    """Fields of which at least one must be given."""

    @property
    def sentence(self) -> str:
        return f"At least one of {all_of(self.fields)} is required"

    def problems(self, values: Values) -> list[Problem]:
        if any(has_value(values, field) for field in self.fields):
            return []
        first, *others = self.fields
        required = f" unless {' or '.join(others)} is given"
        return [Problem(first, None, "a value", required=required)]

    def requires(self, field: str, values: Values) -> bool:
        return field == self.fields[0] and not any(
            has_value(values, f) for f in self.fields
        )


@dataclass(frozen=True)
class MostTogether(_OfFields):
    """Lists with a limit on their total number of items."""

    most: int
    what: str

    @property
    def sentence(self) -> str:
        return f"{all_of(self.fields)} hold at most {self.most} {self.what} in total"

    def problems(self, values: Values) -> list[Problem]:
        lists = [(f, v) for f in self.fields if isinstance(v := values.get(f), list)]
        count = sum(len(value) for _, value in lists)
        if count <= self.most:
            return []
        last = next(field for field, value in reversed(lists) if value)
        accepted = f"at most {self.most} {self.what} in {all_of(self.fields)} together"
        reason = f"is too long: {accepted}"
        return [
            Problem(
                last, ValueDescription(f"{count} {self.what}"), accepted, message=reason
            )
        ]


@dataclass(frozen=True)
class Cites(Rule):
    """A text field that may cite media by position, such as `@Image1`.

    Citing a position without an item is a warning, not an error: the service accepts
    the text as it is (spec 4.3).
    """

    field: str
    lists: tuple[tuple[str, str], ...]
    bare: bool = False  # citations may omit the @: "Image 1"

    @property
    def reads(self) -> set[str]:
        return {self.field, *(name for _, name in self.lists)}

    @property
    def sentence(self) -> str:
        words = all_of(f"{name} as @{word}1" for word, name in self.lists)
        return f"{self.field} may cite {words} and so on"

    def warnings(self, values: Values) -> list[Problem]:
        text = values.get(self.field)
        if not isinstance(text, str):
            return []
        return [
            Problem(
                self.field,
                cited,
                _citable(word, name, count),
                message=f"mentions {cited}, but {_given(word, name, count)}",
            )
            for word, name in self.lists
            for cited, count in self._astray(text, word, values.get(name))
        ]

    def _astray(self, text: str, word: str, value: object) -> Iterator[tuple[str, int]]:
        count = len(value) if isinstance(value, list) else 0
        sign = "@?" if self.bare else "@"
        for match in re.finditer(rf"(?<!\w){sign}{word} ?(\d{{1,4}})\b", text):
            if not 1 <= int(match[1]) <= count:
                yield match[0], count


def _given(word: str, name: str, count: int) -> str:
    if count == 0:
        return f"there are no {name}"
    if count == 1:
        return f"there is only @{word}1"
    between = "and" if count == 2 else "to"
    return f"there are only @{word}1 {between} @{word}{count}"


def _citable(word: str, name: str, count: int) -> str:
    if count == 0:
        return f"a citation of an item that exists, and {name} is empty"
    if count == 1:
        return f"@{word}1, the only one in {name}"
    return f"@{word}1 to @{word}{count}, which are in {name}"


@dataclass(frozen=True)
class Check(Rule):
    """A rule that no other class can express, as a function of the values.

    A document cannot describe this rule; all other rules are data.
    """

    text: str
    reads_fields: Collection[str]
    find: Callable[[Values], Iterable[Problem]]

    @property
    def reads(self) -> set[str]:
        return {*self.reads_fields}

    @property
    def sentence(self) -> str:
        return self.text

    def problems(self, values: Values) -> list[Problem]:
        return list(self.find(values))


# -- rules about the objects in a list, and about time spans in them -------------------


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
        return f"Each item of {self.items} has a different {self.name}"

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
        """Yield the spans of each item with their positions, sorted by start."""
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
        return f"The {spans.inner} of each item of {spans.items} do not overlap"

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
                ValueDescription(f"an end at {spans.end(span):.12g} {spans.unit}"),
                accepted,
            )
            for row in spans.rows(values)
            for at, place, span in row
            if spans.end(span) > self.end
        ]


def end_of(start: float, length: float) -> float:
    """Add two numbers as decimals, so that 1.1 and 2.2 make 3.3.

    Beyond the sixth decimal, a sum of floats has only rounding errors.
    """
    return round(start + length, 6)


def _dicts(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]
