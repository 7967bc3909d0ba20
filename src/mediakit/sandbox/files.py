"""The files of a data directory: unguessable names, atomic writes."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio import to_thread

# Suffixes of file URLs, for users and players; the content type is in the header.
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
    """Return an unguessable name."""
    return secrets.token_urlsafe(24)


def address_of(name: str, content_type: str | None) -> str:
    """Return the path under which a file is served, such as `/files/x7.mp4`."""
    return f"/files/{name}{SUFFIXES.get(content_type or '', '')}"


def name_in(path: str) -> str | None:
    """Return the file name in a URL path; None for other paths."""
    head, _, last = path.rpartition("/")
    return last.split(".", 1)[0] or None if head == "/files" else None


class Files:
    """Outputs and uploads by name, and scratch folders of running jobs.

    A file is visible under its name only when it is complete: it is written to a
    `.part` file beside it and then renamed.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "files"
        self._scratch = data_dir / "scratch"
        for folder in (self._folder, self._scratch):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """Return the path of the complete file with this name."""
        return self._folder / name

    def part(self, name: str) -> Path:
        """Return a new path for writing an incomplete file."""
        return self._folder / f"{name}.{secrets.token_hex(4)}.part"

    async def keep(self, part: Path, name: str) -> None:
        """Rename a complete part once its bytes are on disk."""
        await to_thread.run_sync(_keep, part, self.path(name))

    def size_bytes(self, name: str) -> int:
        """Return the size of a file; 0 if it is missing."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        self.path(name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove every complete file; writers remove their own parts."""
        for path in self._folder.iterdir():
            if path.suffix != ".part":
                path.unlink(missing_ok=True)

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Provide a folder for a job's inputs, and remove it afterwards."""
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove the incomplete files of a killed server."""
        for part in self._folder.glob("*.part"):
            part.unlink()
        for folder in self._scratch.iterdir():
            if folder.is_dir():  # a file browser may have put a file of its own there
                shutil.rmtree(folder)


def _keep(part: Path, path: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
