"""Months written by hand: what the whole sentence says, and that its amounts add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mediakit.money import format_usd
from tests.spend.bills import PATHS, Bill, Job, bill_of, entry, reconciled, unread
from tests.support.rows import assert_each

R1, PICTURE, UPSCALE = PATHS
OTHER = "key_2"
KEEP = "(client.history.rebuild(...) can restore it)"
WHOSE = "(if they are yours, pass own_keys=[...])"
ASK = "(contact the service)"
Change = Callable[[Bill], Bill]


def job(number: int, usd: float, day: int = 5, **more: Any) -> Job:
    """Return a job that is settled at noon of a day of October."""
    noon = datetime(2026, 10, 1, 12, tzinfo=UTC) + timedelta(days=day - 1)
    path = more.pop("path", R1)
    micro_usd = round(usd * 1_000_000)
    return Job(f"media_{number}", path, micro_usd, noon, **more)


def theirs(number: int, usd: float, **more: Any) -> Job:
    return job(number, usd, key=OTHER, **more)


def read_on(made: Job, month: int, day: int, **more: Any) -> Job:
    """Return a job whose charge was read on another day than it was settled."""
    return replace(made, read_at=datetime(2026, month, day, 9, tzinfo=UTC), **more)


def rows_of(jobs: Iterable[Job], **changes: Any) -> list[dict[str, Any]]:
    return [entry(made, **changes) for made in jobs]


def changed(**fields: Any) -> Change:
    return lambda bill: replace(bill, changes=fields)


def lost(name: str) -> Change:
    def change(bill: Bill) -> Bill:
        rows: dict[str, Any] = {name: getattr(bill, name)[1:]}
        return replace(bill, **rows)

    return change


ONE, TWO, THREE = job(1, 1), job(2, 2, 6), job(3, 0.5, 7, path=PICTURE)
ALL = [ONE, TWO, THREE]
EQUAL = [job(number, 0.204) for number in range(3)]
MANY = [job(number, 0.000001 * 2**number) for number in range(20)]
DEAR = job(99, 2.000003)
CROWD = [job(100 + n, 0.01 + n / 1_000_000) for n in range(200)]
LATE = read_on(job(7, 0.3, 31), 11, 1)  # counted in October, read in November
EARLY = read_on(job(8, 0.4, 0), 10, 1)  # counted in September, read in October
RESTATED = replace(ONE, micro_usd=700_000)
RESTATED_ROW = entry(replace(ONE, restated_micro_usd=700_000))
REBUILT: dict[str, Any] = {"submitted_at": None, "finished_at": None}
FAR = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass(frozen=True)
class Month:
    """A month: what is charged, what the history has, and what is to be said.

    `amounts` are those that add up to the charge, in US dollars. Without other values,
    both sides have the same three jobs.
    """

    says: str
    amounts: Sequence[float] = (3.5,)
    charged: Sequence[Job] = tuple(ALL)
    history: Sequence[dict[str, Any]] = tuple(rows_of(ALL))
    is_explained: bool = False
    own_keys: tuple[str, ...] | None = ("key_1",)
    changes: Sequence[Change] = ()
    beyond: Sequence[float] = field(default_factory=list)


MONTHS = {
    "no spend at all": Month(
        "Nothing was charged in October 2026, and this history has no charge for it.",
        amounts=[],
        charged=[],
        history=[],
        is_explained=True,
    ),
    "both sides agree": Month(
        "$3.50 charged in October 2026; all of it is explained.", is_explained=True
    ),
    "the keys are not named, and both sides agree": Month(
        "$3.50 charged in October 2026; all of it is explained.",
        charged=[ONE, replace(TWO, key=OTHER), THREE],
        is_explained=True,
        own_keys=None,
    ),
    "the history is empty, and the keys are not named": Month(
        f"$3.50 charged in October 2026: $3.50 was charged to key_1 and is not in "
        f"this history {WHOSE}.",
        history=[],
        own_keys=None,
    ),
    "the history is empty": Month(
        f"$3.50 charged in October 2026: $3.00 for r1 is missing here on 2026-10-05 "
        f"and 2026-10-06 {KEEP} and $0.50 for text-to-image is missing here on "
        f"2026-10-07 {KEEP}.",
        amounts=[3, 0.5],
        history=[],
    ),
    "one job was lost": Month(
        f"$3.50 charged in October 2026: $2.50 is in this history and $1.00 for r1 is "
        f"missing here on 2026-10-05 {KEEP}.",
        amounts=[2.5, 1],
        history=rows_of([TWO, THREE]),
    ),
    "two machines with one key that was not named": Month(
        f"$3.50 charged in October 2026: $1.00 is in this history and $2.50 was "
        f"charged to key_1 and is not in this history {WHOSE}.",
        amounts=[1, 2.5],
        history=rows_of([ONE]),
        own_keys=None,
    ),
    "colleagues, and the keys are not named": Month(
        f"$6.50 charged in October 2026: $3.50 is in this history and $3.00 was "
        f"charged to key_1 and key_2 and is not in this history {WHOSE}.",
        amounts=[3.5, 3],
        charged=[*ALL, theirs(4, 3)],
        own_keys=None,
    ),
    "colleagues": Month(
        "$6.75 charged in October 2026: $3.50 is in this history and $3.25 was "
        "charged to other API keys (key_2).",
        amounts=[3.5, 3.25],
        charged=[*ALL, theirs(4, 3), theirs(5, 0.25, path=UPSCALE)],
    ),
    "a colleague's job has the price of one that was lost": Month(
        f"$1.204 charged in October 2026: $1.00 was charged to other API keys (key_2) "
        f"and $0.204 for r1 is missing here on 2026-10-05 {KEEP}.",
        amounts=[1, 0.204],
        charged=[EQUAL[0], theirs(4, 1)],
        history=[],
    ),
    "one of three equal jobs is not reported": Month(
        "$0.408 charged in October 2026: $0.408 is in this history; beyond it, $0.204 "
        "for r1 is missing in the service's reports on 2026-10-05 (one of 3 jobs of "
        "$0.204).",
        amounts=[0.408],
        charged=EQUAL[:2],
        history=rows_of(EQUAL),
        beyond=[0.204],
    ),
    "one of 201 jobs is not reported": Month(
        "$2.0199 charged in October 2026: $2.0199 is in this history; beyond it, "
        "$2.000003 for r1 is missing in the service's reports on 2026-10-05 "
        "(media_99).",
        amounts=[2.0199],
        charged=CROWD,
        history=rows_of([*CROWD, DEAR]),
        beyond=[2.000003],
    ),
    "two days each lack a job": Month(
        "$4.50 charged in October 2026: $4.50 is in this history; beyond it, $3.00 for "
        "r1 is missing in the service's reports on 2026-10-05 and 2026-10-06 (media_1 "
        "and media_2).",
        amounts=[4.5],
        charged=[THREE, job(4, 3, 8), job(5, 1, 8)],
        history=rows_of([*ALL, job(4, 3, 8), job(5, 1, 8)]),
        beyond=[3],
    ),
    "jobs that only add up to what is not reported are not named": Month(
        "$1.048574 charged in October 2026: $1.048574 is in this history; beyond it, "
        "$0.000003 for r1 is missing in the service's reports on 2026-10-05.",
        amounts=[1.048574],
        charged=[*MANY[2:], job(98, 0.000002)],
        history=rows_of([*MANY, job(98, 0.000002)]),
        beyond=[0.000003],
    ),
    "two differences that cancel out": Month(
        f"$3.00 charged in October 2026: $2.00 is in this history and $1.00 for r1 is "
        f"missing here on 2026-10-20 {KEEP}; beyond it, $1.00 for r1 is missing in the "
        f"service's reports on 2026-10-05 (media_1).",
        amounts=[2, 1],
        charged=[TWO, job(9, 1, 20)],
        history=rows_of([ONE, TWO]),
        beyond=[1],
    ),
    "a charge was settled late": Month(
        "$3.50 charged in October 2026: $1.50 is in this history and $2.00 may be jobs "
        "that are not settled here yet (media_2).",
        amounts=[1.5, 2],
        history=[*rows_of([ONE, THREE]), unread(TWO)],
    ),
    "a charge is still open on both sides": Month(
        "$1.50 charged in October 2026; all of it is explained; beyond it, the charge "
        "of media_2 has not been read yet.",
        amounts=[1.5],
        charged=[ONE, THREE],
        history=[*rows_of([ONE, THREE]), unread(TWO)],
        is_explained=True,
    ),
    "an open job may be part of what is missing": Month(
        f"$3.50 charged in October 2026: $0.50 is in this history and $3.00 for r1 is "
        f"missing here on 2026-10-05 and 2026-10-06, some of which may be media_2 (not "
        f"read yet) {KEEP}; beyond it, the charge of media_2 has not been read yet.",
        amounts=[0.5, 3],
        history=[*rows_of([THREE]), unread(TWO)],
    ),
    "a charge was restated": Month(
        "$3.20 charged in October 2026; all of it is explained: $2.50 is in this "
        "history and $0.70 is in this history and restated, $0.30 less than first read "
        "(media_1).",
        amounts=[2.5, 0.7],
        charged=[RESTATED, TWO, THREE],
        history=[RESTATED_ROW, *rows_of([TWO, THREE])],
        is_explained=True,
    ),
    "the bill does not have what was restated": Month(
        "$3.50 charged in October 2026; all of it is explained.",
        history=[RESTATED_ROW, *rows_of([TWO, THREE])],
        is_explained=True,
    ),
    "a refund that the history has not read": Month(
        "$2.50 charged in October 2026: $2.50 is in this history; beyond it, $1.00 for "
        "r1 is missing in the service's reports on 2026-10-15.",
        amounts=[2.5],
        charged=[*ALL, job(4, -1, 15)],
        beyond=[1],
    ),
    "a credit without any job": Month(
        "-$0.50 charged in October 2026: $0.50 is in this history and -$1.00 for r1 is "
        "a credit that is not in this history; beyond it, $1.00 for r1 is missing in "
        "the service's reports (media_1).",
        amounts=[0.5, -1],
        charged=[ONE, THREE, job(4, -2, 15)],
        history=rows_of([ONE, THREE]),
        beyond=[1],
    ),
    "a charge of October was read in November": Month(
        "$3.80 charged in October 2026; all of it is explained: $3.50 is in this "
        "history and $0.30 is in this history under another date (media_7).",
        amounts=[3.5, 0.3],
        charged=[*ALL, LATE],
        history=[*rows_of(ALL), entry(LATE)],
        is_explained=True,
    ),
    "a charge of September was read in October": Month(
        "$3.50 charged in October 2026; all of it is explained; beyond it, $0.40 is "
        "dated in this month here and counted in another (media_8).",
        charged=[*ALL, EARLY],
        history=[*rows_of(ALL), entry(EARLY)],
        is_explained=True,
        beyond=[0.4],
    ),
    "charges were read weeks later": Month(
        "$3.50 charged in October 2026; all of it is explained.",
        history=rows_of([read_on(made, 11, 14) for made in ALL]),
        is_explained=True,
    ),
    "all jobs were restored by their IDs alone": Month(
        "$3.00 charged in October 2026; all of it is explained: $3.00 is in this "
        "history under another date (media_1 and media_2).",
        amounts=[3],
        charged=[ONE, TWO],
        history=rows_of([read_on(ONE, 11, 14), read_on(TWO, 11, 14)], **REBUILT)[:2],
        is_explained=True,
    ),
    "restored jobs of an unknown function": Month(
        "$3.00 charged in October 2026; all of it is explained: $3.00 is in this "
        "history under another date (media_1 and media_2).",
        amounts=[3],
        charged=[ONE, TWO],
        history=rows_of([ONE, TWO], **REBUILT, settled_at=FAR, function="unknown"),
        is_explained=True,
    ),
    "a restored job may be what is missing": Month(
        f"$3.50 charged in October 2026: $0.50 is in this history and $3.00 for r1 is "
        f"missing here, some of which may be media_2 (of another date) {KEEP}.",
        amounts=[0.5, 3],
        history=[*rows_of([THREE]), *rows_of([TWO], **REBUILT, settled_at=FAR)],
    ),
    "a rate drifted": Month(
        "$3.50 charged in October 2026; all of it is explained: $1.50 is in this "
        "history and $2.00 is in this history at another rate, $0.50 more than "
        "estimated (media_2).",
        amounts=[1.5, 2],
        history=[
            *rows_of([ONE, THREE]),
            entry(replace(TWO, estimate_micro_usd=1_500_000)),
        ],
        is_explained=True,
    ),
    "the history counts a job twice": Month(
        "$3.50 charged in October 2026: $3.50 is in this history; beyond it, $1.00 for "
        "r1 is counted twice here (media_1).",
        history=[*rows_of(ALL), entry(ONE, account="b", key="again")],
        beyond=[1],
    ),
    "the daily report has a row twice": Month(
        f"$1.00 charged in October 2026: $1.00 is in this history; beyond it, $1.00 "
        f"too much for r1 is in the daily report {ASK}.",
        amounts=[1],
        charged=[ONE],
        history=rows_of([ONE]),
        changes=[lambda bill: replace(bill, daily=[*bill.daily] * 2)],
        beyond=[1],
    ),
    "the daily report lacks a row of ours": Month(
        f"$3.50 charged in October 2026: $3.50 is in this history; beyond it, $1.00 "
        f"too little for r1 is in the daily report {ASK}.",
        changes=[lost("daily")],
        beyond=[1],
    ),
    "the daily report has somebody's row twice": Month(
        f"$4.00 charged in October 2026: $1.00 is in this history, $6.00 was charged "
        f"to other API keys (key_2) and -$3.00 too much for r1 is in the daily report "
        f"{ASK}.",
        amounts=[1, 6, -3],
        charged=[ONE, theirs(4, 3)],
        history=rows_of([ONE]),
        changes=[lambda bill: replace(bill, daily=[*bill.daily, bill.daily[1]])],
    ),
    "the monthly report has a row twice": Month(
        f"$3.50 charged in October 2026: $3.50 is in this history, $0.50 too much "
        f"for text-to-image is in the monthly report {ASK} and -$0.50 too little "
        f"is in the total of the monthly report {ASK}.",
        amounts=[3.5, 0.5, -0.5],
        changes=[lambda bill: replace(bill, monthly=[*bill.monthly, bill.monthly[0]])],
    ),
    "the CSV lacks a row": Month(
        f"$3.50 charged in October 2026: $3.50 is in this history; beyond it, $0.50 "
        f"too much is in the total of the month's CSV {ASK} and $0.50 too "
        f"little for text-to-image is in the month's CSV {ASK}.",
        changes=[lost("csv")],
        beyond=[0.5, 0.5],
    ),
    "the total is not that of its rows": Month(
        f"$3.75 charged in October 2026: $3.50 is in this history and $0.25 too much "
        f"is in the total of the monthly report {ASK}.",
        amounts=[3.5, 0.25],
        changes=[changed(total_micro_usd=3_750_000)],
    ),
    "too much was taken from the balance": Month(
        f"$3.50 charged in October 2026: $3.50 is in this history; beyond it, $0.04 "
        f"too much was taken from the balance {ASK}.",
        changes=[changed(closing_balance_micro_usd=10**18 + 12 - 3_540_000)],
        beyond=[0.04],
    ),
    "a row of the daily report cannot be read": Month(
        "$3.50 charged in October 2026: $3.50 was not compared with this history; not "
        "everything could be compared: 1 of 4 rows of the daily report has no charge "
        "and is not included in any sum.",
        changes=[
            lambda bill: replace(
                bill, daily=[*bill.daily, {**bill.daily[0], "charge_micro_usd": "free"}]
            )
        ],
    ),
}


def micro_usd(amounts: Iterable[float]) -> list[int]:
    return [round(amount * 1_000_000) for amount in amounts]


def check(name: str) -> None:
    month = MONTHS[name]
    bill = bill_of(month.charged)
    for change in month.changes:
        bill = change(bill)
    result = reconciled(bill, month.history, month.own_keys)
    assert result.text == month.says
    assert result.is_explained is month.is_explained
    charge, *_ = month.says.split(":")[0].split("; beyond")
    said, _, beyond = month.says.partition("; beyond it, ")
    amounts = micro_usd(month.amounts)
    assert sum(amounts) == result.charged_micro_usd
    assert not amounts or format_usd(sum(amounts)) in charge
    assert all(format_usd(amount) in said for amount in amounts)
    assert all(format_usd(amount) in beyond for amount in micro_usd(month.beyond))
    frame = result.frame()
    assert int(frame["charged_micro_usd"].sum()) == result.charged_micro_usd
    assert int(frame["history_micro_usd"].sum()) == result.history_micro_usd


@pytest.mark.spec("4.19")
def test_the_sentence_of_each_month_has_every_amount_and_they_add_up() -> None:
    assert len(MONTHS) >= 25
    assert_each(MONTHS, check)


def test_functions_beyond_the_third_are_said_together() -> None:
    paths = [f"acme/model-{number}/function" for number in range(5)]
    made = [job(n, 1 + n, path=path) for n, path in enumerate(paths)]
    text = reconciled(bill_of(made), []).text
    assert text.startswith(
        "$15.00 charged in October 2026: $5.00 for acme/model-4/function is missing "
        f"here on 2026-10-05 {KEEP}, $4.00 for acme/model-3/function is missing here "
        f"on 2026-10-05 {KEEP} and $6.00 for 3 functions is missing here"
    )
