"""Scorers that other processes can import: some of them fail on purpose."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn


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
