"""The spend of the last days as HTML; pure. Everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from html import escape

from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.widgets.dashboard.figures import cents_text
from mediakit.widgets.studio.spending.days import Part, SpendDays
from mediakit.widgets.studio.summary import Fact, SpendSummary

CHART_PX = 160
BAR, STEP = 16, 20
NOTHING = "Nothing was charged in the last {days} days."
EXPLAINED = (
    "Settled charges in this history, by UTC day. For other months, the forecast and "
    "whether the bill agrees, run"
)
DASHBOARD = "client.spend.dashboard()"
# Round steps of a scale, in units of the power of ten below the highest day.
STEPS = (1, 2, 5, 10)


def figures_html(facts: tuple[Fact, ...]) -> str:
    """Write the figures above the chart."""
    figures = "".join(
        f'<div title="{escape(full)}"><b>{escape(text)}</b>'
        f"<span>{escape(label)}</span></div>"
        for text, label, full in facts
    )
    return f'<div class="mk-st-figures">{figures}</div>'


def spend_facts(glance: SpendSummary, days: SpendDays | None) -> tuple[Fact, ...]:
    """Return the figures above the chart; the last one is the sum of its bars."""
    if days is None:
        return glance.spend_facts
    total, label = days.total_micro_usd, f"last {days.days} days"
    return (*glance.spend_facts, (cents_text(total), label, format_usd(total)))


def days_html(days: SpendDays | None) -> str:
    """Write the chart, what its colours mean, and where there is more."""
    if days is None:
        return '<div class="mk-quiet">Reading the charges…</div>'
    more = f"<p>{escape(EXPLAINED)} <code>{escape(DASHBOARD)}</code>.</p>"
    if not days.total_micro_usd:
        nothing = escape(NOTHING.format(days=days.days))
        return f'<div class="mk-st-spend"><p>{nothing}</p>{more}</div>'
    return (
        f'<div class="mk-st-spend"><h4 class="mk-st-heading">Last {days.days} days, '
        f"USD per day</h4>{chart_html(days)}{_table_html(days)}{more}</div>"
    )


def chart_html(days: SpendDays) -> str:
    """Draw a bar a day, stacked by function; each says its day and sum."""
    top_micro_usd, marks = scale(max(days.by_day_micro_usd))
    total, most = days.total_micro_usd, max(days.by_day_micro_usd)
    label = (
        f"Charges of the last {days.days} days: {format_usd(total)} for "
        f"{_jobs_text(days.jobs)}, at most {format_usd(most)} a day"
    )
    width = STEP * days.days
    weeks = range((days.days - 1) % 7, days.days, 7)  # the last one is today
    lines = "".join(_mark_html(mark, top_micro_usd, width) for mark in marks)
    bars = "".join(_bar_html(days, place, top_micro_usd) for place in range(days.days))
    names = "".join(
        f'<text class="mk-st-mid" x="{STEP * place + BAR // 2}" y="{CHART_PX + 18}">'
        f"{_day_text(days.day(place))}</text>"
        for place in weeks
    )
    return (
        f'<svg class="mk-st-chart" role="img" aria-label="{escape(label)}" '
        f'viewBox="-58 -10 {width + 78} {CHART_PX + 34}">{lines}{bars}{names}</svg>'
    )


def scale(highest_micro_usd: int) -> tuple[int, tuple[int, ...]]:
    """Return the top of a scale and its marks, at round amounts.

    Args:
        highest_micro_usd: The highest amount; above 0.
    """
    power = 10 ** (len(str(highest_micro_usd)) - 1)
    wanted = -(-highest_micro_usd // 3)
    below = max(power // 10, 1)
    steps = (step * unit for unit in (below, power) for step in STEPS)
    step = next(each for each in steps if each >= wanted)
    count = -(-highest_micro_usd // step)
    return step * count, tuple(step * number for number in range(count + 1))


def _mark_html(mark_micro_usd: int, top_micro_usd: int, width: int) -> str:
    y = CHART_PX - CHART_PX * mark_micro_usd / top_micro_usd
    return (
        f'<path class="mk-st-line" d="M0 {y:.1f}H{width}"/>'
        f'<text class="mk-st-end" x="-8" y="{y + 4:.1f}">{_mark_text(mark_micro_usd)}'
        "</text>"
    )


def _mark_text(micro_usd: int) -> str:
    if micro_usd % MICRO_PER_USD:
        return format_usd(micro_usd)
    return f"${micro_usd // MICRO_PER_USD:,}"


def _bar_html(days: SpendDays, place: int, top_micro_usd: int) -> str:
    total_micro_usd = days.by_day_micro_usd[place]
    if total_micro_usd <= 0:
        return ""
    said = escape("\n".join(_told(days, place)))
    return f"<g><title>{said}</title>{''.join(_stack(days, place, top_micro_usd))}</g>"


def _told(days: SpendDays, place: int) -> Iterator[str]:
    total = format_usd(days.by_day_micro_usd[place])
    yield f"{_day_text(days.day(place))}: {total}"
    for part in days.parts:
        if part.days_micro_usd[place]:
            yield f"{part.name}: {format_usd(part.days_micro_usd[place])}"


def _stack(days: SpendDays, place: int, top_micro_usd: int) -> Iterator[str]:
    y = float(CHART_PX)
    for number, part in enumerate(days.parts):
        height = CHART_PX * max(part.days_micro_usd[place], 0) / top_micro_usd
        y -= height
        if height:
            yield (
                f'<rect class="mk-st-c{number}" x="{STEP * place}" y="{y:.1f}" '
                f'width="{BAR}" height="{height:.1f}"/>'
            )


def _table_html(days: SpendDays) -> str:
    rows = "".join(
        f'<tr><td><i class="mk-st-c{number}"></i>{escape(part.name)}</td>'
        f"{_sums_html(part, days.total_micro_usd)}</tr>"
        for number, part in enumerate(days.parts)
    )
    return (
        '<table class="mk-st-sums"><thead><tr><th>Function</th><th>Jobs</th>'
        f"<th>Charged</th><th>Share</th></tr></thead><tbody>{rows}</tbody><tfoot><tr>"
        f"<td>Total</td><td>{days.jobs:,}</td>"
        f"<td>{format_usd(days.total_micro_usd)}</td><td></td></tr></tfoot></table>"
    )


def _sums_html(part: Part, total_micro_usd: int) -> str:
    share = f"{100 * part.total_micro_usd / total_micro_usd:.0f}%"
    charged = format_usd(part.total_micro_usd)
    return (
        f'<td>{part.jobs:,}</td><td title="{charged}">'
        f"{cents_text(part.total_micro_usd)}</td><td>{share}</td>"
    )


def _jobs_text(jobs: int) -> str:
    return f"{jobs:,} job{'' if jobs == 1 else 's'}"


def _day_text(day: date) -> str:
    return f"{day:%b} {day.day}"
