"""Charge columns under other names in the service's reports.

Dollars become micro-USD exactly, without floats.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, DecimalException
from typing import Any

from mediakit.api_models import without_lone_surrogates
from mediakit.errors import ServiceError
from mediakit.money import LARGEST_MICRO_USD, MICRO_PER_USD
from mediakit.plain_numbers import without_grouping
from mediakit.safe_text import shown

CHARGE = "charge_micro_usd"
AS_SENT = "charge_micro_usd_as_sent"
MOST_NAMES = 20


class ReportColumns:
    """The names of the charge columns in `mediakit.toml`, in micro-USD or dollars.

    Args:
        names: The column's name in the reports, by `charge` or `charge_usd`.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def read_json(self, content: bytes, report: str) -> Any:
        """Parse a JSON report; its charge is renamed as in the specification."""
        try:
            body = json.loads(content, parse_float=Decimal)
            names = dict.fromkeys(_names_in_rows(body))
            self._need_one(names, report)
            return without_lone_surrogates(self._named(body))
        except RecursionError:
            text = f"The {report} could not be read: it is nested too deeply."
            raise ServiceError(text, status=200) from None

    def read_csv(self, text: str, report: str) -> str:
        """Return a CSV report whose charge is renamed as in the specification."""
        lines = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
        try:
            header, *rows = lines
        except (ValueError, csv.Error):
            return text
        self._need_one(dict.fromkeys(header), report)
        name, unit = self._column(header)
        if name is None:
            return text
        if (count := header.count(name)) > 1:
            text = (
                f"The {report} could not be read: it has {count} columns named {name}."
            )
            raise ServiceError(text, status=200)
        place = header.index(name)
        header = [AS_SENT if each == CHARGE else each for each in header]
        header[place] = CHARGE
        for row in rows:
            if place < len(row):
                row[place] = str(_in_micro_usd(row[place], unit))
        target = io.StringIO()
        csv.writer(target).writerows([header, *rows])
        return target.getvalue()

    def _column(self, names: Any) -> tuple[str | None, int]:
        """Return the charge column among names, and its unit in micro-USD."""
        for key, unit in (("charge", 1), ("charge_usd", MICRO_PER_USD)):
            if self._names.get(key) in names:
                return self._names[key], unit
        return None, 1

    def _need_one(self, names: Mapping[str, None], report: str) -> None:
        if not names or CHARGE in names or self._column(names)[0]:
            return
        columns = ", ".join([shown(name) for name in names][:MOST_NAMES])
        wanted = " or ".join(map(shown, self._names.values()))
        raise ServiceError(
            f"The {report} has no column {wanted}, which mediakit.toml "
            f"names under [reports]. Its columns are {columns}.",
            status=200,
        )

    def _named(self, part: Any) -> Any:
        if isinstance(part, Decimal):
            return float(part)
        if isinstance(part, list):
            return [self._named(each) for each in part]
        if not isinstance(part, dict):
            return part
        name, unit = self._column(part)
        whole: dict[str, Any] = {}
        for key, value in part.items():
            if key == name:
                whole[CHARGE] = _in_micro_usd(value, unit)
            elif key == CHARGE and name is not None:
                whole[AS_SENT] = self._named(value)
            else:
                whole[key] = self._named(value)
        return whole


def _names_in_rows(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for inner in part.values():
            yield from _names_in_rows(inner)
    elif isinstance(part, list):
        for row in part:
            if isinstance(row, dict):
                yield from row
            yield from _names_in_rows(row)


def _in_micro_usd(value: Any, unit: int) -> Any:
    """Return an amount as a whole number; an unreadable one unchanged."""
    if value is None or isinstance(value, bool | list | dict):
        return value
    text = str(value).strip()
    number = text.replace("$", "", 1) if unit > 1 else text
    plain = without_grouping(number)
    if unit == 1 or "." in plain or number.count(",") != 1:
        number = plain  # otherwise 1,234 dollars may be 1.234 dollars
    try:
        amount = Decimal(number) * unit
        if abs(amount) <= LARGEST_MICRO_USD and amount == int(amount):
            return int(amount)
    except DecimalException:
        pass
    return text if unit == 1 else f"{text} USD"
