"""The state of a job at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from mediakit.errors import shown
from mediakit.money import format_usd
from mediakit.rates import Estimate
from mediakit.records import LARGEST_CHARGE_MICRO_USD, Billing, BillingState, JobStatus
from mediakit.records import Job as JobRecord


@dataclass(frozen=True)
class JobState:
    """The state of a job at one moment.

    Args:
        record: The service's record.
        function: The function's path.
        kind: The function's kind; the path's last segment if unknown.
        media_type: The medium of its output.
        prompt: The body's prompt, if it has one.
        body: The body that was sent; empty if it was submitted elsewhere.
        estimate: Its estimate; None if it was submitted elsewhere.
        submitted_at: When it was submitted.
        started_at: When it was first seen running.
        finished_at: When it was first seen ended.
        usual_runtime_s: The usual runtime of the function, seconds; None if unknown.
        charge_micro_usd: The settled charge; None until it is settled.
        reused: An earlier process submitted it; this one found it in the history.
        trouble: A sentence while it cannot be read; None otherwise.
        service: The name of the service in messages.
    """

    record: JobRecord
    function: str
    kind: str
    media_type: str
    prompt: str | None = None
    # It may have a webhook's token, and signed URLs.
    body: Mapping[str, object] = field(default_factory=dict, repr=False)
    estimate: Estimate | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    usual_runtime_s: float | None = None
    charge_micro_usd: int | None = None
    reused: bool = False
    trouble: str | None = None
    service: str = ""

    def seen(self, record: JobRecord, now: datetime) -> JobState:
        """Return the state after a record was read; it never goes backwards.

        The first settled charge stays, as it does in the history.
        """
        charge = self.charge_micro_usd
        if charge is None:
            charge = record.settled_charge_micro_usd
        if self.record.status.terminal and not record.status.terminal:
            return replace(self, charge_micro_usd=charge)
        running = record.status is JobStatus.RUNNING and record.unknown_status is None
        return replace(
            self,
            record=record,
            started_at=self.started_at or (now if running else None),
            finished_at=self.finished_at or (now if record.status.terminal else None),
            charge_micro_usd=charge,
            trouble=unreadable_text(record),
        )

    @property
    def is_over(self) -> bool:
        """Return whether the state is final: the job has ended, and is charged."""
        return self.record.status.terminal and self.charge_micro_usd is not None

    @property
    def text(self) -> str:
        """Return a summary of the job in one line."""
        erased = ("erased",) if self.record.deleted_at is not None else ()
        parts = [self.kind, self.record.status.value, *erased, self.record.id]
        if self.charge_micro_usd is not None:
            parts.append(f"charged {format_usd(self.charge_micro_usd)}")
        elif self.estimate is not None:
            parts.append(f"estimated {self.estimate}")
        if self.reused:
            parts.append("existing job, nothing was sent")
        return " · ".join(parts)


def unreadable_text(record: JobRecord) -> str | None:
    """Return a sentence if the job's status or charge is unreadable; else None."""
    if record.unknown_status is not None:
        return (
            f"The service says that it is {shown(record.unknown_status)}, which this "
            "mediakit does not know. It counts as running, and is read again."
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
