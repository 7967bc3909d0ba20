"""The latest jobs as a small table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mediakit.client.job_words import charge_word, state_of_entry, state_word
from mediakit.client.titles import title_of
from mediakit.estimates import NOT_KNOWN_YET
from mediakit.history import Entry
from mediakit.money import format_usd
from mediakit.safe_text import NO_HTML, html_text

LONGEST_TITLE = 48
HEADS = ("asked", "function", "title", "state", "price", "charge", "job")


@dataclass(frozen=True)
class JobsTable:
    """Jobs of the history, newest first, as last seen.

    Args:
        entries: The jobs.
    """

    entries: Sequence[Entry]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of each job as plain text, in the order of `HEADS`."""
        return [_row(entry) for entry in self.entries]

    def __repr__(self) -> str:
        if not self.entries:
            return "No jobs yet."
        rows = [HEADS, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> Markup:
        if not self.entries:
            return Markup("<p>No jobs yet.</p>")
        head = Markup("<th style='text-align:left'>{}</th>").format
        table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>")
        return table.format(
            NO_HTML.join(map(head, HEADS)), NO_HTML.join(map(_row_html, self.rows))
        )


def _row_html(row: tuple[str, ...]) -> Markup:
    cell = Markup("<td style='text-align:left'>{}</td>").format
    cells = NO_HTML.join(cell(html_text(text)) for text in row)
    return Markup("<tr>{}</tr>").format(cells)


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        f"{entry.created_at.astimezone():%Y-%m-%d %H:%M}",
        entry.kind,
        _short(title_of(entry)),
        _state(entry),
        price_of(entry),
        charge_word(entry),
        entry.job_id or "",
    )


def _state(entry: Entry) -> str:
    word = state_word(entry)
    is_coded = state_of_entry(entry) == "failed" and entry.error_code
    return f"{word}: {entry.error_code}" if is_coded else word


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def price_of(entry: Entry) -> str:
    """Write what a job was estimated to cost; unknown is not free."""
    low, high = entry.estimate_low_micro_usd, entry.estimate_high_micro_usd
    if low is None:
        return "unknown"
    if high is None:
        return f"at least {format_usd(low)}" if low else NOT_KNOWN_YET
    return (
        format_usd(low) if low == high else f"{format_usd(low)} to {format_usd(high)}"
    )
