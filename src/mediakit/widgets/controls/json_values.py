"""Parses the text of JSON boxes, and finds text that is not JSON; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from mediakit.rules import Problem
from mediakit.schema import FieldSpec, canonical_json

FURTHER = FieldSpec(
    "further fields",
    "json",
    nullable=True,
    doc="Fields that are not known here, as a JSON object; they are sent as given.",
)
"""The box of everything that an open function, or an open object, also takes."""


class NotJson(str):
    """A text that was typed where JSON is needed, and will not do.

    Args:
        text: The text as it stands.
        reason: What is wrong with it, in words that stand alone.
    """

    reason: str

    def __new__(cls, text: str, reason: str) -> NotJson:
        """Make the text remember its reason."""
        self = super().__new__(cls, text)
        self.reason = reason
        return self

    def __reduce__(self) -> tuple[type[NotJson], tuple[str, str]]:
        """Copy it with its reason."""
        return NotJson, (str(self), self.reason)


def read_json(text: str) -> object:
    """Read what was typed.

    Returns:
        The value; None for a blank text; a `NotJson` for anything else.
    """
    if not text.strip():
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
        canonical_json(value)  # half an emoji, say, can be read and not be sent
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, character {error.colno}"
        return _not_json(text, f"{place}: {error.msg[:1].lower()}{error.msg[1:]}")
    except ValueError as error:
        return _not_json(text, str(error))
    except RecursionError:
        return _not_json(text, "it is nested too deeply")
    return value


def _not_json(text: str, why: str) -> NotJson:
    return NotJson(text, f"this is not valid JSON ({why})")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def read_further(text: str, known: Mapping[str, object]) -> object:
    """Read the properties that go along with the known ones.

    Args:
        text: What was typed.
        known: The fields that have a control of their own.

    Returns:
        The properties; None for a blank text; a `NotJson` for anything else.
    """
    value = read_json(text)
    if value is None or isinstance(value, NotJson):
        return value
    if not isinstance(value, dict):
        return NotJson(text, 'must be an object, such as {"style": "noir"}')
    twice = [name for name in value if name in known or name == FURTHER.name]
    if twice:
        return NotJson(text, f"{twice[0]} has its own control")
    return value


def sendable(value: object) -> object:
    """Return a value without what is no JSON; that is None, or left out."""
    if isinstance(value, NotJson):
        return None
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    if isinstance(value, dict):
        return {
            name: sendable(item)
            for name, item in value.items()
            if not isinstance(item, NotJson)
        }
    return value


def unreadable(label: str, value: Any) -> Iterator[Problem]:
    """Find what is no JSON, or none that will do, in a value.

    Args:
        label: The place of the value, such as "settings".
        value: A control's value.
    """
    if isinstance(value, NotJson):
        yield Problem(label, None, value.reason)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from unreadable(f"{label}[{index}]", item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from unreadable(f"{label}.{name}", item)
