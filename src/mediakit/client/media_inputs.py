"""Media in the fields of a request: jobs, objects in memory, and media at URLs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from mediakit.client.http import HttpClient
from mediakit.client.job_state import JobState
from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.loop import Blocking
from mediakit.clock import Clock
from mediakit.errors import InputError
from mediakit.history import Parent
from mediakit.media import MediaInfo, file_of
from mediakit.media.remote import probe_url
from mediakit.media.remote_posters import poster_at
from mediakit.records import JobStatus
from mediakit.rules import Found
from mediakit.schema import MediaName

A_MEDIUM = {"image": "a picture", "video": "a clip", "audio": "a sound"}
ENDED = "a job that has completed"
# A server may be reachable again; a read for each price would be slow.
RETRY_AFTER_S = 60.0


@dataclass(frozen=True)
class JobOutput:
    """The output of a completed job, which any media field accepts.

    Args:
        job_id: The job.
        url: Its URL.
        media_type: "video", "image" or "audio"; "unknown" if the service does not say.
        content_type: Its content type; None if unknown.
        length_s: Seconds; None if unknown, and for an image.
    """

    job_id: str
    url: str
    media_type: str
    content_type: str | None = None
    length_s: float | None = None

    def info(self, medium: MediaName) -> MediaInfo | None:
        """Return the known properties of the medium, without reading it."""
        if self.content_type is None:
            return None
        # Its size is not known: zero bytes are within every limit.
        return MediaInfo(medium, self.content_type, 0, duration_s=self.length_s)


class _HasState(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def state(self) -> JobState: ...


AnyJob = _HasState | JobOutput


def is_job(value: object) -> TypeGuard[AnyJob]:
    """Return whether a value is a job, awaited or blocking, or the output of one."""
    core = value.core if isinstance(value, Blocking) else value
    return isinstance(core, AsyncJob | JobOutput)


def id_of(job: AnyJob) -> str:
    """Return the id of a job, or of the job that made an output."""
    return job.job_id if isinstance(job, JobOutput) else job.id


def output_of(job: AnyJob, medium: MediaName, field: str) -> JobOutput:
    """Return the output of a job, for a field that accepts it.

    Raises:
        InputError: The job has not ended, has failed, was erased, or made another
            medium.
    """
    made = job if isinstance(job, JobOutput) else _made(job.state, field)
    if made.media_type in A_MEDIUM and made.media_type != medium:
        got = Found(f"the job {made.job_id}, which made {A_MEDIUM[made.media_type]}")
        raise InputError(field, got=got, accepted=A_MEDIUM[medium])
    return made


def _made(state: JobState, field: str) -> JobOutput:
    record, output = state.record, state.record.output
    why, accepted = "", ENDED
    if record.deleted_at is not None:
        why, accepted = "which was erased", "a job with its output"
    elif record.status is JobStatus.FAILED:
        why = "which failed" + (f" ({record.error.code})" if record.error else "")
    elif not record.status.terminal:
        why, accepted = f"which is {record.status}", f"{ENDED}; wait for it first"
    elif output is not None and output.file is not None:
        return JobOutput(
            record.id,
            output.file.url,
            output.media_type,
            output.file.content_type,
            _length_s(state) if output.media_type != "image" else None,
        )
    else:
        why, accepted = "which has no output", "a job with its output"
    got = Found(f"the job {record.id}, {why}")
    raise InputError(field, got=got, accepted=accepted)


def _length_s(state: JobState) -> float | None:
    reported = (state.record.usage or {}).get("output_seconds")
    if _is_length(reported):
        return float(reported)
    # With another clip as input, it may be the added length only.
    made_alone = not any("video" in name and each for name, each in state.body.items())
    asked = state.body.get("duration")
    return float(asked) if made_alone and _is_length(asked) else None


def _is_length(value: Any) -> TypeGuard[int | float]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


class Inputs:
    """Turns media objects and jobs into paths and URLs, and collects the jobs."""

    def __init__(self) -> None:
        self.parents: list[Parent] = []
        self.infos: dict[str, MediaInfo] = {}

    def place(self, value: object, medium: MediaName, field: str) -> str | Path | None:
        """Return the path or URL of a medium; None for a value that is not an object.

        Raises:
            InputError: It is a job without such an output, or an array that is not an
                image.
        """
        if not is_job(value):
            return file_of(value, field)
        made = output_of(value, medium, field)
        self.parents.append(Parent(field, made.job_id, made.url))
        info = made.info(medium)
        if info is not None:
            self.infos[made.url] = info
        return made.url


MediaKey = tuple[MediaName, str]
"""Which medium is expected, and its URL."""


class RemoteMedia:
    """Caches the properties of media behind URLs for the lifetime of its client."""

    def __init__(self, http: HttpClient, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._reads: dict[MediaKey, tuple[asyncio.Task[MediaInfo | None], float]] = {}

    async def probe(self, keys: Iterable[MediaKey]) -> dict[MediaKey, MediaInfo | None]:
        """Return the properties of media; None where they cannot be read."""
        reads = {key: self._read(key) for key in keys}
        # A caller that stops waiting must not cancel the read of the others.
        return {key: await asyncio.shield(read) for key, read in reads.items()}

    async def poster(self, url: str, max_px: int) -> bytes | None:
        """Return a small JPEG of a medium behind a URL; None if that fails."""
        return await poster_at(url, max_px, self._http)

    def _read(self, key: MediaKey) -> asyncio.Task[MediaInfo | None]:
        """Return the read of a medium, pending or done; a failure is kept a minute."""
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
