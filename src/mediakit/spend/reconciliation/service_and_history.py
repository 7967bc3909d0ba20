"""Reads both sides of a comparison from frames: the service and the history.

The service reports sums by day, key and function, and names no job. The history holds
every job, but dates a charge by the instant at which it was first read as settled, and
does not know the id of its own API key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from mediakit.history import EntryState
from mediakit.rates import EstimateKind
from mediakit.records import JobStatus

if TYPE_CHECKING:
    import pandas as pd

CHARGE = "charge_micro_usd"
RESTATED = "restated_charge_micro_usd"
NO_KEY = "not named"
# A request whose response was never read may or may not have made a job.
UNANSWERED_DAYS = 2
WHOLE_SLASHES = 2  # vendor/model/function


@dataclass
class Spent:
    """What the service reports for one cell: micro-USD, and jobs if it counts them."""

    micro_usd: int = 0
    jobs: int | None = 0

    def add(self, micro_usd: int, jobs: int | None) -> None:
        """Add a row to the cell."""
        self.micro_usd += micro_usd
        unknown = jobs is None or self.jobs is None
        self.jobs = None if unknown else (self.jobs or 0) + (jobs or 0)


Daily = dict[tuple[date, str, str], Spent]
"""What the service reports by day, API key and function path."""


@dataclass(frozen=True)
class Charge:
    """A settled charge of the history.

    Args:
        job_id: The job.
        path: The function, `vendor/model/function`.
        day: The UTC day on which the charge was first read as settled.
        sure_from: The day on which the job is known to have existed; None if unknown.
        micro_usd: The charge.
        restated_micro_usd: The charge that the service reports now; None if unchanged.
        estimate_micro_usd: The estimate, where it was exact and the job completed.
        is_counted: Whether the service counts the job: only completed jobs cost.
    """

    job_id: str
    path: str
    day: date
    sure_from: date | None
    micro_usd: int
    restated_micro_usd: int | None
    estimate_micro_usd: int | None
    is_counted: bool

    @property
    def is_of_unknown_function(self) -> bool:
        """Tell whether it was rebuilt from its ID alone, which has no function."""
        return "/" not in self.path

    @property
    def is_read_late(self) -> bool:
        """Tell whether it was read too late to indicate the service's day."""
        return self.sure_from is None or self.day - self.sure_from > timedelta(days=1)

    @property
    def changed_micro_usd(self) -> int:
        """Return the charge minus the expected amount; 0 if they are equal."""
        latest = self.micro_usd
        if self.restated_micro_usd is not None:
            latest = self.restated_micro_usd
        promised = self.estimate_micro_usd
        return latest - (self.micro_usd if promised is None else promised)


@dataclass(frozen=True)
class OpenJob:
    """A job, or an unanswered request, whose charge is not read yet.

    Args:
        name: The job ID; the idempotency key for an unanswered request.
        path: The function, `vendor/model/function`.
        day: The UTC day on which it ended, or was submitted.
        first: The first day on which it can have been charged.
        last: The last such day.
        low_micro_usd: The least that it may cost.
        high_micro_usd: The most that it may cost; None without a bound.
        has_ended: Whether it was seen to complete.
    """

    name: str
    path: str
    day: date
    first: date
    last: date
    low_micro_usd: int
    high_micro_usd: int | None
    has_ended: bool


@dataclass(frozen=True)
class Ours:
    """The history's side of a comparison.

    Args:
        charges: Each job once.
        twice: Duplicate rows of a job.
        open_jobs: Jobs that have or may have ended, whose charge is not read yet.
    """

    charges: tuple[Charge, ...]
    twice: tuple[Charge, ...]
    open_jobs: tuple[OpenJob, ...]


def path_of(row: dict[str, Any]) -> str:
    """Return the function path of a service row, as far as the row states it."""
    model, function = row.get("model"), row.get("function")
    path = row.get("model_id")
    if not path and function and "/" in function:
        path = function
    return str(path or "/".join(filter(None, (model, function))) or "not named")


def plain_rows(frame: pd.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return rows as dictionaries of plain values, missing ones as None."""
    columns = []
    for name in names:
        if name not in frame:
            columns.append([None] * len(frame))
            continue
        column = frame[name]
        values = column.astype("object")
        columns.append(values.where(column.notna().to_numpy(), None).tolist())
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def whole_names(paths: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Find the function that a shorter name means, where only one ends in it.

    Args:
        paths: The names in the reports and in the history.
        known: All functions that are bound.
    """
    paths, known = set(paths), set(known)
    found = {}
    for path in (path for path in paths - known if path.count("/") < WHOLE_SLASHES):
        for among in (paths, known):
            longer = [other for other in among if other.endswith(f"/{path}")]
            if len(longer) == 1:
                found[path] = longer[0]
                break
    return found


def daily_side(frame: pd.DataFrame) -> Daily:
    """Sum a daily frame by day, key and function; rows without a day are left out."""
    names = ("day", "api_key_id", "model_id", "model", "function", "jobs", CHARGE)
    cells: Daily = defaultdict(Spent)
    for row in plain_rows(frame, names):
        if row["day"] is None or row[CHARGE] is None:
            continue
        key = str(row["api_key_id"] or NO_KEY)
        jobs = None if row["jobs"] is None else int(row["jobs"])
        cells[row["day"].date(), key, path_of(row)].add(int(row[CHARGE]), jobs)
    return dict(cells)


def report_side(frame: pd.DataFrame) -> dict[str, int]:
    """Sum a monthly frame, or one of the CSV, by function; micro-USD."""
    sums: dict[str, int] = defaultdict(int)
    for row in plain_rows(frame, ("model_id", "model", "function", CHARGE)):
        if row[CHARGE] is not None:
            sums[path_of(row)] += int(row[CHARGE])
    return dict(sums)


_SIDE = (
    "job_id",
    "key",
    "function",
    "state",
    "status",
    "estimate_kind",
    "estimate_low_micro_usd",
    "estimate_high_micro_usd",
    CHARGE,
    RESTATED,
    "created_at",
    "submitted_at",
    "finished_at",
    "settled_at",
)


def history_side(frame: pd.DataFrame, first: date, last: date) -> Ours:
    """Read the part of the history that can affect the days from first to last.

    Args:
        frame: As `client.history.frame()` returns it.
        first: The first day.
        last: The last day, included.
    """
    import pandas as pd

    # Only rows of these days become Python objects: a history can have a million.
    floor = pd.Timestamp(first, tz="UTC")
    ceiling = pd.Timestamp(last, tz="UTC") + pd.Timedelta(days=1)
    began = frame["submitted_at"].fillna(frame["created_at"])
    sure = frame["submitted_at"].fillna(frame["finished_at"])
    may_be = sure.isna() | (sure < ceiling)
    soon = frame["settled_at"] < ceiling + pd.Timedelta(days=1)
    settled = (frame["settled_at"] >= floor) & (soon | may_be)
    is_open = frame["settled_at"].isna() & (began < ceiling)
    rows = plain_rows(frame[settled | is_open], _SIDE)
    charges = [_charge(row) for row in rows if row["settled_at"] is not None]
    kept, twice = _each_once(charges)
    waiting = (_open_job(row) for row in rows if row["settled_at"] is None)
    open_jobs = tuple(job for job in waiting if job is not None and job.last >= first)
    return Ours(kept, twice, open_jobs)


def _each_once(charges: list[Charge]) -> tuple[tuple[Charge, ...], tuple[Charge, ...]]:
    kept: dict[str, Charge] = {}
    twice: list[Charge] = []
    for charge in sorted(charges, key=lambda charge: (charge.day, charge.job_id)):
        if charge.job_id in kept:
            twice.append(charge)
        else:
            kept[charge.job_id] = charge
    return tuple(kept.values()), tuple(twice)


def _charge(row: dict[str, Any]) -> Charge:
    is_counted = row["status"] != JobStatus.FAILED
    is_exact = row["estimate_kind"] == EstimateKind.EXACT and is_counted
    restated = row[RESTATED]
    known_from = row["submitted_at"] or row["finished_at"]
    return Charge(
        job_id=str(row["job_id"] or row["key"]),
        path=str(row["function"]),
        day=row["settled_at"].date(),
        sure_from=known_from.date() if known_from else None,
        micro_usd=int(row[CHARGE]),
        restated_micro_usd=None if restated is None else int(restated),
        estimate_micro_usd=_whole(row["estimate_high_micro_usd"]) if is_exact else None,
        is_counted=is_counted,
    )


def _open_job(row: dict[str, Any]) -> OpenJob | None:
    """Read an entry without a charge; None if it cannot cost anything."""
    if row["state"] == EntryState.REFUSED or row["status"] == JobStatus.FAILED:
        return None
    began: datetime = row["submitted_at"] or row["created_at"]
    is_unanswered = row["state"] == EntryState.UNANSWERED
    low, high = _bounds(row)
    latest = timedelta(days=UNANSWERED_DAYS)
    return OpenJob(
        name=str(row["job_id"] or row["key"]),
        path=str(row["function"]),
        day=(row["finished_at"] or began).date(),
        first=began.date() - timedelta(days=1),
        last=began.date() + latest if is_unanswered else date.max,
        low_micro_usd=low,
        high_micro_usd=high,
        has_ended=row["state"] == EntryState.TERMINAL,
    )


def _bounds(row: dict[str, Any]) -> tuple[int, int | None]:
    low = _whole(row["estimate_low_micro_usd"]) or 0
    high = _whole(row["estimate_high_micro_usd"])
    if row["estimate_kind"] == EstimateKind.NOMINAL:
        # Charged by the tokens that the model reports: half to double the nominal.
        return low // 2, None if high is None else 2 * high
    return low, high


def _whole(value: object) -> int | None:
    return None if value is None else int(str(value))
