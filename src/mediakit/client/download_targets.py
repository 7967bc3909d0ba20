"""Destinations of results: a file, a folder, or any URL that fsspec supports."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from glob import escape
from pathlib import Path
from shutil import copyfile
from tempfile import mkstemp
from typing import Any
from urllib.request import url2pathname
from uuid import uuid4

from mediakit.errors import InputError
from mediakit.extras import install_command
from mediakit.media import local_file
from mediakit.rules import Problem
from mediakit.safe_text import quoted, shown, with_shown_urls
from mediakit.web_urls import parts_of

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STILL_THERE = "The service still has the output; downloading it again costs nothing."
# A running download writes to its file more often than this.
ABANDONED_S = 86_400.0
_USER = re.compile(r"//[^/]*@")


class LocalTarget:
    """A file on this machine, which need not exist; all methods block."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.name = place.name

    def sibling(self, name: str) -> LocalTarget:
        """Return a file in the same folder, or in a subfolder."""
        return LocalTarget(self.place.parent / name)

    def make_folder(self) -> None:
        """Create the target's folder."""
        self.place.parent.mkdir(parents=True, exist_ok=True)

    def size_bytes(self) -> int | None:
        """Return the file's size; None if it does not exist."""
        with suppress(FileNotFoundError):
            return self.place.stat().st_size
        return None

    def read(self) -> bytes | None:
        """Return the file's content; None if it does not exist."""
        with suppress(FileNotFoundError):
            return self.place.read_bytes()
        return None

    def new_part(self) -> Path:
        """Create an empty file beside the target, for an incomplete download."""
        part = self.place.with_name(part_name(self.name))
        part.touch(exist_ok=False)
        now_s = part.stat().st_mtime
        for other in part.parent.glob(part_name(escape(self.name), "*")):
            with suppress(OSError):  # left by killed processes
                if now_s - other.stat().st_mtime > ABANDONED_S:
                    other.unlink()
        return part

    def publish(self, part: Path, *, overwrite: bool) -> None:
        """Rename a complete part to this name; FileExistsError if that exists."""
        if overwrite:
            part.replace(self.place)
            return
        try:
            os.link(part, self.place)
        except FileExistsError:
            raise
        except OSError:  # a disk without hard links
            if self.place.exists():
                raise FileExistsError from None
            part.replace(self.place)

    def write_private(self, content: bytes) -> None:
        """Write a small file atomically, readable only by its owner."""
        write_private(self.place, content)


class RemoteTarget:
    """A file on an fsspec file system, which need not exist; all methods block."""

    def __init__(self, files: Any, path: str, place: str) -> None:
        self.place = place
        self._files = files
        self._path = path
        self._folder, _, self.name = path.rpartition("/")

    def sibling(self, name: str) -> RemoteTarget:
        """Return a file in the same folder, or in a subfolder."""
        folder = self.place.rpartition("/")[0]
        return RemoteTarget(self._files, f"{self._folder}/{name}", f"{folder}/{name}")

    def make_folder(self) -> None:
        """Create the target's folder, if the file system has folders."""
        self._files.makedirs(self._folder, exist_ok=True)

    def size_bytes(self) -> int | None:
        """Return the file's size; None if it does not exist."""
        with suppress(FileNotFoundError):
            return int(self._files.info(self._path)["size"])
        return None

    def read(self) -> bytes | None:
        """Return the file's content; None if it does not exist."""
        with suppress(FileNotFoundError):
            return bytes(self._files.cat_file(self._path))
        return None

    def new_part(self) -> Path:
        """Create an empty local file for the bytes of an incomplete download."""
        descriptor, part = mkstemp(prefix="mediakit-")
        os.close(descriptor)
        return Path(part)

    def publish(self, part: Path, *, overwrite: bool) -> None:
        """Upload a complete part under a temporary name, then rename it."""
        path = f"{self._folder}/{part_name(self.name)}"
        try:
            self._files.put_file(str(part), path)
            if not overwrite and self._files.exists(self._path):
                raise FileExistsError
            self._files.mv(path, self._path)
        except BaseException:
            with suppress(OSError):
                self._files.rm_file(path)
            raise

    def write_private(self, content: bytes) -> None:
        """Write a small file; its permissions are those of the file system."""
        self._files.pipe_file(self._path, content)


DownloadTarget = LocalTarget | RemoteTarget


def part_name(name: str, unique: str | None = None) -> str:
    """Return a unique temporary name for an incomplete file."""
    return f".{name}.{unique or uuid4().hex[:8]}.part"


def write_private(target: Path, content: bytes) -> None:
    """Write a small file atomically, readable only by its owner."""
    part = target.with_name(part_name(target.name))
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(target: DownloadTarget, content: bytes | Path) -> None:
    """Write a file atomically, from bytes or a local file, replacing any other."""
    part = target.new_part()
    try:
        if isinstance(content, Path):
            copyfile(content, part)
        else:
            part.write_bytes(content)
        target.publish(part, overwrite=True)
    finally:
        part.unlink(missing_ok=True)


def target_of(path: str | Path | None, file_name: str) -> DownloadTarget:
    """Return the destination of a download; in a folder, it has its own name."""
    is_path = path is None or isinstance(path, str | Path)
    if not is_path or not _is_name(str(path)):
        accepted = "a file, a folder or a URL, as text or as a Path"
        raise InputError("path", got=path, accepted=accepted)
    if isinstance(path, str) and path.startswith("file://"):
        path = url2pathname(parts_of(path).path)
    elif isinstance(path, str) and "://" in path:
        return _remote_target(path, file_name)
    chosen = Path.cwd() if path is None else local_file(path)
    is_folder = chosen.is_dir() or str(path or "").endswith("/")
    target = chosen / file_name if is_folder else chosen
    if not target.parent.is_dir():
        accepted = "a folder that exists"
        raise InputError("path", got=str(target.parent), accepted=accepted)
    return LocalTarget(target)


def _remote_target(url: str, file_name: str) -> RemoteTarget:
    place = _USER.sub("//", url, count=1)
    if not parts_of(url).scheme:
        raise InputError("path", got=place, accepted="a URL that can be parsed")
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError:
        accepted = f"a local path; for other URLs: {install_command('remote')}"
        raise InputError("path", got=place, accepted=accepted) from None
    try:
        files, path = url_to_fs(url)
        is_folder = url.endswith("/") or files.isdir(path)
    except (ImportError, ValueError) as error:
        # fsspec's own message says which package is missing.
        got = f"{place} ({error})"
        accepted = "a URL that fsspec can open"
        raise InputError("path", got=got, accepted=accepted) from None
    if is_folder:
        path = f"{path.rstrip('/')}/{file_name}"
        place = f"{place.rstrip('/')}/{file_name}"
    return RemoteTarget(files, path, place)


def _is_name(path: str) -> bool:
    """Return whether a path has neither NUL nor unencodable characters."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


class NameTakenError(InputError):
    """A file of that name exists, and `overwrite` is false."""

    def __init__(self, place: Path | str) -> None:
        problem = Problem(
            "path",
            got=str(place),
            accepted="a name that does not exist yet",
            message=f"{shown(str(place))} already exists; overwrite=True replaces it",
        )
        super().__init__(
            problem.field,
            got=problem.got,
            accepted=problem.accepted,
            problems=[problem],
        )


def unwritable(place: Path | str, error: OSError) -> InputError:
    """Return the error for a destination that cannot be written."""
    # Remote storages report the reason only as text.
    words = with_shown_urls(quoted(str(error)))
    reason = error.strerror or words or type(error).__name__
    if error.errno in NO_ROOM:
        reason = "there is not enough space"
    elif isinstance(error, PermissionError):
        reason = "you do not have permission"
    problem = Problem(
        "path",
        got=str(place),
        accepted="a location that can be written, with enough space for the file",
        message=f"{shown(str(place))} cannot be written: {reason}",
    )
    return InputError.of([problem], then=STILL_THERE)
