"""The names of the files in which results are saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from unicodedata import normalize

from mediakit.history import Entry
from mediakit.history.titles import NO_NAMES, subject_of

FILE_CHARACTERS = 48
ID_CHARACTERS = 8
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def file_stem(entry: Entry, job_id: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the name of a job's file without its ending: "a-red-kite-0f3c9a1e".

    It has letters, digits and hyphens only, whatever the service and the user say.
    """
    words = _plain(subject_of(entry, names)) or _plain(entry.kind) or "result"
    return f"{words}-{_plain(job_id.removeprefix('media_'))[:ID_CHARACTERS]}"


def _plain(text: str) -> str:
    """Return a text in letters, digits and hyphens, cut between two words."""
    ascii_text = normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = _NOT_PLAIN.sub("-", ascii_text).strip("-")
    if len(plain) <= FILE_CHARACTERS:
        return plain
    return plain[: FILE_CHARACTERS + 1].rpartition("-")[0] or plain[:FILE_CHARACTERS]
