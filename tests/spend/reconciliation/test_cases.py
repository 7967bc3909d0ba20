"""Single months: what the sentence and the notes say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from mediakit.errors import InputError
from mediakit.spend.reconciliation.own_api_keys import own_keys
from mediakit.spend.reconciliation.service_and_history import (
    Charge,
    OpenJob,
    Ours,
    Spent,
)
from tests.spend.reconciliation.bills import (
    PATHS,
    Job,
    bill_of,
    entry,
    reconciled,
)

R1 = next(iter(PATHS))
NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)


def jobs(*amounts: int) -> list[Job]:
    """Return a job a day from 5 October on."""
    return [
        Job(f"media_{n}", R1, amount, NOON + timedelta(days=n))
        for n, amount in enumerate(amounts)
    ]


def test_the_sentence_says_what_is_missing_and_what_to_do() -> None:
    made = jobs(8_000_000, 2_000_000, 134_210_000)
    rows = [entry(made[1]), entry(made[2]), entry(made[1], account="b", key="b")]
    result = reconciled(bill_of(made), rows)
    assert result.text == (
        "$144.21 charged in October 2026; $10.00 is not explained: $8.00 for r1 is "
        "missing here on 2026-10-05 (client.history.rebuild(...) can restore it) "
        "and $2.00 for r1 is counted twice here (media_1)."
    )
    assert repr(result).endswith(f"{result.text}>")
    assert "<table" in result._repr_html_()


def test_all_that_was_rebuilt_on_one_day_is_explained() -> None:
    made = jobs(100, 100, 300, 100, 250)
    late = {"submitted_at": None, "finished_at": None}
    read_at = datetime(2026, 11, 20, tzinfo=UTC)
    rows = [entry(replace(job, read_at=read_at), **late) for job in made]
    result = reconciled(bill_of(made), rows)
    assert result.is_explained
    assert result.history_micro_usd == 850
    rows = [row | {"function": "unknown"} for row in rows]
    assert reconciled(bill_of(made), rows, own_keys=("key_1",)).is_explained


def test_a_balance_that_fell_by_more_than_the_charges_is_named() -> None:
    made = jobs(100)
    bill = bill_of(made)
    closing = bill.monthly_body()["closing_balance_micro_usd"] - 40
    bill = replace(bill, changes={"closing_balance_micro_usd": closing})
    result = reconciled(bill, [entry(job) for job in made])
    assert not result.is_explained
    assert result.text.endswith(
        "$0.00004 is not explained: $0.00004 too much was taken from the balance "
        "(contact the service)."
    )


def test_a_total_that_is_not_the_sum_of_its_rows_is_named() -> None:
    made = jobs(100)
    bill = bill_of(made)
    bill = replace(
        bill, changes={"total_micro_usd": 130, "opening_balance_micro_usd": None}
    )
    result = reconciled(bill, [entry(job) for job in made])
    assert "too much is in the total of the monthly report" in result.text
    (verdict,) = set(result.frame()["verdict"]) - {"match"}
    assert verdict == "missing_here"


def test_a_history_of_nothing_does_not_know_whose_charges_they_are() -> None:
    result = reconciled(bill_of(jobs(100)), [])
    assert result.frame()["verdict"].isna().all()
    assert not result.is_explained
    named = reconciled(bill_of(jobs(100)), [], own_keys=("key_1",))
    assert set(named.frame()["verdict"]) == {"missing_here"}


def test_our_keys_are_found_among_more_than_can_be_enumerated() -> None:
    day = date(2026, 10, 5)
    keys = [f"key_{n:02}" for n in range(20)]
    daily = {(day, key, R1): Spent(3**n, 1) for n, key in enumerate(keys)}
    charges = tuple(
        Charge(f"media_{n}", R1, day, day, 3**n, None, None, is_counted=True)
        for n in (2, 11, 17)
    )
    assert own_keys(daily, Ours(charges, (), ())) == ("key_02", "key_11", "key_17")


def test_a_key_is_inferred_from_half_of_its_spend_and_from_no_less() -> None:
    day = date(2026, 10, 5)
    job = OpenJob("media_1", R1, day, day, day, 50, 200, has_ended=True)
    for spent_micro_usd, found in ((100, ("key_1",)), (101, ())):
        daily = {(day, "key_1", R1): Spent(spent_micro_usd, 1)}
        assert own_keys(daily, Ours((), (), (job,))) == found


def test_a_frame_by_anything_else_is_refused() -> None:
    with pytest.raises(InputError, match="by"):
        reconciled(bill_of([]), []).frame("week")  # type: ignore[arg-type]
