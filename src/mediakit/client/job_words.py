"""The words for a job: its title, how it stands, what it cost, what cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from textwrap import shorten
from types import MappingProxyType
from typing import Literal
from unicodedata import normalize
from urllib.parse import urlsplit

from mediakit.api_models import (
    LARGEST_CHARGE_MICRO_USD,
    Billing,
    BillingState,
    JobStatus,
)
from mediakit.api_models import Job as JobRecord
from mediakit.catalog import title_at
from mediakit.history import Entry, EntryState
from mediakit.media.bodies import urls_in
from mediakit.money import format_usd
from mediakit.safe_text import shown

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
UNCHARGED, NOT_CHARGED_YET = "not charged", "not charged yet"
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


def charge_word(entry: Entry) -> str:
    """Return what a submission cost; an amount only once it is settled (spec 2.2)."""
    if entry.charge_micro_usd is not None:
        return format_usd(entry.charge_micro_usd)
    if entry.state is EntryState.REFUSED or entry.status is JobStatus.FAILED:
        return UNCHARGED
    if entry.gone_at is not None:
        return CHARGE_UNKNOWN
    return SETTLING if entry.status is JobStatus.COMPLETED else NOT_CHARGED_YET


# -- titles ---------------------------------------------------------------------------

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
    made = MADE.get(entry.kind, function)
    more = len(urls) - 1
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
    """Return the subject in a few words, as a name among others, with its take."""
    words = shorten(subject_of(entry, names), NAME_CHARACTERS, placeholder="…")
    return f"{words} ({take})" if (take := take_text(entry)) else words


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


# -- what cannot be read ---------------------------------------------------------------


def unreadable_text(record: JobRecord) -> str | None:
    """Return a sentence if the job's status or charge is unreadable; else None."""
    if record.unknown_status is not None:
        return (
            f"The service reports the status {shown(record.unknown_status)}, which "
            "this version of mediakit does not know. The job counts as running, and is "
            "read again."
        )
    if record.status.terminal and record.billing and record.billing.is_unreadable:
        return f"{unreadable_charge_text(record.billing)} It is read again."
    return None


def unreadable_charge_text(billing: Billing) -> str:
    """Say what the service says of a charge, and what could be read."""
    said = billing.raw
    if billing.state is BillingState.SETTLED:
        most = f"{LARGEST_CHARGE_MICRO_USD:,}"
        charge = said.get("charge_micro_usd", "nothing")
        return (
            "Its charge cannot be read: `charge_micro_usd` must be a whole number "
            f"from 0 to {most} micro-USD (got {shown(charge)})."
        )
    return (
        "Its charge cannot be read: the billing state must be settled, pending or "
        f"unavailable (got {shown(said)})."
    )


def unclear_text(record: JobRecord, again_s: float) -> str:
    """Say that a job's status or charge stays unreadable, and what that means."""
    every = f"every {again_s / 60:.0f} minutes"
    if record.unknown_status is None and record.billing is not None:
        return (
            f"The job {record.id} is {record.status.value}. "
            f"{unreadable_charge_text(record.billing)} The job is read again {every}, "
            "and its charge is recorded once it can be read; until then, budgets count "
            "the estimate. Ask the service what it charged; job.refresh() reads the "
            "job now."
        )
    return (
        f"The status of the job {record.id} is {shown(record.unknown_status)}, which "
        "this version of mediakit does not know, so it is unclear whether the job has "
        f"ended. It is read {every}, and its charge is recorded; job.refresh() reads "
        "it now. A newer version of mediakit may know the status."
    )
