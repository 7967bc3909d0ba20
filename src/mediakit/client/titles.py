"""The title of a job and the name of its file: the prompt, or its inputs; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from textwrap import shorten
from types import MappingProxyType
from unicodedata import normalize
from urllib.parse import urlsplit

from mediakit.catalog import title_at
from mediakit.history import Entry
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
FILE_CHARACTERS = 48
ID_CHARACTERS = 8
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def title_of(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the title of a job: "Upscaled: a paper boat", "a kite · take 2"."""
    subject = subject_of(entry, names)
    return f"{subject} · {take}" if (take := take_text(entry)) else subject


def subject_of(entry: Entry, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the title without the take, which all takes of a request share.

    Args:
        entry: The job.
        names: Names of media, by URL.
    """
    prompt = " ".join((entry.prompt or "").split())
    if prompt:
        return prompt
    function = title_at(entry.kind, entry.function)
    urls = dict.fromkeys(urls_in(json.loads(entry.body)))
    inputs = [name for url in urls if (name := names.get(url) or _file_name(url))]
    if not inputs:
        return function
    made, more = MADE.get(entry.kind, function), len(urls) - 1
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
    """Return the subject in a few words, as a name among others."""
    return shorten(subject_of(entry, names), NAME_CHARACTERS, placeholder="…")


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
