"""Folders that only the user can read."""

from __future__ import annotations

from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create a folder, and those above it that are missing, for the user alone.

    Existing folders keep their permissions, because somebody chose them.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
