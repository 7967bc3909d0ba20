"""Parses the text of JSON boxes, and finds text that no control can read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from mediakit.rules import Problem
from mediakit.schema import FieldSpec, canonical_json

FURTHER = FieldSpec(
    "further fields",
    "json",
    nullable=True,
    doc="Fields that are not known here, as a JSON object; they are sent as given.",
)
"""The box for the further fields of an open function or an open object."""


class Unreadable(str):
    """Typed text that its control cannot read, and the reason."""

    reason: str

    def __new__(cls, text: str, reason: str) -> Unreadable:
        self = super().__new__(cls, text)
        self.reason = reason
        return self

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str, str]]:
        return Unreadable, (str(self), self.reason)


def read_json(text: str) -> object:
    """Parse a typed text: None for a blank text, an `Unreadable` for an invalid one."""
    if not text.strip():
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
        canonical_json(value)  # such as half an emoji, which cannot be sent
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, character {error.colno}"
        return _not_json(text, f"{place}: {error.msg[:1].lower()}{error.msg[1:]}")
    except ValueError as error:
        return _not_json(text, str(error))
    except RecursionError:
        return _not_json(text, "it is nested too deeply")
    return value


def _not_json(text: str, why: str) -> Unreadable:
    return Unreadable(text, f"this is not valid JSON ({why})")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def read_further(text: str, known: Mapping[str, object]) -> object:
    """Parse properties besides the known ones; see `read_json`."""
    value = read_json(text)
    if value is None or isinstance(value, Unreadable):
        return value
    if not isinstance(value, dict):
        return Unreadable(text, 'must be an object, such as {"style": "noir"}')
    twice = [name for name in value if name in known or name == FURTHER.name]
    if twice:
        return Unreadable(text, f"{twice[0]} has its own control")
    return value


def sendable(value: object) -> object:
    """Return a value without unreadable text, which becomes None or is left out."""
    if isinstance(value, Unreadable):
        return None
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    if isinstance(value, dict):
        return {
            name: sendable(item)
            for name, item in value.items()
            if not isinstance(item, Unreadable)
        }
    return value


def with_texts(value: object, change: Callable[[str], str]) -> object:
    """Return a value with a function applied to each text in it."""
    if isinstance(value, Mapping):
        return {name: with_texts(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(each, change) for each in value]
    if isinstance(value, str) and not isinstance(value, Unreadable):
        return change(value)
    return value


def unreadable(label: str, value: Any) -> Iterator[Problem]:
    """Yield a problem for each unreadable text in a value."""
    if isinstance(value, Unreadable):
        yield Problem(label, None, value.reason)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from unreadable(f"{label}[{index}]", item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from unreadable(f"{label}.{name}", item)
