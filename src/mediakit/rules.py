"""Rules between the fields of a request, as data.

From one rule follow the check of a body, a sentence for people, and what a form
switches off or marks as required. Rules see the body's values with the defaults
filled in; null counts as omitted, 0 and false as given, an empty list as nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mediakit.errors import shown

Values = Mapping[str, object]


@dataclass(frozen=True)
class Problem:
    """One thing that is not acceptable about one field.

    Args:
        field: The field, such as "duration" or "images[0]".
        got: What came; None when nothing did.
        accepted: What is accepted, in words.
    """

    field: str
    got: object
    accepted: str

    @property
    def sentence(self) -> str:
        """Write the problem for people."""
        if self.got is None:
            return f"{self.field}: missing; {self.accepted}"
        return f"{self.field}: got {shown(self.got)}, accepted: {self.accepted}"

    @property
    def root(self) -> str:
        """Return the top-level field: "images" for "images[0]"."""
        return self.field.split("[", 1)[0].split(".", 1)[0]


def given(values: Values, field: str) -> bool:
    """Tell whether a field has a value; null and an empty list are none."""
    value = values.get(field)
    return value is not None and value != []


@dataclass(frozen=True)
class When:
    """A condition on one field: its value is (or is not) among some.

    Args:
        field: The field.
        among: The values.
        inverted: The condition holds for every other value instead.
    """

    field: str
    among: tuple[object, ...]
    inverted: bool = False

    def holds(self, values: Values) -> bool:
        """Tell whether the condition holds."""
        return (values.get(self.field) in self.among) is not self.inverted

    @property
    def text(self) -> str:
        """Write the condition for people: "model is wonder-3 or wonder-3.5"."""
        verb = "is not" if self.inverted else "is"
        return f"{self.field} {verb} {any_of(self.among)}"


def when(field: str, *among: object) -> When:
    """Hold when the field's value is one of these."""
    return When(field, among)


def unless(field: str, *among: object) -> When:
    """Hold when the field's value is none of these."""
    return When(field, among, inverted=True)


def any_of(values: Iterable[object]) -> str:
    """Write values as "a, b or c", JSON's way for booleans."""
    words = [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def all_of(words: Iterable[str]) -> str:
    """Write words as "a, b and c"."""
    words = list(words)
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


class _Passive:
    """What most rules do to a form: disable nothing, require nothing."""

    def disables(self, field: str, values: Values) -> str | None:
        """Return why the field does not apply; None while it does."""
        return None

    def requires(self, field: str, values: Values) -> bool:
        """Tell whether the field is required with the other values as they are."""
        return False


@dataclass(frozen=True)
class OnlyWhen(_Passive):
    """Fields that may be given only under a condition."""

    fields: tuple[str, ...]
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule looks at."""
        return frozenset((*self.fields, self.condition.field))

    @property
    def sentence(self) -> str:
        """Write the rule for people."""
        verb = "applies" if len(self.fields) == 1 else "apply"
        return f"{all_of(self.fields)} {verb} only when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for each field that is given against the condition."""
        if self.condition.holds(values):
            return []
        accepted = f"a value only when {self.condition.text}"
        return [
            Problem(field, values[field], accepted)
            for field in self.fields
            if given(values, field)
        ]

    def disables(self, field: str, values: Values) -> str | None:
        """Return why the field does not apply; None while it does."""
        if field not in self.fields or self.condition.holds(values):
            return None
        return f"applies only when {self.condition.text}"


@dataclass(frozen=True)
class NeededWhen(_Passive):
    """Fields that become required under a condition."""

    fields: tuple[str, ...]
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule looks at."""
        return frozenset((*self.fields, self.condition.field))

    @property
    def sentence(self) -> str:
        """Write the rule for people."""
        verb = "is" if len(self.fields) == 1 else "are"
        return f"{all_of(self.fields)} {verb} required when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for each required field that is not given."""
        return [
            Problem(field, None, f"it is required when {self.condition.text}")
            for field in self.fields
            if self.requires(field, values) and not given(values, field)
        ]

    def requires(self, field: str, values: Values) -> bool:
        """Tell whether the field is required with the other values as they are."""
        return field in self.fields and self.condition.holds(values)


@dataclass(frozen=True)
class Check(_Passive):
    """A rule that counts or compares, as a function over the values.

    Args:
        sentence: The rule for people.
        reads: The fields that it looks at.
        find: Gives the problems of the values.
    """

    sentence: str
    reads: frozenset[str]
    find: Callable[[Values], Iterable[Problem]]

    def problems(self, values: Values) -> list[Problem]:
        """Return what the function finds."""
        return list(self.find(values))


@dataclass(frozen=True)
class LimitedWhen(_Passive):
    """A field that accepts only some of its values under a condition.

    Args:
        field: The field.
        accepts: Tells whether a given value is accepted under the condition.
        words: What is accepted, in words.
        condition: When the limit holds.
    """

    field: str
    accepts: Callable[[object], bool]
    words: str
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule looks at."""
        return frozenset((self.field, self.condition.field))

    @property
    def sentence(self) -> str:
        """Write the rule for people."""
        return f"{self.field} accepts {self.words} when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem when the given value is outside the limit."""
        if not self.condition.holds(values) or not given(values, self.field):
            return []
        value = values[self.field]
        if self.accepts(value):
            return []
        accepted = f"{self.words} when {self.condition.text}"
        return [Problem(self.field, value, accepted)]


Rule = OnlyWhen | NeededWhen | LimitedWhen | Check
