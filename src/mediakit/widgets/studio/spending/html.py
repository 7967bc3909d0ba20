"""The charges of the last days as an HTML chart; pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from markupsafe import Markup

from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.safe_text import NO_HTML
from mediakit.spend.dates import MONTHS
from mediakit.widgets.dashboard.figures import cents_text
from mediakit.widgets.studio.spend_summary import Fact, SpendSummary
from mediakit.widgets.studio.spending.days import Part, SpendDays

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


def figures_html(facts: tuple[Fact, ...]) -> Markup:
    """Write the figures above the chart."""
    figure = Markup('<div title="{}"><b>{}</b><span>{}</span></div>')
    figures = NO_HTML.join(
        figure.format(full, text, label) for text, label, full in facts
    )
    return Markup('<div class="mk-st-figures">{}</div>').format(figures)


def spend_facts(summary: SpendSummary, days: SpendDays | None) -> tuple[Fact, ...]:
    """Return the figures above the chart; the last one is the sum of its bars."""
    if days is None:
        return summary.spend_facts
    total, label = days.total_micro_usd, f"last {days.days} days"
    return (*summary.spend_facts, (cents_text(total), label, format_usd(total)))


def days_html(days: SpendDays | None) -> Markup:
    """Write the chart, what its colours mean, and where there is more."""
    if days is None:
        return Markup('<div class="mk-quiet">Reading the charges…</div>')
    more = Markup("<p>{} <code>{}</code>.</p>").format(EXPLAINED, DASHBOARD)
    if not days.total_micro_usd:
        nothing = Markup('<div class="mk-st-spend"><p>{}</p>{}</div>')
        return nothing.format(NOTHING.format(days=days.days), more)
    return Markup(
        '<div class="mk-st-spend"><h4 class="mk-st-heading">Last {} days, '
        "USD per day</h4>{}{}{}</div>"
    ).format(days.days, chart_html(days), _table_html(days), more)


def chart_html(days: SpendDays) -> Markup:
    """Draw a bar a day, stacked by function; each says its day and sum."""
    top_micro_usd, marks = scale(max(days.by_day_micro_usd))
    total, most = days.total_micro_usd, max(days.by_day_micro_usd)
    label = (
        f"Charges of the last {days.days} days: {format_usd(total)} for "
        f"{_jobs_text(days.jobs)}, at most {format_usd(most)} a day"
    )
    width = STEP * days.days
    weeks = range((days.days - 1) % 7, days.days, 7)  # the last one is today
    name = Markup('<text class="mk-st-mid" x="{}" y="{}">{}</text>')
    pieces = [
        *(_mark_html(mark, top_micro_usd, width) for mark in marks),
        *(_bar_html(days, place, top_micro_usd) for place in range(days.days)),
        *(
            name.format(
                STEP * place + BAR // 2, CHART_PX + 18, _day_text(days.day(place))
            )
            for place in weeks
        ),
    ]
    return Markup(
        '<svg class="mk-st-chart" role="img" aria-label="{}" '
        'viewBox="-58 -10 {} {}">{}</svg>'
    ).format(label, width + 78, CHART_PX + 34, NO_HTML.join(pieces))


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


def _mark_html(mark_micro_usd: int, top_micro_usd: int, width: int) -> Markup:
    y = CHART_PX - CHART_PX * mark_micro_usd / top_micro_usd
    return Markup(
        '<path class="mk-st-line" d="M0 {:.1f}H{}"/>'
        '<text class="mk-st-end" x="-8" y="{:.1f}">{}</text>'
    ).format(y, width, y + 4, _mark_text(mark_micro_usd))


def _mark_text(micro_usd: int) -> str:
    if micro_usd % MICRO_PER_USD:
        return format_usd(micro_usd)
    return f"${micro_usd // MICRO_PER_USD:,}"


def _bar_html(days: SpendDays, place: int, top_micro_usd: int) -> Markup:
    total_micro_usd = days.by_day_micro_usd[place]
    if total_micro_usd <= 0:
        return NO_HTML
    return Markup("<g><title>{}</title>{}</g>").format(
        "\n".join(_day_lines(days, place)),
        NO_HTML.join(_stack(days, place, top_micro_usd)),
    )


def _day_lines(days: SpendDays, place: int) -> Iterator[str]:
    total = format_usd(days.by_day_micro_usd[place])
    yield f"{_day_text(days.day(place))}: {total}"
    for part in days.parts:
        if part.days_micro_usd[place]:
            yield f"{part.name}: {format_usd(part.days_micro_usd[place])}"


def _stack(days: SpendDays, place: int, top_micro_usd: int) -> Iterator[Markup]:
    y = float(CHART_PX)
    for number, part in enumerate(days.parts):
        height = CHART_PX * max(part.days_micro_usd[place], 0) / top_micro_usd
        y -= height
        if height:
            yield Markup(
                '<rect class="mk-st-c{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>'
            ).format(number, STEP * place, y, BAR, height)


def _table_html(days: SpendDays) -> Markup:
    rows = (
        _sums_html(number, part, days.total_micro_usd)
        for number, part in enumerate(days.parts)
    )
    return Markup(
        '<table class="mk-st-sums"><thead><tr><th>Function</th><th>Jobs</th>'
        "<th>Charged</th><th>Share</th></tr></thead><tbody>{}</tbody><tfoot><tr>"
        "<td>Total</td><td>{:,}</td><td>{}</td><td></td></tr></tfoot></table>"
    ).format(NO_HTML.join(rows), days.jobs, format_usd(days.total_micro_usd))


def _sums_html(number: int, part: Part, total_micro_usd: int) -> Markup:
    return Markup(
        '<tr><td><i class="mk-st-c{}"></i>{}</td><td>{:,}</td>'
        '<td title="{}">{}</td><td>{:.0f}%</td></tr>'
    ).format(
        number,
        part.name,
        part.jobs,
        format_usd(part.total_micro_usd),
        cents_text(part.total_micro_usd),
        100 * part.total_micro_usd / total_micro_usd,
    )


def _jobs_text(jobs: int) -> str:
    return f"{jobs:,} job{'' if jobs == 1 else 's'}"


def _day_text(day: date) -> str:
    return f"{MONTHS[day.month - 1][:3]} {day.day}"
