"""Destinations of results: a file, a folder, or any URL that fsspec supports."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mediakit.client.transfers.atomic_files import PartialFile, write_whole
from mediakit.client.transfers.resumable_downloads import Sink
from mediakit.client.transfers.sidecar import SUFFIX, read_sidecar
from mediakit.client.transfers.uploads import fingerprint
from mediakit.errors import InputError
from mediakit.media import local_file

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT_THERE = "The service keeps the job's output; fetching it again costs nothing."


class Store(Sink, Protocol):
    """A file that is being written, and gets its name when it is complete."""

    @property
    def sha256(self) -> str | None:
        """The hash of the received bytes, in hex; None for a large file."""

    def publish(self, *, overwrite: bool) -> None:
        """Rename the file to its name.

        Raises:
            FileExistsError: The name is taken, and may not be replaced.
        """

    def close(self) -> None:
        """Remove the file, unless it has been published."""


class Destination(Protocol):
    """A place for one result and its sidecar. All methods block."""

    @property
    def place(self) -> Path | str:
        """The path or the URL in messages."""

    @property
    def name(self) -> str:
        """The file's name."""

    def size_bytes(self) -> int | None:
        """Return the length of the existing file; None if there is none."""

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Return whether the existing file is the one that the sidecar describes."""

    def beside(self) -> bytes | None:
        """Return the content of the sidecar; None if there is none."""

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar atomically."""

    def remove_beside(self) -> None:
        """Remove the sidecar."""

    def content(self) -> bytes | None:
        """Return the content of the existing file; None if there is none."""

    def sibling(self, name: str) -> Destination:
        """Return the place of another file in the same folder.

        Args:
            name: Its name, or a folder, a slash and its name.
        """

    def make_folder(self) -> None:
        """Create its folder, where folders have to be created."""

    def open(self) -> Store:
        """Open the file for writing."""


class LocalDestination:
    """A file on this machine.

    Args:
        path: Its path; the file need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.place = path
        self._sidecar = path.with_name(f"{path.name}{SUFFIX}")

    @property
    def name(self) -> str:
        """The file's name."""
        return self.place.name

    def size_bytes(self) -> int | None:
        """Return the length of the existing file; None if there is none."""
        try:
            return self.place.stat().st_size
        except FileNotFoundError:
            return None

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Return whether the existing file is the one that the sidecar describes."""
        if self.size_bytes() != sidecar.get("size_bytes"):
            return False
        sha256 = sidecar.get("sha256")
        return sha256 is None or fingerprint(self.place).sha256 == sha256

    def beside(self) -> bytes | None:
        """Return the content of the sidecar; None if there is none."""
        try:
            return self._sidecar.read_bytes()
        except FileNotFoundError:
            return None

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar atomically."""
        write_whole(self._sidecar, content)

    def remove_beside(self) -> None:
        """Remove the sidecar."""
        self._sidecar.unlink(missing_ok=True)

    def content(self) -> bytes | None:
        """Return the content of the existing file; None if there is none."""
        try:
            return self.place.read_bytes()
        except FileNotFoundError:
            return None

    def sibling(self, name: str) -> LocalDestination:
        """Return the place of another file in the same folder."""
        return LocalDestination(self.place.parent / name)

    def make_folder(self) -> None:
        """Create its folder."""
        self.place.parent.mkdir(parents=True, exist_ok=True)

    def open(self) -> Store:
        """Open the file for writing."""
        return PartialFile(self.place)


def local_target(path: str | Path | None, file_name: str) -> LocalDestination:
    """Return the destination of a result on this machine.

    Args:
        path: A file or a folder; None for the working directory.
        file_name: The file's name if the path is a folder.

    Raises:
        InputError: The folder is missing.
    """
    chosen = Path.cwd() if path is None else local_file(path)
    is_folder = chosen.is_dir() or str(path or "").endswith("/")
    target = chosen / file_name if is_folder else chosen
    if not target.parent.is_dir():
        accepted = "a folder that exists"
        raise InputError("path", got=str(target.parent), accepted=accepted)
    return LocalDestination(target)


def target_of(path: str | Path | None, file_name: str) -> Destination:
    """Return the destination of a download.

    Args:
        path: A file, a folder, a URL that fsspec supports, or None.
        file_name: The file's name if the path is a folder.

    Raises:
        InputError: It cannot be written there.
    """
    _check_path(path)
    if not isinstance(path, str) or "://" not in path:
        return local_target(path, file_name)
    if path.startswith("file://"):
        return local_target(url2pathname(urlsplit(path).path), file_name)
    from mediakit.client.transfers.remote_destinations import remote_target

    return remote_target(path, file_name)


def _check_path(path: object) -> None:
    is_path = path is None or isinstance(path, str | Path)
    if not is_path or "\0" in str(path):
        accepted = "a file, a folder or a URL, as text or as a Path"
        raise InputError("path", got=path, accepted=accepted)


def held(
    target: Destination, is_own: Callable[[Mapping[str, Any]], bool]
) -> Mapping[str, Any] | None:
    """Return the sidecar of the complete result, if a target already has it.

    Args:
        target: The destination.
        is_own: Returns whether a sidecar is of the same result.

    Raises:
        InputError: There is another file, which may not be replaced.
    """
    size_bytes, content = target.size_bytes(), target.beside()
    sidecar = None if content is None else read_sidecar(content)
    if size_bytes is None:
        if content is not None and sidecar is None:
            raise NameTakenError(f"{target.place}{SUFFIX}")
        return None
    if sidecar is not None and is_own(sidecar) and target.is_whole(sidecar):
        return sidecar
    raise NameTakenError(target.place)


class NameTakenError(InputError):
    """A file of that name exists, and `overwrite` is false."""

    def __init__(self, place: Path | str) -> None:
        accepted = "a new name, or overwrite=True"
        super().__init__("path", got=f"{place} (it exists)", accepted=accepted)


def unwritable(place: Path | str, error: OSError) -> InputError:
    """Return the error for a result that cannot be written to its destination."""
    return InputError(
        "path",
        got=str(place),
        accepted="a place that can be written, with room for the file",
        then=f"{_reason(error)}. {KEPT_THERE}",
    )


def _reason(error: OSError) -> str:
    if error.errno in NO_ROOM:
        return "There is no room left on that disk"
    if isinstance(error, PermissionError):
        return "It may not be written"
    return error.strerror or type(error).__name__
