"""Parses the billing endpoints' responses into typed frames (spec 4.19).

Money is int64 micro-USD, so sums are exact; a day is a midnight without a time zone and
is never converted. Unknown columns are kept. `frame.attrs["unread"]` lists what no sum
includes; `frame.attrs["doubts"]` lists what else could not be read or does not add up.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype

from mediakit.client.pagination import continuation_of
from mediakit.errors import IncompleteDataWarning, ServiceError
from mediakit.history.frames import TEXT, text_array
from mediakit.money import format_usd
from mediakit.safe_text import shown
from mediakit.spend.column_types import (
    CHARGE,
    as_days,
    as_sent,
    as_whole,
    numbered,
    plain_rows,
    texts_of,
    whole_number,
)
from mediakit.spend.totals import (
    KEY,
    called_totals,
    csv_totals,
    is_given,
    repeats,
    rollups,
)

CREDITS = "credits_applied_micro_usd"
MONEY = "_micro_usd"
# Lists in the monthly report other than usage (spec 4.19).
OTHERS = frozenset({"invoices", "credits_applied", "credits_granted", "top_ups"})
_STATED_CHARGE = re.compile(
    r"(total|sum)_((charges?|charged|spend|cost|amount)_)?micro_usd"
    r"|(charges?|charged|spend|cost|amount)_(total_)?micro_usd"
)
_SUMMARY = re.compile(r"totals?|summary|sums?")
_TEXTS = ("api_key_id", "model_id", "model", "function", "month")
_NAMES = ("model", "model_id", "function")
_DAYS = ("date", "day")
_KEYS = ("key_id", "api_key", "key", "api_key_name")
_SLASHES_OF_A_PATH = 2  # vendor/model/function
DAILY, MONTHLY, CSV = "daily report", "monthly report", "month's CSV"

Row = dict[str, Any]


def daily_frame(body: object) -> pd.DataFrame:
    """Parse a daily spend response into a frame (spec 4.19).

    Returns:
        One row per record, in the order sent and without totals: day (datetime64[us]),
        api_key_id, model and function (str; the function's whole path, if the row has
        it, even if split into parts), jobs (Int64), charge_micro_usd (int64; Int64
        where a row names none), then every other column. `attrs` has total_micro_usd
        (None if not sent), unread and doubts (lists of sentences), and the report
        around the rows.
    """
    rows, report = rows_of(body, DAILY, ((CHARGE,), _NAMES, _DAYS))
    if "date" in rows:
        date = rows.pop("date")
        day = rows.get("day", date)
        rows["day"] = date if day is date else day.where(is_given(day), date)
    if KEY not in rows and (names := [name for name in _KEYS if name in rows]):
        rows[KEY] = rows[names[0]]
    rows, report, sums_n = _without_sums(rows, report)
    leading = ("day", "api_key_id", "model", "function", "jobs", CHARGE)
    return _typed(rows, leading, report, DAILY, sums_n)


def monthly_frame(body: object, month: str) -> pd.DataFrame:
    """Parse a monthly report into a frame (spec 4.19).

    Returns:
        One row per record, in the order sent and without totals: month, model_id, model
        and function (str), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column, usage as one
        column per unit. `attrs` as for the days; invoices are in its report.
    """
    rows, report = rows_of(body, MONTHLY, ((CHARGE,), _NAMES))
    rows, report, sums_n = _without_sums(rows, report)
    if "month" not in rows:
        rows["month"] = month
    leading = ("month", "model_id", "model", "function", "jobs", CHARGE, CREDITS)
    frame = _typed(rows, leading, report, MONTHLY, sums_n)
    if report.get("month", month) != month:
        text = f"Asked for {month}, but the report says {shown(report['month'])}."
        frame.attrs["doubts"].append(text)
    return frame


def csv_frame(text: str) -> pd.DataFrame:
    """Parse a month's CSV into a frame, without its totals row (spec 4.19).

    Returns:
        One row per model, in the order sent: model_id, model and function
        (str), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column.
        `attrs["total_micro_usd"]` is what the totals row says, or None.
    """
    header, records = _csv_rows(text)
    check_names(header, CSV, ((CHARGE,), _NAMES))
    leading = ("model_id", "model", "function", "jobs", CHARGE, CREDITS)
    for name in leading:
        if (count := header.count(name)) > 1:  # ambiguous: either may be the total
            raise unread(CSV, f"{count} columns named {name}")
    rows = table_of(records)
    place, is_sum, doubts = csv_totals(rows)
    totals = [] if place is None else [rows.iloc[place].to_dict()]
    rows = rows[~is_sum].reset_index(drop=True)
    for name in rows.columns.difference([*_TEXTS]):
        numbers = pd.Series([*map(whole_number, rows[name])], rows.index, "object")
        # "007" is a name, not a number.
        if (numbers.map(str) == rows[name])[rows[name].notna()].all():
            rows[name] = numbers
    report = {
        ("total_micro_usd" if name == CHARGE else str(name)): whole_number(value)
        for row in totals
        for name, value in row.items()
        if str(name).endswith(MONEY) or name == "jobs"
    }
    frame = _typed(rows, leading, report, CSV)
    frame.attrs["doubts"] += doubts
    return frame


def warn_of_incomplete(frame: pd.DataFrame) -> bool:
    """Warn of unread or doubtful parts; return whether there are any."""
    texts = [*frame.attrs.pop("unread"), *frame.attrs.pop("doubts")]
    for text in texts:
        warnings.warn(text, IncompleteDataWarning, stacklevel=2)
    return bool(texts)


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames of several responses, with their totals."""
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    whole = pd.concat(filled, ignore_index=True)
    totals = [frame.attrs["total_micro_usd"] for frame in frames]
    total = None if None in totals else sum(totals)
    whole.attrs = {"total_micro_usd": total, "report": {}}
    return whole


def _without_sums(
    rows: pd.DataFrame, report: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any], int]:
    """Drop the rows that are totals; a single one is the report's total.

    Returns:
        The rows, the report around them, and how many rows were sums of others without
        saying so.
    """
    is_total = called_totals(rows)
    if "day" in rows and len(rows):
        is_total |= ~is_given(rows["day"]) & rows[CHARGE].notna()
    totals = [*rows.loc[is_total, CHARGE]] if is_total.any() else []
    if len(totals) == 1:
        report = {"total_micro_usd": whole_number(totals[0])} | report
    rows = rows[~is_total].reset_index(drop=True) if totals else rows
    is_rollup = rollups(rows)
    rows = rows[~is_rollup].reset_index(drop=True) if is_rollup.any() else rows
    return rows, report, int(is_rollup.sum())


def _typed(
    rows: pd.DataFrame,
    leading: Sequence[str],
    report: Mapping[str, Any],
    what: str,
    sums_n: int = 0,
) -> pd.DataFrame:
    """Convert the rows to column types, and check them against the report's totals.

    `sums_n` rows of the report were left out as sums of others.
    """
    typed: dict[str, Any] = {}
    unread, doubts = list[str](), list[str]()
    if sums_n:
        rest = "is a sum" if sums_n == 1 else "are sums"
        text = f"{sums_n} of the rows of the {what} {rest} of other rows"
        left_out = "was" if sums_n == 1 else "were"
        doubts.append(f"{text} and {left_out} left out.")
    for name in dict.fromkeys([*leading, *map(str, rows)]):
        values = rows.get(name, pd.Series(None, rows.index, "object"))
        typed[name] = _typed_column(name, values)
        if name in ("day", "jobs") or name.endswith(MONEY):
            odd_n = int((pd.isna(typed[name]) & values.notna()).sum())
            if odd_n:
                typed[f"{name}_as_sent"] = as_sent(values)
                text = f"{odd_n} of {len(rows)} values of {name} could not be read; "
                text += f"{name}_as_sent has them as they were sent."
                doubts += [text] if name != CHARGE else []
    typed["function"] = _whole_paths(typed)
    frame = pd.DataFrame(typed, rows.index)
    if repeats_n := repeats(rows, frame[CHARGE]):
        rest = "row repeats another" if repeats_n == 1 else "rows repeat others"
        text = f"{repeats_n} {rest} of the {what} in every column"
        doubts.append(f"{text}, so it may count money twice.")
    missing = int(frame[CHARGE].isna().sum())
    if missing:
        has, is_in = ("has", "is") if missing == 1 else ("have", "are")
        unread.append(
            f"{missing} of {len(rows)} rows of the {what} {has} no charge and {is_in} "
            "not included in any sum."
        )
    for name, value in _stated(report):
        column = CHARGE if _STATED_CHARGE.fullmatch(name) else name
        total = whole_number(value)
        if column not in frame or total is None:
            continue
        row_sum = int(frame[column].sum())
        if row_sum != total:
            stated_text, row_sum_text = (
                format_usd(each) if column.endswith(MONEY) else f"{each:,}"
                for each in (total, row_sum)
            )
            doubts.append(
                f"The total of {column} is {stated_text}, but its rows sum to "
                f"{row_sum_text}."
            )
    if continuation_of(report, len(frame)).goes_on:
        unread.append(f"The {what} has more pages, which were not read or summed.")
    frame.attrs = {
        "total_micro_usd": whole_number(report.get("total_micro_usd")),
        "unread": unread,
        "doubts": doubts,
        "report": dict(report),
    }
    return frame


def _stated(report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values around the rows, including a summary's."""
    for name, value in report.items():
        if isinstance(value, dict) and _SUMMARY.fullmatch(name):
            yield from value.items()
        else:
            yield name, value


def _whole_paths(columns: Mapping[str, Any]) -> Any:
    """Return the full function path of each row; rows have few distinct names."""
    named = {name: columns[name] for name in _NAMES if name in columns}
    numbers, distinct = numbered(pd.DataFrame(named))
    paths = [_whole_path(row) for row in plain_rows(distinct)]
    return text_array(paths).take(numbers)


def _whole_path(names: Mapping[str, Any]) -> str | None:
    """Return the path vendor/model/function that a row names, whole or in parts.

    Two models can have a function of the same name.
    """
    function: str | None = names["function"]
    model: str | None = names["model"]
    if function and "/" in function:
        return function
    ending = f"/{function or ''}"
    for name in (names.get("model_id"), model):
        if name and name.count("/") >= _SLASHES_OF_A_PATH:
            return name if function is None or name.endswith(ending) else function
    is_part = function and model and model.count("/") == _SLASHES_OF_A_PATH - 1
    return f"{model}{ending}" if is_part else function


def _typed_column(name: str, values: pd.Series[Any]) -> Any:
    if name == "day":
        return as_days(values)
    if name in _TEXTS:
        return texts_of(values)
    if name == "jobs" or name.endswith(MONEY):
        return as_whole(values, nullable=name == "jobs")
    return as_sent(values)


def _csv_rows(text: str) -> tuple[Sequence[str], list[Row]]:
    """Return the header and the rows of a CSV."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), restkey="more")
    try:
        rows = [{name: value or None for name, value in row.items()} for row in reader]
    except csv.Error as error:
        raise ServiceError(
            f"The service's response for the month's CSV is not a CSV ({error}). "
            "Nothing was changed; try again, or read the month with monthly().",
            status=200,
        ) from error
    return reader.fieldnames or (), rows


# -- rows of a response ----------------------------------------------------------------


def rows_of(
    body: object, what: str, needed: Sequence[Sequence[str]]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows in a body as a table, and everything else in it.

    The rows are the body itself if it is a list, or its "rows", or the only list inside
    that has the charge. If all lists are empty, the table has no columns. Rows must
    have one name of each group in `needed`, the charge first.
    """
    if isinstance(body, dict) and isinstance(body.get("rows"), list):
        lists = [body["rows"]]
        report = {name: value for name, value in body.items() if name != "rows"}
    else:
        lists = [items for name, items in _lists("rows", body) if name not in OTHERS]
        report = _around_lists(body)
    filled = [table_of(_records(items)) for items in lists if items]
    if lists and not filled:
        return pd.DataFrame(), report
    charge = needed[0][0]
    charges = [rows for rows in filled if charge in rows]
    if not charges:
        advice = "if the charge has another name, add [reports] to mediakit.toml"
        raise unread(what, f"no list with {charge} ({advice})")
    if len(charges) > 1:
        raise unread(what, f"{len(charges)} lists with {charge}, not one")
    check_names(charges[0], what, needed)
    return charges[0], report


def check_names(
    columns: Collection[Any], what: str, needed: Sequence[Sequence[str]]
) -> None:
    """Raise a `ServiceError` if rows lack a name of any group."""
    for names in needed:
        if not any(name in columns for name in names):
            raise unread(what, f"no {' and no '.join(names)}")


def unread(what: str, found: str) -> ServiceError:
    """Return the error that explains why a report's rows cannot be read."""
    text = f"The {what} could not be read: it has {found}. Read it in the portal."
    return ServiceError(text, status=200)


def table_of(records: Sequence[Row]) -> pd.DataFrame:
    """Make a table of records, with columns in order of first appearance.

    A list of nested records with amounts is expanded: each becomes a row, with the text
    values of the outer record but not its sums. A column of objects, such as usage,
    becomes one column per key.
    """
    rows = pd.DataFrame(records, dtype="object")
    kinds = {str(name): infer_dtype(rows[name]) for name in rows}
    rows = rows.assign(**{name: _typed_once(rows[name], kinds[name]) for name in kinds})
    mixed = [name for name, kind in kinds.items() if kind == "mixed"]
    if any(isinstance(value, list) for name in mixed for value in rows[name]):
        parts = [part for row in records for part in _parts(row, {})]
        if parts != list(records):
            return table_of(parts)
    for name in mixed:
        given_values = [value for value in rows[name].dropna() if value]
        if given_values and all(isinstance(value, dict) for value in given_values):
            place = [*rows].index(name)
            values = rows.pop(name)
            inner = table_of([v if isinstance(v, dict) else {} for v in values])
            for shift, key in enumerate(inner):
                rows.insert(place + shift, f"{name}_{key}", inner[key])
    return rows


def _typed_once(values: pd.Series[Any], kind: str) -> pd.Series[Any]:
    """Convert objects that are all strings, or all integers; others are read later."""
    if kind == "string":
        return pd.Series(values, dtype=TEXT)
    if kind == "integer" and not values.hasnans:
        with suppress(OverflowError):
            return values.astype("int64")
    return values


def _records(items: list[Any]) -> list[Row]:
    if set(map(type, items)) == {dict} and all(items):
        return items
    return [
        item if isinstance(item, dict) and item else {"value": item} for item in items
    ]


def _lists(name: str, value: object) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list):
        if not value or any(isinstance(item, dict) for item in value):
            yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _lists(key, inner)


def _around_lists(body: object) -> dict[str, Any]:
    around: dict[str, Any] = {}
    for key, value in body.items() if isinstance(body, dict) else ():
        if not list(_lists(key, value)):
            around[key] = value
        elif isinstance(value, dict):
            around |= _around_lists(value)
    return around


def _parts(row: Row, around: Row) -> Iterator[Row]:
    finer = [
        part
        for value in row.values()
        if isinstance(value, list) and any(map(_names_money, value))
        for part in _records(value)
    ]
    if not finer:
        yield {**around, **row}
        return
    texts = {key: value for key, value in row.items() if isinstance(value, str)}
    for part in finer:
        yield from _parts(part, {**around, **texts})


def _names_money(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_names_money, value))
    if not isinstance(value, dict):
        return False
    return any(
        key.endswith(MONEY) or (isinstance(inner, list) and _names_money(inner))
        for key, inner in value.items()
    )
