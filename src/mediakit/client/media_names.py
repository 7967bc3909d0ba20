"""The names of media that requests hold as URLs: uploaded files, and results of jobs.

A URL is no name for people. The history knows which job made what is at a URL, or the
hash of what was uploaded, and the folder of uploads knows the file with that hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread

from mediakit.client.account_history import AccountHistory
from mediakit.client.titles import short_subject
from mediakit.history import Entry, History, tuning
from mediakit.media.bodies import urls_in

UPLOADS = "uploads"
HASH_LENGTH = 16


class MediaNames:
    """Names of media by URL, for one client.

    Args:
        account_history: Knows the jobs and the uploads.
        home: The folder in which uploaded files are kept; None keeps none.
    """

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
        sent = await self._account_history.ask(tuning.uploads_at, urls, service=service)
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
