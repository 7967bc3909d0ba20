"""Charges compared with estimates: which rates are outdated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from mediakit.spend.charges import rate_audit
from tests.spend.bills import Job, entry, history_of
from tests.support.frames import types

R1 = "acme/sora/reference-to-video"
FIRST = datetime(2026, 10, 1, 12, tzinfo=UTC)


def job(number: int, micro_usd: int, estimate: int | None, **more: Any) -> Job:
    settled_at = FIRST + timedelta(days=number)
    name = f"media_{number}"
    return Job(name, R1, micro_usd, settled_at, estimate_micro_usd=estimate, **more)


def audit(*rows: dict[str, Any]) -> dict[str, Any]:
    (row,) = rate_audit(history_of(rows)).to_dict("records")
    return {str(name): value for name, value in row.items()}


def day(number: int) -> pd.Timestamp:
    return pd.Timestamp(2026, 10, number)


@pytest.mark.spec("8")
def test_an_exact_rate_is_outdated_from_the_day_it_stopped_matching_charges() -> None:
    row = audit(
        entry(job(1, 130, 100)),
        entry(job(2, 100, 100)),
        entry(job(3, 150, 100)),
        entry(job(4, 0, 100), status="failed"),
    )
    assert (row["jobs"], row["wrong_jobs"]) == (3, 2)
    assert row["difference_micro_usd"] == 80
    assert (row["first_wrong_day"], row["out_of_date_since"]) == (day(2), day(4))


def test_a_restated_charge_counts_and_a_job_counts_once() -> None:
    one = job(1, 100, 100, restated_micro_usd=90)
    row = audit(entry(one), entry(one, account="b", key="again"))
    assert (row["jobs"], row["charge_micro_usd"], row["wrong_jobs"]) == (1, 90, 1)


def test_nominal_estimates_are_never_wrong_but_may_be_corrected() -> None:
    amounts = [(1, 2**53 + 1, 2**53), (2, 2**52, 2**53)]
    rows = [entry(job(*each, estimate_kind="nominal")) for each in amounts]
    row = audit(*rows)
    assert row["charge_micro_usd"] == 2**53 + 1 + 2**52
    assert row["difference_micro_usd"] == 1 - 2**52
    assert row["charge_by_estimate"] == pytest.approx(0.75)
    assert row["wrong_jobs"] == 0


def test_a_job_above_its_upper_bound_is_wrong() -> None:
    bounded = {"estimate_kind": "upper_bound"}
    row = audit(entry(job(1, 30, 100, **bounded)), entry(job(2, 130, 100, **bounded)))
    assert row["wrong_jobs"] == 1
    assert row["charge_by_estimate"] == 0.8
    assert row["first_wrong_day"] == day(3)


def test_a_job_without_a_known_price_is_not_estimated_as_free() -> None:
    row = audit(entry(job(1, 30, None), estimate_high_micro_usd=None))
    assert row["estimate_kind"] == "unknown"
    assert pd.isna(row["estimate_micro_usd"])
    assert pd.isna(row["charge_by_estimate"])


def test_an_audit_of_nothing_has_the_same_columns() -> None:
    empty = rate_audit(history_of([]))
    assert empty.empty
    assert types(empty) == {
        "function": "str",
        "kind": "str",
        "estimate_kind": "str",
        "jobs": "int64",
        "charge_micro_usd": "int64",
        "estimate_micro_usd": "Int64",
        "difference_micro_usd": "Int64",
        "charge_by_estimate": "float64",
        "wrong_jobs": "int64",
        "first_wrong_day": "datetime64[us]",
        "out_of_date_since": "datetime64[us]",
    }
    full = rate_audit(history_of([entry(job(1, 100, 100))]))
    assert types(full) == types(empty)
