"""The titles of jobs."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from textwrap import shorten
from types import MappingProxyType

from mediakit.catalog import declared_as, title_at
from mediakit.history.entry import Entry
from mediakit.media.bodies import urls_in
from mediakit.web_urls import parts_of

NO_NAMES: Mapping[str, str] = MappingProxyType({})
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
    inputs = [name for url in urls if (name := names.get(url) or file_name_at(url))]
    if not inputs:
        return function
    result = declared_as(entry.kind).result or function
    more = len(urls) - 1
    if len(inputs) <= FEW_INPUTS and len(inputs) == len(urls):
        return f"{result}: {', '.join(inputs)}"
    return f"{result}: {inputs[0]} and {more} more"


def file_name_at(url: str) -> str:
    """Return the file name at a URL; "" if it means nothing to people."""
    path = PurePosixPath(parts_of(url).path)
    return path.name if path.suffix and len(path.stem) < OPAQUE_CHARACTERS else ""


def take_text(entry: Entry) -> str:
    """Return the take of a job: "take 2"; "" for the first."""
    return f"take {entry.take}" if entry.take > 1 else ""


def short_subject(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the subject in a few words, with its take, as a name within a text."""
    words = shorten(subject_of(entry, names), NAME_CHARACTERS, placeholder="…")
    return f"{words} ({take})" if (take := take_text(entry)) else words
