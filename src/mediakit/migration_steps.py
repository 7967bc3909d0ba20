"""Numbered migration steps of a database, and the copy made before them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from filecmp import cmp
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

from mediakit.extras import DISTRIBUTION

C = TypeVar("C")

UPGRADE_COMMAND = f"python -m pip install -U {DISTRIBUTION}"


@dataclass
class Migrations(Generic[C]):
    """All migration steps of one kind of database; none is ever changed or removed.

    A step gets a connection in a transaction, with the write lock, and must not commit.
    A process with older code may continue to write, so a step only adds tables, and
    columns that may be empty or have a default.

    Args:
        first: The version that the first step starts from.
        steps: Each brings a database from one version to the next.
    """

    first: int
    steps: list[Callable[[C], None]]

    @property
    def version(self) -> int:
        """Return the version that this code reads and writes."""
        return self.first + len(self.steps)

    def step_from(self, version: int) -> Callable[[C], None] | None:
        """Return the step from a version to the next, or None if there is none."""
        if self.first <= version < self.version:
            return self.steps[version - self.first]
        return None

    def problem(self, version: int) -> str:
        """Explain why a version without a step cannot be read."""
        if version > self.version:
            return (
                f"has version {version}, which a newer mediakit wrote: this one reads "
                f"up to version {self.version}"
            )
        return (
            f"has version {version}, but this mediakit reads versions {self.first} to "
            f"{self.version}"
        )


def copy_beside(file: Path, version: int) -> Path:
    """Copy a SQLite database, its WAL included, to a file beside it; return the copy.

    The caller has the write lock. A copy with another content is never replaced.

    Raises:
        OSError: The copy cannot be written.
        sqlite3.Error: The database cannot be read, or the copy cannot be written.
    """
    part = file.with_name(f"{file.name}.version-{version}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(file)) as source:
            source.execute("VACUUM INTO ?", (str(part),))
        with part.open("rb") as copied:
            os.fsync(copied.fileno())
        for number in count(1):
            suffix = "" if number == 1 else f"-{number}"
            copy = file.with_name(f"{file.name}.version-{version}{suffix}")
            if not copy.exists() or cmp(part, copy, shallow=False):
                return part.replace(copy)
        raise AssertionError("unreachable")
    finally:
        part.unlink(missing_ok=True)
