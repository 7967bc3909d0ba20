"""The settled charges of the history: as a frame, by project, against estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pandas as pd

from mediakit.api_models import JobStatus
from mediakit.estimates import EstimateKind
from mediakit.history import History
from mediakit.history.frames import TEXT, charges, text_array
from mediakit.spend.column_types import CHARGE, dollars, plain_rows, with_column
from mediakit.spend.function_names import path_of

AUDITED_BY = ["function", "kind", "estimate_kind"]
SUMS = ["jobs", "charge_micro_usd", "estimate_micro_usd", "wrong_jobs"]
DAYS = ["first_wrong_day", "out_of_date_since"]
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
    """Return the settled charges of some days; see `AsyncSpend.charges`."""
    rows = charges(
        history.database,
        service=service,
        since=None if first is None else midnight(first),
        before=None if last is None else _day_after(last),
        project=project,
        used_names=COLUMNS,
    )
    rows = rows.astype(dict.fromkeys(rows.select_dtypes("category"), TEXT))
    rows = without_zones(rows)
    charge = rows[CHARGE]
    rows = rows.assign(
        day=rows["settled_at"].dt.floor("D"),
        model=rows["function"].str.extract("^(.*)/", expand=False),
        charge_micro_usd=charge.astype("int64"),
        charge_usd=dollars(charge),
        variance_micro_usd=charge - rows["estimate_high_micro_usd"],
    )
    # The history's own columns all precede the parameters.
    parameters = list(rows.columns)[list(rows.columns).index("keep") + 1 :]
    parameters = [name for name in parameters if name not in COLUMNS]
    frame = rows[[*COLUMNS, *parameters]]
    total = int(frame["charge_micro_usd"].sum())
    frame.attrs = {"total_micro_usd": total, "report": _report(first, last)}
    return frame


def without_zones(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with instants as naive UTC, because Excel has no zones."""
    zoned = {
        str(n): frame[n].dt.tz_localize(None) for n in frame.select_dtypes("datetimetz")
    }
    return frame.assign(**zoned)


def midnight(day: date) -> datetime:
    """Return the start of a UTC day."""
    return datetime.combine(day, time(), UTC)


def _day_after(day: date) -> datetime | None:
    return None if day == date.max else midnight(day + timedelta(days=1))


def _report(first: date | None, last: date | None) -> dict[str, str]:
    ends = {"start_date": first, "end_date": last}
    return {name: day.isoformat() for name, day in ends.items() if day is not None}


# -- by project ------------------------------------------------------------------------


def with_projects(frame: pd.DataFrame, charges: pd.DataFrame) -> pd.DataFrame:
    """Divide each row among projects; the sums do not change.

    A job counts on the first day, from its end to when its settlement was read, on
    which the service's charges for its function can include it. Charges that are not in
    the history stay in a row without a project. So do charges of a function that
    several keys used on a day, because the history does not know which key a project
    used.
    """
    names = [name for name in ("model_id", "model", "function") if name in frame]
    paths = map(path_of, plain_rows(frame[names]))
    places = list(zip(paths, _day_numbers(frame["day"]), strict=True))
    rows_n = Counter(place for place in places if place[0] is not None)
    row_of = {place: row for row, place in enumerate(places) if rows_n[place] == 1}
    jobs, micro_usd = _whole(frame["jobs"]), _whole(frame[CHARGE])
    shares: dict[tuple[int, str], tuple[int, int]] = {}
    for path, project, charge, first, last in _jobs(charges):
        for day in range(first, last + 1):
            row = row_of.get((path, day), -1)
            left = micro_usd[row] if row >= 0 else None
            if left is None or left < charge or jobs[row] == 0:
                continue
            micro_usd[row] = left - charge
            jobs_left = jobs[row]
            jobs[row] = None if jobs_left is None else jobs_left - 1
            share_n, share = shares.get((row, project), (0, 0))
            shares[row, project] = (share_n + 1, share + charge)
            break
    parts: list[tuple[int, str | None, int | None, int | None]] = [
        (row, project, *share) for (row, project), share in shares.items()
    ]
    divided_rows = {row for row, _ in shares}
    parts += [
        (row, None, jobs[row], micro_usd[row])
        for row in range(len(frame))
        if row not in divided_rows or jobs[row] != 0 or micro_usd[row]
    ]
    parts.sort(key=lambda part: part[0])
    divided = frame.iloc[[part[0] for part in parts]].reset_index(drop=True)
    divided["jobs"] = pd.array([part[2] for part in parts], dtype="Int64")
    charged = pd.Series([part[3] for part in parts], dtype="Int64")
    divided[CHARGE] = charged.astype(frame[CHARGE].dtype)
    with_column(divided, "project", text_array([part[1] for part in parts]))
    divided.attrs = dict(frame.attrs)
    return divided


def _jobs(charges: pd.DataFrame) -> Iterator[tuple[str, str, int, int, int]]:
    """Yield path, project, charge, and days of end and settlement, oldest first."""
    is_job = (charges["status"] == "completed") & charges["project"].notna()
    rows = charges[is_job].iloc[::-1]
    yield from zip(
        rows["function"].astype("object"),
        rows["project"].astype("object"),
        rows[CHARGE].tolist(),
        _day_numbers(rows["finished_at"].fillna(rows["settled_at"])),
        _day_numbers(rows["settled_at"]),
        strict=True,
    )


def _day_numbers(instants: pd.Series) -> list[int]:
    days = instants.dt.date.where(instants.notna(), date.min)
    return [day.toordinal() for day in days]


def _whole(column: pd.Series) -> list[int | None]:
    values: list[Any] = column.astype("Int64").tolist()
    return [None if value is pd.NA else int(value) for value in values]


# -- compared with estimates -----------------------------------------------------------


def rate_audit(history: pd.DataFrame) -> pd.DataFrame:
    """Compare charges with estimates; see `AsyncSpend.rates` for the columns.

    Only completed jobs with a known charge count, at the restated charge if the service
    restated it. A job without an upper price has an unknown estimate.
    """
    is_charged = history["charge_micro_usd"].notna()
    jobs = history[is_charged & (history["status"] != JobStatus.FAILED)]
    jobs = jobs[~jobs.duplicated("job_id") | jobs["job_id"].isna()]
    rows = jobs[AUDITED_BY].astype(dict.fromkeys(AUDITED_BY, TEXT))
    estimate = jobs["estimate_high_micro_usd"]
    charge = jobs["restated_charge_micro_usd"].fillna(jobs["charge_micro_usd"])
    kind = rows["estimate_kind"].where(estimate.notna(), EstimateKind.UNKNOWN.value)
    is_unequal = (kind == EstimateKind.EXACT.value) & (charge != estimate)
    is_above = (kind == EstimateKind.UPPER_BOUND.value) & (charge > estimate)
    is_wrong = (is_unequal | is_above).astype("bool")
    rows = rows.assign(
        estimate_kind=kind,
        jobs=pd.Series(1, jobs.index, "Int64"),
        charge_micro_usd=charge,
        estimate_micro_usd=estimate.where(kind != EstimateKind.UNKNOWN.value),
        wrong_jobs=is_wrong.astype("Int64"),
    )
    settled_at = jobs["settled_at"]
    keys = [rows[name] for name in AUDITED_BY]
    right_until = settled_at.where(~is_wrong).groupby(keys, dropna=False)
    # A rate is out of date only if every job since then is wrong.
    is_since = is_wrong & ~(settled_at <= right_until.transform("max"))
    rows["first_wrong_day"] = settled_at.where(is_wrong).dt.floor("D")
    rows["out_of_date_since"] = settled_at.where(is_since).dt.floor("D")
    groups = without_zones(rows).groupby(AUDITED_BY, dropna=False)
    sums, days = groups[SUMS].sum(min_count=1), groups[DAYS].min()
    audit = pd.concat([sums, days], axis=1).reset_index()
    columns = ["jobs", "charge_micro_usd", "wrong_jobs"]
    audit = audit.astype(dict.fromkeys(columns, "int64"))
    charge, estimate = audit["charge_micro_usd"], audit["estimate_micro_usd"]
    audit.insert(6, "difference_micro_usd", charge - estimate)
    ratio = charge / estimate.where(estimate != 0).astype("Float64")
    audit.insert(7, "charge_by_estimate", ratio.astype("float64"))
    return audit
