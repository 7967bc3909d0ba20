"""What is scored, what comes of it, and where that is kept."""

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
    """What one job made.

    Args:
        job_id: The job.
        source: Where it is: a URL or a local path.
        sha256: The hash of its content, in hex; None while it is not known.
    """

    job_id: str
    source: str
    sha256: str | None = None


@dataclass(frozen=True)
class Score:
    """What a scorer made of an output, as it is kept.

    Args:
        sha256: The hash of the output, in hex.
        scorer: The scorer's name.
        version: The scorer's version.
        values: The numbers by name; None when the scorer failed.
        error: Why it failed; None when it did not.
    """

    sha256: str
    scorer: str
    version: str
    values: Mapping[str, float] | None
    error: str | None


class ScoreStore(Protocol):
    """Where scores are kept between calls; asked on the caller's thread."""

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the numbers of a scorer, by hash, for those hashes that have any."""

    def save(self, scores: Sequence[Score]) -> None:
        """Keep scores; those without numbers say what failed."""

    def hashed(self, job_id: str, sha256: str) -> None:
        """Keep the hash of a job's output, so that it is not fetched to know it."""


class NothingKept:
    """A store that forgets."""

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Know no score."""
        return {}

    def save(self, scores: Sequence[Score]) -> None:
        """Keep nothing."""

    def hashed(self, job_id: str, sha256: str) -> None:
        """Keep nothing."""


class HistoryScores:
    """A store in the history.

    Args:
        history: The history.
        service: Whose outputs they are.
        account: Of which account.
    """

    def __init__(self, history: History, *, service: str, account: str) -> None:
        self._history = history
        self._owner = {"service": service, "account": account}

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the numbers of a scorer that are kept, by hash."""
        return self._history.scores(sha256s, scorer, version)

    def save(self, scores: Sequence[Score]) -> None:
        """Keep scores."""
        self._history.save_scores(scores)

    def hashed(self, job_id: str, sha256: str) -> None:
        """Keep the hash of a job's output."""
        self._history.save_sha256s({job_id: sha256}, **self._owner)


Fetch = Callable[[Output], Path]


def identity_of(fn: Any) -> tuple[str, str]:
    """Return the name and the version under which a scorer's numbers are kept.

    Raises:
        InputError: It has no `version`, and no source to take one from.
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
