"""Where a result goes: a file, a folder, or any URL that fsspec knows."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mediakit.client.transfers.downloads import Sink
from mediakit.client.transfers.partial_files import PartialFile, write_whole
from mediakit.client.transfers.sidecar import SUFFIX, read_sidecar
from mediakit.client.transfers.upload_files import fingerprint
from mediakit.errors import InputError
from mediakit.media import local_file

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT_THERE = "What the job made stays at the service; fetching it again costs nothing."


class Store(Sink, Protocol):
    """A file that is being written, and appears under its name when it is whole."""

    @property
    def sha256(self) -> str | None:
        """The hash of all that arrived, in hex; None of a large file."""

    def publish(self, *, overwrite: bool) -> None:
        """Give the file its name.

        Raises:
            FileExistsError: The name is taken, and may not be replaced.
        """

    def close(self) -> None:
        """Remove what did not get its name."""


class Destination(Protocol):
    """A place for one result and its sidecar. Everything here blocks."""

    @property
    def place(self) -> Path | str:
        """What to tell people: a path, or a URL."""

    @property
    def name(self) -> str:
        """The file's name."""

    def size_bytes(self) -> int | None:
        """Return the length of what is there; None when nothing is."""

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Tell whether what is there is what the sidecar was written for."""

    def beside(self) -> bytes | None:
        """Return what the sidecar's file holds; None when there is none."""

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar, whole or not at all."""

    def content(self) -> bytes | None:
        """Return what is there; None when nothing is."""

    def sibling(self, name: str) -> Destination:
        """Return the place of another file in the same folder.

        Args:
            name: Its name, or a folder, a slash and its name.
        """

    def make_folder(self) -> None:
        """Make the folder that it is in, where folders have to be made."""

    def open(self) -> Store:
        """Open the file that is being written."""


class LocalDestination:
    """A file on this machine.

    Args:
        path: Where it is, or will be.
    """

    def __init__(self, path: Path) -> None:
        self.place = path
        self._sidecar = path.with_name(f"{path.name}{SUFFIX}")

    @property
    def name(self) -> str:
        """The file's name."""
        return self.place.name

    def size_bytes(self) -> int | None:
        """Return the length of what is there; None when nothing is."""
        try:
            return self.place.stat().st_size
        except FileNotFoundError:
            return None

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Tell whether what is there is what the sidecar was written for."""
        if self.size_bytes() != sidecar.get("size_bytes"):
            return False
        sha256 = sidecar.get("sha256")
        return sha256 is None or fingerprint(self.place).sha256 == sha256

    def beside(self) -> bytes | None:
        """Return what the sidecar's file holds; None when there is none."""
        try:
            return self._sidecar.read_bytes()
        except FileNotFoundError:
            return None

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar, whole or not at all."""
        write_whole(self._sidecar, content)

    def content(self) -> bytes | None:
        """Return what is there; None when nothing is."""
        try:
            return self.place.read_bytes()
        except FileNotFoundError:
            return None

    def sibling(self, name: str) -> LocalDestination:
        """Return the place of another file in the same folder."""
        return LocalDestination(self.place.parent / name)

    def make_folder(self) -> None:
        """Make the folder that it is in."""
        self.place.parent.mkdir(parents=True, exist_ok=True)

    def open(self) -> Store:
        """Open the file that is being written."""
        return PartialFile(self.place)


def local_target(path: str | Path | None, file_name: str) -> LocalDestination:
    """Return where on this machine a result goes.

    Args:
        path: A file or a folder; None for the working directory.
        file_name: Its name when only a folder is known.

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


def target_of(path: str | Path | None, url: str, name: str) -> Destination:
    """Return where a download goes.

    Args:
        path: What was asked for: a file, a folder, a URL that fsspec knows, or None.
        url: Where it comes from; gives the suffix.
        name: Its name when only a folder is known.

    Raises:
        InputError: It cannot go there.
    """
    _check_path(path)
    file_name = f"{name}{Path(urlsplit(url).path).suffix}"
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
    """Return the sidecar of the whole result, if a target holds it already.

    Args:
        target: The place.
        is_own: Tells whether a sidecar is of the same result.

    Raises:
        InputError: Something else is there, which may not be replaced.
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
    """A file of that name exists, and nobody said that it may be replaced."""

    def __init__(self, place: Path | str) -> None:
        accepted = "a new name, or overwrite=True"
        super().__init__("path", got=f"{place} (it exists)", accepted=accepted)


def unwritable(place: Path | str, error: OSError) -> InputError:
    """Say why a result cannot be written to its place."""
    return InputError(
        "path",
        got=str(place),
        accepted="a place that can be written, with room for the file",
        sent=f"{_reason(error)}. {KEPT_THERE}",
    )


def _reason(error: OSError) -> str:
    if error.errno in NO_ROOM:
        return "There is no room left on that disk"
    if isinstance(error, PermissionError):
        return "It may not be written"
    return error.strerror or type(error).__name__
