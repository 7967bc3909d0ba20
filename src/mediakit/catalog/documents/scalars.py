"""Converting the JSON Schema of single values to annotated types."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from mediakit.catalog.documents import facts
from mediakit.catalog.documents.facts import MAX_CHOICES, UnreadableError
from mediakit.catalog.documents.references import Json
from mediakit.schema import FieldKind


@dataclass(frozen=True)
class Typed:
    """The result of reading a schema.

    Args:
        annotation: The type; null is not part of it.
        kind: The kind of the field in a form.
        nullable: It accepts null.
        whole: The type checks the whole schema.
        count: The number of values to choose from; None if it is not a choice.
        size: The number of its fields, including those of nested objects.
    """

    annotation: Any
    kind: FieldKind
    nullable: bool = False
    whole: bool = True
    count: int | None = None
    size: int = 1


ANYTHING = Typed(Any, "json", nullable=True)
UNREADABLE = replace(ANYTHING, whole=False)

_KEYWORDS = {
    "properties": "object",
    "items": "array",
    "pattern": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
}


def type_of(schema: Json) -> object:
    """Return the JSON type of a schema; None without a single one."""
    if "const" in schema or "enum" in schema:
        return "choice"
    named = schema.get("type")
    if named is not None:
        return named if isinstance(named, str) else None
    # Strictly, a schema without a type accepts other types, too; nobody means that.
    return next((name for key, name in _KEYWORDS.items() if key in schema), None)


def scalar(schema: Json) -> Typed:
    """Read the schema of a choice, a text, a number or a boolean.

    Raises:
        UnreadableError: It is none of them, or a keyword cannot be used for checks.
    """
    match type_of(schema):
        case "choice":
            values = [schema["const"]] if "const" in schema else schema["enum"]
            choice, count = facts.choice_type(values, schema.get("type"))
            return Typed(choice, "choice", count=count)
        case "string":
            return _text(schema)
        case "integer":
            return _integer(schema)
        case "number":
            bounds = facts.bounds(schema, whole=False)
            return Typed(constrained(float, bounds), "number")
        case "boolean":
            return Typed(bool, "boolean")
        case _:
            raise UnreadableError


def constrained(annotation: Any, bounds: facts.Facts) -> Any:
    """Return the type with bounds, which are arguments of pydantic."""
    return marked(annotation, Field(**bounds)) if bounds else annotation


def marked(annotation: Any, *marks: object) -> Any:
    """Return the type with markers."""
    if not marks:
        return annotation
    return Annotated[annotation, *marks]


def _text(schema: Json) -> Typed:
    bounds = facts.counts(schema, "minLength", "maxLength")
    pattern = schema.get("pattern")
    whole = pattern is None or facts.is_pattern(pattern)
    if pattern is not None and whole:
        bounds["pattern"] = pattern
    return Typed(constrained(str, bounds), "text", whole=whole)


def _integer(schema: Json) -> Typed:
    bounds = facts.bounds(schema, whole=True)
    count = None
    if bounds.keys() == {"ge", "le"} and 0 <= bounds["le"] - bounds["ge"] < MAX_CHOICES:
        count = bounds["le"] - bounds["ge"] + 1
    return Typed(constrained(int, bounds), "integer", count=count)
