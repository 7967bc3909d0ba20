"""The text that a search matches for a job, and the words of a query."""

import json
from collections.abc import Iterable
from textwrap import shorten
from unicodedata import normalize

from mediakit.catalog import declared_as, title_at
from mediakit.history.entry import Entry
from mediakit.history.titles import NAME_CHARACTERS, file_name_at, title_of
from mediakit.media.bodies import urls_in

TITLED_BY = ("prompt", "body")
SEARCHED = (
    *TITLED_BY,
    *("kind", "function", "job_id", "project", "error_code", "error_message"),
)
TITLE_END = "\x1f"
"""Separates the title from the rest of a search text; no search word contains it."""
AROUND_NAMES = ".,:()"
"""The characters around input names in titles; an ellipsis is folded to dots."""
SOURCE_CHARACTERS = 2 * NAME_CHARACTERS


def folded(text: str) -> str:
    """Return text without differences of case and Unicode composition."""
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def search_text(entry: Entry, sources: Iterable[str] = ()) -> str:
    """Return the search text: the words of the title, then other searched texts.

    `sources` are the searched titles of the jobs that it was made from.
    """
    title = [title_of(entry)]
    if not entry.prompt:
        urls = dict.fromkeys(urls_in(json.loads(entry.body)))
        title += [declared_as(entry.kind).result, *map(file_name_at, urls)]
        title += [f"and {len(urls) - 1} more"] if len(urls) > 1 else []
        title += [shorten(each, SOURCE_CHARACTERS, placeholder="") for each in sources]
    rest = [title_at(entry.kind, entry.function)]
    rest += filter(None, (getattr(entry, name) for name in SEARCHED[len(TITLED_BY) :]))
    return folded(" ".join(title)) + TITLE_END + folded("\n".join(rest))


def searched_title(text: str) -> str:
    """Return the words of the title in a search text."""
    return text.partition(TITLE_END)[0]


def words_of(text: str) -> list[str]:
    """Return the distinct words of a query."""
    words = folded(text).split()
    return list(dict.fromkeys(word.strip(AROUND_NAMES) or word for word in words))
