"""Results behind a URL that fsspec knows, such as `s3://bucket/folder/`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from mediakit.client.transfers.partial_files import PartialFile, part_name
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
        part = _part_of(f"{self._path}{SUFFIX}")
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

    def open(self) -> RemotePartialFile:
        """Open the file that is being written, on this machine."""
        return RemotePartialFile(self._files, self._path)


class RemotePartialFile(PartialFile):
    """A file of this machine that is copied to a file system once it is whole.

    Args:
        files: The file system.
        path: Where the file will be there.
    """

    def __init__(self, files: Any, path: str) -> None:
        self._folder = TemporaryDirectory(prefix="mediakit-")
        self._local = Path(self._folder.name) / "output"
        self._files = files
        self._remote = path
        super().__init__(self._local)

    def publish(self, *, overwrite: bool) -> None:
        """Copy the file under a temporary name, then give it its own.

        Raises:
            FileExistsError: The name is taken, and may not be replaced.
        """
        super().publish(overwrite=True)
        part = _part_of(self._remote)
        try:
            self._files.put_file(str(self._local), part)
            if not overwrite and self._files.exists(self._remote):
                raise FileExistsError
            self._files.mv(part, self._remote)
        except BaseException:
            # What cannot be removed now must not hide why it is removed.
            with suppress(OSError):
                self._files.rm_file(part)
            raise

    def close(self) -> None:
        """Remove what is on this machine."""
        super().close()
        self._folder.cleanup()


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


def _part_of(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{part_name(name)}"
