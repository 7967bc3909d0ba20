"""What a search looks through, and which words it looks for; pure."""

from collections.abc import Iterable
from unicodedata import normalize

from mediakit.history.entries.entries import Entry

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
    """Return text without differences of case and of how a character is composed.

    Accents stay: "ÜBER" and "über" are one word, "uber" is another.
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def searchable(parts: Iterable[str | None]) -> str:
    """Return what is kept of an entry's texts to be searched."""
    return folded("\n".join(part for part in parts if part))


def search_text(entry: Entry) -> str:
    """Return what is kept of an entry to be searched."""
    return searchable(getattr(entry, name) for name in SEARCHED)


def words_of(text: str) -> list[str]:
    """Return the words that must all occur, each once."""
    return list(dict.fromkeys(folded(text).split()))
