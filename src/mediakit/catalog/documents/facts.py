"""The bounds of one value in JSON Schema, as arguments of pydantic."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic_core import SchemaError

Facts = dict[str, Any]

MAX_COUNT = 2**53
MAX_BOUND = 2**64
MAX_CHOICES = 1_000


class UnreadableError(Exception):
    """A keyword has a value that no check can use."""


def counts(schema: Mapping[str, Any], least: str, most: str) -> Facts:
    """Read the bounds of the number of characters or items.

    Raises:
        UnreadableError: A bound is not a count.
    """
    names = {"min_length": least, "max_length": most}
    facts = {name: schema[key] for name, key in names.items() if key in schema}
    for count in facts.values():
        if not _is_count(count):
            raise UnreadableError
    return {name: int(count) for name, count in facts.items()}


def _is_count(value: object) -> bool:
    return is_bound(value) and value == int(value) and 0 <= value <= MAX_COUNT


def bounds(schema: Mapping[str, Any], *, whole: bool) -> Facts:
    """Read the bounds of a number.

    Args:
        schema: A schema of a number.
        whole: It is a whole number, so its bounds are, too.

    Raises:
        UnreadableError: A bound is not a number, or is out of range.
    """
    facts: Facts = {}
    _bound(facts, ("ge", "gt"), schema, "minimum", "exclusiveMinimum")
    _bound(facts, ("le", "lt"), schema, "maximum", "exclusiveMaximum")
    if "multipleOf" in schema:
        facts["multiple_of"] = schema["multipleOf"]
    for bound in facts.values():
        if not is_bound(bound):
            raise UnreadableError
    if facts.get("multiple_of", 1) <= 0:
        raise UnreadableError
    return _whole(facts) if whole else facts


def _bound(
    facts: Facts,
    names: tuple[str, str],
    schema: Mapping[str, Any],
    inclusive: str,
    exclusive: str,
) -> None:
    with_end, without_end = names
    if schema.get(exclusive) is True:  # the form of OpenAPI 3.0
        facts[without_end] = schema.get(inclusive)
        return
    if inclusive in schema:
        facts[with_end] = schema[inclusive]
    if exclusive in schema and schema[exclusive] is not False:
        facts[without_end] = schema[exclusive]


def _whole(facts: Facts) -> Facts:
    rounded: Mapping[str, Callable[[float], int]] = {
        "ge": math.ceil,
        "gt": math.floor,
        "le": math.floor,
        "lt": math.ceil,
    }
    if facts.get("multiple_of", 1) != int(facts.get("multiple_of", 1)):
        raise UnreadableError
    return {name: rounded.get(name, int)(bound) for name, bound in facts.items()}


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def is_bound(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number in the range of usable bounds."""
    return _is_number(value) and abs(value) <= MAX_BOUND


def is_pattern(pattern: object) -> bool:
    """Return whether a regular expression can be checked in linear time."""
    if not isinstance(pattern, str):
        return False
    try:
        TypeAdapter(Annotated[str, Field(pattern=pattern)])
    except SchemaError:
        return False
    return True


def choice_type(values: object, type_name: object) -> tuple[Any, int]:
    """Return the type of a choice between values, and their number.

    Args:
        values: The values, such as those of `enum`; null is left out.
        type_name: The JSON type that they must have as well; None is any.

    Raises:
        UnreadableError: There are none, too many, or some are lists or objects.
    """
    if not isinstance(values, list) or len(values) > MAX_CHOICES:
        raise UnreadableError
    scalars = (str, int, float, bool)
    if not all(value is None or isinstance(value, scalars) for value in values):
        raise UnreadableError
    choices = tuple(v for v in values if v is not None and _is_a(v, type_name))
    if not choices:
        raise UnreadableError
    if all(isinstance(choice, str) for choice in choices):
        return Literal[choices], len(choices)
    as_written = BeforeValidator(partial(_as_written, choices))
    return Annotated[Literal[choices], as_written], len(choices)


def _as_written(choices: tuple[object, ...], value: object) -> object:
    """Refuse a value that equals a choice only in Python: true is not 1 in JSON."""
    for choice in choices:
        kinds = (type(choice), int) if isinstance(choice, float) else (type(choice),)
        if type(value) in kinds and value == choice:
            return value
    raise ValueError("none of the choices")


_TYPES: Mapping[object, Callable[[object], bool]] = {
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "number": _is_number,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
}


def _is_a(value: object, type_name: object) -> bool:
    fits = _TYPES.get(type_name) if isinstance(type_name, str) else None
    return fits is None or fits(value)
