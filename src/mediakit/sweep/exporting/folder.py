"""The folder of an export: the files of earlier exports, and how files are written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mediakit.client.destinations import (
    Destination,
    LocalFile,
    target_of,
    write_whole,
)
from mediakit.errors import InputError
from mediakit.media import local_file
from mediakit.sweep.exporting.report import MARK

MANIFEST, PARQUET, REPORT = "manifest.csv", "manifest.parquet", "report.html"
POSTERS = "posters"
OWN_COLUMNS = ("file", "size_bytes", "job_id")


class Folder:
    """A folder on this machine, or at a URL that fsspec supports.

    Args:
        where: The folder; it is created if needed.

    Raises:
        InputError: It cannot be written, or has a manifest or a report that was not
            written by an export.
    """

    def __init__(self, where: str | Path) -> None:
        self._manifest = _manifest_in(where)
        try:
            self._manifest.sibling(f"{POSTERS}/any").make_folder()
            self.earlier = dict(self._read_earlier())
        except OSError as error:
            raise self.unwritable(error) from None

    @property
    def sizes(self) -> dict[str, int]:
        """Return the sizes of the files from earlier exports, by name."""
        return dict(self.earlier.values())

    @property
    def place(self) -> Path | str:
        """Return the folder as text for people: a path or a URL."""
        place = self._manifest.place
        return place.parent if isinstance(place, Path) else place.rpartition("/")[0]

    def file(self, name: str) -> Destination:
        """Return the destination of a file in the folder."""
        return self._manifest.sibling(name)

    def write(self, name: str, content: bytes | Path) -> None:
        """Write a file atomically, replacing an earlier one.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(self.file(name), content)

    def unwritable(self, error: OSError) -> InputError:
        """Return the error that explains why the folder cannot be written."""
        got = f"{self.place} ({error.strerror or type(error).__name__})"
        accepted = "a folder that can be written, with room for the files"
        sent = "The outputs are still available at the service."
        return InputError("where", got=got, accepted=accepted, then=sent)

    def _read_earlier(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """Yield the files that an earlier export wrote: job, name and size."""
        page, content = self.file(REPORT).read(), self._manifest.read()
        if page is not None and MARK.encode() not in page:
            raise _foreign(self.file(REPORT))
        if content is None:
            if self.file(PARQUET).size_bytes() is not None:
                raise _foreign(self.file(PARQUET))
            return
        rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace")))
        if not set(OWN_COLUMNS) <= set(rows.fieldnames or ()):
            raise _foreign(self._manifest)
        for row in rows:
            if _is_name(row["file"]) and str(row["size_bytes"]).isdigit():
                yield row["job_id"], (row["file"], int(row["size_bytes"]))


def _manifest_in(where: Any) -> Destination:
    is_place = isinstance(where, str | Path) and bool(str(where))
    if not is_place or "\0" in str(where):
        accepted = "a folder or a URL, as text or as a Path"
        raise InputError("where", got=where, accepted=accepted)
    if isinstance(where, str) and where.startswith("file://"):
        where = url2pathname(urlsplit(where).path)
    if isinstance(where, str) and "://" in where:
        return target_of(f"{where.rstrip('/')}/", MANIFEST)
    return LocalFile(local_file(where) / MANIFEST)


def _is_name(text: str | None) -> bool:
    # Others may write to the folder: a name in its manifest must not lead outside it.
    return bool(text) and not set(text or "") & set("/\\\0") and text != ".."


def _foreign(target: Destination) -> InputError:
    got = f"{target.place} (not written by an export)"
    return InputError("where", got=got, accepted="a folder without such a file")
