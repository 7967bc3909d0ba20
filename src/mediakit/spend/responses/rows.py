"""Finds the rows in a billing response whose shape the spec does not define.

The spec does not define the fields of daily and monthly records (spec 2.5, 4.19). A
list counts as rows only if it is the only one with the charge, beside the names by
which the spec groups: another list may hold the same money again, as invoices or by
another name. Everything else is kept as the report.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import Any

from mediakit.errors import ServiceError

MONEY = "_micro_usd"
AT_A_TIME = 2_048
ROWS_AT_A_TIME = 512  # too few tuples to trigger garbage collection
MOST_TEXTS = 100_000
# Lists of the monthly report that are no usage (spec 4.19).
OTHERS = frozenset({"invoices", "credits_applied", "credits_granted", "top_ups"})

Row = dict[str, Any]


def rows_of(
    body: object, what: str, needed: Sequence[Sequence[str]]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the columns of the rows in a body, and everything else in it.

    Args:
        body: The parsed JSON.
        what: What was asked for, for an error.
        needed: The names that rows have, the charge first; one of each group.

    Returns:
        The columns of the body's own list, or of its "rows", or else of the one list
        inside it that has the charge; no columns if all lists are empty.

    Raises:
        ServiceError: There is no such list, there are several, or it lacks a name.
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
        raise unread(what, f"{count} with {needed[0][0]}, which one list must have")
    check_names(charges[0], what, needed)
    return charges[0], report


def check_names(
    columns: Iterable[str], what: str, needed: Sequence[Sequence[str]]
) -> None:
    """Check that rows have one name of each group.

    Raises:
        ServiceError: They lack one.
    """
    known = set(columns)
    for names in needed:
        if not known & set(names):
            raise unread(what, f"no {' and no '.join(names)}")


def unread(what: str, found: str) -> ServiceError:
    """Return the error that says why the rows of a report are not read."""
    text = f"The {what} could not be read: it has {found}. Read it in the portal."
    return ServiceError(text, status=200)


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Turn rows into columns, in the order in which names first appear.

    A list of nested records with amounts is expanded: each becomes a row, with the
    texts of the outer record but not its sums. A column of objects, such as usage,
    becomes one column per key.
    """
    columns, kinds = _columns(rows)
    if any(list in types for types in kinds.values()):
        parts = [part for row in rows for part in _parts(row, {})]
        if parts != list(rows):
            return columns_of(parts)
    opened: dict[str, list[Any]] = {}
    for name, values in columns.items():
        inner: dict[str, list[Any]] = {}
        if kinds[name] - {type(None)} == {dict}:
            inner = columns_of([value or {} for value in values])
        opened |= {f"{name}_{key}": column for key, column in inner.items()}
        if not inner:
            opened[name] = values
    return opened


Kinds = dict[str, set[type]]


def _columns(rows: Sequence[Row]) -> tuple[dict[str, list[Any]], Kinds]:
    """Return the columns of rows, and the types in each of them."""
    if rows:
        with suppress(KeyError):
            return _like_columns(rows)
    names = dict.fromkeys(chain.from_iterable(rows))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return columns, {name: set(map(type, each)) for name, each in columns.items()}


def _like_columns(rows: Sequence[Row]) -> tuple[dict[str, list[Any]], Kinds]:
    """Do the same for rows of the same keys, some rows at a time.

    Each row is processed while it is in the processor's cache: reading a million rows
    once per column takes several times as long. Equal strings are shared, so that later
    passes visit each of them only once.

    Raises:
        KeyError: The rows have different keys, or fewer than two.
    """
    columns: dict[str, list[Any]] = {name: [] for name in rows[0]}
    if len(columns) < 2:  # an itemgetter of one name returns no tuple
        raise KeyError
    kinds: Kinds = {name: set() for name in rows[0]}
    texts: dict[str, str] = {}
    values_of = itemgetter(*columns)
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows[start : start + ROWS_AT_A_TIME]
        # Each row has as many keys, and all of the first row's: the same keys.
        if set(map(len, some)) != {len(columns)}:
            raise KeyError
        parts = zip(*map(values_of, some), strict=True)
        for (name, column), values in zip(columns.items(), parts, strict=True):
            types = set(map(type, values))
            kinds[name] |= types
            is_text = types == {str} and len(texts) < MOST_TEXTS
            column.extend(map(texts.setdefault, values, values) if is_text else values)
    return columns, kinds


def _records(items: list[Any]) -> list[Row]:
    if all(map(_are_records, _some_at_a_time(items))):
        return items
    return [
        item if isinstance(item, dict) and item else {"value": item} for item in items
    ]


def _some_at_a_time(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), AT_A_TIME):
        yield items[start : start + AT_A_TIME]


def _are_records(items: list[Any]) -> bool:
    return set(map(type, items)) == {dict} and all(items)


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
