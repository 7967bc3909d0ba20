"""Exports spend frames as CSV, Parquet and Excel, and charges as FOCUS."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from mediakit.client.download_targets import LocalTarget, write_whole
from mediakit.errors import InputError
from mediakit.extras import install_command, missing_modules
from mediakit.rules import ValueDescription
from mediakit.safe_text import spreadsheet_text
from mediakit.spend.charges import without_zones
from mediakit.spend.column_types import dollars

FORMAT_EXTRAS: Mapping[str, str] = MappingProxyType(
    {".parquet": "parquet", ".xlsx": "excel"}
)
"""The extra whose package writes a format."""

LONGEST_EXCEL_TEXT = 32_767
NOT_STATED = "Not stated"
NOTHING = "Nothing was written."


def export(
    frame: pd.DataFrame, path: str | Path, *, escape_formulas: bool = False
) -> Path:
    """Write a spend frame to a file; an existing file is replaced.

    Amounts stay exact. In Excel, text is never a formula.

    Args:
        frame: Any spend frame, including one from `to_focus`.
        path: The file; its suffix is .csv, .parquet or .xlsx.
        escape_formulas: In a CSV for a spreadsheet, put an apostrophe before text that
            it would run as a formula.

    Returns:
        The file.

    Raises:
        InputError: The suffix is unknown, the package for it is not installed, or the
            file cannot be written.
    """
    suffix = Path(path).suffix
    content = export_bytes(frame, suffix, escape_formulas=escape_formulas)
    return write_file(path, content)


def export_bytes(
    frame: pd.DataFrame, suffix: str, *, escape_formulas: bool = False
) -> bytes:
    """Return the content of an exported file."""
    write = _WRITERS.get(suffix.lower())
    if write is None:
        accepted = "a file name that ends in .csv, .parquet or .xlsx"
        got = suffix or ValueDescription("no suffix")
        raise InputError("path", got=got, accepted=accepted, then="")
    extra = FORMAT_EXTRAS.get(suffix.lower())
    if extra and missing_modules(extra):
        accepted = (
            ".csv, unless you first install what this format needs: "
            f"{install_command(extra)}"
        )
        raise InputError("path", got=suffix, accepted=accepted, then=NOTHING)
    if escape_formulas and write is _csv:
        frame = _with_texts(frame, spreadsheet_text)
    return write(frame)


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file atomically."""
    target = Path(path).expanduser()
    try:
        write_whole(LocalTarget(target), content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        accepted = f"a file that can be written ({reason})"
        raise InputError(
            "path", got=str(path), accepted=accepted, then=NOTHING
        ) from None
    return target


def _with_texts(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Return a frame with a function applied to each text, names included."""
    from pandas.api.types import is_string_dtype

    def changed(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    names = [name for name in frame if is_string_dtype(frame[name].dtype)]
    texts = {str(name): frame[name].map(changed) for name in names}
    return frame.assign(**texts).rename(columns=changed)


def _csv(frame: pd.DataFrame) -> bytes:
    """Format as CSV, with days as "2026-10-31" and instants in UTC with a Z."""
    instants = frame.select_dtypes(["datetime", "datetimetz"])
    texts = {str(name): _utc_text(instants[name]) for name in instants}
    # With CRLF, pandas also quotes strings that contain a carriage return, which would
    # otherwise begin a row.
    return frame.assign(**texts).to_csv(index=False, lineterminator="\r\n").encode()


def _utc_text(instants: pd.Series[Any]) -> pd.Series[Any]:
    is_finer = bool((instants.dt.microsecond.fillna(0) != 0).any())
    form = f"%Y-%m-%dT%H:%M:{'%S.%f' if is_finer else '%S'}Z"
    form = "%Y-%m-%d" if instants.name == "day" else form
    texts: pd.Series[Any] = instants.dt.strftime(form)
    return texts


def _parquet(frame: pd.DataFrame) -> bytes:
    plain = frame.copy(deep=False)
    plain.attrs = {}  # pandas would write attrs as JSON, which some values cannot be
    content = io.BytesIO()
    plain.to_parquet(content, engine="pyarrow", index=False)
    return content.getvalue()


def _excel(frame: pd.DataFrame) -> bytes:
    """Return a workbook with one sheet; instants are naive UTC."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    def legal(text: str) -> str:
        text = ILLEGAL_CHARACTERS_RE.sub("\ufffd", text)
        is_long = len(text) > LONGEST_EXCEL_TEXT
        return f"{text[: LONGEST_EXCEL_TEXT - 1]}…" if is_long else text

    content = io.BytesIO()
    with pd.ExcelWriter(content, engine="openpyxl") as writer:
        printable = _with_texts(without_zones(frame), legal)
        printable.to_excel(writer, sheet_name="Spend", index=False, freeze_panes=(1, 0))
        sheet = writer.sheets["Spend"]
        for column in sheet.columns:
            sheet.column_dimensions[column[0].column_letter].width = 20
            for cell in column:
                if isinstance(cell.value, str):
                    # Otherwise "=1+1" becomes a formula, at once or when it is edited.
                    cell.data_type, cell.quotePrefix = "s", True
    return content.getvalue()


_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = MappingProxyType(
    {".csv": _csv, ".parquet": _parquet, ".xlsx": _excel}
)


def to_focus(charges: pd.DataFrame, *, provider: str = NOT_STATED) -> pd.DataFrame:
    """Return charges in the columns of FOCUS 1.2, the FinOps cost specification.

    Args:
        charges: As `client.spend.charges(...)` returns them.
        provider: The name of the service, for ProviderName and InvoiceIssuerName.

    Returns:
        One row per charge, in the same order. All four costs are the charge in US
        dollars (float64), because the service publishes one price. ChargePeriodStart
        is the UTC day on which the charge was first read as settled, and
        ChargePeriodEnd the day after it, excluded; the billing period is the calendar
        month. One job is consumed. Project, sweep and budget are Tags.

    Raises:
        InputError: The frame has no such columns.
    """
    for name in ("day", "job_id", "function", "charge_micro_usd"):
        if name not in charges:
            accepted = "a frame of charges, as client.spend.charges() returns it"
            got = ValueDescription(f"a frame without {name}")
            raise InputError("charges", got=got, accepted=accepted, then=NOTHING)
    cost, day = dollars(charges["charge_micro_usd"]), charges["day"]
    month_start = day - pd.to_timedelta(day.dt.day - 1, unit="D")
    function = charges["function"].astype("object")
    kind = _texts(charges, "kind", NOT_STATED)
    publisher = _texts(charges, "model", provider).str.split("/").str[0]
    tags = charges.reindex(columns=["project", "sweep", "budget"]).astype("object")
    columns: dict[str, Any] = {
        "BilledCost": cost,
        "EffectiveCost": cost,
        "ListCost": cost,
        "ContractedCost": cost,
        "BillingCurrency": "USD",
        "BillingAccountId": _texts(charges, "account", NOT_STATED),
        "BillingAccountName": None,
        "BillingPeriodStart": month_start,
        "BillingPeriodEnd": month_start + pd.offsets.MonthBegin(1),
        "ChargePeriodStart": day,
        "ChargePeriodEnd": day + pd.Timedelta(days=1),
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": kind + " " + charges["job_id"].astype("object"),
        "ChargeFrequency": "Usage-Based",
        "ConsumedQuantity": 1,
        "ConsumedUnit": "Jobs",
        "PricingQuantity": 1,
        "PricingUnit": "Jobs",
        "ProviderName": provider,
        "InvoiceIssuerName": provider,
        "PublisherName": publisher,
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "Generative AI",
        "ServiceName": kind,
        "SkuId": function,
        "SkuPriceId": function,
        "ResourceId": charges["job_id"],
        "ResourceType": "Media job",
        "Tags": [_tag(row) for row in tags.to_dict("records")],
    }
    return pd.DataFrame(columns, index=charges.index)


def _texts(frame: pd.DataFrame, name: str, default: str) -> pd.Series[Any]:
    values = frame.reindex(columns=[name])[name].astype("object")
    return values.where(values.notna(), default)


def _tag(row: Mapping[Any, object]) -> str | None:
    texts = {name: value for name, value in row.items() if isinstance(value, str)}
    return json.dumps(texts, ensure_ascii=False) if texts else None
