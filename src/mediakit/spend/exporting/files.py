"""A frame as a file: CSV, Parquet or Excel, chosen by the suffix of its name."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import uuid4

from mediakit.errors import InputError
from mediakit.spend.exporting.values import for_text_files
from mediakit.spend.exporting.workbook import workbook_bytes

if TYPE_CHECKING:
    import pandas as pd

EXTRAS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {".parquet": ("pyarrow", "parquet"), ".xlsx": ("openpyxl", "excel")}
)
"""The package that writes a format, and the extra that installs it."""


def export(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a spend frame to a file; an existing file is replaced.

    Amounts stay exact: integers of micro-USD as integers, Decimals digit by digit.
    In CSV and Excel, text that a spreadsheet would execute as a formula is written
    as text.

    Args:
        frame: Any spend frame, also one from `to_focus`.
        path: The file; its suffix is .csv, .parquet or .xlsx.

    Returns:
        The file.

    Raises:
        InputError: The suffix is unknown, the package for it is not installed, or the
            file cannot be written.
    """
    target = Path(path).expanduser()
    write_file(target, export_bytes(frame, target.suffix))
    return target


def export_bytes(frame: pd.DataFrame, suffix: str) -> bytes:
    """Return the content of such a file.

    Args:
        frame: Any spend frame.
        suffix: ".csv", ".parquet" or ".xlsx".

    Raises:
        InputError: The suffix is unknown, or the package for it is not installed.
    """
    write = _WRITERS.get(suffix.lower())
    if write is None:
        accepted = "a file name that ends in .csv, .parquet or .xlsx"
        raise InputError("path", got=suffix or "no suffix", accepted=accepted)
    package, extra = EXTRAS.get(suffix.lower(), ("", ""))
    if package and find_spec(package) is None:
        accepted = f".csv, or any format after: pip install 'mediakit[{extra}]'"
        raise InputError(
            "path", got=suffix, accepted=accepted, then="Nothing was written."
        )
    return write(frame)


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then give it its own.

    Raises:
        InputError: It cannot be written there.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        got = f"{path} ({error.strerror or type(error).__name__})"
        accepted = "a file in a folder that exists and can be written"
        raise InputError(
            "path", got=got, accepted=accepted, then="Nothing was written."
        ) from None


def _csv(frame: pd.DataFrame) -> bytes:
    # With these line ends, a carriage return in a text is quoted too and begins no row.
    return for_text_files(frame).to_csv(index=False, lineterminator="\r\n").encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    plain = frame.copy(deep=False)
    plain.attrs = {}  # pandas would write them as JSON, which not all of them are
    content = io.BytesIO()
    plain.to_parquet(content, engine="pyarrow", index=False)
    return content.getvalue()


_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = MappingProxyType(
    {".csv": _csv, ".parquet": _parquet, ".xlsx": workbook_bytes}
)
SUFFIXES = tuple(_WRITERS)
