"""The user's data folder, and folders that only the user can read."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from mediakit.errors import InputError


def data_folder(home: str | Path | None = None) -> Path:
    """Return the user's data folder: `home`, `MEDIAKIT_HOME`, or the default.

    Raises:
        InputError: The folder is in the user's home, and this user has none.
    """
    home = home or os.environ.get("MEDIAKIT_HOME")
    try:
        return Path(home or platformdirs.user_data_dir("mediakit")).expanduser()
    except RuntimeError:
        pass
    raise InputError(
        "home",
        got=home,
        accepted="the absolute path of a folder, because this user has no home folder: "
        "set MEDIAKIT_HOME, or pass home=",
    )


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, readable only by the user.

    Existing folders keep their permissions, which somebody chose.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
