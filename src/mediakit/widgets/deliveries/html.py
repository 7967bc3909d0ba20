"""Deliveries and their attempts on a timeline, as static HTML and text; pure.

Like a job's card it stays in the saved notebook, so that no piece depends on a style
sheet, and colours are given twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from markupsafe import Markup

from mediakit.markup import NO_HTML, html_text
from mediakit.records import Attempt, Delivery, DeliveryStatus
from mediakit.widgets.job.card import BAD, LINE, QUIET

GOOD = "color:#388e3c;color:var(--jp-success-color1,#388e3c)"
UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
NOTHING = "No deliveries."
_TONES = {DeliveryStatus.DELIVERED: GOOD, DeliveryStatus.FAILED: BAD}


@dataclass(frozen=True)
class LoggedDelivery:
    """A delivery and how its attempts went.

    Args:
        delivery: The delivery.
        attempts: Its attempts, the first one first.
    """

    delivery: Delivery
    attempts: Sequence[Attempt]


def deliveries_html(logged: Sequence[LoggedDelivery], *, more: bool = False) -> Markup:
    """Return deliveries as HTML.

    Args:
        logged: The deliveries.
        more: There are further ones.
    """
    line = Markup('<div style="{}">{}</div>')
    if not logged:
        return line.format(QUIET, NOTHING)
    return Markup(
        '<div style="max-width:1000px;font-size:13px;'
        'font-size:var(--jp-ui-font-size1,13px)">{}{}</div>'
    ).format(
        NO_HTML.join(map(_block_html, logged)),
        line.format(QUIET, _MORE) if more else "",
    )


_MORE = "There are more: client.deliveries.list() goes through all of them."


def deliveries_text(logged: Sequence[LoggedDelivery], *, more: bool = False) -> str:
    """Return deliveries as plain text."""
    lines = [line for one in logged for line in _lines(one)] or [NOTHING]
    return "\n".join([*lines, _MORE] if more else lines)


def _lines(logged: LoggedDelivery) -> Iterator[str]:
    yield " · ".join(_head(logged.delivery))
    for attempt, gap in zip(logged.attempts, _gaps(logged), strict=True):
        after = "" if gap is None else f"after {gap}, "
        yield f"  {attempt.number or '?'}. {after}{attempt.words}"
    if logged.delivery.next_attempt_at is not None:
        yield f"  next attempt {_at(logged.delivery.next_attempt_at)}"


def _head(delivery: Delivery) -> list[str]:
    facts = [
        delivery.status or "status unknown",
        delivery.event_type or "",
        delivery.source_id or "",
        _place(delivery.url),
        delivery.id or "",
    ]
    return [fact for fact in facts if fact]


def _place(url: str | None) -> str:
    """Return where it goes, without what may be a token."""
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"to {host}{port}{parts.path}"


def _block_html(logged: LoggedDelivery) -> Markup:
    status, *facts = _head(logged.delivery)
    tone = _TONES.get(DeliveryStatus(status), QUIET) if status in _KNOWN else QUIET
    return Markup(
        '<div style="padding:8px 0 10px;border-bottom:1px solid {};'
        'overflow-wrap:anywhere"><div><b style="{}">{}</b> '
        '<span style="{}">{}</span></div>{}{}</div>'
    ).format(
        LINE,
        tone,
        html_text(status),
        QUIET,
        html_text(" · ".join(facts)),
        _line_html(logged),
        _table_html(logged),
    )


_KNOWN = frozenset(DeliveryStatus)


# -- the line ---------------------------------------------------------------------


def _line_html(logged: LoggedDelivery) -> Markup:
    """Return the attempts on a line whose pieces grow with the time between them."""
    if not logged.attempts:
        return Markup('<div style="{}">not attempted yet</div>').format(QUIET)
    pieces: list[Markup] = []
    before: datetime | None = None
    for attempt in logged.attempts:
        pieces += [*_stretch(before, attempt.attempted_at), _dot(attempt)]
        before = attempt.attempted_at
    next_at = logged.delivery.next_attempt_at
    if next_at is not None:
        dot = Markup('<span style="{}" title="next attempt {}">○</span>')
        pieces += [*_stretch(before, next_at), dot.format(QUIET, _at(next_at))]
    return Markup(
        '<div role="img" aria-label="{}" style="display:flex;flex-wrap:wrap;'
        'align-items:center;max-width:900px;margin:6px 0 4px">{}</div>'
    ).format(summary_text(logged), NO_HTML.join(pieces))


def _stretch(since: datetime | None, until: datetime | None) -> Iterator[Markup]:
    if since is None or until is None:
        return
    gap_s = max(0.0, (until - since).total_seconds())
    # Gaps go from seconds to a day: their length on the line is that of their number.
    weight = round(10 + 10 * math.log10(1 + gap_s))
    yield Markup(
        '<span style="flex:{} 1 0;min-width:36px;text-align:center;margin:0 3px;'
        'font-size:11px;line-height:1.2;border-bottom:1px solid {};{}">{}</span>'
    ).format(weight, LINE, QUIET, span_text(gap_s))


def _dot(attempt: Attempt) -> Markup:
    tone, sign = (GOOD, "✓") if attempt.reason is None else (BAD, "✗")
    title = f"{_at(attempt.attempted_at)}: {attempt.words}"
    return Markup('<b style="{}" title="{}">{}</b>').format(tone, title, sign)


def summary_text(logged: LoggedDelivery) -> str:
    """Write the whole time line as a sentence, for people who do not see it."""
    n = len(logged.attempts)
    first, last = logged.attempts[0].attempted_at, logged.attempts[-1].attempted_at
    over = ""
    if first is not None and last is not None and n > 1:
        over = f" over {span_text((last - first).total_seconds())}"
    how_many = "1 attempt" if n == 1 else f"{n} attempts"
    return f"{how_many}{over}; the last: {logged.attempts[-1].words}"


# -- the table --------------------------------------------------------------------


def _table_html(logged: LoggedDelivery) -> Markup:
    if not logged.attempts:
        return NO_HTML
    rows = NO_HTML.join(
        _row_html(attempt, gap)
        for attempt, gap in zip(logged.attempts, _gaps(logged), strict=True)
    )
    names = ("attempt", "at (UTC)", "after", "result", "took")
    th = Markup('<th scope="col" style="{}{}">{}</th>')
    head = NO_HTML.join(th.format(_CELL, QUIET, name) for name in names)
    return Markup(
        '<details><summary style="cursor:pointer;{}">{}</summary>'
        '<table style="border-collapse:collapse;font-size:12px"><tr>{}</tr>'
        "{}</table></details>"
    ).format(QUIET, html_text(summary_text(logged)), head, rows)


_CELL = "text-align:left;padding:2px 14px 2px 0;font-weight:400;"


def _row_html(attempt: Attempt, gap: str | None) -> Markup:
    took = "" if attempt.duration_ms is None else f"{attempt.duration_ms:,} ms"
    number = "" if attempt.number is None else str(attempt.number)
    cells = (number, _at(attempt.attempted_at), gap or "", attempt.words, took)
    td = Markup('<td style="{}">{}</td>')
    marked = NO_HTML.join(td.format(_CELL, html_text(cell)) for cell in cells)
    return Markup('<tr style="background:none">{}</tr>').format(marked)


def _gaps(logged: LoggedDelivery) -> list[str | None]:
    """Return the time from each attempt's predecessor to it."""
    times = [attempt.attempted_at for attempt in logged.attempts]
    return [
        span_text((now - before).total_seconds()) if now and before else None
        for before, now in zip([None, *times], times, strict=False)
    ]


def _at(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def span_text(seconds: float) -> str:
    """Write a span in its largest unit: "5 min", "1.4 h"."""
    for size_s, unit in UNITS:
        if seconds >= size_s:
            return f"{float(f'{seconds / size_s:.2g}'):g} {unit}"
    return f"{max(0.0, seconds):.1g} s"
