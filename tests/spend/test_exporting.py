"""Spend frames as files, with exact sums and without formulas."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from openpyxl import load_workbook

from mediakit.errors import InputError
from mediakit.spend.exporting import export, export_bytes, to_focus
from tests.spend.fake_spend import FORMULA, charges_frame

SUM = "charge_micro_usd"


@pytest.fixture(scope="module")
def charges() -> pd.DataFrame:
    return charges_frame()


def csv_rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def sheet_of(content: bytes) -> Any:
    return load_workbook(io.BytesIO(content)).active


def test_a_csv_read_again_has_the_same_exact_sum_and_texts(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    again = pd.read_csv(export(charges, tmp_path / "spend.csv"))
    assert again[SUM].tolist() == charges[SUM].tolist()
    assert again["charge_usd"].tolist() == charges["charge_usd"].tolist()
    assert list(again.columns) == list(charges.columns)
    assert FORMULA in set(again["prompt"])
    assert again["day"][0] == "2026-10-20"
    assert again["settled_at"].tolist()[-1] == "2026-08-01T03:00:00.000000Z"


def test_a_parquet_file_read_again_is_the_same_frame(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    charges = charges.copy()
    charges.attrs["not as JSON"] = object()
    again = pd.read_parquet(export(charges, tmp_path / "spend.parquet"))
    pd.testing.assert_frame_equal(again, charges)


def test_a_workbook_read_again_has_the_same_exact_sums(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    path = export(charges, tmp_path / "spend.xlsx")
    header, *rows = sheet_of(path.read_bytes()).iter_rows(values_only=True)
    assert list(header) == list(charges.columns)
    assert [row[header.index(SUM)] for row in rows] == charges[SUM].tolist()
    dollars = [row[header.index("charge_usd")] for row in rows]
    assert dollars == charges["charge_usd"].tolist()
    assert rows[0][header.index("day")] == pd.Timestamp("2026-10-20")


@pytest.mark.parametrize("sign", [*"=+-@\t\r", " =", "＝"])  # noqa: RUF001
def test_text_that_would_be_a_formula_stays_text(sign: str) -> None:
    text = f"{sign}cmd|' /C calc'!A0"
    frame = pd.DataFrame({sign + "name": [text], "kept": ["5 - 3"]})
    plain = csv_rows(export_bytes(frame, ".csv"))
    assert plain == [[f"{sign}name", "kept"], [text, "5 - 3"]]
    escaped = csv_rows(export_bytes(frame, ".csv", escape_formulas=True))
    assert escaped == [[f"'{sign}name", "kept"], [f"'{text}", "5 - 3"]]

    cell = sheet_of(export_bytes(frame, ".xlsx"))["A2"]
    assert cell.data_type == "s"
    assert cell.quotePrefix
    assert cell.value.strip() == text.strip()


def test_values_that_a_sheet_cannot_hold_are_marked() -> None:
    frame = pd.DataFrame({"prompt": ["a\x00b", "long " * 10_000]})
    _, (control,), (long,) = sheet_of(export_bytes(frame, ".xlsx")).values
    assert control == "a\ufffdb"
    assert long.endswith("…")
    assert len(long) == 32_767


def test_an_unwritable_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.parquet or \.xlsx"):
        export(charges_frame(), tmp_path / "spend.pdf")
    with pytest.raises(InputError, match="No such file or directory"):
        export(charges_frame(), tmp_path / "none" / "spend.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="a frame of charges"):
        to_focus(pd.DataFrame({"day": []}))


@pytest.mark.parametrize(
    ("suffix", "package"), [(".parquet", "pyarrow"), (".xlsx", "openpyxl")]
)
def test_a_missing_package_is_one_sentence_that_installs_it(
    suffix: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as caught:
        export(charges_frame(), tmp_path / f"spend{suffix}")
    assert f"python -m pip install {package}" in str(caught.value)
    assert str(caught.value).endswith("Nothing was written.")
    assert not list(tmp_path.iterdir())


def test_an_export_replaces_an_earlier_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "spend.csv"
    path.write_text("old")
    export(charges_frame().head(0), path)
    assert path.read_text().startswith("settled_at,day,job_id")
    assert [each.name for each in tmp_path.iterdir()] == ["spend.csv"]


# -- FOCUS --------------------------------------------------------------------------

# Mandatory columns of FOCUS 1.2, copied from the specification.
MANDATORY = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
]
NULLABLE = {"BillingAccountName", "ChargeClass"}


def test_focus_has_every_mandatory_column(charges: pd.DataFrame) -> None:
    focus = to_focus(charges, provider="Example Media")
    assert set(MANDATORY) <= set(focus.columns)
    filled = [name for name in MANDATORY if name not in NULLABLE]
    assert not focus[filled].isna().any().any()
    assert set(focus["ProviderName"]) == {"Example Media"}
    assert set(focus["PublisherName"]) == {"sandbox"}
    assert set(focus["BillingCurrency"]) == {"USD"}
    assert focus["SkuId"].tolist() == charges["function"].tolist()
    assert set(MANDATORY) <= set(to_focus(charges.head(0)).columns)


def test_a_charge_period_ends_on_the_next_day_excluded() -> None:
    focus = to_focus(charges_frame(last=date(2026, 8, 31)))
    newest = focus.iloc[0]
    assert newest["ChargePeriodStart"] == pd.Timestamp(2026, 8, 31)
    assert newest["ChargePeriodEnd"] == pd.Timestamp(2026, 9, 1)
    assert newest["BillingPeriodStart"] == pd.Timestamp(2026, 8, 1)
    assert newest["BillingPeriodEnd"] == pd.Timestamp(2026, 9, 1)


def test_focus_as_csv_has_exact_costs_and_instants_as_the_specification_asks(
    charges: pd.DataFrame,
) -> None:
    content = export_bytes(to_focus(charges), ".csv")
    again = pd.read_csv(io.BytesIO(content), dtype=str)
    assert again["ChargePeriodStart"][0] == "2026-10-20T00:00:00Z"
    assert again["ChargePeriodEnd"][0] == "2026-10-21T00:00:00Z"
    total = sum(map(Decimal, again["BilledCost"]), Decimal(0))
    assert total.scaleb(6) == int(charges[SUM].sum())
    tags = again["Tags"].dropna().map(json.loads)
    assert {each["project"] for each in tags} == {"Dunes", "Harbour"}
