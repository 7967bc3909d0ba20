"""Spend frames as files, with exact sums and without formulas."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from mediakit.errors import InputError
from mediakit.spend.exporting import add_usd, export, export_bytes, files, to_focus
from tests.spend.fake_spend import FORMULA, charges_frame
from tests.support.frames import IS_PANDAS_3
from tests.support.soak import trials

SUM = "charge_micro_usd"


@pytest.fixture(scope="module")
def charges() -> pd.DataFrame:
    return charges_frame()


def read_texts(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def sheet_rows(content: bytes) -> list[tuple[Any, ...]]:
    sheet = load_workbook(io.BytesIO(content)).active
    assert sheet is not None
    return list(sheet.iter_rows(values_only=True))


def test_a_csv_read_again_has_the_same_exact_sum(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    path = export(charges, tmp_path / "spend.csv")
    again = pd.read_csv(path)
    assert again[SUM].dtype == "int64"
    assert int(again[SUM].sum()) == int(charges[SUM].sum())
    assert list(again.columns) == list(charges.columns)
    estimates = again["estimate_high_micro_usd"].isna()
    assert estimates.tolist() == charges["estimate_high_micro_usd"].isna().tolist()


def test_a_parquet_file_read_again_is_the_same_frame(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    charges = charges.assign(usd=add_usd(charges)["charge_usd"])
    charges.attrs["not as JSON"] = object()
    again = pd.read_parquet(export(charges, tmp_path / "spend.parquet"))
    if not IS_PANDAS_3:  # categories without any text are then read as objects
        empty = [name for name in ("budget", "sweep") if charges[name].isna().all()]
        again = again.astype({name: charges[name].dtype for name in empty})
    pd.testing.assert_frame_equal(again, charges, check_categorical=False)
    assert sum(again["usd"]) == Decimal(int(charges[SUM].sum())).scaleb(-6)


def test_a_workbook_read_again_has_the_same_exact_sums(
    charges: pd.DataFrame, tmp_path: Path
) -> None:
    path = export(add_usd(charges), tmp_path / "spend.xlsx")
    header, *rows = sheet_rows(path.read_bytes())
    micro, dollars = header.index(SUM), header.index("charge_usd")
    assert sum(row[micro] for row in rows) == int(charges[SUM].sum())
    exact = [Decimal(str(row[dollars])) for row in rows]
    assert exact == [Decimal(n).scaleb(-6) for n in charges[SUM]]
    assert rows[0][header.index("day")] == pd.Timestamp("2026-10-20")


@settings(max_examples=trials(8, soak=100))
@given(micro_usd=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_no_format_rounds_an_amount(micro_usd: list[int]) -> None:
    frame = add_usd(pd.DataFrame({SUM: pd.Series(micro_usd, dtype="int64")}))
    for suffix in (".csv", ".xlsx"):
        content = export_bytes(frame, suffix)
        if suffix == ".csv":
            again = pd.read_csv(io.BytesIO(content), dtype=str)
            micro, usd = again[SUM].tolist(), again["charge_usd"].tolist()
        else:
            _, *rows = sheet_rows(content)
            micro, usd = ([str(row[n]) for row in rows] for n in (0, 1))
        # An apostrophe stands in front of nothing here: these are numbers.
        assert [int(text) for text in micro] == micro_usd
        assert [Decimal(text).scaleb(6) for text in usd] == micro_usd


@pytest.mark.parametrize("sign", [*"=+-@\t\r", " =", "＝"])  # noqa: RUF001
def test_text_that_would_be_a_formula_stays_text(sign: str) -> None:
    text = f"{sign}cmd|' /C calc'!A0"
    frame = pd.DataFrame({sign + "name": pd.Categorical([text]), "kept": ["5 - 3"]})
    again = read_texts(export_bytes(frame, ".csv"))
    assert again == [[f"'{sign}name", "kept"], [f"'{text}", "5 - 3"]]

    book = load_workbook(io.BytesIO(export_bytes(frame, ".xlsx")))
    cell = book.active["A2"]
    assert cell.data_type == "s"
    assert cell.quotePrefix
    assert cell.value.strip() == text.strip()


def test_what_a_sheet_cannot_hold_is_shown_as_such() -> None:
    frame = pd.DataFrame({"prompt": ["a\x00b", "long " * 10_000]})
    _, (control,), (long,) = sheet_rows(export_bytes(frame, ".xlsx"))
    assert control == "a\ufffdb"
    assert long.endswith("…")
    assert len(long) == 32_767


def test_instants_are_written_in_utc_and_days_as_days(charges: pd.DataFrame) -> None:
    again = pd.read_csv(io.BytesIO(export_bytes(charges, ".csv")))
    assert again["day"][0] == "2026-10-20"
    assert again["settled_at"].tolist()[-1] == "2026-08-01T03:00:00.000000Z"


def test_lists_are_written_as_json() -> None:
    frame = pd.DataFrame({"job_ids": [["media_1", "media_2"]]})
    again = pd.read_csv(io.BytesIO(export_bytes(frame, ".csv")))
    assert json.loads(again["job_ids"][0]) == ["media_1", "media_2"]


def test_another_suffix_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.parquet or \.xlsx"):
        export(charges_frame(), tmp_path / "spend.pdf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("suffix", "extra"), [(".parquet", "parquet"), (".xlsx", "excel")]
)
def test_a_missing_package_is_one_sentence_that_names_its_extra(
    suffix: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {"pyarrow", "openpyxl"}
    monkeypatch.setattr(
        files, "find_spec", lambda name: None if name in missing else find_spec(name)
    )
    with pytest.raises(InputError) as caught:
        export(charges_frame(), tmp_path / f"spend{suffix}")
    assert f"pip install 'mediakit[{extra}]'" in str(caught.value)
    assert str(caught.value).endswith("Nothing was written.")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        export(charges_frame(), tmp_path / "none" / "spend.csv")


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


def test_focus_has_every_mandatory_column_and_exact_costs(
    charges: pd.DataFrame,
) -> None:
    focus = to_focus(charges, provider="Example Media")
    assert set(MANDATORY) <= set(focus.columns)
    filled = [name for name in MANDATORY if name not in NULLABLE]
    assert not focus[filled].isna().any().any()
    assert all(isinstance(cost, Decimal) for cost in focus["BilledCost"])
    assert sum(focus["BilledCost"]).scaleb(6) == int(charges[SUM].sum())
    assert set(focus["ProviderName"]) == {"Example Media"}
    assert set(focus["BillingCurrency"]) == {"USD"}
    assert focus["SkuId"].tolist() == charges["function"].tolist()


def test_a_charge_period_ends_on_the_next_day_excluded() -> None:
    focus = to_focus(charges_frame(last=date(2026, 8, 31)))
    newest = focus.iloc[0]
    assert newest["ChargePeriodStart"] == datetime(2026, 8, 31, tzinfo=UTC)
    assert newest["ChargePeriodEnd"] == datetime(2026, 9, 1, tzinfo=UTC)
    assert newest["BillingPeriodStart"] == datetime(2026, 8, 1, tzinfo=UTC)
    assert newest["BillingPeriodEnd"] == datetime(2026, 9, 1, tzinfo=UTC)


def test_focus_as_csv_writes_instants_as_the_specification_asks(
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


def test_no_charges_are_a_focus_frame_without_rows(charges: pd.DataFrame) -> None:
    focus = to_focus(charges.head(0))
    assert len(focus) == 0
    assert set(MANDATORY) <= set(focus.columns)


def test_another_frame_is_no_charges() -> None:
    with pytest.raises(InputError, match="a frame of charges"):
        to_focus(pd.DataFrame({"day": []}))


def test_a_prompt_that_is_a_formula_is_in_the_sample(charges: pd.DataFrame) -> None:
    assert FORMULA in set(charges["prompt"])
    assert f"'{FORMULA}".replace('"', '""') in export_bytes(charges, ".csv").decode()
