"""Compares charges with estimates, by function and kind of estimate."""

from __future__ import annotations

import pandas as pd

from mediakit.history.frames import TEXT
from mediakit.rates import EstimateKind
from mediakit.records import JobStatus

BY = ["function", "kind", "estimate_kind"]
SUMS = ["jobs", "charge_micro_usd", "estimate_micro_usd", "wrong_jobs"]
DAYS = ["first_wrong_day", "out_of_date_since"]


def rate_audit(history: pd.DataFrame) -> pd.DataFrame:
    """Compare charges with estimates; see `AsyncSpend.rates` for the columns.

    Args:
        history: As `client.history.frame()` returns it.

    Returns:
        Only completed jobs whose charge is known count, at the restated charge if the
        service restated it. A job without an upper price has an unknown estimate.
    """
    is_charged = history["charge_micro_usd"].notna()
    jobs = history[is_charged & (history["status"] != JobStatus.FAILED)]
    jobs = jobs[~jobs.duplicated("job_id") | jobs["job_id"].isna()]
    rows = jobs[BY].astype(dict.fromkeys(BY, TEXT))
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
    keys = [rows[name] for name in BY]
    right_until = settled_at.where(~is_wrong).groupby(keys, dropna=False)
    # A rate is out of date only if every job since then is wrong.
    is_since = is_wrong & ~(settled_at <= right_until.transform("max"))
    rows["first_wrong_day"] = settled_at.where(is_wrong).dt.floor("D")
    rows["out_of_date_since"] = settled_at.where(is_since).dt.floor("D")
    groups = rows.groupby(BY, dropna=False)
    sums, days = groups[SUMS].sum(min_count=1), groups[DAYS].min()
    audit = pd.concat([sums, days], axis=1).reset_index()
    known = ["jobs", "charge_micro_usd", "wrong_jobs"]
    audit = audit.astype(dict.fromkeys(known, "int64"))
    charge, estimate = audit["charge_micro_usd"], audit["estimate_micro_usd"]
    audit.insert(6, "difference_micro_usd", charge - estimate)
    ratio = charge / estimate.where(estimate != 0).astype("Float64")
    audit.insert(7, "charge_by_estimate", ratio.astype("float64"))
    return audit
