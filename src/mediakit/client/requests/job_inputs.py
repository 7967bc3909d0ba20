"""Jobs as inputs: a job in a field means the URL of its output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.job import Job
from mediakit.client.records.job_state import JobState
from mediakit.errors import InputError
from mediakit.history import Parent
from mediakit.media import MediaInfo, file_of
from mediakit.records import JobStatus
from mediakit.rules import Found
from mediakit.schema import MediaName

A_MEDIUM = {"image": "a picture", "video": "a clip", "audio": "a sound"}
ENDED = "a job that has completed"


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


AnyJob = AsyncJob | Job | JobOutput


def is_job(value: object) -> TypeGuard[AnyJob]:
    """Return whether a value is a job, or the output of one."""
    return isinstance(value, AsyncJob | Job | JobOutput)


def output_of(job: AnyJob, medium: MediaName, field: str) -> JobOutput:
    """Return the output of a job, for a field that accepts it.

    Args:
        job: The job.
        medium: The medium that the field accepts.
        field: The field, for the error.

    Raises:
        InputError: The job has not ended, has failed, was erased, or made another
            medium.
    """
    made = job if isinstance(job, JobOutput) else _made(job.state, field)
    if made.media_type in A_MEDIUM and made.media_type != medium:
        what = A_MEDIUM[made.media_type]
        got = Found(f"the job {made.job_id}, which made {what}")
        raise InputError(field, got=got, accepted=A_MEDIUM[medium])
    return made


def _made(state: JobState, field: str) -> JobOutput:
    record = state.record
    output = record.output
    if record.deleted_at is not None:
        raise _unusable(field, record.id, "which was erased", "a job with its output")
    if record.status is JobStatus.FAILED:
        code = f" ({record.error.code})" if record.error else ""
        raise _unusable(field, record.id, f"which failed{code}", ENDED)
    if not record.status.terminal:
        accepted = f"{ENDED}; wait for it first"
        raise _unusable(field, record.id, f"which is {record.status}", accepted)
    if output is None or output.file is None:
        raise _unusable(
            field, record.id, "which has no output", "a job with its output"
        )
    return JobOutput(
        record.id,
        output.file.url,
        output.media_type,
        output.file.content_type,
        _length_s(state) if output.media_type != "image" else None,
    )


def _unusable(field: str, job_id: str, why: str, accepted: str) -> InputError:
    return InputError(field, got=Found(f"the job {job_id}, {why}"), accepted=accepted)


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


def id_of(job: AnyJob) -> str:
    """Return the id of a job, or of the job that made an output."""
    return job.job_id if isinstance(job, JobOutput) else job.id


class Inputs:
    """Turns media objects and jobs into paths and URLs, and collects the jobs."""

    def __init__(self) -> None:
        self.parents: list[Parent] = []
        self.infos: dict[str, MediaInfo] = {}

    def keep(self, value: object, medium: MediaName, field: str) -> str | Path | None:
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
