"""The base class of requests, and the types of their fields."""

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from inspect import cleandoc
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mediakit.estimates import InputFacts, Line
from mediakit.media_limits import MediaLimits, MediaName
from mediakit.rules import Rule, Values
from mediakit.schema.facts import MediaKind

T = TypeVar("T")
NULL_SCHEMA = {"type": "null"}


class Purpose(StrEnum):
    """The groups of functions in menus, in order, with their headings."""

    WORDS = "Make a video from words"
    PICTURES = "Make a video from pictures"
    PICTURE = "Make a picture"
    REFERENCES = "Make a video from references"
    CHANGE = "Change or combine clips"
    ENLARGE = "Enlarge"
    SOUND = "Make a sound"


@dataclass(frozen=True)
class NotNull:
    """Marks a field that can be omitted but not null."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate as the type inside `| None`; an omitted field is not validated."""
        inner: CoreSchema = handler(source)["schema"]
        return inner


Omittable = Annotated[T | None, NotNull()]

HTTP_PATTERN = r"^https?://"
ImageUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("image")]
VideoUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("video")]
AudioUrl = Annotated[str, Field(pattern=HTTP_PATTERN), MediaKind("audio")]
ImageReference = Annotated[str, MediaKind("image")]
VideoReference = Annotated[str, MediaKind("video")]
AudioReference = Annotated[str, MediaKind("audio")]
"""References have no pattern in the interface (spec 4.4 to 4.10)."""


# -- docstrings of fields -------------------------------------------------------------

# Docstrings are read on first use. Pydantic would read the source of every class on
# import, which takes a fifth of a sandbox's start, and it finds no source in notebook
# cells.


class SourcePlace(NamedTuple):
    """The location of a class: a line of a file or a notebook cell."""

    file: str
    line: int


def _place_in(module: str) -> SourcePlace | None:
    """Return the place of the class that this module creates; None if unknown."""
    frame = sys._getframe(1).f_back
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame and SourcePlace(frame.f_code.co_filename, frame.f_lineno)


def _docs_at(place: SourcePlace, name: str) -> dict[str, str]:
    """Return the docstrings of a class's fields by name."""
    for node in _classes_in("".join(linecache.getlines(place.file))):
        if node.name == name and node.lineno <= place.line <= (node.end_lineno or 0):
            return dict(_docs_of(node))
    return {}


@lru_cache(maxsize=32)
def _classes_in(source: str) -> tuple[ast.ClassDef, ...]:
    """Return the classes in a source text."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the file has changed since the import
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _docs_of(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(node.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, cleandoc(text)


# -- requests -------------------------------------------------------------------------


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
    written_at: ClassVar[SourcePlace | None] = None

    def __init_subclass__(cls) -> None:
        """Store the place of the class, to read the docstrings of its fields."""
        super().__init_subclass__()
        cls.written_at = _place_in(cls.__module__)

    @classmethod
    def _docs(cls) -> dict[str, str]:
        """Return the docstrings of its fields, with inherited ones."""
        docs: dict[str, str] = {}
        for each in reversed(cls.__mro__):
            if place := vars(each).get("written_at"):
                docs |= _docs_at(place, each.__name__)
        return docs

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the docstrings; leave out names, and null where it is refused."""
        schema = handler(core_schema)
        docs = cls._docs()
        for name, entry in handler.resolve_ref_schema(schema)["properties"].items():
            entry.pop("title", None)
            if docs.get(name):
                entry.setdefault("description", docs[name])
            takes_null = NULL_SCHEMA in entry.get("anyOf", ())
            if not takes_null and entry.get("default", ...) is None:
                del entry["default"]
        return schema


@dataclass(frozen=True)
class Declared:
    """The declaration of a request, apart from its fields."""

    kind: str  # also the short name that users type
    function: str = ""  # the last segment of the path; by default the kind
    spec: str = ""  # the section of the specification that describes it
    media_type: MediaName = "video"  # the medium of the output
    closed: bool = True
    """The service refuses unknown properties."""
    priced_by: tuple[str, ...] | None = None
    """The fields that the price depends on; None means all of them."""
    replaces: tuple[tuple[str, str], ...] = ()
    """Pairs of fields: if the first is given, the second has no effect."""
    sets: tuple[tuple[str, str, object], ...] = ()
    """Two fields and a value: if the first is given, the second takes the value."""
    purpose: Purpose | None = None
    """None derives the purpose from the media."""
    result: str = ""
    """The word in titles of results before the names of inputs, such as "Upscaled"."""
    compared_with: str = ""
    """The field of the input whose shape the result has."""
    choose: str = ""
    """When to choose the function, in one or two sentences; can be empty."""
    colours: tuple[str, str] | None = None
    """The function's colours in plots, on a light and on a dark background."""
    name: str = ""  # of the schema
    doc: str = ""

    def __post_init__(self) -> None:
        """Default the function's name to the kind."""
        object.__setattr__(self, "function", self.function or self.kind)


class MediaRequest(Part):
    """The body of a submission; each subclass declares one model function.

    A subclass has annotated fields, `rules`, and `lines` for the price. Types are
    strict: a string or a boolean is not an integer, and NaN is not a number. Its class
    keywords are those of `Declared`; with `extra="allow"` it accepts any further
    property.
    """

    declared: ClassVar[Declared]
    rules: ClassVar[tuple[Rule, ...]] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Store the class keywords; see `Declared`."""
        super().__init_subclass__()
        doc = cleandoc(cls.__doc__ or "")
        cls.declared = Declared(name=cls.__name__, doc=doc, **keywords)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Yield the price lines; none without a known rate (spec 8)."""
        return iter(())

    def nominal_tokens(self, output_ms: int) -> int | None:
        """Return the tokens of an output; None if it is not metered by tokens."""
        return None

    def notes(self) -> Iterator[str]:
        """Yield sentences for users about the basis of the price."""
        return iter(())

    @classmethod
    def item_counts(cls, values: Values) -> Mapping[str, int]:
        """Return the required lengths of lists that depend on other fields."""
        return {}

    def media_limits(self) -> Mapping[str, MediaLimits]:
        """Return limits of media that depend on other fields, by field.

        Constant limits are `MediaLimits` in the annotation of the field; a limit from
        here replaces them.
        """
        return {}
