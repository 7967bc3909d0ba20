"""Media in requests: jobs, in-memory objects, media at URLs, and their names."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from anyio import to_thread

from mediakit.api_models import JobStatus
from mediakit.client.account_history import AccountHistory
from mediakit.client.async_job import AsyncJob
from mediakit.client.blocking import Blocking
from mediakit.client.http import HttpClient
from mediakit.client.idempotency_keys import named
from mediakit.client.job_state import JobState
from mediakit.clock import Clock
from mediakit.errors import InputError
from mediakit.history import Entry, History, Parent, uploads
from mediakit.history.titles import short_subject
from mediakit.media import file_of
from mediakit.media.bodies import urls_in
from mediakit.media.remote import poster_at, probe_url
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import ValueDescription

A_MEDIUM = {"image": "a picture", "video": "a clip", "audio": "a sound"}
ENDED = "a job that has completed"
WITH_OUTPUT = "a job with its output"
# After a failure, a server is not read again for this long, because a read for each
# price would be slow.
RETRY_AFTER_S = 60.0


@dataclass(frozen=True)
class JobOutput:
    """The output of a completed job, accepted by any media field.

    `id` is the job's; `media_type` is "video", "image", "audio" or "unknown".
    """

    id: str
    url: str
    media_type: str
    content_type: str | None = None
    length_s: float | None = None

    def info(self, medium: MediaName) -> MediaInfo | None:
        """Return the known properties of the medium, without reading it."""
        if self.content_type is None:
            return None
        # The size is unknown, so use zero bytes, which are within every limit.
        return MediaInfo(medium, self.content_type, 0, duration_s=self.length_s)


def job_of(value: object) -> AsyncJob | JobOutput | None:
    """Return the asynchronous job or job output in a value, else None."""
    core = value.core if isinstance(value, Blocking) else value
    return core if isinstance(core, AsyncJob | JobOutput) else None


def output_of(
    job: AsyncJob | JobOutput, medium: MediaName | None, field: str
) -> JobOutput:
    """Return the output of a job; `medium` None accepts any."""
    output = job if isinstance(job, JobOutput) else _completed_output(job.state, field)
    if medium and output.media_type in A_MEDIUM and output.media_type != medium:
        text = ValueDescription(
            f"the job {output.id}, which made {A_MEDIUM[output.media_type]}"
        )
        raise InputError(field, got=text, accepted=A_MEDIUM[medium])
    return output


def _completed_output(state: JobState, field: str) -> JobOutput:
    record, output = state.record, state.record.output
    if record.deleted_at is not None:
        why, accepted = "which was erased", WITH_OUTPUT
    elif record.status is JobStatus.FAILED:
        code = f" ({record.error.code})" if record.error else ""
        why, accepted = f"which failed{code}", ENDED
    elif not record.status.terminal:
        why, accepted = f"which is {record.status}", f"{ENDED}; wait for it first"
    elif output is None or output.file is None:
        why, accepted = "which has no output", WITH_OUTPUT
    elif state.output_url is None:
        why, accepted = "whose output is not at an http(s) URL", WITH_OUTPUT
    else:
        file, media_type = output.file, output.media_type
        length_s = None if media_type == "image" else _length_s(state)
        return JobOutput(record.id, file.url, media_type, file.content_type, length_s)
    text = ValueDescription(f"the job {record.id}, {why}")
    raise InputError(field, got=text, accepted=accepted)


def _length_s(state: JobState) -> float | None:
    reported = (state.record.usage or {}).get("output_seconds")
    if _is_length(reported):
        return float(reported)
    # If the input is a clip, this may be only the added length.
    made_alone = not any("video" in name and each for name, each in state.body.items())
    duration = state.body.get("duration")
    return float(duration) if made_alone and _is_length(duration) else None


def _is_length(value: Any) -> TypeGuard[int | float]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


class Inputs:
    """Replaces in-memory media and jobs with paths and URLs; records the jobs."""

    def __init__(self) -> None:
        self.parents: list[Parent] = []
        self.infos: dict[str, MediaInfo] = {}

    def place(self, value: object, medium: MediaName, field: str) -> str | Path | None:
        """Return the path or URL of an in-memory medium; None for any other value."""
        job = job_of(value)
        return file_of(value, field) if job is None else self.take(job, medium, field)

    def take(
        self, job: AsyncJob | JobOutput, medium: MediaName | None, field: str
    ) -> str:
        """Return the URL of a job's output, checked against the expected medium."""
        output = output_of(job, medium, field)
        self.parents.append(Parent(field, output.id, output.url))
        info = output.info(medium) if medium else None
        if info is not None:
            self.infos[output.url] = info
        return output.url


MediaKey = tuple[MediaName, str]
"""The expected medium, and its URL."""


class RemoteMedia:
    """Caches the properties of media at URLs for the life of its client."""

    def __init__(self, http: HttpClient, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._reads: dict[MediaKey, tuple[asyncio.Task[MediaInfo | None], float]] = {}

    async def probe(self, keys: Iterable[MediaKey]) -> dict[MediaKey, MediaInfo | None]:
        """Return the properties of media; None where they cannot be read."""
        reads = {key: self._read(key) for key in keys}
        # A caller that stops waiting must not cancel the read that others wait for.
        return {key: await asyncio.shield(read) for key, read in reads.items()}

    async def probe_again(
        self, keys: Iterable[MediaKey]
    ) -> dict[MediaKey, MediaInfo | None]:
        """Read media that may have changed; on failure, return the cached values."""
        reads = {key: self._reads.pop(key) for key in keys if self._is_read(key)}
        infos = await self.probe(keys)
        for key, read in reads.items():
            if infos[key] is None:
                self._reads[key] = read
                infos[key] = read[0].result()
        return infos

    def _is_read(self, key: MediaKey) -> bool:
        return key in self._reads and self._reads[key][0].done()

    async def poster(
        self, url: str, max_px: int, at_s: float | None = None
    ) -> bytes | None:
        """Return a small JPEG of a medium at a URL; None if that fails."""
        return await poster_at(url, max_px, self._http, at_s=at_s)

    def _read(self, key: MediaKey) -> asyncio.Task[MediaInfo | None]:
        """Return the pending or finished read; a failure is cached for a minute."""
        now_s = self._clock.monotonic_s()
        if key in self._reads:
            read, since_s = self._reads[key]
            is_recent = now_s - since_s < RETRY_AFTER_S
            if not read.done() or is_recent or read.result() is not None:
                return read
        kind, url = key
        read = asyncio.ensure_future(probe_url(url, kind, self._http))
        self._reads[key] = (read, now_s)
        return read


# -- names -----------------------------------------------------------------------------

UPLOADS = "uploads"
HASH_LENGTH = 16


class MediaNames:
    """Names of media by URL, for one client."""

    def __init__(self, account_history: AccountHistory, home: Path | None) -> None:
        self.known: dict[str, str] = {}
        self._account_history = account_history
        self._home = home
        self._files: dict[str, Path] = {}

    async def learn(self, *entries: Entry) -> bool:
        """Look up the names of the media in requests; return whether any are new."""
        bodies = (json.loads(entry.body) for entry in entries)
        urls = {url for body in bodies for url in urls_in(body)} - self.known.keys()
        if not urls:
            return False
        service = self._account_history.service
        outputs = await self._account_history.ask(
            History.outputs_at, urls, service=service
        )
        # The title of a job without a prompt needs the names of its own inputs.
        await self.learn(*(entry for entry in outputs.values() if not entry.prompt))
        names = {
            url: short_subject(entry, self.known) for url, entry in outputs.items()
        }
        self.known |= names | await self._uploaded(urls - outputs.keys())
        return not urls.isdisjoint(self.known)

    async def _uploaded(self, urls: set[str]) -> dict[str, str]:
        if self._home is None or not urls:
            return {}
        service = self._account_history.service
        sent = await self._account_history.ask(
            uploads.uploads_at, urls, service=service
        )
        home = self._home
        files = await to_thread.run_sync(
            lambda: {each.url: _kept_file(home, each.sha256) for each in sent}
        )
        paths = {url: path for url, path in files.items() if path is not None}
        self._files |= paths
        return {url: path.name for url, path in paths.items()}

    def with_files(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request with the local files that were uploaded for it.

        An unchanged file is sent as the same URL, so the request stays the same.
        """
        files = {url: self._files.get(url) for url in urls_in(body)}
        paths = {
            url: str(file) for url, file in files.items() if file and file.is_file()
        }
        return {name: named(value, paths) for name, value in body.items()}


def _kept_file(home: Path, sha256: str) -> Path | None:
    """Return the local copy with this hash, under its newest name."""
    folder = home / UPLOADS / sha256[:HASH_LENGTH]
    try:
        return max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    except (OSError, ValueError):  # missing or deleted
        return None
