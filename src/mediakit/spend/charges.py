"""Every settled charge in the history, with its request."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from mediakit.history import History
from mediakit.spend.days.function_names import dollars

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "settled_at",
    "day",
    "job_id",
    "function",
    "kind",
    "model",
    "prompt",
    "project",
    "budget",
    "sweep",
    "take",
    "attempt",
    "estimate_kind",
    "estimate_low_micro_usd",
    "estimate_high_micro_usd",
    "charge_micro_usd",
    "charge_usd",
    "variance_micro_usd",
    "runtime_s",
    "rating",
    "keep",
    "created_at",
    "submitted_at",
    "finished_at",
    "account",
    "status",
)


def charges_frame(
    history: History,
    service: str,
    first: date | None = None,
    last: date | None = None,
    project: str | None = None,
) -> pd.DataFrame:
    """Return the settled charges of some days; see `AsyncSpend.charges`.

    Args:
        history: The request history.
        service: The service.
        first: The first day of settlement in UTC; None for all before the last.
        last: The last day, included; None for all after the first.
        project: Only of this project.
    """
    from mediakit.history.frames import TEXT, charges

    found = charges(
        history.database,
        service=service,
        since=None if first is None else midnight(first),
        before=None if last is None else _day_after(last),
        project=project,
        taken=COLUMNS,
    )
    found = found.astype(dict.fromkeys(found.select_dtypes("category"), TEXT))
    charge = found["charge_micro_usd"]
    found = found.assign(
        day=found["settled_at"].dt.floor("D"),
        model=found["function"].str.extract("^(.*)/", expand=False),
        charge_micro_usd=charge.astype("int64"),
        charge_usd=dollars(charge),
        variance_micro_usd=charge - found["estimate_high_micro_usd"],
    )
    # The history's own columns all precede the parameters.
    parameters = list(found.columns)[list(found.columns).index("keep") + 1 :]
    parameters = [name for name in parameters if name not in COLUMNS]
    frame = found[[*COLUMNS, *parameters]]
    total = int(frame["charge_micro_usd"].sum())
    frame.attrs = {
        "total_micro_usd": total,
        "notes": [],
        "report": _report(first, last),
    }
    return frame


def midnight(day: date) -> datetime:
    """Return the instant in UTC at which a day begins."""
    return datetime.combine(day, time(), UTC)


def _day_after(day: date) -> datetime | None:
    return None if day == date.max else midnight(day + timedelta(days=1))


def _report(first: date | None, last: date | None) -> dict[str, str]:
    ends = {"start_date": first, "end_date": last}
    return {name: day.isoformat() for name, day in ends.items() if day is not None}
