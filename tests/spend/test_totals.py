"""Reports with rows that are sums of others: nothing is silently counted twice."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from mediakit.errors import IncompleteDataWarning, ServiceError
from mediakit.spend.billing_responses import (
    csv_frame,
    daily_frame,
    monthly_frame,
    warn_of_incomplete,
)

A, B = "acme/dream-2/text-to-video", "acme/dream-2/text-to-image"
HEAD = "model,jobs,charge_micro_usd"
DAY = {"date": "2026-11-03"}


def summed(frame: pd.DataFrame) -> int:
    return int(frame["charge_micro_usd"].sum())


def doubts_of(frame: pd.DataFrame) -> list[str]:
    return [*frame.attrs["unread"], *frame.attrs["doubts"]]


@pytest.mark.spec("4.19")
@pytest.mark.parametrize(
    "name",
    ["total", "TOTALS:", "Sum", "Summe", "-", "", "Total, all models", "合計", "acme"],
)
def test_the_totals_row_of_a_csv_is_the_sum_of_the_others_whatever_it_is_called(
    name: str,
) -> None:
    quoted = f'"{name}"'
    for total in (f"{quoted},3,420000", f"{quoted},,420000"):
        lines = [HEAD, f"{A},2,340000", f"{B},1,80000", total]
        frame = csv_frame("\r\n".join(lines))
        assert frame["charge_micro_usd"].tolist() == [340_000, 80_000]
        assert frame.attrs["total_micro_usd"] == 420_000
        assert doubts_of(frame) == []


@pytest.mark.parametrize("total", ["total", "Summe"])
def test_the_total_of_one_row_and_the_first_row_are_found(total: str) -> None:
    for lines in ([f"{A},1,5", f"{total},1,5"], [f"{total},1,5", f"{A},1,5"]):
        frame = csv_frame("\n".join([HEAD, *lines]))
        assert frame["model"].tolist() == [A]
        assert doubts_of(frame) == []


ACME = [f"{A},1,340000", f"{B},1,80000"]
ACME_TOTAL, OTHER, OTHER_TOTAL = "Sum acme,2,420000", "other/m/f,1,7", "Sum other,1,7"
LAYOUTS = {
    "sums below, total last": [*ACME, ACME_TOTAL, OTHER, OTHER_TOTAL, ""],
    "sums below, total first": ["", *ACME, ACME_TOTAL, OTHER, OTHER_TOTAL],
    "sums above, total last": [ACME_TOTAL, *ACME, OTHER_TOTAL, OTHER, ""],
    "sums above, total first": ["", ACME_TOTAL, *ACME, OTHER_TOTAL, OTHER],
}


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("total", ["total", "Gesamt"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_subtotals_are_not_added(layout: list[str], total: str) -> None:
    lines = [line or f"{total},3,420007" for line in layout]
    frame = csv_frame("\n".join([HEAD, *lines]))
    assert summed(frame) == 420_007
    assert frame["model"].tolist() == [A, B, "other/m/f"]
    assert frame.attrs["total_micro_usd"] == 420_007
    assert doubts_of(frame) == []


@pytest.mark.parametrize("total_first", [False, True])
def test_totals_of_each_vendor_that_are_called_total_are_not_the_months(
    *, total_first: bool
) -> None:
    vendors = [*ACME, "total,2,420000", OTHER, "total,1,7"]
    month = "total,3,420007"
    lines = [month, *vendors] if total_first else [*vendors, month]
    frame = csv_frame("\n".join([HEAD, *lines]))
    assert summed(frame) == frame.attrs["total_micro_usd"] == 420_007
    assert doubts_of(frame) == []


@pytest.mark.parametrize("name", ["charge_micro_usd", "model", "jobs"])
def test_a_csv_with_two_columns_of_a_name_is_not_read(name: str) -> None:
    for other in ("0", "5"):
        with pytest.raises(ServiceError, match=f"2 columns named {name}"):
            csv_frame(f"{HEAD},{name}\n{A},1,5,{other}\ntotal,1,5,{other}")


def test_models_that_cost_nothing_are_rows() -> None:
    frame = csv_frame(f"{HEAD}\ndream-1,1,0\ndream-2,1,0\n{A},1,5\ntotal,3,5")
    assert frame["charge_micro_usd"].tolist() == [0, 0, 5]


def test_models_of_one_charge_are_not_taken_for_sums_of_each_other() -> None:
    for count in (3, 4):
        rows = [f"dream-{n},1,5" for n in range(count)]
        frame = csv_frame("\n".join([HEAD, *rows]))
        assert summed(frame) == 5 * count
        [doubt] = doubts_of(frame)
        assert "no row that is the sum" in doubt


@pytest.mark.spec("4.19")
def test_commas_between_thousands_are_no_part_of_an_amount() -> None:
    rows = [f'{A},"1,200","1,234,560"', f'{B},2,"80,000"', 'Summe,"1,202","1,314,560"']
    frame = csv_frame("\n".join([HEAD, *rows]))
    assert frame["charge_micro_usd"].tolist() == [1_234_560, 80_000]
    assert frame["jobs"].tolist() == [1_200, 2]
    assert doubts_of(frame) == []
    for other in ("1,23,456", "12,34", "0,680", ",680", "1,234,56", "1234,567"):
        frame = csv_frame(f'{HEAD}\n{A},1,"{other}"\n{B},1,5\ntotal,2,5')
        assert frame["charge_micro_usd"].isna().tolist() == [True, False]


def test_a_missing_or_ambiguous_totals_row_causes_a_warning() -> None:
    frame = csv_frame(f"{HEAD}\n{A},1,5\n{B},1,6\n{A}x,1,2")
    with pytest.warns(IncompleteDataWarning, match="no row that is the sum"):
        warn_of_incomplete(frame)
    assert summed(frame) == 13
    frame = csv_frame(f"{HEAD}\ndream-2,1,5\ndream-3,1,5")
    with pytest.warns(IncompleteDataWarning, match="same charge"):
        warn_of_incomplete(frame)
    assert summed(frame) == 5


KEYED: list[dict[str, Any]] = [
    {**DAY, "api_key_id": "k1", "model": "acme/dream-2", "function": "text-to-video"},
    {**DAY, "api_key_id": "k2", "model": "acme/dream-2", "function": "text-to-video"},
]
KEYED[0]["charge_micro_usd"], KEYED[1]["charge_micro_usd"] = 340_000, 80_000


@pytest.mark.spec("4.19")
@pytest.mark.parametrize(
    "rollup",
    [
        {"api_key_id": None, "model": "acme/dream-2", "function": "text-to-video"},
        {"api_key_id": "*", "model": "acme/dream-2", "function": "text-to-video"},
        {"api_key_id": None, "model": None, "function": None},
        {"api_key_id": None, "model": "*", "function": None},
        {"api_key_id": None, "model": "acme", "function": None},
        {"api_key_id": None, "model": "acme/dream-2", "function": None},
        {"api_key_id": None, "model": "Summe", "function": None},
        {"api_key_id": "*", "model": None, "function": "Sum:"},
    ],
)
def test_a_rollup_row_of_a_day_is_left_out_with_a_warning(
    rollup: dict[str, Any],
) -> None:
    rows = [*KEYED, {**DAY, **rollup, "charge_micro_usd": 420_000}]
    frame = daily_frame({"rows": rows})
    assert summed(frame) == 420_000
    assert doubts_of(frame) == [
        "1 of the rows of the daily report is a sum of other rows and was left out."
    ]
    # A row without a key that is no sum is a charge like any other.
    rows[-1]["charge_micro_usd"] = 1
    assert summed(daily_frame({"rows": rows})) == 420_001


def test_a_rollup_of_one_key_covers_only_its_own_rows() -> None:
    rollup = {**DAY, "api_key_id": "k1", "model": "*", "charge_micro_usd": 340_000}
    assert summed(daily_frame({"rows": [*KEYED, rollup]})) == 420_000
    rollup |= {"charge_micro_usd": 420_000}
    assert summed(daily_frame({"rows": [*KEYED, rollup]})) == 840_000


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("day", ["Summe", "2026-11", "-", "合計"])
@pytest.mark.parametrize(
    "names",
    [
        {"api_key_id": None, "model": None, "function": None},
        {"api_key_id": "", "model": "Summe", "function": None},
        {"api_key_id": "k1", "model": "acme/dream-2", "function": "text-to-video"},
    ],
)
def test_a_sum_in_the_place_of_a_day_is_left_out_with_a_warning(
    names: dict[str, Any], day: str
) -> None:
    later = [{**row, "date": "2026-11-04"} for row in KEYED]
    charge = 2 * (340_000 if names["api_key_id"] else 420_000)
    total = {"date": day, **names, "charge_micro_usd": charge}
    for rows in ([*KEYED, *later, total], [total, *KEYED, *later]):
        frame = daily_frame({"rows": rows})
        assert summed(frame) == 840_000
        assert doubts_of(frame) == [
            "1 of the rows of the daily report is a sum of other rows and was left out."
        ]
    # One that is no sum is a charge of an unknown day.
    total["charge_micro_usd"] = charge + 1
    frame = daily_frame({"rows": [*KEYED, *later, total]})
    assert summed(frame) == 840_001 + charge
    assert any("values of day could not be read" in text for text in doubts_of(frame))


def test_a_rollup_of_a_month_and_of_another_day_are_told_apart() -> None:
    rows: list[dict[str, Any]] = [
        {"model": A, "charge_micro_usd": 340_000},
        {"model": B, "charge_micro_usd": 80_000},
        {"model": None, "charge_micro_usd": 420_000},
    ]
    assert summed(monthly_frame({"rows": rows}, "2026-11")) == 420_000
    for name in ("Summe", "-", "acme", "acme/dream-2"):
        rows[-1] = {"model": name, "charge_micro_usd": 420_000}
        frame = monthly_frame({"rows": rows}, "2026-11")
        assert frame["model"].tolist() == [A, B]
        assert len(doubts_of(frame)) == 1
    # A month of models alone: any of them may cost as much as all others.
    rows = [{"model": f"dream-{n}", "charge_micro_usd": 5} for n in (1, 2)]
    assert summed(monthly_frame({"rows": rows}, "2026-11")) == 10
    other = {"date": "2026-11-04", "model": None, "charge_micro_usd": 420_000}
    assert summed(daily_frame({"rows": [*KEYED, other]})) == 840_000


def test_repeated_rows_and_a_differing_total_cause_warnings() -> None:
    [doubt] = doubts_of(daily_frame({"rows": [*KEYED, *KEYED]}))
    assert doubt.startswith("2 rows repeat others of the daily report")
    for name in ("total_micro_usd", "total_charge_micro_usd", "charge_micro_usd"):
        for around in ({name: 420_005}, {"summary": {name: 420_005}}):
            [doubt] = doubts_of(daily_frame({"rows": KEYED, **around}))
            assert doubt.startswith("The total of charge_micro_usd is $0.420005, but")


def test_a_charge_of_an_unknown_day_is_no_sum_of_a_row_and_an_unknown_charge() -> None:
    row = {**DAY, "model": A, "charge_micro_usd": 340_000}
    rows = [row, {**row, "date": "?"}, {**row, "charge_micro_usd": None}]
    assert daily_frame({"rows": rows})["charge_micro_usd"].sum() == 680_000
