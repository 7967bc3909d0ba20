"""The file names of saved results."""

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
    """Return the file name of a job without its suffix: "a-red-kite-0f3c9a1e".

    It contains only letters, digits and hyphens, whatever the prompt.
    """
    words = _plain(subject_of(entry, names)) or _plain(entry.kind) or "result"
    return f"{words}-{_plain(job_id.removeprefix('media_'))[:ID_CHARACTERS]}"


def _plain(text: str) -> str:
    """Reduce a string to letters, digits and hyphens, cut between words."""
    ascii_text = normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = _NOT_PLAIN.sub("-", ascii_text).strip("-")
    if len(plain) <= FILE_CHARACTERS:
        return plain
    return plain[: FILE_CHARACTERS + 1].rpartition("-")[0] or plain[:FILE_CHARACTERS]
