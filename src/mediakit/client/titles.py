"""The titles of jobs, the names of their files, and those of the media in requests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import urlsplit

from anyio import to_thread

from mediakit.catalog import title_at
from mediakit.history import Entry, History, uploads
from mediakit.media.bodies import urls_in

if TYPE_CHECKING:
    from mediakit.client.account_history import AccountHistory


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
    """Return the title without the take, which all takes of a request share."""
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


# -- the names of media in requests ----------------------------------------------------


UPLOADS = "uploads"
HASH_LENGTH = 16


class MediaNames:
    """Names of media by URL, for one client; uploaded files are kept in its home."""

    def __init__(self, account_history: AccountHistory, home: Path | None) -> None:
        self.known: dict[str, str] = {}
        self._account_history = account_history
        self._home = home
        self._files: dict[str, Path] = {}

    async def learn(self, *entries: Entry) -> bool:
        """Find the names of the media in some requests; return if any are new."""
        bodies = (json.loads(entry.body) for entry in entries)
        urls = {url for body in bodies for url in urls_in(body)} - self.known.keys()
        if not urls:
            return False
        service = self._account_history.service
        made = await self._account_history.ask(
            History.outputs_at, urls, service=service
        )
        # The title of a job without a prompt needs the names of its own inputs.
        await self.learn(*(entry for entry in made.values() if not entry.prompt))
        found = {url: short_subject(entry, self.known) for url, entry in made.items()}
        self.known |= found | await self._uploaded(urls - made.keys())
        return not urls.isdisjoint(self.known)

    async def _uploaded(self, urls: set[str]) -> dict[str, str]:
        if self._home is None or not urls:
            return {}
        service = self._account_history.service
        sent = await self._account_history.ask(
            uploads.uploads_at, urls, service=service
        )
        home = self._home
        found = await to_thread.run_sync(
            lambda: {each.url: _kept_file(home, each.sha256) for each in sent}
        )
        kept = {url: path for url, path in found.items() if path is not None}
        self._files |= kept
        return {url: path.name for url, path in kept.items()}

    def with_files(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request with the kept files that were uploaded for it.

        The same file is sent as the same URL again, so that the request stays the same.
        """
        return {name: self._with_files(value) for name, value in body.items()}

    def _with_files(self, value: object) -> object:
        if isinstance(value, str):
            path = self._files.get(value)
            return str(path) if path is not None and path.is_file() else value
        if isinstance(value, list | tuple):
            return [self._with_files(each) for each in value]
        if isinstance(value, Mapping):
            return self.with_files(value)
        return value


def _kept_file(home: Path, sha256: str) -> Path | None:
    """Return the kept file whose bytes have this hash, by its newest name."""
    folder = home / UPLOADS / sha256[:HASH_LENGTH]
    try:
        return max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    except (OSError, ValueError):  # there is none, or none any more
        return None
