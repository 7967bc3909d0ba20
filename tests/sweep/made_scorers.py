"""Scorers that other processes can import: some of them fail on purpose."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mediakit.history import History
from mediakit.sweep.scoring import ScoredOutput, score_outputs

OWNER = {"service": "http://service.test", "account": "nobody"}


def score_in_process(
    history: Path, outputs: Sequence[ScoredOutput], notes: str
) -> None:
    """Score in this process, which may die of it."""
    scorer = DiesOnce(notes)
    score_outputs(
        outputs, scorer, fetch=local_file, history=History(history), owner=OWNER
    )


def local_file(output: ScoredOutput) -> Path:
    """Return the file that an output names."""
    return Path(output.source)


def size_bytes(path: Path) -> int:
    """Return one number."""
    return path.stat().st_size


def first_byte(path: Path) -> dict[str, float]:
    """Return numbers; a file that begins with "x" cannot be scored."""
    content = path.read_bytes()
    if content.startswith(b"x"):
        raise ValueError("it begins with an x")
    return {"first": float(content[0]), "length": float(len(content))}


def prompt_length(path: Path, row: dict[str, str]) -> int:
    """Return a number of the row."""
    return len(row["prompt"])


def die() -> NoReturn:
    """End this process as a full memory does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


class DiesOnce:
    """Crashes on "killer" always, and on "once" the first time; records every file.

    Args:
        notes: A folder that gets a file for each attempt.
    """

    version = "1"

    def __init__(self, notes: str) -> None:
        self.notes = notes

    def __call__(self, path: Path) -> int:
        """Return the length of a file."""
        name, notes = path.read_text(), Path(self.notes)
        before = len(list(notes.glob(f"{name}.*")))
        (notes / f"{name}.{before}").touch()
        if name == "killer" or (name == "once" and before == 0):
            die()
        return len(name)
