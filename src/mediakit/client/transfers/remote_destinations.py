"""Results behind a URL that fsspec knows, such as `s3://bucket/folder/`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from mediakit.client.http.exchange import NoAnswerError
from mediakit.client.transfers.digests import Digest
from mediakit.client.transfers.downloads import UNKNOWN, Version
from mediakit.client.transfers.sidecar import SUFFIX
from mediakit.errors import InputError


class RemoteDestination:
    """A file on a file system of fsspec.

    Args:
        files: The file system.
        path: Where it is there.
        place: The same as a URL for people, without a password.
    """

    def __init__(self, files: Any, path: str, place: str) -> None:
        self.place = place
        self._files = files
        self._path = path

    @property
    def name(self) -> str:
        """The file's name."""
        return self._path.rpartition("/")[2]

    def size_bytes(self) -> int | None:
        """Return the length of what is there; None when nothing is."""
        try:
            return int(self._files.info(self._path)["size"])
        except FileNotFoundError:
            return None

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Tell whether what is there is as long as the sidecar says.

        To hash it would be to fetch it.
        """
        return self.size_bytes() == sidecar.get("size_bytes")

    def beside(self) -> bytes | None:
        """Return what the sidecar's file holds; None when there is none."""
        try:
            return bytes(self._files.cat_file(f"{self._path}{SUFFIX}"))
        except FileNotFoundError:
            return None

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar, whole or not at all."""
        part = _part_name(f"{self._path}{SUFFIX}")
        self._files.pipe_file(part, content)
        self._files.mv(part, f"{self._path}{SUFFIX}")

    def content(self) -> bytes | None:
        """Return what is there; None when nothing is."""
        try:
            return bytes(self._files.cat_file(self._path))
        except FileNotFoundError:
            return None

    def sibling(self, name: str) -> RemoteDestination:
        """Return the place of another file in the same folder."""
        path, place = (
            f"{own.rpartition('/')[0]}/{name}" for own in (self._path, self.place)
        )
        return RemoteDestination(self._files, path, place)

    def make_folder(self) -> None:
        """Make the folder that it is in, where folders have to be made."""
        self._files.makedirs(self._path.rpartition("/")[0], exist_ok=True)

    def open(self, source: str) -> RemotePartialFile:
        """Open the file that is being written; nothing of it outlives the call."""
        return RemotePartialFile(self._files, self._path)


class RemotePartialFile:
    """A file under a temporary name beside its own.

    Args:
        files: The file system.
        path: Where the file will be.
    """

    def __init__(self, files: Any, path: str) -> None:
        self.version: Version | None = None
        self.size_bytes = 0
        self._files = files
        self._path = path
        self._part = _part_name(path)
        self._file: Any = None
        self._digest = Digest()

    def start(self, version: Version) -> None:
        """Forget what is there: the bytes of this version follow, from the first."""
        self._forget()
        self._file = self._files.open(self._part, "wb")
        self._digest = Digest(version.size_bytes)
        self.version, self.size_bytes = version, 0

    def cut(self, size_bytes: int) -> None:
        """Go on where it ends; what was written there cannot be taken back.

        Raises:
            NoAnswerError: Some of it would have to be; then all of it is asked for.
        """
        if size_bytes != self.size_bytes:
            self.start(UNKNOWN)
            raise NoAnswerError(
                "another part was answered than was asked for", sent=True
            )

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._file.write(piece)
        self.size_bytes += len(piece)
        self._digest.update(piece)

    @property
    def sha256(self) -> str | None:
        """The hash of all that arrived, in hex; None of a large file."""
        return self._digest.hexdigest()

    def publish(self, *, overwrite: bool) -> None:
        """Give the file its name.

        Raises:
            FileExistsError: The name is taken, and may not be replaced.
        """
        self._file.close()
        if not overwrite and self._files.exists(self._path):
            raise FileExistsError
        self._files.mv(self._part, self._path)
        self._file = None

    def close(self, *, keep: bool = True) -> None:
        """Let go of it; what is not whole is removed."""
        self._forget()

    def _forget(self) -> None:
        if self._file is None:
            return
        # What cannot be removed now must not hide why it is removed.
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._files.rm_file(self._part)
        self._file = None


def remote_target(url: str, file_name: str) -> RemoteDestination:
    """Return where behind a URL a result goes.

    Args:
        url: A file, or a folder with a slash at its end.
        file_name: Its name when only a folder is known.

    Raises:
        InputError: fsspec is not installed, or does not know such a URL.
    """
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError:
        accepted = 'a path, or any URL after: pip install "mediakit[remote]"'
        raise InputError("path", got=shown_url(url), accepted=accepted) from None
    try:
        files, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        # fsspec's own words say which package is missing.
        got, accepted = f"{shown_url(url)} ({error})", "a URL that fsspec can open"
        raise InputError("path", got=got, accepted=accepted) from None
    place = shown_url(url)
    if url.endswith("/") or files.isdir(path):
        path = f"{path.rstrip('/')}/{file_name}"
        place = f"{place.rstrip('/')}/{file_name}"
    return RemoteDestination(files, path, place)


def shown_url(url: str) -> str:
    """Return a URL without a user and a password."""
    scheme, _, rest = url.partition("://")
    authority = urlsplit(url).netloc
    return f"{scheme}://{rest.replace(authority, authority.rpartition('@')[2], 1)}"


def _part_name(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.{uuid4().hex[:8]}.part"
