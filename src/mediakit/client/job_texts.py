"""Texts about a job: its state, its charge and unreadable answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Literal
from urllib.parse import unquote

from mediakit.api_models import (
    LARGEST_CHARGE_MICRO_USD,
    BillingState,
    JobBilling,
    JobRecord,
    JobStatus,
)
from mediakit.errors import InputError
from mediakit.history import Entry, EntryState
from mediakit.money import format_usd
from mediakit.safe_text import shown
from mediakit.web_urls import is_http, parts_of

State = Literal[
    "planned",
    "invalid",
    "unsent",
    "unanswered",
    "refused",
    "queued",
    "running",
    "completed",
    "failed",
    "erased",
    "gone",
]

STATE_WORDS: Mapping[State, str] = MappingProxyType(
    {
        "planned": "Waiting to be sent",
        "invalid": "Invalid",
        "unsent": "Not sent",
        "unanswered": "No answer yet",
        "refused": "Refused",
        "queued": "Queued",
        "running": "Running",
        "completed": "Completed",
        "failed": "Failed",
        "erased": "Erased",
        "gone": "Gone from the service",
    }
)
SETTLING = "settling…"
UNCHARGED, NOT_CHARGED_YET = "not charged", "not charged yet"
CHARGE_UNKNOWN = "charge unknown"
REUSED = "Reusing existing job {id} (no new charge)."


def state_of_entry(entry: Entry) -> State:
    """Return the state of a submission, as far as the history knows it."""
    if entry.deleted_at is not None:
        return "erased"
    if entry.gone_at is not None:
        return "gone"
    if entry.state is EntryState.REFUSED:
        return "refused"
    return "unanswered" if entry.status is None else entry.status.value


def charge_word(entry: Entry) -> str:
    """Return the cost of a submission; an amount only once settled (spec 2.2)."""
    if entry.charge_micro_usd is not None:
        return format_usd(entry.charge_micro_usd)
    if entry.state is EntryState.REFUSED or entry.status is JobStatus.FAILED:
        return UNCHARGED
    if entry.gone_at is not None:
        return CHARGE_UNKNOWN
    return SETTLING if entry.status is JobStatus.COMPLETED else NOT_CHARGED_YET


# -- ids -----------------------------------------------------------------------------


def plain_id(job_id: object, field: str = "job_id") -> str:
    """Return a pasted ID without quotes, spaces or a URL around it."""
    plain = job_id.strip(" \t\r\n'\"`") if isinstance(job_id, str) else ""
    if is_http(plain):
        path = parts_of(plain).path.removesuffix("/content")
        plain = unquote(PurePosixPath(path).name)
    if not plain or not plain.isprintable():
        accepted = "a job id: media_<uuid>"
        raise InputError(field, got=job_id, accepted=accepted)
    return plain


# -- unreadable answers ---------------------------------------------------------------


def unreadable_text(record: JobRecord) -> str | None:
    """Return a sentence if the job's status or charge is unreadable; else None."""
    if record.unknown_status is not None:
        return (
            f"The service reports the status {shown(record.unknown_status)}, which "
            "this version of mediakit does not know. The job is treated as running and "
            "will be checked again."
        )
    if record.status.terminal and record.billing and record.billing.is_unreadable:
        return f"{unreadable_charge_text(record.billing)} It will be checked again."
    return None


def unreadable_charge_text(billing: JobBilling) -> str:
    """Describe an unreadable charge, with its readable part."""
    raw = billing.raw
    if billing.state is BillingState.SETTLED:
        most = f"{LARGEST_CHARGE_MICRO_USD:,}"
        charge = raw.get("charge_micro_usd", "nothing")
        return (
            "Its charge cannot be read: `charge_micro_usd` must be a whole number "
            f"from 0 to {most} micro-USD (got {shown(charge)})."
        )
    return (
        "Its charge cannot be read: the billing state must be settled, pending or "
        f"unavailable (got {shown(raw)})."
    )


def unclear_text(record: JobRecord, again_s: float) -> str:
    """Explain that a job's status or charge stays unreadable."""
    every = f"every {again_s / 60:.0f} minutes"
    if record.unknown_status is None and record.billing is not None:
        return (
            f"The job {record.id} is {record.status.value}. "
            f"{unreadable_charge_text(record.billing)} mediakit checks the job again "
            f"{every} and records its charge once it can be read; until then, budgets "
            "count the estimate. Ask the service what it charged, or call "
            "job.refresh() to check the job now."
        )
    return (
        f"The status of the job {record.id} is {shown(record.unknown_status)}, which "
        "this version of mediakit does not know, so it is unclear whether the job has "
        f"ended. It is read {every}, and its charge is recorded; job.refresh() reads "
        "it now. A newer version of mediakit may know the status."
    )
