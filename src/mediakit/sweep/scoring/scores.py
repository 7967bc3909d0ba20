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
from mediakit.history import History

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


@dataclass(frozen=True)
class Score:
    """The stored result of a scorer for one output.

    Args:
        sha256: The hash of the output, in hex.
        scorer: The scorer's name.
        version: The scorer's version.
        values: The numbers by name; None if the scorer failed.
        error: Why it failed; None if it did not.
    """

    sha256: str
    scorer: str
    version: str
    values: Mapping[str, float] | None
    error: str | None


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
        return self._history.scores(sha256s, scorer, version)

    def save(self, scores: Sequence[Score]) -> None:
        """Store scores."""
        self._history.save_scores(scores)

    def hashed(self, job_id: str, sha256: str) -> None:
        """Store the hash of a job's output."""
        self._history.save_sha256s({job_id: sha256}, **self._owner)


Fetch = Callable[[Output], Path]


def identity_of(fn: Any) -> tuple[str, str]:
    """Return the name and the version under which a scorer's numbers are stored.

    Raises:
        InputError: It has no `version`, and no source to hash instead.
    """
    if isinstance(fn, partial):
        name, version = identity_of(fn.func)
        bound = repr((fn.args, sorted(fn.keywords.items())))
        return name, f"{version}-{_short_hash(bound)}"
    named: Any = fn if hasattr(fn, "__qualname__") else type(fn)
    name = f"{named.__module__}.{named.__qualname__}"
    has_version = getattr(fn, "version", None) is not None
    return name, str(fn.version) if has_version else _source_hash(named)


def _source_hash(fn: Any) -> str:
    try:
        return _short_hash(inspect.getsource(fn))
    except (OSError, TypeError):
        accepted = "a function with a version, such as fn.version = '1'"
        raise InputError("fn", got=fn, accepted=accepted) from None


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
