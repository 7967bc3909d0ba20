"""The file name of a downloaded result; pure."""

from __future__ import annotations

import re
from unicodedata import normalize

from mediakit.client import JobState
from mediakit.media import result_suffix

MOST_CHARACTERS = 48
ID_CHARACTERS = 8
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def file_name_of(state: JobState) -> str:
    """Return a good name for a result: "a-red-balloon-over-a-lake-0f3c9a1e.mp4"."""
    words = _plain(state.prompt or "") or _plain(state.kind) or "result"
    job = _plain(state.record.id.removeprefix("media_"))[:ID_CHARACTERS]
    return f"{words}-{job}{_suffix(state)}"


def _plain(text: str) -> str:
    """Write text in letters, digits and hyphens, cut between two words."""
    ascii_text = normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = _NOT_PLAIN.sub("-", ascii_text).strip("-")
    if len(plain) <= MOST_CHARACTERS:
        return plain
    return plain[: MOST_CHARACTERS + 1].rpartition("-")[0] or plain[:MOST_CHARACTERS]


def _suffix(state: JobState) -> str:
    file = state.record.output.file if state.record.output else None
    if file is None:
        return ""
    return result_suffix(file.url, state.media_type, file.content_type)
