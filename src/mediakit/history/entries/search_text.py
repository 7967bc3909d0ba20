"""The searched text of an entry, and the words of a search; pure."""

from collections.abc import Iterable
from unicodedata import normalize

from mediakit.history.entries.entry import Entry

SEARCHED = (
    "prompt",
    "kind",
    "function",
    "job_id",
    "project",
    "error_code",
    "error_message",
)


def folded(text: str) -> str:
    """Return text without differences of case and Unicode composition.

    Accents stay: "ÜBER" and "über" are the same word, "uber" is not.
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def searchable(parts: Iterable[str | None]) -> str:
    """Return the searched text of some texts."""
    return folded("\n".join(part for part in parts if part))


def search_text(entry: Entry) -> str:
    """Return the searched text of an entry."""
    return searchable(getattr(entry, name) for name in SEARCHED)


def words_of(text: str) -> list[str]:
    """Return the words of a search, each once."""
    return list(dict.fromkeys(folded(text).split()))
