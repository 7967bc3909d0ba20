"""Exports the charges of a month as a download link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from markupsafe import Markup

from mediakit.media import size_text
from mediakit.media_html import data_url
from mediakit.money import format_usd
from mediakit.spend.exporting import export_bytes, to_focus
from mediakit.widgets.dashboard.figures import free_text
from mediakit.widgets.dashboard.month import CHARGE
from mediakit.widgets.toolkit.styles import line_html

if TYPE_CHECKING:
    import pandas as pd

MOST_LINK_BYTES = 8_000_000


class Format(StrEnum):
    """The formats, named as on the buttons."""

    CSV = "CSV"
    PARQUET = "Parquet"
    EXCEL = "Excel"
    FOCUS = "FOCUS"


_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_FILES: Mapping[Format, tuple[str, str, str]] = {
    Format.CSV: (".csv", "", "text/csv"),
    Format.PARQUET: (".parquet", "", "application/vnd.apache.parquet"),
    Format.EXCEL: (".xlsx", "", _EXCEL),
    Format.FOCUS: (".csv", "-focus", "text/csv"),
}
TOOLTIPS: Mapping[Format, str] = {
    Format.CSV: "Every charge as comma-separated text",
    Format.PARQUET: "Every charge with its types, for pandas and databases",
    Format.EXCEL: "Every charge as a workbook, with amounts in dollars as well",
    Format.FOCUS: "Every charge in FOCUS 1.2 columns, as CSV",
}


@dataclass(frozen=True)
class Prepared:
    """A file that can be downloaded."""

    name: str
    content: bytes = field(repr=False)
    media_type: str
    facts: str

    @property
    def link(self) -> Markup:
        url = data_url(self.content, self.media_type)
        link = Markup('<a download="{}" href="{}">Download {}</a>')
        return link.format(self.name, url, self.name)


def prepare(charges: pd.DataFrame, form: Format, stem: str) -> Prepared:
    suffix, ending, media_type = _FILES[form]
    frame = to_focus(charges) if form is Format.FOCUS else charges
    content = export_bytes(frame, suffix, escape_formulas=True)
    facts = f"{jobs_text(charges)}, {format_usd(int(charges[CHARGE].sum()))}"
    facts = f"{facts}, {size_text(len(content))}"
    return Prepared(f"{stem}{ending}{suffix}", content, media_type, facts)


def jobs_text(charges: pd.DataFrame) -> str:
    """Count settled jobs, such as "196 charged jobs and 13 more at no charge"."""
    jobs = int((charges[CHARGE] != 0).sum())
    free = free_text(charges)
    text = f"{jobs:,} charged {'job' if jobs == 1 else 'jobs'}"
    return f"{text} and {free}" if free else text


def link_html(prepared: Prepared) -> Markup:
    if len(prepared.content) <= MOST_LINK_BYTES:
        return prepared.link + " " + line_html(prepared.facts)
    text = (
        f"{prepared.name} ({prepared.facts}) is too large for a download link; "
        f"the limit is {size_text(MOST_LINK_BYTES)}. Use client.spend.charges()."
    )
    return line_html(text, "warn")
