"""Facts about fields that JSON Schema has no keyword for, and their markers.

A marker in an annotation writes its facts under `x-mediakit`; a `FieldSpec` has them as
attributes. To add a fact, add an attribute to `FieldFacts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal, get_args

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mediakit.media_limits import EXTENSION, MediaLimits, MediaName

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
NUMBERS: tuple[FieldKind, ...] = ("integer", "number", "choice")


def _of(*kinds: FieldKind) -> dict[str, tuple[FieldKind, ...]]:
    return {"kinds": kinds}


@dataclass(frozen=True, kw_only=True)
class FieldFacts:
    """Facts about a field, each with the kinds of fields that can have it."""

    unit: Annotated[str, Field(pattern=r"^[^\pC]{1,16}$")] | None = field(
        default=None, metadata=_of(*NUMBERS)
    )
    media_kind: MediaName | None = field(default=None, metadata=_of("text"))
    """The medium, if the text is a URL of one."""
    mask_of: str | None = field(default=None, metadata=_of("text"))
    """The field whose medium this field's picture masks."""
    multiline: bool = field(default=False, metadata=_of("text"))
    seed: bool = field(default=False, metadata=_of("integer"))
    """Its value only makes a take repeatable."""
    title: Annotated[str, Field(pattern=r"^[^\pC]{1,60}$")] = field(
        default="", compare=False, metadata=_of(*get_args(FieldKind))
    )
    """The display name; empty if it follows from the field's name."""
    limits: MediaLimits | None = field(default=None, metadata=_of("text", "list"))

    def written(self) -> dict[str, object]:
        """Return the stated facts as they stand under `x-mediakit`."""
        values = {name: getattr(self, name) for name in FACTS}
        return {
            name: value.written() if isinstance(value, MediaLimits) else value
            for name, value in values.items()
            if value
        }


FACTS: Mapping[str, tuple[FieldKind, ...]] = {
    fact.name: fact.metadata["kinds"] for fact in fields(FieldFacts)
}
"""The kinds of fields that can have each fact."""


class Marker(FieldFacts):
    """Marks a field in its annotation with any facts."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the facts to the JSON Schema."""
        schema = handler(core_schema)
        return {
            **schema,
            EXTENSION: {**schema.get(EXTENSION, {}), **self.written()},
        }


@dataclass(frozen=True)
class Unit(Marker):
    """Marks a number's unit, such as "s"."""

    unit: str


@dataclass(frozen=True)
class MediaKind(Marker):
    """Marks a string as the URL of a picture, a clip or a sound."""

    media_kind: MediaName


@dataclass(frozen=True)
class MaskOf(Marker):
    """Marks a picture whose white area selects a region of another field's medium."""

    mask_of: str


@dataclass(frozen=True)
class Prompt(Marker):
    """Marks a long text, such as a prompt; white space around it is not sent."""

    multiline: bool = True


@dataclass(frozen=True)
class Seed(Marker):
    """Marks an integer that only makes a take repeatable."""

    seed: bool = True


@dataclass(frozen=True)
class Title(Marker):
    """Marks a field whose display name does not follow from its name."""

    title: str
