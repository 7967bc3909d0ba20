"""The words for how a job or a cell stands and what it cost, the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from mediakit.history import Entry, EntryState
from mediakit.money import format_usd
from mediakit.records import JobStatus

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
        "planned": "Not sent yet",
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
NOT_CHARGED, NOT_CHARGED_YET = "not charged", "not charged yet"
CHARGE_UNKNOWN = "charge unknown"


def state_of_entry(entry: Entry) -> State:
    """Return how a submission stands, as far as the history knows."""
    if entry.deleted_at is not None:
        return "erased"
    if entry.gone_at is not None:
        return "gone"
    if entry.state is EntryState.REFUSED:
        return "refused"
    return "unanswered" if entry.status is None else entry.status.value


def state_word(entry: Entry) -> str:
    """Return how a submission stands, in words."""
    return STATE_WORDS[state_of_entry(entry)]


def charge_word(entry: Entry) -> str:
    """Return what a submission cost; an amount only once it is settled (spec 2.2)."""
    if entry.charge_micro_usd is not None:
        return format_usd(entry.charge_micro_usd)
    if entry.state is EntryState.REFUSED or entry.status is JobStatus.FAILED:
        return NOT_CHARGED
    if entry.gone_at is not None:
        return CHARGE_UNKNOWN
    return SETTLING if entry.status is JobStatus.COMPLETED else NOT_CHARGED_YET
