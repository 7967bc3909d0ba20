"""What was charged against what was estimated: which rates are not true any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.money import divide_half_up
from mediakit.spend.rate_audit import rate_audit
from tests.spend.reconciliation.bills import Job, entry, history_of

R1 = "acme/sora/reference-to-video"
FIRST = datetime(2026, 10, 1, 12, tzinfo=UTC)


def job(number: int, micro_usd: int, estimate: int | None, **more: Any) -> Job:
    settled_at = FIRST + timedelta(days=number)
    name = f"media_{number}"
    return Job(name, R1, micro_usd, settled_at, estimate_micro_usd=estimate, **more)


def audit(*rows: dict[str, Any]) -> dict[str, Any]:
    frame = rate_audit(history_of(rows))
    assert len(frame) == 1
    return {str(name): value for name, value in frame.iloc[0].items()}


@pytest.mark.spec("8")
def test_an_exact_rate_is_wrong_from_the_first_day_that_it_did_not_hold() -> None:
    row = audit(
        entry(job(3, 150, 100)),
        entry(job(2, 130, 100)),
        entry(job(1, 100, 100)),
        entry(job(4, 0, 100), status="failed"),
    )
    assert (row["jobs"], row["wrong_jobs"]) == (3, 2)
    assert row["difference_micro_usd"] == 80
    assert row["first_wrong_day"] == pd.Timestamp("2026-10-03", tz="UTC")
    assert row["text"] == (
        "2 of 3 jobs did not cost the exact estimate, $0.00008 more in total, first on "
        "2026-10-03. The rate is out of date since 2026-10-03."
    )


def test_an_exact_rate_that_holds_is_not_wrong() -> None:
    row = audit(entry(job(1, 100, 100)))
    assert row["wrong_jobs"] == row["difference_micro_usd"] == 0
    assert pd.isna(row["first_wrong_day"])
    assert row["text"] == "1 job cost exactly what was estimated."


def test_a_restated_charge_counts_and_a_job_counts_once() -> None:
    one = job(1, 100, 100, restated_micro_usd=90)
    row = audit(entry(one), entry(one, account="b", key="again"))
    assert (row["jobs"], row["charge_micro_usd"], row["wrong_jobs"]) == (1, 90, 1)


@given(
    amounts=st.lists(
        st.tuples(st.integers(0, 10**12), st.integers(1, 10**12)), min_size=1
    )
)
def test_a_better_nominal_estimate_is_whole_parts_per_million(
    amounts: list[tuple[int, int]],
) -> None:
    rows = [
        entry(job(number, charge, estimate, estimate_kind="nominal"))
        for number, (charge, estimate) in enumerate(amounts)
    ]
    row = audit(*rows)
    charge, estimate = (sum(column) for column in zip(*amounts, strict=True))
    ppm = divide_half_up(charge * 1_000_000, estimate)
    assert row["better_estimate_ppm"] == ppm
    assert row["difference_micro_usd"] == charge - estimate
    assert row["wrong_jobs"] == 0
    tenths = f"{divide_half_up(ppm, 1_000):02}"
    said = f"expect {int(tenths[:-1]):,}.{tenths[-1]} % of the nominal estimate"
    exact = "cost exactly their nominal estimates"
    assert (exact if charge == estimate else said) in row["text"]


def test_an_upper_bound_says_how_much_of_it_was_used() -> None:
    bounded = {"estimate_kind": "upper_bound"}
    row = audit(entry(job(1, 30, 100, **bounded)), entry(job(2, 31, 100, **bounded)))
    assert row["text"] == "2 jobs used 30.5 % of their upper bounds; none cost more."
    assert pd.isna(row["better_estimate_ppm"])
    row = audit(entry(job(1, 130, 100, **bounded)))
    assert row["wrong_jobs"] == 1
    assert "1 cost more than its bound, first on 2026-10-02." in row["text"]


def test_a_job_without_a_known_price_is_not_estimated_as_free() -> None:
    row = audit(entry(job(1, 30, None), estimate_high_micro_usd=None))
    assert row["estimate_kind"] == "unknown"
    assert pd.isna(row["estimate_micro_usd"])
    assert row["text"] == "1 job without a known price cost $0.00003."


def test_an_audit_of_nothing_has_the_same_columns() -> None:
    empty = rate_audit(history_of([]))
    full = rate_audit(history_of([entry(job(1, 100, 100))]))
    assert empty.empty
    assert [str(kind) for kind in empty.dtypes] == [str(kind) for kind in full.dtypes]
    assert list(empty) == list(full)


def test_lines_of_the_price_list_are_distinguished() -> None:
    lines = {"of media_1": "output, $0.068 per s"}
    rows = [entry(job(1, 100, 100)), entry(job(2, 150, 100))]
    frame = rate_audit(history_of(rows), lines)
    by_line = dict(zip(frame["line"].fillna("none"), frame["wrong_jobs"], strict=True))
    assert by_line == {"output, $0.068 per s": 0, "none": 1}
