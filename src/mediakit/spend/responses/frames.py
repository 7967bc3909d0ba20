"""The responses of the billing endpoints as typed frames (spec 4.19).

Money is int64 micro-USD, so sums are exact; a day is a UTC midnight and is never
converted to another zone. Unknown columns are kept. `frame.attrs["notes"]` reports
totals that do not add up and values that could not be read.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any

from mediakit.errors import ServiceError, shown
from mediakit.money import format_usd
from mediakit.spend.responses.columns import (
    as_category,
    as_days,
    as_sent,
    as_whole,
    whole_number,
)
from mediakit.spend.responses.rows import MONEY, columns_of, rows_of

if TYPE_CHECKING:
    import pandas as pd

CHARGE = "charge_micro_usd"
CREDITS = "credits_applied_micro_usd"
_TEXTS = ("api_key_id", "model_id", "model", "function", "month")
_TOTAL_WORDS = ("total", "totals")

Columns = dict[str, list[Any]]


def daily_frame(body: object) -> "pd.DataFrame":
    """Make a frame of a daily spend response (spec 4.19).

    Args:
        body: The parsed JSON: any list of records, alone or inside.

    Returns:
        One row per record, in the order sent: day (datetime64[us, UTC]), api_key_id,
        model and function (category), jobs (Int64), charge_micro_usd (int64; Int64
        where a row names none), then every other column. `attrs` has
        total_micro_usd (None if not sent), notes, and the report around the rows.

    Raises:
        ServiceError: It has no list.
    """
    rows, report = rows_of(body, "daily spend")
    columns = columns_of(rows)
    if "day" not in columns and "date" in columns:
        columns = {("day" if k == "date" else k): v for k, v in columns.items()}
    leading = ("day", "api_key_id", "model", "function", "jobs", CHARGE)
    frame, notes = _typed(columns, leading)
    return _reported(frame, notes, report)


def monthly_frame(body: object, month: str) -> "pd.DataFrame":
    """Make a frame of a monthly report (spec 4.19).

    Args:
        body: The parsed JSON: any list of records, alone or inside.
        month: The month that was asked for, "YYYY-MM".

    Returns:
        One row per record, in the order sent: month, model_id, model and function
        (category), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column, usage as one
        column per unit. `attrs` as for the days; invoices are in its report.

    Raises:
        ServiceError: It has no list.
    """
    rows, report = rows_of(body, "monthly report")
    columns = columns_of(rows)
    columns.setdefault("month", [month] * len(next(iter(columns.values()), ())))
    leading = ("month", "model_id", "model", "function", "jobs", CHARGE, CREDITS)
    frame, notes = _typed(columns, leading)
    if report.get("month", month) != month:
        notes.append(f"Asked for {month}, the report says {shown(report['month'])}.")
    return _reported(frame, notes, report)


def csv_frame(text: str) -> "pd.DataFrame":
    """Make a frame of a month's CSV, without its totals row (spec 4.19).

    Args:
        text: The CSV: a header, one row per model, a totals row.

    Returns:
        One row per model, in the order sent: model_id, model and function
        (category), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column.
        `attrs["total_micro_usd"]` is what the totals row says, None without one;
        where it differs from the rows, a note says so.

    Raises:
        ServiceError: The text is not a CSV.
    """
    rows = _csv_rows(text)
    totals: dict[str, Any] = next((row for row in reversed(rows) if _is_total(row)), {})
    # Columns come from all rows first, so that a month without rows has them, too.
    columns = columns_of(rows)
    keep = [row is not totals for row in rows]
    columns = {
        name: _numbers(name, list(compress(values, keep)))
        for name, values in columns.items()
    }
    leading = ("model_id", "model", "function", "jobs", CHARGE, CREDITS)
    frame, notes = _typed(columns, leading)
    if not totals:
        notes.append("The CSV has no totals row to check its rows against.")
    report = {
        ("total_micro_usd" if name == CHARGE else name): whole_number(value)
        for name, value in totals.items()
        if name.endswith(MONEY) or name == "jobs"
    }
    return _reported(frame, notes, report)


def _typed(
    columns: Columns, leading: Iterable[str]
) -> tuple["pd.DataFrame", list[str]]:
    import pandas as pd

    notes: list[str] = []
    columns = _charges_named(columns, notes)
    length = len(next(iter(columns.values()), ()))
    ordered = {name: columns.get(name, [None] * length) for name in leading} | columns
    typed: dict[str, Any] = {}
    for name, values in ordered.items():
        typed[name] = _typed_column(name, values)
        if not _is_read(name):
            continue
        missing = int(pd.isna(typed[name]).sum())
        unread = missing and missing - values.count(None)
        if unread:
            typed[f"{name}_as_sent"] = as_sent(values)
            notes.append(
                f"{unread} of {length} values of {name} cannot be read; they are "
                f"missing there and kept in {name}_as_sent."
            )
    missing = int(pd.isna(typed[CHARGE]).sum())
    if missing:
        notes.append(
            f"{missing} of {length} rows have no charge and are not included in any "
            "sum."
        )
    return pd.DataFrame(typed), notes


def _is_read(name: str) -> bool:
    return name in ("day", "jobs") or name.endswith(MONEY)


def _typed_column(name: str, values: list[Any]) -> Any:
    if name == "day":
        return as_days(values)
    if name in _TEXTS:
        return as_category(values)
    if name == "jobs" or name.endswith(MONEY):
        return as_whole(values, nullable=name == "jobs")
    return as_sent(values)


def _charges_named(columns: Columns, notes: list[str]) -> Columns:
    money = [name for name in columns if name.endswith(MONEY)]
    if CHARGE in columns or len(money) != 1:
        return columns
    notes.append(f"The charge comes from the column {money[0]}.")
    return {(CHARGE if k == money[0] else k): v for k, v in columns.items()}


def _reported(
    frame: "pd.DataFrame", notes: list[str], report: Mapping[str, Any]
) -> "pd.DataFrame":
    """Attach the report, and note where its totals differ from the rows."""
    for name, total in report.items():
        column = CHARGE if name == "total_micro_usd" else name
        if column not in frame or whole_number(total) is None:
            continue
        rows = int(frame[column].sum())
        if rows != total:
            said, summed = _amount(column, total), _amount(column, rows)
            notes.append(f"The total of {column} is {said}, its rows sum to {summed}.")
    frame.attrs = {
        "total_micro_usd": whole_number(report.get("total_micro_usd")),
        "notes": notes,
        "report": dict(report),
    }
    return frame


def _amount(column: str, number: int) -> str:
    return format_usd(number) if column.endswith(MONEY) else f"{number:,}"


def _csv_rows(text: str) -> list[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), restkey="more")
    try:
        return [{name: value or None for name, value in row.items()} for row in reader]
    except csv.Error as error:
        raise ServiceError(
            f"The service's response for the month's CSV is not a CSV ({error}). "
            "Nothing was changed; try again, or read the month with monthly()."
        ) from error


def _is_total(row: Mapping[str, Any]) -> bool:
    texts = (value for value in row.values() if isinstance(value, str))
    return any(text.strip().lower() in _TOTAL_WORDS for text in texts)


def _numbers(name: str, values: list[Any]) -> list[Any]:
    """Parse a column of plain whole numbers; return any other unchanged."""
    if name in _TEXTS:
        return values
    numbers = [whole_number(value) for value in values]
    plain = (
        value is None or str(number) == value
        for value, number in zip(values, numbers, strict=True)
    )
    return list(numbers) if all(plain) else values
