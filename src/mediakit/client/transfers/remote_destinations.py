"""Destinations behind a URL that fsspec supports, such as `s3://bucket/folder/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from mediakit.client.transfers.atomic_files import PartialFile, part_name
from mediakit.client.transfers.sidecar import SUFFIX
from mediakit.errors import InputError


class RemoteDestination:
    """A file on an fsspec file system.

    Args:
        files: The file system.
        path: Its path there.
        place: Its URL in messages, without a password.
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
        """Return the length of the existing file; None if there is none."""
        try:
            return int(self._files.info(self._path)["size"])
        except FileNotFoundError:
            return None

    def is_whole(self, sidecar: Mapping[str, Any]) -> bool:
        """Return whether the existing file is as long as the sidecar says.

        Hashing it would require fetching it.
        """
        return self.size_bytes() == sidecar.get("size_bytes")

    def beside(self) -> bytes | None:
        """Return the content of the sidecar; None if there is none."""
        try:
            return bytes(self._files.cat_file(f"{self._path}{SUFFIX}"))
        except FileNotFoundError:
            return None

    def write_beside(self, content: bytes) -> None:
        """Write the sidecar atomically."""
        part = _part_of(f"{self._path}{SUFFIX}")
        with _removed_on_error(self._files, part):
            self._files.pipe_file(part, content)
            self._files.mv(part, f"{self._path}{SUFFIX}")

    def remove_beside(self) -> None:
        """Remove the sidecar."""
        with suppress(FileNotFoundError):
            self._files.rm_file(f"{self._path}{SUFFIX}")

    def content(self) -> bytes | None:
        """Return the content of the existing file; None if there is none."""
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
        """Create its folder, where folders have to be created."""
        self._files.makedirs(self._path.rpartition("/")[0], exist_ok=True)

    def open(self) -> RemotePartialFile:
        """Open a local file for writing."""
        return RemotePartialFile(self._files, self._path)


class RemotePartialFile(PartialFile):
    """A local file that is copied to a file system once it is complete.

    Args:
        files: The file system.
        path: The final path there.
    """

    def __init__(self, files: Any, path: str) -> None:
        self._folder = TemporaryDirectory(prefix="mediakit-")
        self._local = Path(self._folder.name) / "output"
        self._files = files
        self._remote = path
        super().__init__(self._local)

    def publish(self, *, overwrite: bool) -> None:
        """Copy the file under a temporary name, then rename it.

        Raises:
            FileExistsError: The name is taken, and may not be replaced.
        """
        super().publish(overwrite=True)
        part = _part_of(self._remote)
        with _removed_on_error(self._files, part):
            self._files.put_file(str(self._local), part)
            if not overwrite and self._files.exists(self._remote):
                raise FileExistsError
            self._files.mv(part, self._remote)

    def close(self) -> None:
        """Remove the local file."""
        super().close()
        self._folder.cleanup()


def remote_target(url: str, file_name: str) -> RemoteDestination:
    """Return the destination of a result behind a URL.

    Args:
        url: A file, or a folder with a trailing slash.
        file_name: The file's name if the URL is a folder.

    Raises:
        InputError: fsspec is not installed, or does not support such a URL.
    """
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError:
        accepted = 'a path, or any URL after: pip install "mediakit[remote]"'
        raise InputError("path", got=shown_url(url), accepted=accepted) from None
    try:
        files, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        # fsspec's own message says which package is missing.
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


@contextmanager
def _removed_on_error(files: Any, part: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        # A failed removal must not hide the original error.
        with suppress(OSError):
            files.rm_file(part)
        raise


def _part_of(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{part_name(name)}"
