"""The responses of the billing endpoints as typed frames (spec 4.19).

Money is int64 micro-USD, so sums are exact; a day is a UTC midnight and is never
converted to another zone. Unknown columns are kept. `frame.attrs["notes"]` reports
totals that do not add up and values that could not be read.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, compress, repeat
from operator import itemgetter, or_
from typing import Any

import pandas as pd

from mediakit.errors import IncompleteDataWarning, ServiceError
from mediakit.money import format_usd
from mediakit.safe_text import shown
from mediakit.spend.columns import (
    CHARGE,
    as_days,
    as_sent,
    as_text,
    as_whole,
    whole_number,
)

CREDITS = "credits_applied_micro_usd"
MONEY = "_micro_usd"
# Lists of the monthly report that are no usage (spec 4.19).
OTHERS = frozenset({"invoices", "credits_applied", "credits_granted", "top_ups"})
_TEXTS = ("api_key_id", "model_id", "model", "function", "month")
_NAMES = ("model", "model_id", "function")
_DAYS = ("date", "day")
_TOTAL_WORDS = frozenset({"total", "totals", "grand total", "all", "all models"})
_SLASHES_OF_A_PATH = 2  # vendor/model/function
_MORE = ("next_cursor", "next_page", "has_more")
DAILY, MONTHLY, CSV = "daily report", "monthly report", "month's CSV"

Columns = dict[str, list[Any]]
Row = dict[str, Any]


def daily_frame(body: object) -> pd.DataFrame:
    """Make a frame of a daily spend response (spec 4.19).

    Returns:
        One row per record, in the order sent and without totals: day
        (datetime64[us, UTC]), api_key_id, model and function (str; where only the
        model is sent and is a whole path, it is the function too), jobs (Int64),
        charge_micro_usd (int64; Int64 where a row names none), then every other
        column. `attrs` has total_micro_usd (None if not sent), notes, unread (what is
        in no sum, as sentences), and the report around the rows.
    """
    columns, report = rows_of(body, DAILY, ((CHARGE,), _NAMES, _DAYS))
    if "day" not in columns:
        columns = {("day" if k == "date" else k): v for k, v in columns.items()}
    elif "date" in columns:
        both = zip(columns["day"], columns["date"], strict=True)
        columns["day"] = [day or date for day, date in both]
    notes: list[str] = []
    rows = zip(columns.get("day", []), columns.get(CHARGE, []), strict=True)
    is_undated = [not day and charge is not None for day, charge in rows]
    is_total = list(map(or_, is_undated, _are_totals(columns)))
    columns, report = _without_totals(columns, is_total, report, notes)
    columns = _with_functions(columns)
    leading = ("day", "api_key_id", "model", "function", "jobs", CHARGE)
    frame = _typed(columns, leading, DAILY, notes)
    return _reported(frame, notes, report, DAILY)


def monthly_frame(body: object, month: str) -> pd.DataFrame:
    """Make a frame of a monthly report (spec 4.19).

    Returns:
        One row per record, in the order sent and without totals: month, model_id, model
        and function (str), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column, usage as one
        column per unit. `attrs` as for the days; invoices are in its report.
    """
    columns, report = rows_of(body, MONTHLY, ((CHARGE,), _NAMES))
    notes: list[str] = []
    is_total = _are_totals(columns)
    columns, report = _without_totals(columns, is_total, report, notes)
    columns.setdefault("month", [month] * len(next(iter(columns.values()), ())))
    leading = ("month", "model_id", "model", "function", "jobs", CHARGE, CREDITS)
    frame = _typed(columns, leading, MONTHLY, notes)
    if report.get("month", month) != month:
        said = shown(report["month"])
        notes.append(f"Asked for {month}, but the report says {said}.")
    return _reported(frame, notes, report, MONTHLY)


def csv_frame(text: str) -> pd.DataFrame:
    """Make a frame of a month's CSV, without its totals row (spec 4.19).

    Returns:
        One row per model, in the order sent: model_id, model and function
        (str), jobs (Int64), charge_micro_usd and credits_applied_micro_usd
        (int64; Int64 where a row names none), then every other column.
        `attrs["total_micro_usd"]` is what the totals row says, None without one;
        where it differs from the rows, a note says so.
    """
    header, rows = _csv_rows(text)
    check_names(header, CSV, ((CHARGE,), _NAMES))
    # Columns come from all rows first, so that a month without rows has them, too.
    columns = columns_of(rows)
    is_total = _are_totals(columns, blank=None)
    totals: dict[str, Any] = next(
        (row for row, total in zip(rows, is_total, strict=True) if total), {}
    )
    keep = [not total for total in is_total]
    columns = {
        name: _numbers(name, list(compress(values, keep)))
        for name, values in columns.items()
    }
    notes: list[str] = []
    leading = ("model_id", "model", "function", "jobs", CHARGE, CREDITS)
    frame = _typed(columns, leading, CSV, notes)
    if not totals:
        notes.append("The CSV has no totals row to check its rows against.")
    report = {
        ("total_micro_usd" if name == CHARGE else name): whole_number(value)
        for name, value in totals.items()
        if name.endswith(MONEY) or name == "jobs"
    }
    return _reported(frame, notes, report, CSV)


def warn_of_incomplete(frame: pd.DataFrame) -> None:
    """Warn of what a report has and no sum over its frame does; its notes say so."""
    texts = frame.attrs.pop("unread")
    total, rows = frame.attrs["total_micro_usd"], int(frame[CHARGE].sum())
    if total not in (None, rows):
        said, summed = format_usd(total), format_usd(rows)
        texts.append(f"The report's total is {said}, but its rows sum to {summed}.")
    for text in texts:
        warnings.warn(text, IncompleteDataWarning, stacklevel=2)


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate frames of several responses, with their totals and notes."""
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    whole = pd.concat(filled, ignore_index=True)
    totals = [frame.attrs["total_micro_usd"] for frame in frames]
    notes = (note for frame in frames for note in frame.attrs["notes"])
    whole.attrs = {
        "total_micro_usd": None if None in totals else sum(totals),
        "notes": list(dict.fromkeys(notes)),
        "report": {},
    }
    return whole


def _are_totals(columns: Columns, blank: str | None = "") -> list[bool]:
    """Tell which rows are totals: those that say so, or whose function is blank."""
    named = [columns[name] for name in _NAMES if name in columns]
    first = next(iter(columns.values()), [])
    said = [*named, *(columns[n] for n in ("api_key_id", "day") if n in columns), first]
    said = [column for column in said if _has_total(column)]
    if not said and any(map(all, named)):
        return [False] * len(first)
    rows = zip(columns.get(CHARGE, []), *named, strict=True)
    texts = zip(*said, strict=True) if said else repeat((), len(first))
    return [
        charge is not None
        and (any(map(_is_total, text)) or (not any(names) and blank in names))
        for (charge, *names), text in zip(rows, texts, strict=True)
    ]


def _has_total(column: list[Any]) -> bool:
    try:
        return any(map(_is_total, set(column)))
    except TypeError:  # lists and objects have no hash
        return any(map(_is_total, column))


def _is_total(text: object) -> bool:
    return isinstance(text, str) and text.strip().lower() in _TOTAL_WORDS


def _without_totals(
    columns: Columns,
    is_total: Sequence[bool],
    report: dict[str, Any],
    notes: list[str],
) -> tuple[Columns, dict[str, Any]]:
    """Leave out the rows that are totals; a single one is the report's total."""
    count = sum(is_total)
    if not count:
        return columns, report
    charges = list(compress(columns[CHARGE], is_total))
    if count == 1:
        notes.append("1 row is a total and is not added to the others.")
        report = {"total_micro_usd": whole_number(charges[0])} | report
    else:
        notes.append(f"{count} rows are totals and are not added to the others.")
    keep = [not total for total in is_total]
    kept = {name: list(compress(values, keep)) for name, values in columns.items()}
    return kept, report


def _with_functions(columns: Columns) -> Columns:
    """Name the function of rows whose model is a whole path."""
    models = columns.get("model_id") or columns.get("model") or []
    functions = columns.get("function") or [None] * len(models)
    if all(functions):
        return columns
    named = [
        function or (model if str(model).count("/") >= _SLASHES_OF_A_PATH else None)
        for function, model in zip(functions, models, strict=True)
    ]
    return {**columns, "function": named}


def _typed(
    columns: Columns, leading: Iterable[str], what: str, notes: list[str]
) -> pd.DataFrame:
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
                f"{unread} of {length} values of {name} could not be read; "
                f"{name}_as_sent has them as they were sent."
            )
    frame = pd.DataFrame(typed)
    missing = int(frame[CHARGE].isna().sum())
    frame.attrs["unread"] = []
    if missing:
        has, is_in = ("has", "is") if missing == 1 else ("have", "are")
        text = (
            f"{missing} of {length} rows of the {what} {has} no charge and {is_in} not "
            "included in any sum."
        )
        notes.append(text)
        frame.attrs["unread"].append(text)
    return frame


def _is_read(name: str) -> bool:
    return name in ("day", "jobs") or name.endswith(MONEY)


def _typed_column(name: str, values: list[Any]) -> Any:
    if name == "day":
        return as_days(values)
    if name in _TEXTS:
        return as_text(values)
    if name == "jobs" or name.endswith(MONEY):
        return as_whole(values, nullable=name == "jobs")
    return as_sent(values)


def _reported(
    frame: pd.DataFrame, notes: list[str], report: Mapping[str, Any], what: str
) -> pd.DataFrame:
    """Attach the report, and note where its totals differ from the rows."""
    for name, total in report.items():
        column = CHARGE if name == "total_micro_usd" else name
        if column not in frame or whole_number(total) is None:
            continue
        rows = int(frame[column].sum())
        if rows != total:
            said, summed = _amount(column, total), _amount(column, rows)
            text = f"The total of {column} is {said}, but its rows sum to {summed}."
            notes.append(text)
    unread = list(frame.attrs["unread"])
    if _has_more(report):
        text = f"The {what} has more pages, which were not read or summed."
        notes.append(text)
        unread.append(text)
    frame.attrs = {
        "total_micro_usd": whole_number(report.get("total_micro_usd")),
        "notes": notes,
        "unread": unread,
        "report": dict(report),
    }
    return frame


def _has_more(report: Mapping[str, Any]) -> bool:
    """Tell whether a report says that it is one of several pages."""
    inner = (value for value in report.values() if isinstance(value, dict))
    return any(report.get(name) for name in _MORE) or any(map(_has_more, inner))


def _amount(column: str, number: int) -> str:
    return format_usd(number) if column.endswith(MONEY) else f"{number:,}"


def _csv_rows(text: str) -> tuple[Sequence[str], list[dict[str, Any]]]:
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


# -- rows of a response ----------------------------------------------------------------


def rows_of(
    body: object, what: str, needed: Sequence[Sequence[str]]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the columns of the rows in a body, and everything else in it.

    The rows are the body's own list, or its "rows", or else the one list inside it that
    has the charge; without columns if all lists are empty. Rows have one name of each
    group of `needed`, the charge first.
    """
    if isinstance(body, dict) and isinstance(body.get("rows"), list):
        lists = [body["rows"]]
        report = {name: value for name, value in body.items() if name != "rows"}
    else:
        lists = [found for name, found in _lists("rows", body) if name not in OTHERS]
        report = _around_lists(body)
    filled = [columns_of(_records(found)) for found in lists if found]
    if lists and not filled:
        return {}, report
    charges = [columns for columns in filled if needed[0][0] in columns]
    if len(charges) != 1:
        count = "no list" if not charges else f"{len(charges)} lists"
        raise unread(what, f"{count} with {needed[0][0]}, not one")
    check_names(charges[0], what, needed)
    return charges[0], report


def check_names(
    columns: Iterable[str], what: str, needed: Sequence[Sequence[str]]
) -> None:
    """Raise a `ServiceError` if rows lack a name of each group."""
    known = set(columns)
    for names in needed:
        if not known & set(names):
            raise unread(what, f"no {' and no '.join(names)}")


def unread(what: str, found: str) -> ServiceError:
    """Return the error that says why the rows of a report are not read."""
    text = f"The {what} could not be read: it has {found}. Read it in the portal."
    return ServiceError(text, status=200)


def columns_of(rows: Sequence[Row]) -> Columns:
    """Turn rows into columns, in the order in which names first appear.

    A list of nested records with amounts is expanded: each becomes a row, with the
    texts of the outer record but not its sums. A column of objects, such as usage,
    becomes one column per key.
    """
    names = dict.fromkeys(chain.from_iterable(rows))
    columns = {name: _values(rows, name) for name in names}
    types = {name: set(map(type, values)) for name, values in columns.items()}
    shared: dict[str, str] = {}
    for name, values in columns.items():
        if types[name] == {str}:  # a few texts, which every later pass then finds
            columns[name] = list(map(shared.setdefault, values, values))
    if any(list in each for each in types.values()):
        parts = [part for row in rows for part in _parts(row, {})]
        if parts != list(rows):
            return columns_of(parts)
    opened: Columns = {}
    for name, values in columns.items():
        inner: Columns = {}
        if types[name] - {type(None)} == {dict}:
            inner = columns_of([value or {} for value in values])
        opened |= {f"{name}_{key}": column for key, column in inner.items()}
        if not inner:
            opened[name] = values
    return opened


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    with suppress(KeyError):  # the usual case, at half the time
        return list(map(itemgetter(name), rows))
    return [row.get(name) for row in rows]


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
