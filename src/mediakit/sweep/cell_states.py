"""The state of each cell of a run, in columns instead of one object per cell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from sys import intern
from threading import Lock
from typing import Any

import numpy as np

from mediakit.client import JobState
from mediakit.history import Entry
from mediakit.money import format_usd
from mediakit.records import JobStatus

UNKNOWN = -1
TEXTS = ("job_id", "problem", "output_url", "media_type", "error_code")
Mask = np.ndarray[Any, np.dtype[np.bool_]]
ERASED = "Its media was erased."


class CellStatus(IntEnum):
    """The status of a cell; the lowercase names are the categories of the frame."""

    PLANNED = 0
    """The run has not reached it yet."""
    INVALID = 1
    """It is never sent; its `problem` in the plan is the reason."""
    UNSENT = 2
    """The run did not send it: the budget is used up, or the run was stopped."""
    QUEUED = 3
    RUNNING = 4
    COMPLETED = 5
    FAILED = 6


OPEN = (CellStatus.QUEUED, CellStatus.RUNNING)
STATUS_NAMES = tuple(status.name.lower() for status in CellStatus)
_OF_JOBS = {
    JobStatus.QUEUED: CellStatus.QUEUED,
    JobStatus.RUNNING: CellStatus.RUNNING,
    JobStatus.COMPLETED: CellStatus.COMPLETED,
    JobStatus.FAILED: CellStatus.FAILED,
}


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
        """Format the progress as one line for people."""
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


@dataclass(frozen=True)
class Columns:
    """A snapshot of the cells.

    Args:
        status: `CellStatus` codes.
        charge_micro_usd: Settled charges; -1 if unknown.
        runtime_s: Seconds from submission to end; NaN if unknown.
        texts: Job ids, problems and so on, by cell; cells without one are omitted.
    """

    status: np.ndarray[Any, np.dtype[np.int8]]
    charge_micro_usd: np.ndarray[Any, np.dtype[np.int64]]
    runtime_s: np.ndarray[Any, np.dtype[np.float64]]
    texts: dict[str, dict[int, str]]

    def column(self, name: str) -> list[str | None]:
        """Return the texts with this name, one per cell."""
        values: list[str | None] = [None] * len(self.status)
        for cell, text in self.texts[name].items():
            values[cell] = text
        return values


class Cells:
    """The cells of one run; written on the I/O thread, read on any thread.

    Args:
        valid: Which cells may be sent.
    """

    def __init__(self, valid: Mask) -> None:
        count = len(valid)
        status = np.zeros(count, np.int8)
        status[~valid] = CellStatus.INVALID
        charges = np.full(count, UNKNOWN, np.int64)
        texts: dict[str, dict[int, str]] = {name: {} for name in TEXTS}
        self._columns = Columns(status, charges, np.full(count, np.nan), texts)
        self._lock = Lock()
        self.counts: list[int] = self._counted()

    def _counted(self) -> list[int]:
        counts = np.bincount(self._columns.status, minlength=len(CellStatus))
        return [int(count) for count in counts]

    def __len__(self) -> int:
        return len(self._columns.status)

    def copied(self) -> Columns:
        """Return a snapshot of the cells."""
        now = self._columns
        with self._lock:
            return Columns(
                now.status.copy(),
                now.charge_micro_usd.copy(),
                now.runtime_s.copy(),
                {name: dict(texts) for name, texts in now.texts.items()},
            )

    def status(self, cell: int) -> CellStatus:
        """Return the status of a cell."""
        return CellStatus(int(self._columns.status[cell]))

    def text(self, name: str, cell: int) -> str | None:
        """Return a text of a cell, such as its job id; None if it has none."""
        return self._columns.texts[name].get(cell)

    def cells_in(self, *statuses: CellStatus) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the cells with one of these statuses, in order."""
        return np.flatnonzero(np.isin(self._columns.status, statuses))

    def job_ids(self) -> dict[int, str]:
        """Return the job id of each cell that has a job."""
        with self._lock:
            return dict(self._columns.texts["job_id"])

    # -- writing ------------------------------------------------------------------

    def record_state(self, cell: int, state: JobState) -> None:
        """Record the state of a cell's job."""
        record = state.record
        status = _OF_JOBS[record.status]
        texts = {"job_id": record.id}
        if record.output is not None and record.output.file is not None:
            texts["output_url"] = record.output.file.url
        if status is CellStatus.COMPLETED:
            texts["media_type"] = state.media_type
        if record.error is not None and status is CellStatus.FAILED:
            texts["error_code"] = record.error.code
            texts["problem"] = failure_text(record.error.code, record.error.message)
        elif status is CellStatus.FAILED:
            texts["error_code"] = "provider_error"
        runtime_s = np.nan
        if state.submitted_at is not None and state.finished_at is not None:
            runtime_s = (state.finished_at - state.submitted_at).total_seconds()
        self._write(cell, status, state.charge_micro_usd, runtime_s, texts)

    def record_entry(self, cell: int, entry: Entry) -> None:
        """Record a cell whose job ended before this run."""
        status = _OF_JOBS[entry.status or JobStatus.QUEUED]
        texts = {"job_id": entry.job_id or ""}
        if entry.output_url is not None:
            texts["output_url"] = entry.output_url
        if status is CellStatus.COMPLETED and entry.media_type is not None:
            texts["media_type"] = entry.media_type
        if entry.deleted_at is not None or entry.gone_at is not None:
            texts["problem"] = ERASED
        if status is CellStatus.FAILED:
            texts["error_code"] = entry.error_code or "provider_error"
            texts["problem"] = failure_text(
                texts["error_code"], entry.error_message or ""
            )
        runtime_s = np.nan
        if entry.submitted_at is not None and entry.finished_at is not None:
            runtime_s = (entry.finished_at - entry.submitted_at).total_seconds()
        self._write(cell, status, entry.charge_micro_usd, runtime_s, texts)

    def record_problem(
        self,
        cell: int,
        status: CellStatus,
        problem: str,
        *,
        job_id: str | None = None,
    ) -> None:
        """Record why a cell has no result."""
        texts = {"problem": problem}
        if job_id is not None:
            texts["job_id"] = job_id
        self._write(cell, status, None, np.nan, texts)

    def set_status(
        self,
        cells: np.ndarray[Any, np.dtype[np.int64]],
        status: CellStatus,
        problem: str | None = None,
    ) -> None:
        """Set the status of many cells, and their problem if one is given."""
        with self._lock:
            self._columns.status[cells] = status
            self.counts = self._counted()
            problems = self._columns.texts["problem"]
            for cell in cells.tolist():
                if problem is None:
                    problems.pop(cell, None)
                else:
                    problems[cell] = problem

    def _write(
        self,
        cell: int,
        status: CellStatus,
        charge_micro_usd: int | None,
        runtime_s: float,
        texts: dict[str, str],
    ) -> None:
        now = self._columns
        with self._lock:
            self.counts[now.status[cell]] -= 1
            self.counts[status] += 1
            now.status[cell] = status
            charge = UNKNOWN if charge_micro_usd is None else charge_micro_usd
            now.charge_micro_usd[cell] = charge
            now.runtime_s[cell] = runtime_s
            for name, by_cell in now.texts.items():
                text = texts.get(name)
                if text is None:
                    by_cell.pop(cell, None)
                elif name in ("media_type", "error_code"):
                    by_cell[cell] = intern(str(text))
                else:
                    by_cell[cell] = text


def failure_text(code: str, message: str) -> str:
    """Explain why a job failed and what to do."""
    said = message.rstrip(".")
    return (
        f"It failed ({code}){f': {said}' if said else ''}. Failed jobs are not "
        "charged. Call results.retry() to submit it again."
    )
