"""The fields of a request, as forms, checks, documents and sentences use them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal

from mediakit.media_limits import MediaLimits
from mediakit.rules import all_of, any_of

MediaName = Literal["image", "video", "audio"]
Shape = Literal["value", "list", "object"]

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
        partial: The service checks more than this says.
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
    partial: bool = field(default=False, compare=False)

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
    return {
        name: _joined([each[name] for each in some if name in each], len(some))
        for name in dict.fromkeys((body.tag, *(name for each in some for name in each)))
    }


def _joined(specs: list[FieldSpec], variants: int) -> FieldSpec:
    """Return a field that accepts the values of fields that have one name."""
    required = len(specs) == variants and all(each.required for each in specs)
    return replace(reduce(_either_of, specs), required=required)


def _either_of(one: FieldSpec, other: FieldSpec) -> FieldSpec:
    if replace(one, doc=other.doc, required=other.required) == other:
        return one
    kinds = {(each.kind, each.media_kind) for each in (one, other)}
    if one.kind in NESTED or len(kinds) > 1:
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
