"""The files of a data directory: unguessable names, whole or not there."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio import to_thread

# The ends of file addresses, for people and players; what counts is the header.
SUFFIXES = {
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
}


def new_name() -> str:
    """Return a name that nobody can guess."""
    return secrets.token_urlsafe(24)


def address_of(name: str, content_type: str | None) -> str:
    """Return the path under which a file is served, such as `/files/x7.mp4`."""
    return f"/files/{name}{SUFFIXES.get(content_type or '', '')}"


def name_in(path: str) -> str | None:
    """Return the name in a file's address; None when it is no such address."""
    head, _, last = path.rpartition("/")
    return last.split(".", 1)[0] or None if head == "/files" else None


class Files:
    """Outputs and uploads by name, and the scratch folders of running jobs.

    Nothing is ever visible under its name before it is whole: it is written to a
    `.part` beside it, and renamed.

    Args:
        data_dir: The data directory; the folders in it are made when missing.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "files"
        self._scratch = data_dir / "scratch"
        for folder in (self._folder, self._scratch):
            folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """Return where a whole file of this name lies."""
        return self._folder / name

    def part(self, name: str) -> Path:
        """Return where a file is written before it is whole; new at each call."""
        return self._folder / f"{name}.{secrets.token_hex(4)}.part"

    async def keep(self, part: Path, name: str) -> None:
        """Give a part that is whole its name, once its bytes are on disk."""
        await to_thread.run_sync(_keep, part, self.path(name))

    def size_bytes(self, name: str) -> int:
        """Return how large a file is; 0 when it is not there."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self.path(name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove every whole file; what is being written is its writer's to remove."""
        for path in self._folder.iterdir():
            if path.suffix != ".part":
                path.unlink(missing_ok=True)

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Lend a folder for a job's inputs; it is gone afterwards."""
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a killed server left half done."""
        for part in self._folder.glob("*.part"):
            part.unlink()
        for folder in self._scratch.iterdir():
            shutil.rmtree(folder)


def _keep(part: Path, path: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
