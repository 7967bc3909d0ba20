"""The fields of a request, as used by forms, checks, documents and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mediakit.media_limits import EXTENSION
from mediakit.rules import all_of, any_of
from mediakit.schema.facts import FACTS, FieldFacts, FieldKind

Shape = Literal["value", "list", "object"]

_UNITS = {"s": ("second", "seconds"), "ms": ("millisecond", "milliseconds")}
"""The words for one and for several; other units are written as they are."""
_A_MEDIUM = {"image": "an image", "video": "a video", "audio": "an audio file"}
MAX_CHOICES = 1_000
_LIMITS: Mapping[str, Callable[[list[float]], float]] = {
    **dict.fromkeys(("low", "above", "min_length"), min),
    **dict.fromkeys(("high", "below", "max_length"), max),
}
# Joined fields keep these attributes if all of them agree.
_KEPT_WHEN_JOINED = ("name", "default", "pattern", "format", "step", *FACTS)


@dataclass(frozen=True)
class FieldSpec(FieldFacts):
    """One field of a request."""

    name: str  # the name on the wire; empty for the items of a list
    kind: FieldKind
    choices: tuple[object, ...] = ()
    low: float | None = None
    high: float | None = None
    above: float | None = None  # the minimum, exclusive
    below: float | None = None  # the maximum, exclusive
    step: float | None = None
    min_length: int | None = None  # characters, or items in a list
    max_length: int | None = None
    item: FieldSpec | None = None  # the items of a list
    fields: Mapping[str, FieldSpec] = field(default_factory=dict)  # of an object
    closed: bool = True
    """An object refuses further properties."""
    further: FieldSpec | None = None
    """The field of further properties of an object; None for any value."""
    tag: str | None = None
    """The property that distinguishes the variants of an object."""
    variants: Mapping[str, FieldSpec] = field(default_factory=dict)
    """By the value of `tag`; for kind "either", by `Shape`."""
    pattern: str | None = None
    """A regular expression that the text must contain."""
    format: str = ""  # what a text is, such as "color"; it is not checked
    unique: bool = False
    required: bool = False
    nullable: bool = False
    default: Any = None
    doc: str = ""

    @property
    def accepted(self) -> str:
        """Return the accepted values, in words."""
        words = _ACCEPTED[self.kind](self)
        return f"{words}, or null" if self.nullable else words

    @property
    def to_fill_in(self) -> bool:
        """Return whether the field needs a value other than null."""
        return self.required and not self.nullable

    @property
    def null_when_empty(self) -> bool:
        """Return whether an empty field is sent as null."""
        return self.required and self.nullable

    def option(self, value: object) -> FieldSpec:
        """Return the alternative that matches a value; this spec if it has none."""
        if self.kind == "either":
            return self.variants.get(shape_of(value), self)
        return self

    def chosen(self, value: object) -> FieldSpec | None:
        """Return the spec of the object that matches a value.

        For an object, this is the spec itself or the variant that the tag names; None
        for an unknown tag, or if the field does not accept objects.
        """
        spec = self.option(value)
        if spec.kind == "variants" and isinstance(value, dict):
            tag = value.get(spec.tag)
            return spec.variants.get(tag) if isinstance(tag, str) else None
        return spec if spec.kind == "object" else None

    def with_inner(self) -> Iterator[FieldSpec]:
        """Yield this field and all fields inside it."""
        yield self
        items = () if self.item is None else (self.item,)
        for each in (*items, *self.fields.values(), *self.variants.values()):
            yield from each.with_inner()


def shape_of(value: object) -> Shape:
    """Return the shape of a JSON value."""
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, list | tuple) else "value"


def fields_of(body: FieldSpec) -> Mapping[str, FieldSpec]:
    """Return the fields of an object by name; of variants, the fields of all."""
    if body.tag is None:
        return body.fields
    some = [variant.fields for variant in body.variants.values()]
    names = dict.fromkeys((body.tag, *(name for each in some for name in each)))
    return {
        name: joined(
            [each[name] for each in some if name in each],
            required=all(name in each and each[name].required for each in some),
        )
        for name in names
    }


def joined(specs: list[FieldSpec], *, required: bool = False) -> FieldSpec:
    """Return a field that accepts the values of all given fields.

    The field accepts more if no exact field exists, and any JSON value if nothing is
    close.
    """
    one, *others = specs
    if all(replace(one, doc=o.doc, required=o.required) == o for o in others):
        return replace(one, required=required)
    facts: dict[str, Any] = {
        name: getattr(one, name)
        for name in _KEPT_WHEN_JOINED
        if all(getattr(one, name) == getattr(other, name) for other in others)
    }
    facts |= {"doc": one.doc, "required": required}
    facts["nullable"] = any(spec.nullable for spec in specs)
    kinds, some = {spec.kind for spec in specs}, [_choices_of(spec) for spec in specs]
    # In Python, true equals 1.
    choices = {(type(value), value): value for few in some for value in few or ()}
    if "choice" in kinds and None not in some and len(choices) <= MAX_CHOICES:
        return FieldSpec(kind="choice", choices=tuple(choices.values()), **facts)
    kind: FieldKind
    if kinds <= {"integer", "number"}:
        kind = "number" if "number" in kinds else "integer"
    elif kinds == {"boolean"}:
        kind = "boolean"
    elif all(map(_is_text, specs)):
        kind = "media" if kinds == {"media"} else "text"
    else:
        return FieldSpec(one.name, "json", doc=one.doc, required=required)
    return FieldSpec(kind=kind, **facts, **dict(_loosest(specs)))


def _choices_of(spec: FieldSpec) -> tuple[object, ...] | None:
    """Return the values to choose from; None if they are not a short list."""
    if spec.kind != "integer" or spec.low is None or spec.high is None:
        return spec.choices or None
    is_range = spec.step is None and spec.above is None and spec.below is None
    if not is_range or not 0 <= spec.high - spec.low < MAX_CHOICES:
        return None
    return tuple(range(int(spec.low), int(spec.high) + 1))


def _is_text(spec: FieldSpec) -> bool:
    if spec.kind == "choice":
        return all(isinstance(choice, str) for choice in spec.choices)
    return spec.kind in ("text", "media")


def _loosest(specs: list[FieldSpec]) -> Iterator[tuple[str, Any]]:
    for name, loosest in _LIMITS.items():
        values = [getattr(spec, name) for spec in specs]
        if None not in values:
            yield name, loosest(values)


def _range_text(spec: FieldSpec) -> str:
    one, several = _UNITS.get(spec.unit or "", (spec.unit, spec.unit))
    ends = {
        "of at least": spec.low,
        "above": spec.above,
        "of at most": spec.high,
        "below": spec.below,
    }
    bounds = [f"{words} {end:.12g}" for words, end in ends.items() if end is not None]
    if spec.low is not None and spec.high is not None:
        bounds = [f"from {spec.low:.12g} to {spec.high:.12g}"]
    if spec.step is not None:
        bounds.append(f"in steps of {spec.step:g}")
    is_one = len(bounds) == 1 and bounds[0].endswith("t 1")  # at least 1, at most 1
    unit = one if is_one else several
    words = " and ".join(bounds)
    return "".join(f" {each}" for each in (words, unit) if each) if bounds else ""


def _count_text(spec: FieldSpec) -> str:
    match spec.min_length, spec.max_length:
        case (None | 0, None):
            return ""
        case (None | 0, most):
            return f"at most {most:,} "
        case least, None:
            return f"at least {least:,} "
        case least, most:
            return f"{least:,} to {most:,} "


LONGEST_CHOICES = 400  # characters


def _choice_text(spec: FieldSpec) -> str:
    choices = list(spec.choices)
    numbers = [c for c in choices if isinstance(c, int) and not isinstance(c, bool)]
    run = _run(numbers)
    if len(run) <= 3:
        return any_of(_first_of(choices))
    # Show a run of whole numbers as a range, not as a long list.
    unit = f" {spec.unit}" if spec.unit else ""
    others = [c for c in choices if c not in run]
    words = f"a whole number from {run[0]} to {run[-1]}{unit}"
    return any_of([words, *_first_of(others)])


def _first_of(choices: list[Any]) -> list[Any]:
    """Return the choices to show in a sentence, and the number of others."""
    length = 0
    for n, choice in enumerate(choices):
        length += len(str(choice))
        if length > LONGEST_CHOICES:
            return [*choices[:n], f"one of {len(choices) - n} others"]
    return choices


def _run(numbers: list[int]) -> list[int]:
    """Return the longest run of consecutive numbers at the end of a list."""
    for start in range(len(numbers)):
        rest = numbers[start:]
        if rest == list(range(rest[0], rest[-1] + 1)):
            return rest
    return []


def _is_one(spec: FieldSpec) -> bool:
    """Return whether the last number of `_count_text` is 1."""
    least, most = spec.min_length, spec.max_length
    return (least if most is None else most) == 1


def _text_text(spec: FieldSpec) -> str:
    count = _count_text(spec)
    characters = "character" if _is_one(spec) else "characters"
    return f"text of {count}{characters}" if count else "text"


def _media_text(spec: FieldSpec) -> str:
    most = f", at most {spec.max_length:,} characters long" if spec.max_length else ""
    return f"an http(s) URL of {_A_MEDIUM[spec.media_kind or 'video']}{most}"


def _list_text(spec: FieldSpec) -> str:
    items = "item" if _is_one(spec) else "items"
    if spec.item is not None and spec.item.media_kind:
        items = f"{spec.item.media_kind} {'URL' if _is_one(spec) else 'URLs'}"
    elif spec.item is not None:
        items += f", each {spec.item.accepted}"
    different = "different " if spec.unique else ""
    return f"a list of {_count_text(spec)}{different}{items}"


def _object_text(spec: FieldSpec) -> str:
    if spec.further is not None and not spec.fields:
        return f"an object with any names, each value {spec.further.accepted}"
    return f"an object with {all_of(spec.fields)}" if spec.fields else "an object"


_ACCEPTED: Mapping[FieldKind, Callable[[FieldSpec], str]] = {
    "choice": _choice_text,
    "integer": lambda spec: f"a whole number{_range_text(spec)}",
    "number": lambda spec: f"a number{_range_text(spec)}",
    "text": _text_text,
    "boolean": lambda _: "true or false",
    "media": _media_text,
    "list": _list_text,
    "object": _object_text,
    "variants": lambda spec: f"an object whose {spec.tag} is {any_of(spec.variants)}",
    "either": lambda spec: ", or ".join(o.accepted for o in spec.variants.values()),
    "json": lambda _: "any JSON value",
}


# -- as JSON Schema --------------------------------------------------------------------


Json = dict[str, Any]

_TYPES = {"media": "string", "text": "string"}
_BOUNDS = {
    "minimum": "low",
    "maximum": "high",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "multipleOf": "step",
    "pattern": "pattern",
}


def schema_of(spec: FieldSpec) -> Json:
    """Return the JSON Schema of a field."""
    schema = dict(_written(spec))
    if not spec.nullable or spec.kind == "json":
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def _written(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    yield from _type(spec)
    for keyword, name in _BOUNDS.items():
        if getattr(spec, name) is not None:
            yield keyword, getattr(spec, name)
    counted = "Items" if spec.kind == "list" else "Length"
    for start, count in (("min", spec.min_length), ("max", spec.max_length)):
        if count is not None:
            yield f"{start}{counted}", count
    if spec.unique:
        yield "uniqueItems", True
    if spec.format:
        yield "format", spec.format
    if facts := spec.written():
        yield EXTENSION, facts


def _type(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    match spec.kind:
        case "json":
            return
        case "choice":
            yield "enum", list(spec.choices)
        case "either":
            yield "anyOf", [schema_of(each) for each in spec.variants.values()]
        case "variants":
            yield "oneOf", [schema_of(each) for each in spec.variants.values()]
            yield "discriminator", {"propertyName": spec.tag}
        case "list":
            yield "type", "array"
            yield "items", {} if spec.item is None else schema_of(spec.item)
        case "object":
            yield "type", "object"
            yield from _properties(spec)
        case _:
            yield "type", _TYPES.get(spec.kind, spec.kind)


def _properties(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    yield "properties", {name: _property(each) for name, each in spec.fields.items()}
    required = [name for name, each in spec.fields.items() if each.required]
    if required:
        yield "required", required
    if spec.closed:
        yield "additionalProperties", False
    elif spec.further is not None:
        yield "additionalProperties", schema_of(spec.further)
    if spec.doc:
        yield "description", spec.doc


def _property(spec: FieldSpec) -> Json:
    words = {"description": spec.doc or None, "default": spec.default}
    return schema_of(spec) | {k: v for k, v in words.items() if v is not None}
