"""Copies of an empty history: creating its tables takes longer than many tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mediakit.history import History

NAME = "history.sqlite3"


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        History(Path(folder) / NAME).close()
        return (Path(folder) / NAME).read_bytes()


def with_history(home: Path) -> Path:
    """Copy an empty history into a folder that has none, and return the folder."""
    home.mkdir(parents=True, exist_ok=True)
    if not (home / NAME).exists():
        (home / NAME).write_bytes(_empty())
    return home
