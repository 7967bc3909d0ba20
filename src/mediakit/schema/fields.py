"""The fields of a request, as forms, documents and sentences use them."""

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from inspect import get_annotations
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as at
from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

from mediakit.media_limits import MediaLimits
from mediakit.rules import all_of, any_of
from mediakit.schema.requests import (
    MaskOf,
    MediaKind,
    MediaName,
    MediaRequest,
    NotNull,
    OneOf,
    Part,
    Prompt,
    Seed,
    Unique,
    Unit,
    shape_of,
)

FieldKind = Literal[
    "choice",
    "integer",
    "number",
    "text",
    "boolean",
    "media",
    "list",
    "object",
    "variants",
    "either",
    "json",
]


UNITS = {"s": "seconds", "ms": "milliseconds"}
NESTED: tuple[FieldKind, ...] = ("list", "object", "variants", "either")
_LOWEST = ("low", "above", "min_length")
_HIGHEST = ("high", "below", "max_length")


@dataclass(frozen=True)
class FieldSpec:
    """One field of a request.

    Args:
        name: The name on the wire; empty for the items of a list.
        kind: The kind of its values.
        choices: The accepted values of a choice, in order.
        low: The inclusive minimum.
        high: The inclusive maximum.
        above: The exclusive minimum.
        below: The exclusive maximum.
        step: The number that it must be a multiple of.
        min_length: The minimum number of characters, or of items in a list.
        max_length: The maximum number of characters, or of items in a list.
        item: The items of a list.
        fields: The fields of an object, by name.
        closed: An object refuses further properties.
        further: The field of further properties of an object; None for any value.
        tag: The property that distinguishes the variants of an object.
        variants: The alternative objects, by the value of `tag`; for kind "either",
            the alternatives by `Shape`.
        unit: The number's unit, such as "s".
        media_kind: The medium of the URL.
        mask_of: The field whose medium it is a mask of; None for no mask.
        limits: The limits of each medium, and of all together.
        pattern: A regular expression that the text must contain.
        unique: The items of a list must differ.
        multiline: It is a long text.
        seed: It only makes a draw repeatable.
        required: It must be given.
        nullable: It accepts null.
        default: The value if it is omitted; None without a default.
        doc: One or more sentences about it.
        title: Its name for people; empty where that follows from `name`.
    """

    name: str
    kind: FieldKind
    choices: tuple[object, ...] = ()
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    step: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    item: "FieldSpec | None" = None
    fields: Mapping[str, "FieldSpec"] = field(default_factory=dict)
    closed: bool = True
    further: "FieldSpec | None" = None
    tag: str | None = None
    variants: Mapping[str, "FieldSpec"] = field(default_factory=dict)
    unit: str | None = None
    media_kind: MediaName | None = None
    mask_of: str | None = None
    limits: MediaLimits | None = None
    pattern: str | None = None
    unique: bool = False
    multiline: bool = False
    seed: bool = False
    required: bool = False
    nullable: bool = False
    default: Any = None
    doc: str = ""
    title: str = field(default="", compare=False)

    @property
    def accepted(self) -> str:
        """Return the accepted values, in words."""
        words = _ACCEPTED[self.kind](self)
        return f"{words}, or null" if self.nullable else words

    @property
    def to_fill_in(self) -> bool:
        """Return whether it needs a value other than null."""
        return self.required and not self.nullable

    @property
    def null_when_empty(self) -> bool:
        """Return whether an empty field is sent as null."""
        return self.required and self.nullable

    def option(self, value: object) -> "FieldSpec":
        """Return the alternative that matches a value; this spec without any."""
        if self.kind == "either":
            return self.variants.get(shape_of(value), self)
        return self

    def chosen(self, value: object) -> "FieldSpec | None":
        """Return the spec of the object that matches a value.

        Args:
            value: An object's properties.

        Returns:
            This spec for an object, or the variant that `tag` names; None if it names
            none, or if the field does not accept objects.
        """
        if self.kind == "either" and isinstance(value, dict):
            option = self.variants.get("object")
            return None if option is None else option.chosen(value)
        if self.kind == "object":
            return self
        if self.kind == "variants" and isinstance(value, dict):
            tag = value.get(self.tag)
            return self.variants.get(tag) if isinstance(tag, str) else None
        return None


def unit_words(unit: str) -> str:
    """Return a unit as a plural word: "seconds" for "s"."""
    return UNITS.get(unit, unit)


def _range_text(spec: FieldSpec) -> str:
    unit = f" {unit_words(spec.unit)}" if spec.unit else ""
    bounds = list(_bounds(spec))
    if spec.low is not None and spec.high is not None:
        bounds = [f"from {spec.low:.12g} to {spec.high:.12g}"]
    if spec.step is not None:
        bounds.append(f"in steps of {spec.step:g}")
    return f" {' and '.join(bounds)}{unit}" if bounds else ""


def _bounds(spec: FieldSpec) -> Iterator[str]:
    if spec.low is not None:
        yield f"of at least {spec.low:.12g}"
    if spec.above is not None:
        yield f"above {spec.above:.12g}"
    if spec.high is not None:
        yield f"of at most {spec.high:.12g}"
    if spec.below is not None:
        yield f"below {spec.below:.12g}"


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


def _choice_text(spec: FieldSpec) -> str:
    choices = list(spec.choices)
    numbers = [c for c in choices if isinstance(c, int) and not isinstance(c, bool)]
    run = _run(numbers)
    if len(run) <= 3:
        return any_of(choices)
    # Show a run of whole numbers as a range, not as a long list.
    unit = f" {spec.unit}" if spec.unit else ""
    others = [c for c in choices if c not in run]
    words = f"a whole number from {run[0]} to {run[-1]}{unit}"
    return any_of([words, *others])


def _run(numbers: list[int]) -> list[int]:
    """Return the longest run of consecutive numbers at the end of the list."""
    for start in range(len(numbers)):
        rest = numbers[start:]
        if rest == list(range(rest[0], rest[-1] + 1)):
            return rest
    return []


def _text_text(spec: FieldSpec) -> str:
    count = _count_text(spec)
    return f"text of {count}characters" if count else "text"


def _media_text(spec: FieldSpec) -> str:
    article = "an" if spec.media_kind in ("image", "audio") else "a"
    most = f" of at most {spec.max_length:,} characters" if spec.max_length else ""
    return f"{article} {spec.media_kind} as an http(s) URL{most}"


def _list_text(spec: FieldSpec) -> str:
    item = spec.item
    if item is not None and item.media_kind:
        what = f"{item.media_kind} URLs" if item.media_kind != "audio" else "audio URLs"
    elif item is not None:
        what = f"items, each {item.accepted}"
    else:
        what = "items"
    different = "different " if spec.unique else ""
    return f"a list of {_count_text(spec)}{different}{what}"


def _object_text(spec: FieldSpec) -> str:
    if spec.further is not None and not spec.fields:
        return f"an object of any names, each {spec.further.accepted}"
    return f"an object with {all_of(spec.fields)}" if spec.fields else "an object"


def _variants_text(spec: FieldSpec) -> str:
    return f"an object whose {spec.tag} is {any_of(spec.variants)}"


def _either_text(spec: FieldSpec) -> str:
    return ", or ".join(option.accepted for option in spec.variants.values())


_ACCEPTED: Mapping[FieldKind, Callable[[FieldSpec], str]] = {
    "choice": _choice_text,
    "integer": lambda spec: f"a whole number{_range_text(spec)}",
    "number": lambda spec: f"a number{_range_text(spec)}",
    "text": _text_text,
    "boolean": lambda _: "true or false",
    "media": _media_text,
    "list": _list_text,
    "object": _object_text,
    "variants": _variants_text,
    "either": _either_text,
    "json": lambda _: "any JSON value",
}

_SCALARS: dict[object, FieldKind] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    Any: "json",
}


def infos_of(part_type: type[Part]) -> Mapping[str, FieldInfo]:
    """Return pydantic's fields by their names on the wire, which are the aliases."""
    return {
        name if info.alias is None else info.alias: info
        for name, info in part_type.model_fields.items()
    }


def further_of(part_type: type[Part]) -> FieldSpec | None:
    """Derive the field of a type's further properties; None without one."""
    for each in part_type.__mro__:
        extra = get_annotations(each).get("__pydantic_extra__")
        if get_origin(extra) is dict:
            return _describe(get_args(extra)[1])
    return None


@cache
def fields_of(part_type: type[Part]) -> Mapping[str, FieldSpec]:
    """Derive the fields of a request, or of an object inside one, in their order.

    For a request of several types, return the fields of all types.
    """
    if issubclass(part_type, MediaRequest) and part_type.one_of is not None:
        return dict(_of_all(part_type.one_of))
    docs, infos = part_type.docs(), infos_of(part_type)
    return {
        name: _named(name, info, docs.get(attribute, ""))
        for attribute, (name, info) in zip(
            part_type.model_fields, infos.items(), strict=True
        )
    }


def is_open(part_type: type[BaseModel]) -> bool:
    """Return whether a type accepts any further property."""
    if issubclass(part_type, MediaRequest) and part_type.one_of is not None:
        return any(map(is_open, part_type.one_of.types.values()))
    return part_type.model_config.get("extra") == "allow"


def _of_all(one_of: OneOf) -> Iterator[tuple[str, FieldSpec]]:
    some = [fields_of(each) for each in one_of.types.values()]
    for name in dict.fromkeys((one_of.tag, *(name for each in some for name in each))):
        specs = [each[name] for each in some if name in each]
        required = len(specs) == len(some) and all(each.required for each in specs)
        yield name, replace(reduce(_joined, specs), required=required)


def _joined(one: FieldSpec, other: FieldSpec) -> FieldSpec:
    """Return a field that accepts the values of both fields, which have one name."""
    if replace(one, doc=other.doc, required=other.required) == other:
        return one
    if one.kind in NESTED or (one.kind, one.media_kind) != (
        other.kind,
        other.media_kind,
    ):
        return FieldSpec(one.name, "json", doc=one.doc)
    return replace(one, **dict(_loosened(one, other)))


def _loosened(one: FieldSpec, other: FieldSpec) -> Iterator[tuple[str, Any]]:
    for name, value in vars(one).items():
        others = getattr(other, name)
        if name == "choices":
            yield name, tuple(dict.fromkeys((*value, *others)))
        elif name in _LOWEST and None not in (value, others):
            yield name, min(value, others)
        elif name in _HIGHEST and None not in (value, others):
            yield name, max(value, others)
        elif name in ("nullable", "multiline", "seed"):
            yield name, value or others
        elif value != others and name != "doc":
            yield name, None


def _named(name: str, info: FieldInfo, doc: str) -> FieldSpec:
    spec = _describe(info.annotation, (*info.metadata, info))
    default = (
        None if info.is_required() else info.get_default(call_default_factory=True)
    )
    return replace(
        spec,
        name=name,
        required=info.is_required(),
        default=default,
        doc=info.description or doc,
    )


def _describe(annotation: object, metadata: tuple[object, ...] = ()) -> FieldSpec:
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _describe(inner, (*more, *metadata))
    facts = _facts(metadata)
    not_null = facts.pop("not_null", False)
    spec = _bare(annotation, facts.pop("tag", None))
    if not_null:
        spec = replace(spec, nullable=False)
    spec = replace(spec, **facts)
    return replace(spec, kind="media") if spec.media_kind else spec


def _bare(annotation: object, tag: str | None) -> FieldSpec:
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        members = get_args(annotation)
        spec = _describe_union([m for m in members if m is not type(None)], tag)
        return replace(spec, nullable=spec.nullable or type(None) in members)
    if origin is Literal:
        return FieldSpec("", "choice", choices=get_args(annotation))
    if origin is list:
        return FieldSpec("", "list", item=_describe(get_args(annotation)[0]))
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return FieldSpec(
            "",
            "object",
            fields=fields_of(annotation),
            closed=not is_open(annotation),
            further=further_of(annotation),
            doc=(annotation.__doc__ or "").strip(),
        )
    return FieldSpec("", _SCALARS[annotation])


def _describe_union(members: list[object], tag: str | None) -> FieldSpec:
    specs = [_describe(member) for member in members]
    if len(specs) == 1:
        return specs[0]
    by_shape = dict(zip(map(_shape, members), specs, strict=True))
    if "" not in by_shape:
        return FieldSpec("", "either", variants=by_shape)
    if tag is not None:
        variants = {str(spec.fields[tag].choices[0]): spec for spec in specs}
        return FieldSpec("", "variants", tag=tag, variants=variants)
    choices: list[object] = []
    for spec in specs:
        if spec.kind == "integer" and spec.low is not None and spec.high is not None:
            choices += range(int(spec.low), int(spec.high) + 1)
        elif spec.kind == "choice":
            choices += spec.choices
        else:
            raise TypeError(f"no control is known for a union with {spec.kind}")
    return FieldSpec("", "choice", choices=tuple(choices))


def _shape(member: object) -> str:
    """Return the shape that marks a member of a union; "" without one."""
    marks = get_args(member)[1:] if get_origin(member) is Annotated else ()
    return next((mark.tag for mark in marks if isinstance(mark, Tag)), "")


_FACTS: Mapping[type, tuple[str, str]] = {
    at.Ge: ("low", "ge"),
    at.Le: ("high", "le"),
    at.Gt: ("above", "gt"),
    at.Lt: ("below", "lt"),
    at.MultipleOf: ("step", "multiple_of"),
    at.MinLen: ("min_length", "min_length"),
    at.MaxLen: ("max_length", "max_length"),
    Unit: ("unit", "name"),
    MediaKind: ("media_kind", "name"),
    MaskOf: ("mask_of", "name"),
}
_FLAGS: Mapping[type, str] = {
    Prompt: "multiline",
    Seed: "seed",
    Unique: "unique",
    NotNull: "not_null",
}


def _facts(metadata: tuple[object, ...]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for mark in metadata:
        facts |= _fact(mark)
    return facts


def _fact(mark: object) -> dict[str, Any]:
    if isinstance(mark, FieldInfo):
        tag = {"tag": mark.discriminator} if mark.discriminator else {}
        return _facts(tuple(mark.metadata)) | tag
    if isinstance(mark, MediaLimits):
        return {"limits": mark}
    if type(mark) in _FACTS:
        name, attribute = _FACTS[type(mark)]
        return {name: getattr(mark, attribute)}
    if type(mark) in _FLAGS:
        return {_FLAGS[type(mark)]: True}
    pattern = getattr(mark, "pattern", None)
    return {"pattern": pattern} if pattern is not None else {}
