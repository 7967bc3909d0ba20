"""Every settled charge in the history, with its request."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from mediakit.history import History
from mediakit.spend.days.day_numbers import day_numbers, days_of

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
    from mediakit.history.frames import charges

    found = charges(
        history.database,
        service=service,
        since=None if first is None else midnight(first),
        before=None if last is None else _day_after(last),
        project=project,
        taken=COLUMNS,
    )
    # The history's own columns, which all precede the parameters.
    own = list(found.columns)[: list(found.columns).index("keep") + 1]
    parameters = found.drop(columns=own)
    charge = found["charge_micro_usd"]
    made: dict[str, Any] = {
        "day": days_of(day_numbers(found["settled_at"])),
        "model": _models(found["function"]),
        "charge_micro_usd": charge.to_numpy("int64"),
        "variance_micro_usd": charge - found["estimate_high_micro_usd"],
    }
    columns = {name: made.get(name, found.get(name)) for name in COLUMNS}
    frame = pd_frame(columns, parameters)
    total = int(frame["charge_micro_usd"].sum())
    frame.attrs = {
        "total_micro_usd": total,
        "notes": [],
        "report": _report(first, last),
    }
    return frame


def pd_frame(columns: dict[str, Any], more: pd.DataFrame) -> pd.DataFrame:
    """Make a frame of columns and those of another frame."""
    import pandas as pd

    return pd.DataFrame(columns | {str(name): more[name] for name in more.columns})


def midnight(day: date) -> datetime:
    """Return the instant in UTC at which a day begins."""
    return datetime.combine(day, time(), UTC)


def _day_after(day: date) -> datetime | None:
    return None if day == date.max else midnight(day + timedelta(days=1))


def _models(functions: pd.Series) -> pd.Categorical:
    """Return `vendor/model` of each path `vendor/model/function`."""
    import numpy as np
    import pandas as pd

    paths = functions.cat.categories
    names = [path.rpartition("/")[0] for path in paths]
    codes, models = pd.factorize(np.array(names, dtype="object"), sort=True)
    places = np.array([*codes, -1], dtype="int64")[functions.cat.codes.to_numpy()]
    return pd.Categorical.from_codes(places, categories=pd.Index(models, dtype="str"))


def _report(first: date | None, last: date | None) -> dict[str, str]:
    ends = {"start_date": first, "end_date": last}
    return {name: day.isoformat() for name, day in ends.items() if day is not None}
