"""Finds the rows in a billing response whose shape the spec does not define.

The spec does not define the fields of daily and monthly records (spec 2.5, 4.19).
Any list of records therefore counts as rows, including grouped ones. Every row is kept,
and everything else is kept as the report.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import Any

from mediakit.errors import ServiceError, shown

MONEY = "_micro_usd"
AT_A_TIME = 2_048
ROWS_AT_A_TIME = 512  # too few tuples to trigger garbage collection
MOST_TEXTS = 100_000

Row = dict[str, Any]


def rows_of(body: object, what: str) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows of a body, and everything else in it.

    Args:
        body: The parsed JSON.
        what: What was asked for, for an error.

    Returns:
        The body's own list, or its "rows", or else every list of records inside it;
        if there are several, the column `section` says where each row was found.

    Raises:
        ServiceError: There is no list anywhere.
    """
    if isinstance(body, dict) and isinstance(body.get("rows"), list):
        return _records(body["rows"]), {k: v for k, v in body.items() if k != "rows"}
    lists = list(_lists("rows", body))
    if not lists:
        raise ServiceError(
            f"The service's response for the {what} has no list of rows: "
            f"{shown(body)}. Nothing was changed; try again, or read it in the portal."
        )
    report = _around_lists(body)
    filled = [(section, found) for section, found in lists if found]
    if len(filled) == 1:
        return _records(filled[0][1]), report
    tagged = (
        {"section": section, **row}
        for section, found in filled
        for row in _records(found)
    )
    return list(tagged), report


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
