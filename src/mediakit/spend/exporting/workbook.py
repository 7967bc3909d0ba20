"""A frame as an Excel workbook in which no text is a formula and no amount is rounded.

Excel keeps 15 digits of a number. An amount with more is written as text, exactly.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.spend.exporting.values import DAY

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_048_575  # besides the header
MOST_DIGITS = 15
LONGEST_TEXT = 32_767
WIDEST, NARROWEST = 48, 8
WIDTH_ROWS = 50
DAY_FORMAT, INSTANT_FORMAT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
USD_FORMAT = "0.00####"


def workbook_bytes(frame: pd.DataFrame) -> bytes:
    """Return a workbook with one sheet: a header, then one row per frame row.

    Instants are in UTC, which Excel does not say; Decimals are dollars.

    Args:
        frame: Any spend frame.

    Raises:
        InputError: It has more rows than a sheet.
    """
    from openpyxl import Workbook

    if len(frame) > MOST_ROWS:
        got, accepted = (
            f"{len(frame):,} rows",
            f"at most {MOST_ROWS:,} for Excel; use .csv",
        )
        raise InputError(
            "frame", got=got, accepted=accepted, then="Nothing was written."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Spend")
    sheet.freeze_panes = "A2"
    for place, width in enumerate(_widths(frame)):
        sheet.column_dimensions[_letter(place + 1)].width = width
    sheet.append([_header(sheet, str(name)) for name in frame.columns])
    for row in _rows(frame):
        sheet.append([_cell(sheet, name, value) for name, value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _rows(frame: pd.DataFrame) -> Iterator[list[tuple[str, Any]]]:
    import pandas as pd

    names = [str(name) for name in frame.columns]
    columns = [
        frame[name].astype(object).where(frame[name].notna(), None).tolist()
        for name in frame.columns
    ]
    for values in zip(*columns, strict=True):
        yield [
            (
                name,
                value.to_pydatetime(warn=False)
                if isinstance(value, pd.Timestamp)
                else value,
            )
            for name, value in zip(names, values, strict=True)
        ]


def _header(sheet: Any, name: str) -> Any:
    from openpyxl.styles import Font

    cell = _text_cell(sheet, name)
    cell.font = Font(bold=True)
    return cell


def _cell(sheet: Any, name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, datetime | date):
        return _instant_cell(sheet, name, value)
    if isinstance(value, int | Decimal) and _fits(value):
        return _number_cell(sheet, value)
    return _text_cell(sheet, str(value))


def _fits(value: int | Decimal) -> bool:
    """Tell whether Excel keeps every digit."""
    number = Decimal(value)
    return number.is_finite() and len(number.as_tuple().digits) <= MOST_DIGITS


def _number_cell(sheet: Any, value: int | Decimal) -> Any:
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    if isinstance(value, Decimal):
        cell.number_format = USD_FORMAT
    return cell


def _instant_cell(sheet: Any, name: str, value: Any) -> Any:
    from openpyxl.cell import WriteOnlyCell

    naive = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    cell = WriteOnlyCell(sheet, naive)
    cell.number_format = DAY_FORMAT if name == DAY else INSTANT_FORMAT
    return cell


def _text_cell(sheet: Any, text: str) -> Any:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    legal = ILLEGAL_CHARACTERS_RE.sub("\ufffd", text)
    if len(legal) > LONGEST_TEXT:
        legal = f"{legal[: LONGEST_TEXT - 1]}…"
    cell = WriteOnlyCell(sheet, legal)
    # Otherwise "=1+1" is a formula, at once or when someone edits the cell.
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _widths(frame: pd.DataFrame) -> Iterator[float]:
    for name in frame.columns:
        texts = frame[name].head(WIDTH_ROWS).astype(object).map(str)
        longest = max([len(str(name)), *texts.map(len)])
        yield float(min(max(longest + 2, NARROWEST), WIDEST))


def _letter(number: int) -> str:
    from openpyxl.utils import get_column_letter

    letter: str = get_column_letter(number)
    return letter
