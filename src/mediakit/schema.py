"""The base of every request, and what forms, checks and documents read from it.

This is the only module that inspects pydantic: everything else sees `FieldSpec`.
"""

import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import annotated_types as at
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails

from mediakit.money import divide_half_up
from mediakit.rates import MS_PER_S, Line
from mediakit.rules import Problem, Rule, any_of

T = TypeVar("T")
MediaName = Literal["image", "video", "audio"]
FieldKind = Literal["choice", "integer", "number", "text", "boolean", "media", "list"]


@dataclass(frozen=True)
class Unit:
    """Marks a number's unit, such as "s"."""

    name: str


@dataclass(frozen=True)
class MediaKind:
    """Marks a text as the URL of a picture, a clip or a sound."""

    name: MediaName


@dataclass(frozen=True)
class Prompt:
    """Marks a text that people write at length."""


@dataclass(frozen=True)
class Seed:
    """Marks an integer that only makes a draw repeatable."""


@dataclass(frozen=True)
class NotNull:
    """Marks a field that may be left out while null is refused."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate as the type inside `| None`; an omitted field is not validated."""
        schema = handler(source)
        if schema["type"] != "nullable":
            raise TypeError("NotNull marks a type of the form X | None")
        inner: CoreSchema = schema["schema"]
        return inner


Omittable = Annotated[T | None, NotNull()]

HTTP_PATTERN = r"^https?://"
ImageUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("image")]


@dataclass(frozen=True)
class InputFacts:
    """What a body does not tell by itself.

    Args:
        seconds: Known durations of media in the body, seconds by URL (or path).
        output_tokens: The tokens that the finished job reported.
    """

    seconds: Mapping[str, float | Decimal] = field(default_factory=dict)
    output_tokens: int | None = None

    def ms(self, url: str) -> int | None:
        """Return a medium's duration in whole milliseconds; None when unknown."""
        seconds = self.seconds.get(url)
        if seconds is None:
            return None
        numerator, denominator = Decimal(str(seconds)).as_integer_ratio()
        return divide_half_up(numerator * MS_PER_S, denominator)


@dataclass(frozen=True)
class Declared:
    """What the class line of a request says.

    Args:
        kind: The kind, which is also the short name people type.
        function: The last segment of its path.
        spec: The section of the interface that describes it.
        media_type: What it makes.
        closed: Whether the service refuses unknown properties.
        priced_by: The fields that its price is made from.
    """

    kind: str
    function: str
    spec: str
    media_type: MediaName
    closed: bool
    priced_by: frozenset[str]


class MediaRequest(BaseModel):
    """The body of a submit; one subclass declares one model function whole.

    A subclass gives annotated fields, `rules`, and `lines` that price it. Types are
    strict: a string is no integer, a boolean is no integer, NaN is no number.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )

    declared: ClassVar[Declared]
    rules: ClassVar[tuple[Rule, ...]] = ()

    def __init_subclass__(
        cls,
        *,
        kind: str,
        function: str,
        spec: str,
        media_type: MediaName = "video",
        closed: bool = True,
        priced_by: tuple[str, ...] = (),
    ) -> None:
        """Keep what the class line says."""
        super().__init_subclass__()
        cls.declared = Declared(
            kind, function, spec, media_type, closed, frozenset(priced_by)
        )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Give the price lines; none when no rate is known (spec 8)."""
        return iter(())

    def nominal_tokens(self, output_ms: int) -> int | None:
        """Count the tokens of so much output; None when it is not token-metered."""
        return None

    def notes(self) -> Iterator[str]:
        """Give sentences for people about what the price rests on."""
        return iter(())


@dataclass(frozen=True)
class FieldSpec:
    """What a form, a document or a sentence needs to know of one field.

    Args:
        name: The wire's name; empty for the items of a list.
        kind: Which kind of value it takes.
        choices: The accepted values of a choice, in order.
        low: The least number.
        high: The greatest number.
        min_length: The fewest characters, or items of a list.
        max_length: The most characters, or items of a list.
        item: The items of a list.
        unit: The number's unit, such as "s".
        media_kind: Which medium the URL is of.
        pattern: A regular expression that the text must contain.
        multiline: It is text that people write at length.
        seed: It only makes a draw repeatable.
        required: It must be given.
        nullable: null is accepted.
        default: The value when omitted; None when there is none.
        doc: One or more sentences about it.
    """

    name: str
    kind: FieldKind
    choices: tuple[object, ...] = ()
    low: float | None = None
    high: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    item: "FieldSpec | None" = None
    unit: str | None = None
    media_kind: MediaName | None = None
    pattern: str | None = None
    multiline: bool = False
    seed: bool = False
    required: bool = False
    nullable: bool = False
    default: Any = None
    doc: str = ""

    @property
    def accepted(self) -> str:
        """Write what is accepted, in words."""
        words = _ACCEPTED[self.kind](self)
        return f"{words}, or null" if self.nullable else words


def _range_text(spec: FieldSpec) -> str:
    unit = f" {spec.unit}" if spec.unit else ""
    match spec.low, spec.high:
        case None, None:
            return ""
        case low, None:
            return f" of at least {low:g}{unit}"
        case None, high:
            return f" of at most {high:g}{unit}"
        case low, high:
            return f" from {low:.12g} to {high:.12g}{unit}"


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
    # A run of whole numbers reads better as a range than as a list of thirty.
    if len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        unit = f" {spec.unit}" if spec.unit else ""
        others = [c for c in choices if c not in numbers]
        run = f"a whole number from {numbers[0]} to {numbers[-1]}{unit}"
        return any_of([run, *others]) if others else run
    return any_of(choices)


def _text_text(spec: FieldSpec) -> str:
    count = _count_text(spec)
    return f"text of {count}characters" if count else "text"


def _media_text(spec: FieldSpec) -> str:
    article = "an" if spec.media_kind in ("image", "audio") else "a"
    return f"{article} {spec.media_kind} as an http(s) URL"


def _list_text(spec: FieldSpec) -> str:
    item = spec.item
    if item is not None and item.media_kind:
        what = f"{item.media_kind} URLs" if item.media_kind != "audio" else "audio URLs"
    elif item is not None:
        what = f"items, each {item.accepted}"
    else:
        what = "items"
    return f"a list of {_count_text(spec)}{what}"


_ACCEPTED = {
    "choice": _choice_text,
    "integer": lambda spec: f"a whole number{_range_text(spec)}",
    "number": lambda spec: f"a number{_range_text(spec)}",
    "text": _text_text,
    "boolean": lambda _: "true or false",
    "media": _media_text,
    "list": _list_text,
}

_SCALARS: dict[object, FieldKind] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
}


def fields_of(request_type: type[MediaRequest]) -> dict[str, FieldSpec]:
    """Derive the fields of a request class, as declared."""
    return {
        name: _named(name, info) for name, info in request_type.model_fields.items()
    }


def _named(name: str, info: FieldInfo) -> FieldSpec:
    spec = _describe(info.annotation, tuple(info.metadata))
    default = (
        None if info.is_required() else info.get_default(call_default_factory=True)
    )
    return replace(
        spec,
        name=name,
        required=info.is_required(),
        default=default,
        doc=info.description or "",
    )


def _describe(annotation: object, metadata: tuple[object, ...] = ()) -> FieldSpec:
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _describe(inner, (*more, *metadata))
    facts = _facts(metadata)
    not_null = facts.pop("not_null", False)
    if get_origin(annotation) in (Union, types.UnionType):
        members = get_args(annotation)
        spec = _describe_union([m for m in members if m is not type(None)])
        spec = replace(spec, nullable=type(None) in members and not not_null)
    elif get_origin(annotation) is Literal:
        spec = FieldSpec("", "choice", choices=get_args(annotation))
    elif get_origin(annotation) is list:
        spec = FieldSpec("", "list", item=_describe(get_args(annotation)[0]))
    else:
        spec = FieldSpec("", _SCALARS[annotation])
    spec = replace(spec, **facts)
    return replace(spec, kind="media") if spec.media_kind else spec


def _describe_union(members: list[object]) -> FieldSpec:
    specs = [_describe(member) for member in members]
    if len(specs) == 1:
        return specs[0]
    choices: list[object] = []
    for spec in specs:
        if spec.kind == "integer" and spec.low is not None and spec.high is not None:
            choices += range(int(spec.low), int(spec.high) + 1)
        elif spec.kind == "choice":
            choices += spec.choices
        else:
            raise TypeError(f"no control is known for a union with {spec.kind}")
    return FieldSpec("", "choice", choices=tuple(choices))


_FACTS: Mapping[type, tuple[str, str]] = {
    at.Ge: ("low", "ge"),
    at.Le: ("high", "le"),
    at.MinLen: ("min_length", "min_length"),
    at.MaxLen: ("max_length", "max_length"),
    Unit: ("unit", "name"),
    MediaKind: ("media_kind", "name"),
}
_FLAGS: Mapping[type, str] = {
    Prompt: "multiline",
    Seed: "seed",
    NotNull: "not_null",
}


def _facts(metadata: tuple[object, ...]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for mark in metadata:
        if isinstance(mark, FieldInfo):
            facts |= _facts(tuple(mark.metadata))
        elif type(mark) in _FACTS:
            name, attribute = _FACTS[type(mark)]
            facts[name] = getattr(mark, attribute)
        elif type(mark) in _FLAGS:
            facts[_FLAGS[type(mark)]] = True
        elif hasattr(mark, "pattern"):
            facts["pattern"] = mark.pattern
    return facts


def with_defaults(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults in place of what is omitted or null."""
    values = dict(body)
    for name, info in request_type.model_fields.items():
        if values.get(name) is None and not info.is_required():
            values[name] = info.get_default(call_default_factory=True)
    return values


def canonical_body(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults filled and nulls dropped.

    Two bodies that ask for the same thing have the same canonical body.
    """
    values = with_defaults(request_type, body)
    return {name: value for name, value in values.items() if value is not None}


def canonical_json(value: object) -> bytes:
    """Write JSON in one way only: sorted keys, no spaces, UTF-8."""
    text = json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def check(
    request_type: type[MediaRequest],
    body: Mapping[str, object],
    *,
    strict_names: bool = True,
) -> list[Problem]:
    """Find everything that is not acceptable about a body; nothing means valid.

    Args:
        request_type: The declaration.
        body: The body, as it would be sent.
        strict_names: Refuse unknown properties even where the service lets them
            pass.

    Returns:
        At most one problem for each field, those of single fields first.
    """
    problems = {p.field: p for p in _own_problems(request_type, body)}
    if not strict_names and not request_type.declared.closed:
        known = request_type.model_fields
        problems = {name: p for name, p in problems.items() if p.root in known}
    wrong = {problem.root for problem in problems.values()}
    values = with_defaults(request_type, body)
    for rule in request_type.rules:
        if wrong.isdisjoint(rule.reads):
            for problem in rule.problems(values):
                problems.setdefault(problem.field, problem)
    return list(problems.values())


def _own_problems(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> Iterator[Problem]:
    try:
        request_type.model_validate(dict(body))
    except ValidationError as error:
        specs = fields_of(request_type)
        for details in error.errors(include_url=False, include_context=False):
            yield _problem(details, specs)


def _problem(details: ErrorDetails, specs: Mapping[str, FieldSpec]) -> Problem:
    name = str(details["loc"][0])
    spec = specs.get(name)
    if spec is None:
        nearest = get_close_matches(name, specs, n=3)
        hint = f"did you mean {any_of(nearest)}?" if nearest else any_of(specs)
        return Problem(name, details["input"], f"a known field; {hint}")
    if details["type"] == "missing":
        return Problem(name, None, f"it is required: {spec.accepted}")
    index = details["loc"][1] if len(details["loc"]) > 1 else None
    if spec.item is not None and isinstance(index, int):
        return Problem(f"{name}[{index}]", details["input"], spec.item.accepted)
    return Problem(name, _or_null(details["input"]), spec.accepted)


class _Null:
    """Stands for a null that was given where null is refused."""

    def __repr__(self) -> str:
        return "null"


NULL = _Null()


def _or_null(value: object) -> object:
    return NULL if value is None else value


def json_schema(request_type: type[MediaRequest]) -> dict[str, Any]:
    """Return the JSON Schema of a request's body."""
    schema = request_type.model_json_schema()
    for name, spec in fields_of(request_type).items():
        entry = schema["properties"][name]
        entry.pop("title", None)
        if spec.default is None and not spec.nullable:
            entry.pop("default", None)
    if not request_type.declared.closed:
        schema.pop("additionalProperties", None)
    schema["title"] = request_type.__name__
    return schema
