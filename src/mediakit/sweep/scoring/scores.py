"""Outputs, their scores, and where scores are stored."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mediakit.errors import InputError
from mediakit.history import History, tuning
from mediakit.history.tuning import Score

HASH_DIGITS = 16


@dataclass(frozen=True)
class Output:
    """The output of one job.

    Args:
        job_id: The job.
        source: Its location: a URL or a local path.
        sha256: The hash of its content, in hex; None if unknown.
    """

    job_id: str
    source: str
    sha256: str | None = None


class ScoreStore(Protocol):
    """Stores scores between calls; called on the caller's thread."""

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the scorer's numbers by hash, for the hashes that have any."""

    def save(self, scores: Sequence[Score]) -> None:
        """Store scores; those without numbers have an error."""

    def hashed(self, job_id: str, sha256: str) -> None:
        """Store the hash of a job's output, so that it need not be fetched for it."""


class NoScoreStore:
    """A store that stores nothing."""

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Return no scores."""
        return {}

    def save(self, scores: Sequence[Score]) -> None:
        """Do nothing."""

    def hashed(self, job_id: str, sha256: str) -> None:
        """Do nothing."""


class HistoryScores:
    """A score store in the history.

    Args:
        history: The history.
        service: The service of the outputs.
        account: The account of the outputs.
    """

    def __init__(self, history: History, *, service: str, account: str) -> None:
        self._history = history
        self._owner = {"service": service, "account": account}

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the scorer's stored numbers, by hash."""
        return tuning.scores(self._history, sha256s, scorer, version)

    def save(self, scores: Sequence[Score]) -> None:
        """Store scores."""
        tuning.save_scores(self._history, scores)

    def hashed(self, job_id: str, sha256: str) -> None:
        """Store the hash of a job's output."""
        tuning.save_sha256s(self._history, {job_id: sha256}, **self._owner)


Fetch = Callable[[Output], Path]


def identity_of(fn: Any) -> tuple[str, str | None]:
    """Return the name and the version under which a scorer's numbers are stored.

    The version is None for a scorer whose source does not tell two configurations
    apart: a closure, or an object with attributes, without a `version`. Its numbers are
    not stored.

    Raises:
        InputError: It has no `version`, and no source to hash instead.
    """
    if isinstance(fn, partial):
        name, version = identity_of(fn.func)
        bound = (*fn.args, *(part for item in fn.keywords.items() for part in item))
        if version is None or not all(map(_is_plain, bound)):
            return name, None
        return name, f"{version}-{_short_hash(repr(bound))}"
    named: Any = fn if hasattr(fn, "__qualname__") else type(fn)
    name = f"{named.__module__}.{named.__qualname__}"
    if getattr(fn, "version", None) is not None:
        return name, str(fn.version)
    source = _source(named)
    settings = _settings_of(fn)
    if not all(map(_is_plain, settings)):
        return name, None
    return name, _short_hash(f"{source}{settings or ''}")


def _source(fn: Any) -> str:
    try:
        return inspect.getsource(fn)
    except (OSError, TypeError):
        accepted = "a function with a version, such as fn.version = '1'"
        raise InputError("fn", got=fn, accepted=accepted) from None


def _settings_of(fn: Any) -> list[object]:
    """Return the values that a scorer uses and its source does not show."""
    if not inspect.isfunction(fn):
        state = getattr(fn, "__self__", fn)
        has_state = getattr(state, "__dict__", None) or hasattr(state, "__slots__")
        return [state] if has_state else []
    used = inspect.getclosurevars(fn)
    constants = [item for item in sorted(used.globals.items()) if _is_plain(item[1])]
    defaults = [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).items()]
    return [*used.nonlocals.values(), *defaults, *(x for c in constants for x in c)]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | bytes | int | float)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
