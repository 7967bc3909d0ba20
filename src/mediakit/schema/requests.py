"""The base class of requests, and the markers of their fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from mediakit.media_limits import MediaLimits
from mediakit.money import divide_half_up
from mediakit.rates import MS_PER_S, Line
from mediakit.rules import Rule
from mediakit.schema.field_docs import Place, docs_at, place_in
from mediakit.schema.purposes import Purpose

T = TypeVar("T")
MediaName = Literal["image", "video", "audio"]


@dataclass(frozen=True)
class Unit:
    """Marks a number's unit, such as "s"."""

    name: str


@dataclass(frozen=True)
class MediaKind:
    """Marks a text as the URL of a picture, a clip or a sound."""

    name: MediaName


@dataclass(frozen=True)
class MaskOf:
    """Marks a picture whose white part is a region of another field's medium."""

    name: str


@dataclass(frozen=True)
class Prompt:
    """Marks a long text, such as a prompt."""


@dataclass(frozen=True)
class Seed:
    """Marks an integer that only makes a draw repeatable."""


@dataclass(frozen=True)
class NotNull:
    """Marks a field that can be omitted but not null."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate as the type inside `| None`; an omitted field is not validated."""
        schema = handler(source)
        if schema["type"] != "nullable":
            raise TypeError("NotNull marks a type of the form X | None")
        inner: CoreSchema = schema["schema"]
        return inner


@dataclass(frozen=True)
class Unique:
    """Marks a list whose items must differ."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Compare the items as given, before defaults are filled in."""
        return core_schema.no_info_before_validator_function(_unique, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add `uniqueItems` to the JSON Schema."""
        return {**handler(schema), "uniqueItems": True}


def _unique(value: object) -> object:
    if isinstance(value, list) and len({*map(repr, value)}) < len(value):
        raise ValueError("items that are the same")
    return value


Shape = Literal["value", "list", "object"]


def shape_of(value: object) -> Shape:
    """Return the shape of a JSON value; a model is an object."""
    if isinstance(value, dict | BaseModel):
        return "object"
    return "list" if isinstance(value, list | tuple) else "value"


def by_shape(options: Mapping[Shape, Any]) -> Any:
    """Return the union of several shapes, each with its own type."""
    tagged = (Annotated[option, Tag(shape)] for shape, option in options.items())
    return Annotated[reduce(or_, tagged), Discriminator(shape_of)]


def _whole(value: object) -> object:
    if isinstance(value, bool | float):
        raise ValueError("neither a boolean nor a fraction")
    return value


WholeChoice = BeforeValidator(_whole)
"""Marks a choice among whole numbers: in Python, 0 equals false and 5 equals 5.0."""

Omittable = Annotated[T | None, NotNull()]

HTTP_PATTERN = r"^https?://"
ImageUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("image")]
VideoUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("video")]
AudioUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("audio")]
ImageReference = Annotated[str, MediaKind("image")]
VideoReference = Annotated[str, MediaKind("video")]
AudioReference = Annotated[str, MediaKind("audio")]
"""References have no pattern in the interface (spec 4.4 to 4.10)."""


@dataclass(frozen=True)
class InputFacts:
    """Facts for a price that are not in the body.

    Args:
        seconds: Known durations of media in the body, seconds by URL (or path).
        output_tokens: The tokens that the finished job reported.
    """

    seconds: Mapping[str, float | Decimal] = field(default_factory=dict)
    output_tokens: int | None = None

    def ms(self, url: str) -> int | None:
        """Return the duration of a medium in whole milliseconds; None if unknown."""
        seconds = self.seconds.get(url)
        if seconds is None:
            return None
        numerator, denominator = Decimal(str(seconds)).as_integer_ratio()
        return divide_half_up(numerator * MS_PER_S, denominator)

    def total_ms(self, urls: list[str] | None) -> tuple[int, bool]:
        """Sum the durations of media.

        Returns:
            The milliseconds of all known durations, and whether all are known.
        """
        known = [self.ms(url) for url in urls or []]
        return sum(ms for ms in known if ms is not None), None not in known


class Part(BaseModel):
    """An object inside a request: annotated fields, as strict as the request."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
        protected_namespaces=(),
    )
    written_at: ClassVar[Place | None] = None

    def __init_subclass__(cls) -> None:
        """Store the place of the class, to read the docstrings of its fields."""
        super().__init_subclass__()
        cls.written_at = place_in(cls.__module__)

    @classmethod
    def docs(cls) -> dict[str, str]:
        """Return the docstrings of its fields, with inherited ones, by attribute."""
        docs: dict[str, str] = {}
        for each in reversed(cls.__mro__):
            place = vars(each).get("written_at")
            if place is not None:
                docs |= docs_at(place, each.__name__)
        return docs


@dataclass(frozen=True)
class Declared:
    """The class keywords of a request.

    Args:
        kind: The kind, which is also the short name that users type.
        function: The last segment of its path.
        spec: The section of the interface that describes it.
        media_type: The medium of the output.
        closed: Whether the service refuses unknown properties.
        priced_by: The fields that its price depends on; None means all of them.
        purpose: Its purpose; None derives it from its media.
        choose: When to choose it, in one or two sentences; can be empty.
    """

    kind: str
    function: str
    spec: str
    media_type: MediaName
    closed: bool
    priced_by: frozenset[str] | None
    purpose: Purpose | None = None
    choose: str = ""


@dataclass(frozen=True)
class OneOf:
    """The alternative types of a body.

    Args:
        tag: The property that names the type.
        types: The types, by the value of `tag`.
    """

    tag: str
    types: "Mapping[str, type[MediaRequest]]"


class MediaRequest(Part):
    """The body of a submission; one subclass declares one model function.

    A subclass has annotated fields, `rules`, and `lines` for the price. Types are
    strict: a string or a boolean is not an integer, and NaN is not a number. With the
    class keyword `extra="allow"` it accepts any further property.
    """

    declared: ClassVar[Declared]
    rules: ClassVar[tuple[Rule, ...]] = ()
    one_of: ClassVar[OneOf | None] = None

    def __init_subclass__(
        cls,
        *,
        kind: str,
        function: str | None = None,
        spec: str = "",
        media_type: MediaName = "video",
        closed: bool = True,
        priced_by: tuple[str, ...] | None = None,
        purpose: Purpose | None = None,
        choose: str = "",
    ) -> None:
        """Store the class keywords."""
        super().__init_subclass__()
        fields = None if priced_by is None else frozenset(priced_by)
        cls.declared = Declared(
            kind,
            function or kind,
            spec,
            media_type,
            closed,
            fields,
            purpose,
            choose,
        )

    @classmethod
    def of(cls, body: Mapping[str, object]) -> "type[MediaRequest]":
        """Return the type of a body; this type if there are no alternatives."""
        tag = None if cls.one_of is None else body.get(cls.one_of.tag)
        if cls.one_of is None or not isinstance(tag, str):
            return cls
        return cls.one_of.types.get(tag, cls)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Yield the price lines; none without a known rate (spec 8)."""
        return iter(())

    def nominal_tokens(self, output_ms: int) -> int | None:
        """Count the tokens of an output; None if it is not token-metered."""
        return None

    def notes(self) -> Iterator[str]:
        """Yield sentences for users about the basis of the price."""
        return iter(())

    def media_limits(self) -> Mapping[str, MediaLimits]:
        """Return limits of media that depend on other fields, by field.

        Constant limits are `MediaLimits` in the annotation of the field; a limit from
        here replaces them.
        """
        return {}
