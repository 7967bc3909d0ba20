"""Identifies a scorer by its name and a version from its source and data.

Scores of one scorer and version are reused, so two scorers must never be confused.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import CodeType, ModuleType
from typing import Any

from mediakit.errors import InputError
from mediakit.history.scores import JUDGE_COST, REASON

COST = "cost_micro_usd"
"""The value in which a judge reports the cost of an answer."""
TAKEN = frozenset({"job_id", "problem", JUDGE_COST})
HASH_DIGITS = 16
OWN_MODULES = "mediakit."
SCORERS = "fn(path) or fn(path, row)"


def sees_row(fn: Any) -> bool:
    """Return whether a scorer takes a row: a second required argument, or `row`."""
    if not callable(fn):
        raise InputError("fn", got=fn, accepted=SCORERS)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return False  # a built-in function does not show its arguments
    if not _fits(signature, 1):
        if _fits(signature, 2):
            return True
        got = f"{column_of(fn)}{signature}"
        raise InputError("fn", got=got, accepted=SCORERS)
    return list(signature.parameters)[1:2] == ["row"] and _fits(signature, 2)


def is_asynchronous(fn: Any) -> bool:
    """Return whether a call of a scorer must be awaited."""
    called = getattr(type(fn), "__call__", None)  # noqa: B004 - of an object
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(called)


def _fits(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def column_of(fn: Any) -> str:
    """Return the column name of a scorer that returns a single value."""
    inner = getattr(fn, "func", fn)  # of a partial function
    name = str(getattr(inner, "__name__", type(inner).__name__))
    is_free = name.isidentifier() and name not in TAKEN | {REASON, COST}
    return name if is_free else "score"


def identity_of(fn: Any, version: str | None = None) -> tuple[str, str | None]:
    """Return the name and version under which the scores of a scorer are stored.

    The version includes the source of the scorer, so that two scorers with the same
    name, such as those of two notebooks, differ. It also includes the data that the
    scorer uses, unless the scorer has its own `version`. A judge of this package has a
    revision in place of its source, or an upgrade would pay for every judgement again.
    The version is None if that data cannot be hashed; such scores are not stored.
    """
    inner = fn.func if isinstance(fn, partial) else fn
    named: Any = inner if hasattr(inner, "__qualname__") else type(inner)
    name = f"{named.__module__}.{named.__qualname__}"
    source = _source(named)
    version = getattr(fn, "version", None) if version is None else version
    if version is not None:
        revision = getattr(named, "revision", "")
        if source or not revision:
            revision = hash_of(f"{revision}{source}")[:HASH_DIGITS]
        return name, f"{version}-{revision}"
    if not source:
        accepted = "a function with a version, such as score(..., version='1')"
        raise InputError("fn", got=fn, accepted=accepted)
    try:
        return name, hash_of(*_told(fn, set()))[:HASH_DIGITS]
    except TypeError:
        return name, None


def _source(named: Any) -> str:
    """Return the source of a function, or of a class's functions; "" if unknown.

    In a notebook cell, only the functions of a class have a source. Functions that a
    class inherits from this package do not count.
    """
    functions = [named]
    if inspect.isclass(named):
        members = [each for base in named.__mro__ for each in vars(base).values()]
        functions = [
            each
            for each in members
            if inspect.isfunction(each) and not each.__module__.startswith(OWN_MODULES)
        ]
    texts = []
    for function in functions:
        with suppress(OSError, TypeError):
            texts.append(inspect.getsource(function))
    return "".join(texts)


def _told(fn: Any, seen: set[object]) -> Iterator[str]:
    """Yield the parts that identify a scorer: its source and the data that it uses.

    Functions in its own module count with their source, others with their name.

    Raises:
        TypeError: The scorer uses an object that is not plain data.
    """
    if isinstance(fn, partial):
        yield json.dumps([fn.args, fn.keywords], sort_keys=True)
        yield from _told(fn.func, seen)
    elif not inspect.isfunction(fn):
        state = getattr(fn, "__self__", fn)
        if not inspect.isclass(fn) and (
            getattr(state, "__dict__", None) or hasattr(state, "__slots__")
        ):
            raise TypeError("an object with attributes")
        yield _source(fn if hasattr(fn, "__qualname__") else type(fn))
    elif fn not in seen:
        seen.add(fn)
        yield _source(fn)
        for value in _used(fn):
            if isinstance(value, ModuleType):
                yield value.__name__
            elif getattr(value, "__module__", None) == fn.__module__:
                yield from _told(value, seen)
            elif hasattr(value, "__qualname__"):
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                yield json.dumps(value, sort_keys=True)


def _used(fn: Any) -> Iterator[Any]:
    """Yield the values that a function uses, besides its arguments."""
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # it has no value yet
            yield cell.cell_contents
    yield from fn.__defaults__ or ()
    yield fn.__kwdefaults__
    for name in sorted(_global_names(fn.__code__) & fn.__globals__.keys()):
        yield fn.__globals__[name]


def _global_names(code: CodeType) -> set[str]:
    """Return the global names in a function and its inner functions."""
    names = {
        each.argval
        for each in dis.get_instructions(code)
        if each.opname == "LOAD_GLOBAL"
    }
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return names.union(*map(_global_names, inner))


def hash_of(*texts: str) -> str:
    """Return the SHA-256 hash of strings, in hex."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
