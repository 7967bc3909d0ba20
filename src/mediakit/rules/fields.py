"""Rules between the fields of a request."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mediakit.rules.conditions import Found, Problem, Values, When, all_of, given


class Rule:
    """The base of all rules; by default it disables, requires and warns of nothing.

    Rules are plain dataclasses, so that a service can describe them in its OpenAPI
    document and a form elsewhere can use them.
    """

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        raise NotImplementedError

    def problems(self, values: Values) -> list[Problem]:
        """Return the problems found by this rule."""
        return []

    def disables(self, field: str, values: Values) -> str | None:
        """Return why the field does not apply; None if it does."""
        return None

    def requires(self, field: str, values: Values) -> bool:
        """Tell whether the field is required, given the other values."""
        return False

    def warnings(self, values: Values) -> list[Problem]:
        """Return what is allowed but probably a mistake."""
        return []


@dataclass(frozen=True)
class OnlyWhen(Rule):
    """Fields that may be given only under a condition."""

    fields: tuple[str, ...]
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset((*self.fields, self.condition.field))

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        verb = "applies" if len(self.fields) == 1 else "apply"
        return f"{all_of(self.fields)} {verb} only when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for each field that is given although it must not be."""
        if self.condition.holds(values):
            return []
        accepted = f"left out unless {self.condition.text}"
        return [
            Problem(field, values[field], accepted)
            for field in self.fields
            if given(values, field)
        ]

    def disables(self, field: str, values: Values) -> str | None:
        """Return why the field does not apply; None if it does."""
        if field not in self.fields or self.condition.holds(values):
            return None
        return f"applies only when {self.condition.text}"


@dataclass(frozen=True)
class NeededWhen(Rule):
    """Fields that are required under a condition."""

    fields: tuple[str, ...]
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset((*self.fields, self.condition.field))

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        verb = "is" if len(self.fields) == 1 else "are"
        return f"{all_of(self.fields)} {verb} required when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for each required field that is missing."""
        if not self.condition.holds(values):
            return []
        return [
            Problem(field, None, "a value", required=f" when {self.condition.text}")
            for field in self.fields
            if not given(values, field)
        ]

    def requires(self, field: str, values: Values) -> bool:
        """Tell whether the field is required, given the other values."""
        return field in self.fields and self.condition.holds(values)


@dataclass(frozen=True)
class LimitedWhen(Rule):
    """A field that accepts only some of its values under a condition.

    Args:
        limit: The condition on the field's value, if it is given.
        words: What is accepted, in words.
        condition: When the limit applies.
    """

    limit: When
    words: str
    condition: When

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset((self.limit.field, self.condition.field))

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        return f"{self.limit.field} accepts {self.words} when {self.condition.text}"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem if the given value is outside the limit."""
        field = self.limit.field
        if not self.condition.holds(values) or not given(values, field):
            return []
        if self.limit.holds(values):
            return []
        accepted = f"{self.words} when {self.condition.text}"
        return [Problem(field, values[field], accepted)]


@dataclass(frozen=True)
class NeedsAny(Rule):
    """Fields of which at least one must be given."""

    fields: tuple[str, ...]

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset(self.fields)

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        return f"At least one of {all_of(self.fields)} is required"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for the first field if none is given."""
        if any(given(values, field) for field in self.fields):
            return []
        first, *others = self.fields
        required = f", or else {' or '.join(others)}"
        return [Problem(first, None, "a value", required=required)]

    def requires(self, field: str, values: Values) -> bool:
        """Require the first field until one of them is given."""
        return field == self.fields[0] and not any(
            given(values, f) for f in self.fields
        )


@dataclass(frozen=True)
class MostTogether(Rule):
    """Lists with a limit on their total number of items.

    Args:
        fields: The lists.
        most: The largest total number of items.
        what: What the items are, such as "files".
    """

    fields: tuple[str, ...]
    most: int
    what: str

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset(self.fields)

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        return f"{all_of(self.fields)} hold at most {self.most} {self.what} together"

    def problems(self, values: Values) -> list[Problem]:
        """Return a problem for the last given list if the total is too large."""
        lists = [(f, v) for f in self.fields if isinstance(v := values.get(f), list)]
        count = sum(len(value) for _, value in lists)
        if count <= self.most:
            return []
        last = next(field for field, value in reversed(lists) if value)
        accepted = f"at most {self.most} {self.what} in {all_of(self.fields)} together"
        said = f"is too long: there are at most {accepted.removeprefix('at most ')}"
        return [Problem(last, Found(f"{count} {self.what}"), accepted, said=said)]


@dataclass(frozen=True)
class Cites(Rule):
    """A text that may cite given media by position, such as `@Image1`.

    Citing a position without an item causes a warning, not an error: the service
    accepts the text as it is (spec 4.3).

    Args:
        field: The text.
        lists: Pairs of the citation's word and the list that it refers to.
        bare: Also accept citations without the sign, such as "Image 1".
    """

    field: str
    lists: tuple[tuple[str, str], ...]
    bare: bool = False

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return frozenset((self.field, *(name for _, name in self.lists)))

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        words = all_of(f"{name} as @{word}1" for word, name in self.lists)
        return f"{self.field} may cite {words} and so on"

    def warnings(self, values: Values) -> list[Problem]:
        """Return a warning for each citation of a missing item."""
        text = values.get(self.field)
        if not isinstance(text, str):
            return []
        return [
            Problem(
                self.field,
                cited,
                _citable(word, name, count),
                said=f"cites {cited}, but {_given(name, count)}",
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


def _given(name: str, count: int) -> str:
    return (
        f"{name} has {count} item{'' if count == 1 else 's'}"
        if count
        else (f"{name} is empty")
    )


def _citable(word: str, name: str, count: int) -> str:
    if count == 0:
        return f"a citation of what is given, and {name} is empty"
    if count == 1:
        return f"@{word}1, the only one in {name}"
    return f"@{word}1 to @{word}{count}, which are in {name}"


@dataclass(frozen=True)
class Check(Rule):
    """A rule that no other class can express, as a function over the values.

    It is the only rule that a document cannot describe: the others are plain data.

    Args:
        text: The rule for people.
        reads_fields: The fields that the function reads.
        find: Returns the problems of the values.
    """

    text: str
    reads_fields: frozenset[str]
    find: Callable[[Values], Iterable[Problem]]

    @property
    def reads(self) -> frozenset[str]:
        """Return the fields that this rule reads."""
        return self.reads_fields

    @property
    def sentence(self) -> str:
        """Return the rule as a sentence for people."""
        return self.text

    def problems(self, values: Values) -> list[Problem]:
        """Return the problems that the function finds."""
        return list(self.find(values))
