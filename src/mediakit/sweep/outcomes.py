"""The status and outcome of each cell of a run, and the run's progress."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mediakit.api_models import JobStatus
from mediakit.client.idempotency_keys import was_rejected
from mediakit.client.responses import failed_charge_text
from mediakit.history import Entry
from mediakit.money import format_usd

ERASED = "This result was erased."


class CellStatus(StrEnum):
    """The status of a cell in the frame of the results."""

    PLANNED = "planned"
    """The run has not reached the cell yet."""
    INVALID = "invalid"
    """The cell is never sent; `problem` has the reason."""
    UNSENT = "unsent"
    """The run did not send the cell: the budget is used up, or the run was stopped."""
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a cell; None means unknown."""

    status: CellStatus
    job_id: str | None = None
    charge_micro_usd: int | None = None
    runtime_s: float | None = None
    output_url: str | None = None
    media_type: str | None = None
    error_code: str | None = None
    problem: str | None = None


def outcome_of(entry: Entry) -> Outcome:
    """Return the outcome of a cell from the entry of its job."""
    status = CellStatus(entry.status or CellStatus.QUEUED)
    runtime_s = code = problem = None
    charge_micro_usd = entry.charge_micro_usd
    if entry.submitted_at is not None and entry.finished_at is not None:
        runtime_s = (entry.finished_at - entry.submitted_at).total_seconds()
    if status is CellStatus.FAILED:
        charge_micro_usd = charge_micro_usd or 0
        code = entry.error_code or "provider_error"
        provider_message = (entry.error_message or "").rstrip(".")
        problem = (
            f"It failed ({code}){f': {provider_message}' if provider_message else ''}. "
            f"{failed_charge_text(entry.charge_micro_usd)} Call results.retry() to "
            "submit it again."
        )
    elif entry.deleted_at is not None or entry.gone_at is not None:
        problem = ERASED
    return Outcome(
        status,
        job_id=entry.job_id,
        charge_micro_usd=charge_micro_usd,
        runtime_s=runtime_s,
        output_url=entry.output_url,
        media_type=entry.media_type if status is CellStatus.COMPLETED else None,
        error_code=code,
        problem=problem,
    )


def is_final(entry: Entry | None) -> bool:
    """Return whether a cell's job has ended and will not be charged any more."""
    if entry is None or entry.job_id is None:
        return False
    if entry.status == JobStatus.FAILED:
        return not was_rejected(entry)
    is_charged = entry.charge_micro_usd is not None
    return entry.status == JobStatus.COMPLETED and is_charged


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Args:
        cells: The number of cells in the plan.
        owned: Cells with an existing job, which cost nothing now.
        sent: Cells sent by this run.
        running: Cells with a job that has not ended.
        completed: Cells with a result.
        failed: Cells whose job failed.
        unsent: Cells not sent: the budget is used up, or the run was stopped.
        invalid: Cells that are never sent.
        spent_micro_usd: Settled charges of the sweep, over all its runs.
        held_micro_usd: Amounts held for its jobs in flight.
        budget_micro_usd: The limit over all runs; None for no limit.
        eta_s: Estimated seconds until all cells have ended; None if unknown.
        is_done: Whether the run has ended.
        trouble: Why nothing is being sent, as a sentence; None otherwise.
    """

    cells: int
    owned: int
    sent: int
    running: int
    completed: int
    failed: int
    unsent: int
    invalid: int
    spent_micro_usd: int
    held_micro_usd: int
    budget_micro_usd: int | None
    eta_s: float | None
    is_done: bool
    trouble: str | None

    @property
    def text(self) -> str:
        """Format the progress as one line of text."""
        parts = [f"{self.completed:,} of {self.cells - self.invalid:,} cells completed"]
        counts = {
            "running": self.running,
            "failed": self.failed,
            "unsent": self.unsent,
            "invalid": self.invalid,
        }
        parts += [f"{count:,} {name}" for name, count in counts.items() if count]
        spent = f"{format_usd(self.spent_micro_usd)} spent"
        if self.budget_micro_usd is not None:
            spent += f" of {format_usd(self.budget_micro_usd)}"
        parts.append(spent)
        if self.held_micro_usd:
            parts.append(f"{format_usd(self.held_micro_usd)} held")
        return ", ".join(parts)
