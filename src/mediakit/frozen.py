"""Frozen dataclasses made from values: their own way sets each field by a call."""

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def made(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a frozen dataclass that has these values of all its fields, by name.

    For those without slots and without `__post_init__`, where many are made.
    """
    new = object.__new__(kind)
    vars(new).update(values)
    return new


def changed(old: T, news: Mapping[str, Any]) -> T:
    """Return a frozen dataclass with new values of some fields, as `replace` does."""
    return made(type(old), {**vars(old), **news})
