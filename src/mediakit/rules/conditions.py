"""Problems with fields, and the conditions under which rules hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from mediakit.errors import shown

Values = Mapping[str, object]


class Found(str):
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
        said: What is wrong, to follow the field's name, if "must be" and `accepted`
            do not fit.
        required: Of a missing value, when it is required, such as " when detail is
            true"; "" for always. None for any other problem.
    """

    field: str
    got: object
    accepted: str
    said: str = dataclass_field(default="", compare=False)
    required: str | None = None

    @property
    def is_missing(self) -> bool:
        """Return whether a required value is missing."""
        return self.required is not None

    @property
    def predicate(self) -> str:
        """Describe the problem, to follow the field's name: "must be at most 9"."""
        if self.said:
            return self.said
        if self.required is not None:
            return f"is required{self.required or f' ({self.accepted})'}"
        if self.got is None:
            return f"is missing: {self.accepted}"
        return f"must be {self.accepted}"

    @property
    def detail(self) -> str:
        """Describe the problem and the value, to follow the field's name."""
        came = "" if self.got is None or self.said else f" (got {shown(self.got)})"
        return f"{self.predicate}{came}"

    @property
    def sentence(self) -> str:
        """Return the problem as a sentence for people."""
        return f"{self.field} {self.detail}"

    @property
    def root(self) -> str:
        """Return the top-level field: "images" for "images[0]"."""
        return self.field.split("[", 1)[0].split(".", 1)[0]


def given(values: Values, field: str) -> bool:
    """Tell whether a field has a value; null and an empty list do not count."""
    value = values.get(field)
    return value is not None and value != []


@dataclass(frozen=True)
class When:
    """A condition on one field: its value is (or is not) one of these values.

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
        """Return the condition for people: "model is wonder-3 or wonder-3.5"."""
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
