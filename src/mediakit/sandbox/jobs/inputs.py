"""Bringing the media of a body to disk, from wherever its URLs lead."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mediakit.catalog import Function, MediaItem
from mediakit.sandbox.core.files import Files, name_in
from mediakit.sandbox.delivery.outbound_guard import BlockedError, FetchError, Guard
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.jobs import find_by_file
from mediakit.sandbox.store.uploads import find_upload

# The largest input that any function's table allows is a clip of 200 MB (spec 4.4).
MAX_INPUT_BYTES = 200 * 1024 * 1024
MAX_INPUT_SECONDS = 60.0
# Of all inputs of a job: an open function takes any number of URLs.
MAX_INPUTS = 64
MAX_FETCHED_BYTES = 1024**3
MAX_FETCHED_SECONDS = 180.0


class InputRefusedError(Exception):
    """A medium of a body could not be had; the message is for people."""


def undeclared_media(function: Function, body: Mapping[str, object]) -> list[MediaItem]:
    """List the URLs in those fields of an open function that nobody declared.

    Such fields say nothing about themselves: what looks like an address is brought,
    and the renderer finds out what it is.
    """
    further = {name: v for name, v in body.items() if name not in function.fields}
    if not function.is_open:
        return []
    return [
        MediaItem(label, "image", value)
        for name, values in further.items()
        for label, value in _texts(values, name)
        if value.startswith(("http://", "https://"))
    ]


def _texts(value: object, label: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield label, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{label}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, f"{label}.{name}")


@dataclass(frozen=True)
class Inputs:
    """Finds the sandbox's own files on disk and fetches all others.

    Args:
        db: The database, which knows the own files.
        files: The own files.
        guard: The way out for all other URLs.
    """

    db: Database
    files: Files
    guard: Guard

    async def gather(self, media: Iterable[MediaItem], folder: Path) -> dict[str, Path]:
        """Bring media to disk.

        Args:
            media: The media of a body.
            folder: Where fetched files may lie for as long as the job runs.

        Returns:
            A readable path by URL.

        Raises:
            InputRefusedError: A URL cannot be had; the message names the field.
        """
        paths: dict[str, Path] = {}
        fetching = _Fetching(self.guard, folder)
        for item in media:
            if item.value not in paths:
                try:
                    if len(paths) == MAX_INPUTS:
                        raise FetchError(f"a job takes {MAX_INPUTS} inputs at the most")
                    own = self._own(item.value)
                    paths[item.value] = own or await fetching.fetch(item.value)
                except (BlockedError, FetchError) as problem:
                    # Never the URL: it may be signed, and errors outlive an erasure.
                    raise InputRefusedError(
                        f"{item.label}: what lies at its URL was not used: {problem}."
                    ) from None
        return paths

    def _own(self, url: str) -> Path | None:
        # A file of this data directory is known by its unguessable name, whatever
        # host and port its URL was made on: many names may lead to this sandbox, and
        # its port changes. Nothing is fetched for it.
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        name = name_in(parts.path)
        if name is None or parts.scheme not in ("http", "https"):
            return None
        upload = find_upload(self.db, name)
        if upload is not None:
            return self._whole(name, there=upload.stored)
        job = find_by_file(self.db, name)
        if job is None:
            return None
        there = job.status == "completed" and job.deleted_us is None
        return self._whole(name, there=there)

    def _whole(self, name: str, *, there: bool) -> Path:
        path = self.files.path(name)
        if there and path.is_file():
            return path
        raise FetchError("nothing lies there (never uploaded, erased or removed)")


class _Fetching:
    """The fetches of one job, which share limits."""

    def __init__(self, guard: Guard, folder: Path) -> None:
        self._guard = guard
        self._folder = folder
        self._n = 0
        self._left_bytes = MAX_FETCHED_BYTES
        self._until_s = time.monotonic() + MAX_FETCHED_SECONDS

    async def fetch(self, url: str) -> Path:
        """Bring what a URL answers to disk, within what is left for the job."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise FetchError(f"all inputs together took {MAX_FETCHED_SECONDS:g} s")
        if self._left_bytes <= 0:
            raise FetchError(f"all inputs together are {MAX_FETCHED_BYTES:,} bytes")
        to = self._folder / f"input-{self._n}"
        self._n += 1
        await self._guard.fetch(
            url,
            to,
            max_bytes=min(self._left_bytes, MAX_INPUT_BYTES),
            max_seconds=min(left_s, MAX_INPUT_SECONDS),
        )
        self._left_bytes -= to.stat().st_size
        return to
