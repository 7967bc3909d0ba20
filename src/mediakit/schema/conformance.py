"""Checks a body against the JSON Schema of a service's document.

`FieldSpec` checks the fields; this module checks what no field expresses, such as
`oneOf`. The service checks the rest, such as a lookahead in a pattern.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from typing import Any

from mediakit.rules import Problem, any_of
from mediakit.safe_text import quoted
from mediakit.schema.from_json_schema import MAX_DEPTH as MAX_READ_DEPTH
from mediakit.schema.from_json_schema import WEBHOOK_URL, Reader
from mediakit.schema.references import UNIONS, Json, References, dict_of, list_of
from mediakit.schema.validation import (
    NULL,
    are_distinct,
    has_pattern,
    inner_label,
    is_pattern,
    is_same_json,
)

Verdict = bool | None
"""None if it is not known."""

MAX_DEPTH = 60
MAX_STEPS = 4_000
NEAR_THE_END = (None,) * (MAX_READ_DEPTH - 3)
REFUSED = "is refused by the schema in the service's document"
UNKNOWN_NAME = "is not a field in the service's document"
# These keywords apply to properties and items that other keywords have not covered.
UNSUPPORTED_KEYWORDS = {
    "$dynamicRef",
    "$recursiveRef",
    "unevaluatedItems",
    "unevaluatedProperties",
}


@dataclass(frozen=True)
class Conformance:
    """Checks bodies against a schema of draft 2020-12 or OpenAPI 3.0.

    Args:
        schema: The schema.
        references: The targets of its references.
        names: The body's fields; a problem of the whole body is shown at one of them.
    """

    schema: object
    references: References
    names: tuple[str, ...]

    def verdict(self, body: Json) -> Verdict:
        """Return whether a body is accepted; None if unknown."""
        return _Check(self.references).verdict(_ConformancePart(self.schema, body))

    def problems(self, body: Json) -> list[Problem]:
        """Return the problems of a body; an empty list if they are unknown."""
        if self.verdict(body) is not False:
            return []
        problems = _Check(self.references).problems(_ConformancePart(self.schema, body))
        by_field = {each.field: each for each in problems}
        whole = by_field.pop("", None)
        if by_field:
            return list(by_field.values())
        names = [*filter(self.names.__contains__, body), *self.names, "body"]
        reason = REFUSED if whole is None else whole.message
        return [Problem(names[0], None, "", message=f"with the other fields {reason}")]


@dataclass(frozen=True)
class _ConformancePart:
    """A value and its schema."""

    schema: Any
    value: Any
    label: str = ""
    depth: int = 0
    is_shared: bool = False
    """Other schemas that apply, too, name further properties of the value."""

    def by(self, schema: object, *, is_shared: bool = False) -> _ConformancePart:
        """Return the same value with another schema."""
        depth = self.depth + 1
        return replace(self, schema=schema, depth=depth, is_shared=is_shared)

    def inner(self, schema: object, key: str | int) -> _ConformancePart:
        """Return a value inside this one, with its schema."""
        name = inner_label(self.label, key) if isinstance(key, str) else f"[{key}]"
        label = name if isinstance(key, str) else f"{self.label}{name}"
        return _ConformancePart(schema, self.value[key], label, self.depth + 1)

    def is_own(self, problem: Problem) -> bool:
        """Return whether a problem concerns the whole value."""
        return problem.field == self.label and not problem.is_missing

    def problem(self, reason: str) -> Problem:
        """Return a problem of the whole value."""
        value = NULL if self.value is None else self.value
        return Problem(self.label, value, "", message=reason)


@dataclass
class _Check:
    """Checks one body, in limited steps because references may double at each level."""

    references: References
    steps_left: int = MAX_STEPS

    def verdict(self, part: _ConformancePart) -> Verdict:
        self.steps_left -= 1
        schema = part.schema
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict) or type(part.value) not in JSON_TYPES:
            return None
        if self.steps_left < 0 or part.depth > MAX_DEPTH:
            return None
        if part.value is None and schema.get("nullable") is True:
            return True
        return _all(
            chain(
                (self._leaf(keyword, part) for keyword in LEAVES if keyword in schema),
                (self._union(keyword, part) for keyword in UNIONS if keyword in schema),
                self._others(part),
                map(self.verdict, self._parts(part)),
            )
        )

    # Keywords about the value itself.

    def _leaf(self, keyword: str, part: _ConformancePart) -> Verdict:
        kind, accepts = LEAVES[keyword]
        if kind is not None and _type_of(part.value) != kind:
            return True
        try:
            return accepts(part.schema, part.value)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # the keyword's value cannot be read

    def _others(self, part: _ConformancePart) -> Iterator[Verdict]:
        schema, value = part.schema, part.value
        if not UNSUPPORTED_KEYWORDS.isdisjoint(schema):
            yield None
        if "not" in schema:
            verdict = self.verdict(part.by(schema["not"]))
            yield None if verdict is None else not verdict
        if "required" in schema and isinstance(value, dict):
            yield not any(self._missing(part))
        if "contains" in schema and isinstance(value, list):
            items = range(len(value))
            few = [self.verdict(part.inner(schema["contains"], n)) for n in items]
            yield _count_is(
                few, schema.get("minContains", 1), schema.get("maxContains")
            )

    def _missing(self, part: _ConformancePart) -> Iterator[str]:
        """Yield the missing required names, except read-only ones."""
        properties = dict_of(part.schema.get("properties"))
        for name in _required(part.schema):
            if name in part.value or name == WEBHOOK_URL:
                continue
            if not self.references.is_read_only(properties.get(name)):
                yield name

    # Schemas that all apply.

    def _parts(self, part: _ConformancePart) -> Iterator[_ConformancePart]:
        schema, value = part.schema, part.value
        members = list_of(schema.get("allOf"))
        if "$ref" in schema:
            members = [*members, self.references.target(schema["$ref"])]
        is_shared = part.is_shared or self._is_shared(schema, members)
        part = replace(part, is_shared=is_shared)
        for member in members:
            yield part.by(member, is_shared=is_shared)
        if not isinstance(schema.get("allOf", []), list):
            yield part.by(None)
        if "if" in schema:
            yield from self._conditional(part)
        if isinstance(value, dict):
            yield from self._properties(part)
        if isinstance(value, list):
            first = list_of(schema.get("prefixItems"))
            for n in range(len(value)):
                if n < len(first) or "items" in schema:
                    item = first[n] if n < len(first) else schema["items"]
                    yield part.inner(item, n)

    def _is_shared(self, schema: Json, members: list[Any]) -> bool:
        """Return whether several schemas that all apply name properties.

        Strictly, each schema would reject the properties of the others, which nobody
        intends.
        """
        if len(members) + ("properties" in schema) <= 1:
            return False
        plain = [self.references.plain(member) for member in members]
        some = [schema, *(each[0] for each in plain if each)]
        return sum("properties" in each for each in some) > 1

    def _conditional(self, part: _ConformancePart) -> Iterator[_ConformancePart]:
        holds = self.verdict(part.by(part.schema["if"]))
        branches = {True: ("then",), False: ("else",), None: ("then", "else")}[holds]
        for branch in branches:
            if branch in part.schema:
                yield part.by(part.schema[branch] if holds is not None else None)

    def _properties(self, part: _ConformancePart) -> Iterator[_ConformancePart]:
        schema, value = part.schema, part.value
        properties = dict_of(schema.get("properties"))
        patterns = dict_of(schema.get("patternProperties"))
        further = schema.get("additionalProperties", True)
        for name in value:
            matching = [s for p, s in patterns.items() if _matches(p, name)]
            if name in properties:
                matching.append(properties[name])
            for each in matching:
                yield part.inner(each, name)
            if not (
                matching or further is True or (further is False and part.is_shared)
            ):
                is_readable = all(map(is_pattern, patterns))
                yield part.inner(further if is_readable else None, name)
            if "propertyNames" in schema:
                label = inner_label(part.label, name)
                yield _ConformancePart(
                    schema["propertyNames"], name, label, part.depth + 1
                )
            if name in (dependents := dict_of(schema.get("dependentSchemas"))):
                yield part.by(dependents[name])

    # Alternatives.

    def _union(self, keyword: str, part: _ConformancePart) -> Verdict:
        verdicts = [self.verdict(each) for each in self._members(keyword, part)]
        if keyword == "oneOf" and isinstance(part.value, dict | list):
            return _count_is(verdicts, 1, 1)
        # For strings and numbers, alternatives are never really meant to exclude each
        # other: `oneOf` may list some choices and then allow any text.
        return _count_is(verdicts, 1, None)

    def _members(self, keyword: str, part: _ConformancePart) -> list[_ConformancePart]:
        """Return the alternatives; only one if the value's tag names it."""
        members = list_of(part.schema[keyword])
        discriminator = dict_of(part.schema.get("discriminator"))
        if isinstance(part.value, dict) and discriminator:
            tag = part.value.get(discriminator.get("propertyName"))
            named = [
                m for m in members if tag in self.references.tags(m, discriminator)
            ]
            members = named if len(named) == 1 else members
        return [part.by(member) for member in members] or [part.by(None)]

    # In words.

    def problems(self, part: _ConformancePart) -> Iterator[Problem]:
        """Yield the problems of a part; none if it is accepted."""
        if self.verdict(part) is not False:
            return
        schema = part.schema
        if schema is False:
            yield part.problem(UNKNOWN_NAME)
            return
        for keyword in LEAVES:
            if keyword in schema and self._leaf(keyword, part) is False:
                yield self._leaf_problem(keyword, part)
                return
        if "required" in schema and isinstance(part.value, dict):
            properties = dict_of(schema.get("properties"))
            for name in self._missing(part):
                accepted = self._accepted(properties.get(name)) or "a value"
                label = inner_label(part.label, name)
                yield Problem(label, None, accepted, required="")
        for keyword in UNIONS:
            if keyword in schema and self._union(keyword, part) is False:
                yield from self._union_problems(keyword, part)
        if "not" in schema and self.verdict(part.by(schema["not"])):
            yield self._not_problem(part)
        for inner in self._parts(part):
            yield from self.problems(inner)

    def _leaf_problem(self, keyword: str, part: _ConformancePart) -> Problem:
        if keyword == "dependentRequired":
            for name, needed in dict_of(part.schema[keyword]).items():
                for each in list_of(needed) if name in part.value else ():
                    if each not in part.value:
                        when = f" when {name} is given"
                        label = inner_label(part.label, each)
                        return Problem(label, None, "a value", required=when)
        accepted = self._accepted(part.schema)
        if accepted is None:
            return part.problem(f"must match {_json({keyword: part.schema[keyword]})}")
        return replace(part.problem(""), accepted=accepted)

    def _not_problem(self, part: _ConformancePart) -> Problem:
        inner = dict_of(part.schema["not"])
        names = _required(inner)
        if inner.keys() == {"required"} and names and isinstance(part.value, dict):
            first, last = names[0], names[-1]
            reason = f"cannot be given together with {first}"
            reason = reason if first != last else "cannot be given"
            label = inner_label(part.label, last)
            return Problem(label, part.value[last], "", message=reason)
        return part.problem(f"must not fit {_json(inner)}")

    def _union_problems(
        self, keyword: str, part: _ConformancePart
    ) -> Iterator[Problem]:
        members = self._members(keyword, part)
        fitting = [each for each in members if self.verdict(each)]
        if fitting:
            yield self._ambiguous(part, fitting, len(members))
            return
        some = [list(self.problems(each)) for each in members]
        missing = [few[0] for few in some if len(few) == 1 and few[0].is_missing]
        if len(missing) == len(members) > 1:
            first, *others = {each.field: each for each in missing}.values()
            unless = " or ".join(each.field for each in others)
            yield replace(
                first, required=f" unless {unless} is given" if others else ""
            )
            return
        best = min(some, key=lambda few: (any(map(part.is_own, few)), len(few)))
        if best and not any(map(part.is_own, best)):
            same = [few for few in some if [p.field for p in few] == [best[0].field]]
            if len(best) == 1:  # such as a tag, which differs between the alternatives
                accepted = any_of(dict.fromkeys(few[0].accepted for few in same))
                best = [replace(best[0], accepted=accepted)]
            yield from best
            return
        words = [self._accepted(each.schema) for each in members]
        if None in words:
            count = f"{len(members)} alternatives in the service's document"
            yield part.problem(f"fits none of the {count}")
        else:
            accepted = ", or ".join(dict.fromkeys(filter(None, words)))
            yield replace(part.problem(""), accepted=accepted)

    def _ambiguous(
        self, part: _ConformancePart, fitting: list[_ConformancePart], count: int
    ) -> Problem:
        """Return the problem of a value that fits several alternatives."""
        first, *others = ["".join(_required(each.schema)[:1]) for each in fitting]
        other = next((each for each in others if each != first), "")
        if first and isinstance(part.value, dict) and other in part.value:
            reason = f"cannot be given together with {first}"
            return Problem(
                inner_label(part.label, other), part.value[other], "", message=reason
            )
        return part.problem(
            f"matches {len(fitting)} of the {count} alternatives in the service's "
            "document, but must match exactly one"
        )

    def _accepted(self, schema: object) -> str | None:
        """Describe the values that a schema accepts; None if no field expresses it."""
        # For inner values, the text lists only names.
        spec = Reader(self.references).read(schema, above=NEAR_THE_END)
        return None if spec.kind == "json" else spec.accepted


def _required(schema: object) -> list[str]:
    """Return the names of an object's fields that must be given."""
    names = list_of(dict_of(schema).get("required"))
    return [name for name in names if isinstance(name, str)]


# -- verdicts --------------------------------------------------------------------------


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    """Return False if any verdict is, True if all are, else None."""
    whole: Verdict = True
    for verdict in verdicts:
        if verdict is False:
            return False
        whole = whole if verdict else None
    return whole


def _count_is(verdicts: list[Verdict], least: Any, most: Any) -> Verdict:
    """Return whether the number of true verdicts is within bounds."""
    true, unknown = verdicts.count(True), verdicts.count(None)
    try:
        if true + unknown < least or (most is not None and true > most):
            return False
        is_enough = true >= least
        return True if is_enough and (most is None or true + unknown <= most) else None
    except TypeError:
        return None


# -- keywords that the value itself decides --------------------------------------------


JSON_TYPES = {
    bool: "boolean",
    dict: "object",
    float: "number",
    int: "number",
    list: "array",
    str: "string",
    type(None): "null",
}


def _type_of(value: object) -> str:
    return JSON_TYPES[type(value)]


def _is_of_type(schema: Json, value: Any) -> Verdict:
    names = schema["type"]
    names = [names] if isinstance(names, str) else names
    own = _type_of(value)
    if own in names or ("integer" in names and own == "number" and value % 1 == 0):
        return True
    return False if {*names} <= {"integer", *JSON_TYPES.values()} else None


def _is_multiple(schema: Json, value: float) -> Verdict:
    step = schema["multipleOf"]
    return None if step <= 0 else Decimal(str(value)) % Decimal(str(step)) == 0


def _is_in_enum(schema: Json, value: object) -> Verdict:
    choices = schema["enum"]
    if not isinstance(choices, list):
        return None
    return any(is_same_json(value, choice) for choice in choices)


def _matches(pattern: str, text: str) -> bool:
    return is_pattern(pattern) and has_pattern(pattern, text)


def _has_dependents(schema: Json, value: Json) -> bool:
    return all(
        set(list_of(needed)) <= value.keys()
        for name, needed in dict_of(schema["dependentRequired"]).items()
        if name in value
    )


def _fits_pattern(schema: Json, value: str) -> Verdict:
    pattern = schema["pattern"]
    return has_pattern(pattern, value) if is_pattern(pattern) else None


def _reaches(schema: Json, value: float) -> Verdict:
    # OpenAPI 3.0 has a flag that excludes the bound itself.
    is_above = schema.get("exclusiveMinimum") is True
    return bool(value > schema["minimum"] if is_above else value >= schema["minimum"])


def _stays_within(schema: Json, value: float) -> Verdict:
    is_below = schema.get("exclusiveMaximum") is True
    return bool(value < schema["maximum"] if is_below else value <= schema["maximum"])


def _exceeds(more: Any, less: Any) -> Verdict:
    is_flag = isinstance(more, bool) or isinstance(less, bool)
    return True if is_flag else bool(more > less)


Accepts = Callable[[Json, Any], Verdict]
LEAVES: Mapping[str, tuple[str | None, Accepts]] = {
    "type": (None, _is_of_type),
    "enum": (None, _is_in_enum),
    "const": (None, lambda s, v: is_same_json(v, s["const"])),
    "minimum": ("number", _reaches),
    "maximum": ("number", _stays_within),
    "exclusiveMinimum": ("number", lambda s, v: _exceeds(v, s["exclusiveMinimum"])),
    "exclusiveMaximum": ("number", lambda s, v: _exceeds(s["exclusiveMaximum"], v)),
    "multipleOf": ("number", _is_multiple),
    "minLength": ("string", lambda s, v: len(v) >= s["minLength"]),
    "maxLength": ("string", lambda s, v: len(v) <= s["maxLength"]),
    "pattern": ("string", _fits_pattern),
    "minItems": ("array", lambda s, v: len(v) >= s["minItems"]),
    "maxItems": ("array", lambda s, v: len(v) <= s["maxItems"]),
    "uniqueItems": (
        "array",
        lambda s, v: s["uniqueItems"] is not True or are_distinct(v),
    ),
    "minProperties": ("object", lambda s, v: len(v) >= s["minProperties"]),
    "maxProperties": ("object", lambda s, v: len(v) <= s["maxProperties"]),
    "dependentRequired": ("object", _has_dependents),
}


def _json(schema: Json) -> str:
    return f"{quoted(json.dumps(schema, ensure_ascii=False))} in the service's document"
