"""Scorers that other processes can import: some of them fail on purpose."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mediakit.sweep.scoring import Output, Score, score_outputs


class FileStore:
    """Keeps the numbers of one scorer in a file, so that they outlive a process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> dict[str, dict[str, float]]:
        """Return what the file has."""
        text = self.path.read_text() if self.path.exists() else ""
        found = dict(map(json.loads, text.splitlines()))
        return {sha256: found[sha256] for sha256 in sha256s if sha256 in found}

    def save(self, scores: Sequence[Score]) -> None:
        """Add to the file."""
        with self.path.open("a") as file:
            for score in scores:
                file.write(json.dumps([score.sha256, score.values]) + "\n")

    def hashed(self, job_id: str, sha256: str) -> None:
        """Keep no hash."""


def score_in_process(outputs: Sequence[Output], store: FileStore) -> None:
    """Score in this process, which may die of it."""
    score_outputs(outputs, dies_once, fetch=local_file, batch=4, store=store)


def local_file(output: Output) -> Path:
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


def die() -> NoReturn:
    """End this process as a full memory does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def dies_of_killers(path: Path) -> int:
    """Die of a file that begins with "k", whenever it is scored."""
    if path.read_bytes().startswith(b"k"):
        die()
    return size_bytes(path)


def dies_once(path: Path) -> int:
    """Die of the file that is named "once", the first time; note every file.

    Its folder holds a note for each time that a file was begun.
    """
    notes = path.parent / "notes"
    begun = notes / f"{path.name}.{len(list(notes.glob(f'{path.name}.*')))}"
    begun.touch()
    if path.name == "once" and begun.name == "once.0":
        die()
    return size_bytes(path)
