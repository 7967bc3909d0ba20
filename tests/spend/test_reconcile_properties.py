"""In any month, the compared amounts add up, and each fault has its verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.spend.reconcile import Reconciliation
from tests.spend.bills import (
    FIRST,
    LAST,
    OWN,
    PATHS,
    Bill,
    Job,
    bill_of,
    entry,
    reconciled,
    unread,
)
from tests.support.soak import trials

KEYS = (OWN, "key_2", "key_3")
# Inside the month, and so far from its edge that no clock can move it out.
INSIDE = st.integers(3 * 3600, 31 * 86_400 - 3 * 3600).map(
    lambda second: datetime(2026, 10, 1, tzinfo=UTC) + timedelta(seconds=second)
)


@st.composite
def jobs(draw: st.DrawFn, keys: tuple[str, ...] = KEYS) -> list[Job]:
    count = draw(st.integers(1, 20))
    return [
        Job(
            id=f"media_{number:02}",
            path=draw(st.sampled_from(list(PATHS))),
            micro_usd=draw(st.integers(-5, 10**9)),
            settled_at=draw(INSIDE),
            key=draw(st.sampled_from(keys)),
        )
        for number in range(count)
    ]


def mine(all_jobs: list[Job]) -> list[Job]:
    return [job for job in all_jobs if job.key == OWN]


def sums_of(rows: list[dict[str, Any]]) -> int:
    return sum(row["charge_micro_usd"] for row in rows)


def first_amounts(text: str) -> list[int]:
    """Return the charge, and the first amount of each phrase after it, micro-USD."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    head, _, phrases = text.partition(": ")
    found = [re.search(r"-?\$[\d,.]*\d", part) for part in (head, *phrases.split("; "))]
    amounts = [match[0].replace("$", "").replace(",", "") for match in found if match]
    return [int(Decimal(amount) * 1_000_000) for amount in amounts]


def check_sums(result: Reconciliation, bill: Bill) -> None:
    """Check each column, and that the sentence adds up to the charge."""
    frame = result.frame()
    columns = {
        name: int(frame[f"{name}_micro_usd"].sum())
        for name in ("history", "daily", "monthly", "difference")
    }
    assert result.charged_micro_usd == bill.total_micro_usd == columns["monthly"]
    assert columns["daily"] == sums_of(bill.daily)
    assert columns["history"] == result.history_micro_usd
    assert columns["history"] + columns["difference"] == result.charged_micro_usd
    charged, *parts = first_amounts(result.text) or [0]
    assert charged == result.charged_micro_usd
    assert sum(parts) == charged if parts else result.is_explained


@pytest.mark.spec("4.19")
@settings(max_examples=trials(15, soak=60))
@given(made=jobs(keys=(OWN,)), own_keys=st.sampled_from([(OWN,), None]))
def test_a_month_whose_sides_agree_is_explained_to_the_micro_dollar(
    made: list[Job], own_keys: tuple[str, ...] | None
) -> None:
    bill = bill_of(made)
    rows = [entry(job) for job in made]
    result = reconciled(bill, rows, own_keys)
    assert result.is_explained, result.text
    assert set(result.frame()["verdict"]) <= {"equal"}
    assert result.history_micro_usd == sum(job.micro_usd for job in made)
    check_sums(result, bill)


@pytest.mark.spec("4.19")
@settings(max_examples=trials(30, soak=150))
@given(made=jobs(), data=st.data())
def test_whatever_either_side_lacks_or_repeats_the_amounts_add_up(
    made: list[Job], data: st.DataObject
) -> None:
    bill = bill_of(made)
    changed: dict[str, list[dict[str, Any]]] = {}
    for name in ("daily", "monthly"):
        rows = getattr(bill, name)
        times = [data.draw(st.sampled_from([1, 1, 1, 0, 2])) for _ in rows]
        changed[name] = [
            row for row, n in zip(rows, times, strict=True) for _ in range(n)
        ]
    bill = replace(bill, **changed, total_micro_usd=sums_of(changed["monthly"]))
    make: Callable[[Job], dict[str, Any]]
    history = []
    for job in mine(made):
        make = data.draw(st.sampled_from([entry, entry, unread]))
        if data.draw(st.sampled_from([True, True, False])):
            history.append(make(job))
    own_keys = data.draw(st.sampled_from([(OWN,), (OWN, "key_2"), None]))
    check_sums(reconciled(bill, history, own_keys), bill)


@settings(max_examples=trials(20, soak=100))
@given(made=jobs(), data=st.data())
def test_each_function_of_these_keys_has_the_verdict_of_its_sums(
    made: list[Job], data: st.DataObject
) -> None:
    billed = [job for job in made if data.draw(st.sampled_from([True, True, False]))]
    known = [j for j in mine(made) if data.draw(st.sampled_from([True, True, False]))]
    result = reconciled(bill_of(billed), [entry(job) for job in known])
    sums: dict[str, Counter[str]] = {"here": Counter(), "there": Counter()}
    elsewhere: Counter[str] = Counter()
    for job in known:
        sums["here"][job.path] += job.micro_usd
    for job in billed:
        part = sums["there"] if job.key == OWN else elsewhere
        part[job.path] += job.micro_usd
    if not result.own_keys:  # no key of ours was charged, so they cannot be told apart
        return
    for row in result.frame().to_dict("records"):
        if row["api_key_id"] in ("key_2", "key_3"):
            assert row["verdict"] == "other_key"
            continue
        path = row["function"]
        more = sums["there"][path] - sums["here"][path]
        assert row["difference_micro_usd"] == more
        if more == 0:
            assert row["verdict"] == "equal"
        elif more > 0:
            assert row["verdict"] == "missing_here"
        else:
            is_elsewhere = -more <= elsewhere[path]
            verdict = "other_key" if is_elsewhere else "missing_there"
            assert row["verdict"] == verdict


@settings(max_examples=trials(15, soak=60))
@given(made=jobs(keys=(OWN,)), data=st.data())
def test_what_is_in_flight_at_the_edge_of_a_month_is_neither_lost_nor_invented(
    made: list[Job], data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(made) - 1))
    day = data.draw(st.sampled_from([LAST, FIRST - timedelta(days=1)]))
    before = datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)
    after = before + timedelta(seconds=2)
    settled, read = data.draw(st.sampled_from([(before, after), (after, before)]))
    moved = replace(made[number], settled_at=settled, read_at=read, submitted_at=before)
    made[number] = moved
    bill = bill_of(made)
    result = reconciled(bill, [entry(job) for job in made])
    check_sums(result, bill)
    is_counted, is_here = (FIRST <= at.date() <= LAST for at in (settled, read))
    by_verdict = dict(result.frame().groupby("verdict")["difference_micro_usd"].sum())
    if is_counted != is_here and moved.micro_usd:
        more = moved.micro_usd if is_counted else -moved.micro_usd
        assert by_verdict.get("timing") == more
    else:
        assert result.is_explained
