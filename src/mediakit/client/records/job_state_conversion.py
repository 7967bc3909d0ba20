"""Converts history entries and service records to job states; pure."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from mediakit.catalog import Catalog, Function
from mediakit.client.records.job_state import JobState, unreadable_text
from mediakit.client.service import LOOPBACK, Service
from mediakit.errors import InputError
from mediakit.history import Entry
from mediakit.money import MicroUSD
from mediakit.rates import Estimate, EstimateKind
from mediakit.records import Job, JobStatus


def state_of_entry(
    entry: Entry,
    record: Job,
    catalog: Catalog,
    service: Service,
    *,
    estimate: Estimate | None = None,
    usual_runtime_s: float | None = None,
) -> JobState:
    """Return the state of a job that is in the history."""
    function = _function(catalog, entry.function)
    return JobState(
        record=record,
        function=entry.function,
        kind=entry.kind,
        media_type=_media_type(record, function),
        prompt=entry.prompt,
        body=_body(entry.body),
        estimate=_estimate(entry) if estimate is None else estimate,
        submitted_at=entry.submitted_at,
        finished_at=entry.finished_at,
        usual_runtime_s=usual_runtime_s,
        charge_micro_usd=_charge(entry, record),
        trouble=unreadable_text(record),
        service=service.label,
    )


def state_of_record(record: Job, catalog: Catalog, service: Service) -> JobState:
    """Return the state of a job that was submitted elsewhere."""
    path = record.model_id or ""
    function = _function(catalog, path)
    return JobState(
        record=record,
        function=path or "an unknown function",
        kind=function.kind if function else path.rsplit("/", 1)[-1] or "job",
        media_type=_media_type(record, function),
        charge_micro_usd=record.settled_charge_micro_usd,
        trouble=unreadable_text(record),
        service=service.label,
    )


def record_of_entry(entry: Entry, service: Service) -> Job:
    """Return the history's record of an entry's job, until it is read again.

    Args:
        entry: The history's entry, of a job.
        service: The service of the job: a sandbox on this machine serves the same files
            on another port after a restart.
    """
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
    return Job.model_validate(record)


def _at(service: Service, url: str) -> str:
    """Return the current URL of a file of a sandbox on this machine."""
    moves = service.on_this_machine and service.identity != service.base_url
    parts = urlsplit(url)
    if not moves or parts.hostname not in LOOPBACK:
        return url
    here = urlsplit(service.base_url)
    return parts._replace(scheme=here.scheme, netloc=here.netloc).geturl()


def _function(catalog: Catalog, path: str) -> Function | None:
    try:
        return catalog.function(path)
    except InputError:
        return None


def _media_type(record: Job, function: Function | None) -> str:
    if record.output is not None:
        return record.output.media_type
    return function.media_type if function else "video"


def _body(content: bytes) -> dict[str, Any]:
    body = json.loads(content)
    return body if isinstance(body, dict) else {}


def _estimate(entry: Entry) -> Estimate:
    low, high = entry.estimate_low_micro_usd, entry.estimate_high_micro_usd
    return Estimate(
        low=None if low is None else MicroUSD(low),
        high=None if high is None else MicroUSD(high),
        kind=EstimateKind(entry.estimate_kind),
    )


def _charge(entry: Entry, record: Job) -> int | None:
    if entry.charge_micro_usd is not None:
        return entry.charge_micro_usd
    return record.settled_charge_micro_usd
