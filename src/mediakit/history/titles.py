"""The title of a job, and the text in which a search looks for it; pure."""

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from textwrap import shorten
from types import MappingProxyType
from unicodedata import normalize
from urllib.parse import urlsplit

from mediakit.catalog import title_at
from mediakit.history.entry import Entry
from mediakit.media.bodies import urls_in

NO_NAMES: Mapping[str, str] = MappingProxyType({})
MADE = {
    "compose-video": "Composition",
    "image-upscale": "Upscaled",
    "keyframes": "Transition",
    "r1-finalize": "Finalized",
    "video-upscale": "Upscaled",
}
"""What a function makes of its inputs, by its kind; else its own name is used."""
FEW_INPUTS = 2
OPAQUE_CHARACTERS = 16
"""A file name of this length at a URL is an ID or a hash."""
NAME_CHARACTERS = 60


def title_of(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the title of a job: "Upscaled: a paper boat", "a kite · take 2"."""
    subject = subject_of(entry, names)
    return f"{subject} · {take}" if (take := take_text(entry)) else subject


def subject_of(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the title without the take, which all takes of a request share."""
    prompt = " ".join((entry.prompt or "").split())
    if prompt:
        return prompt
    function = title_at(entry.kind, entry.function)
    urls = dict.fromkeys(urls_in(json.loads(entry.body)))
    inputs = [name for url in urls if (name := names.get(url) or _file_name(url))]
    if not inputs:
        return function
    made = MADE.get(entry.kind, function)
    more = len(urls) - 1
    if len(inputs) <= FEW_INPUTS and len(inputs) == len(urls):
        return f"{made}: {', '.join(inputs)}"
    return f"{made}: {inputs[0]} and {more} more"


def _file_name(url: str) -> str:
    """Return the name of the file at a URL; "" where that says nothing to people."""
    path = PurePosixPath(urlsplit(url).path)
    return path.name if path.suffix and len(path.stem) < OPAQUE_CHARACTERS else ""


def take_text(entry: Entry) -> str:
    """Return which take of its request a job is: "take 2"; "" for the first."""
    return f"take {entry.take}" if entry.take > 1 else ""


def short_subject(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the subject in a few words, as a name among others, with its take."""
    words = shorten(subject_of(entry, names), NAME_CHARACTERS, placeholder="…")
    return f"{words} ({take})" if (take := take_text(entry)) else words


# -- the searched text ----------------------------------------------------------------

TITLED_BY = ("prompt", "body")
SEARCHED = (
    *TITLED_BY,
    *("kind", "function", "job_id", "project", "error_code", "error_message"),
)
TITLE_END = "\x1f"
"""What stands behind the title in a searched text; no word of a search has it."""
AROUND_NAMES = ".,:()"
"""What a title writes around the names of inputs; an ellipsis is folded to dots."""
SOURCE_CHARACTERS = 2 * NAME_CHARACTERS


def folded(text: str) -> str:
    """Return text without differences of case and Unicode composition."""
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def search_text(entry: Entry, sources: Iterable[str] = ()) -> str:
    """Return the searched text: every word of the title, then what else is searched.

    `sources` are the searched titles of the jobs that it was made from.
    """
    title = [title_of(entry)]
    if not entry.prompt:
        urls = dict.fromkeys(urls_in(json.loads(entry.body)))
        title += [MADE.get(entry.kind, ""), *map(_file_name, urls)]
        title += [f"and {len(urls) - 1} more"] if len(urls) > 1 else []
        title += [shorten(each, SOURCE_CHARACTERS, placeholder="") for each in sources]
    rest = [title_at(entry.kind, entry.function)]
    rest += filter(None, (getattr(entry, name) for name in SEARCHED[len(TITLED_BY) :]))
    return folded(" ".join(title)) + TITLE_END + folded("\n".join(rest))


def searched_title(text: str) -> str:
    """Return the words of the title in a searched text."""
    return text.partition(TITLE_END)[0]


def words_of(text: str) -> list[str]:
    """Return the words of a search, each once."""
    words = folded(text).split()
    return list(dict.fromkeys(word.strip(AROUND_NAMES) or word for word in words))
