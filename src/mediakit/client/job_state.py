"""The state of a job: its history entry, and facts that are only in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from mediakit.api_models import JobRecord, JobStatus, MediaFile
from mediakit.catalog import Catalog, Function, declared_as, title_at
from mediakit.client.idempotency_keys import NOTHING_KNOWN
from mediakit.client.job_texts import unreadable_text
from mediakit.client.result_names import file_stem
from mediakit.client.service import Service
from mediakit.errors import InputError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.forks import cached_property
from mediakit.history import Entry, Submission
from mediakit.history.merging import changes_from_job, further_status
from mediakit.history.titles import NO_NAMES, subject_of, title_of
from mediakit.media import result_suffix
from mediakit.money import MicroUSD, format_usd
from mediakit.web_urls import is_http, is_on_this_machine, parts_of, web_url


@dataclass(frozen=True)
class JobState:
    """The state of a job at one moment.

    Args:
        entry: The entry. For a job that was submitted elsewhere, it exists only in
            memory.
        record: The service's newest record.
        media_type: The medium of the output.
        started_at: When the job was first seen running.
        usual_runtime_s: The usual runtime of the function in seconds; None if unknown.
        reused: Whether an earlier process submitted the job, and this process found it
            in the history.
        trouble: Why the job cannot be read, as a sentence; None otherwise.
        service: The name of the service in messages.
        names: Names of media by URL, as far as the client has learned them.
    """

    entry: Entry
    record: JobRecord
    media_type: str
    started_at: datetime | None = None
    usual_runtime_s: float | None = None
    reused: bool = False
    trouble: str | None = None
    service: str = ""
    names: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def seen(self, record: JobRecord, now: datetime) -> JobState:
        """Return the state after reading a record; the state never goes backwards."""
        changes = changes_from_job(self.entry, record, now=now)
        entry = replace(self.entry, **changes) if changes else self.entry
        further = further_status(self.record.status, record.status)
        if further is not record.status or (
            self.record.deleted_at and not record.deleted_at
        ):
            return replace(self, entry=entry)
        running = record.status is JobStatus.RUNNING and record.unknown_status is None
        return replace(
            self,
            entry=entry,
            record=record,
            media_type=record.output.media_type if record.output else self.media_type,
            started_at=self.started_at or (now if running else None),
            trouble=unreadable_text(record),
        )

    def forgotten(self) -> JobState:
        """Return the state without the prompt and the settings."""
        return replace(self, entry=replace(self.entry, prompt=None, body=NOTHING_KNOWN))

    @cached_property
    def body(self) -> Mapping[str, object]:
        """Return the body that was sent; empty for a job submitted elsewhere."""
        body = json.loads(self.entry.body)
        return body if isinstance(body, dict) else {}

    @property
    def estimate(self) -> Estimate | None:
        """Return the estimate; None if the job was submitted elsewhere."""
        return estimate_of(self.entry) if self.entry.number else None

    @property
    def is_erased(self) -> bool:
        """Return whether media and captured request were erased (spec 4.18)."""
        return self.record.deleted_at is not None

    @property
    def output_file(self) -> MediaFile | None:
        """Return the file of the output; None until there is one, and once erased."""
        output = self.record.output
        return None if output is None or self.is_erased else output.file

    @property
    def has_output(self) -> bool:
        """Return whether there is an output that can be shown and saved."""
        return self.output_file is not None

    @property
    def before_url(self) -> str | None:
        """Return the URL of the input that the output can be compared with."""
        before = self.body.get(declared_as(self.kind).compared_with)
        after = None if self.output_file is None else web_url(self.output_file.url)
        comparable = self.media_type in ("video", "image")
        if after is None or not comparable or not isinstance(before, str):
            return None
        if web_url(before) is None:
            return None
        # A sandbox moves to another port when it starts.
        if not (is_on_this_machine(before) and is_on_this_machine(after)):
            return before
        now = parts_of(after)
        return parts_of(before)._replace(scheme=now.scheme, netloc=now.netloc).geturl()

    @property
    def output_url(self) -> str | None:
        """Return the URL of the output; None unless it is an http(s) URL.

        Any other URL could name a file on the user's machine.
        """
        file = self.record.output.file if self.record.output else None
        return file.url if file and is_http(file.url) else None

    @property
    def function(self) -> str:
        """Return the function's path."""
        return self.entry.function

    @property
    def kind(self) -> str:
        """Return the function's kind; the path's last segment if unknown."""
        return self.entry.kind

    @property
    def prompt(self) -> str | None:
        """Return the body's prompt, if it has one."""
        return self.entry.prompt

    @property
    def function_title(self) -> str:
        """Return the function's display name, such as "Text to video"."""
        return title_at(self.kind, self.function)

    @property
    def subject(self) -> str:
        """Return the prompt in one line; without one, the titles of its inputs."""
        return subject_of(self.entry, self.names)

    @property
    def title(self) -> str:
        """Return the subject, followed by the take if it is not the first."""
        return title_of(self.entry, self.names)

    def file_name(self, url: str) -> str:
        """Return the file name under which to save the output at a URL."""
        file = self.record.output.file if self.record.output else None
        content_type = file.content_type if file else None
        suffix = result_suffix(url, self.media_type, content_type)
        return file_stem(self.entry, self.record.id, self.names) + suffix

    @property
    def submitted_at(self) -> datetime | None:
        """Return when the job was submitted; None if unknown."""
        return self.entry.submitted_at

    @property
    def finished_at(self) -> datetime | None:
        """Return when the job's end was first read; None if unknown."""
        return self.entry.finished_at

    @property
    def charge_micro_usd(self) -> int | None:
        """Return the first settled charge; None until it is settled."""
        return self.entry.charge_micro_usd

    @property
    def is_over(self) -> bool:
        """Return whether the state is final: the job has ended and settled."""
        return self.record.status.terminal and self.charge_micro_usd is not None

    @property
    def text(self) -> str:
        """Return a one-line summary of the job."""
        erased = ("erased",) if self.record.deleted_at is not None else ()
        parts = [self.kind, self.record.status.value, *erased, self.record.id]
        if self.charge_micro_usd is not None:
            parts.append(f"charged {format_usd(self.charge_micro_usd)}")
        elif self.estimate is not None:
            parts.append(f"estimated {self.estimate}")
        if self.reused:
            parts.append("existing job, nothing was sent")
        return " · ".join(parts)


def state_of(
    entry: Entry,
    catalog: Catalog,
    service: Service,
    *,
    record: JobRecord | None = None,
    usual_runtime_s: float | None = None,
    names: Mapping[str, str] = NO_NAMES,
) -> JobState:
    """Return the state of a job from its record, or from its entry alone."""
    function = function_at(catalog, entry.function)
    record = record or _record_of(entry, service)
    output_type = record.output.media_type if record.output else None
    return JobState(
        entry=entry,
        record=record,
        media_type=output_type or (function.media_type if function else "video"),
        usual_runtime_s=usual_runtime_s,
        service=service.label,
        names=names,
    )


def _record_of(entry: Entry, service: Service) -> JobRecord:
    record: dict[str, object] = {
        "id": entry.job_id,
        "status": entry.status or JobStatus.QUEUED,
        "deleted_at": entry.deleted_at,
    }
    if entry.output_url is not None and entry.media_type is not None:
        url = _at(service, entry.output_url)
        file = {"url": url, "content_type": entry.content_type}
        record["output"] = {"media_type": entry.media_type, entry.media_type: file}
    if entry.status is JobStatus.FAILED and entry.error_code is not None:
        message = entry.error_message or ""
        record["error"] = {"code": entry.error_code, "message": message}
    return JobRecord.model_validate(record)


def _at(service: Service, url: str) -> str:
    """Return the current URL of a file: a restarted sandbox has another port."""
    moves = service.on_this_machine and not is_http(service.identity)
    if not moves or not is_on_this_machine(url):
        return url
    here = parts_of(service.base_url)
    return parts_of(url)._replace(scheme=here.scheme, netloc=here.netloc).geturl()


def function_at(catalog: Catalog, path: str) -> Function | None:
    """Return the function at a path; None if unknown."""
    try:
        return catalog.function(path)
    except InputError:
        return None


def estimate_of(submission: Submission) -> Estimate:
    """Return the estimate of a submission, without its lines."""
    low = submission.estimate_low_micro_usd
    high = submission.estimate_high_micro_usd
    return Estimate(
        low=None if low is None else MicroUSD(low),
        high=None if high is None else MicroUSD(high),
        kind=EstimateKind(submission.estimate_kind),
    )
