"""The jobs that a cell waits for, as HTML and as plain text; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from mediakit.client import JobState
from mediakit.money import format_usd
from mediakit.records import JobStatus
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.job.card import QUIET, line_texts, tone_of
from mediakit.widgets.job.text import (
    elapsed_s,
    seconds_text,
    sent_at,
    shortened,
    status_word,
)

FEW = 3
"""How many jobs stand as lines of their own; more fold into one progress."""
LINE_CHARACTERS = 72
LINES_PX = 240


def line_text(state: JobState, now: datetime | None = None) -> str:
    """Write how a job stands in one line: its title, then what is known of it.

    Args:
        state: The job.
        now: The instant to count to while it runs; None counts nothing.
    """
    one_line = shortened(state.title, LINE_CHARACTERS)
    return " · ".join([one_line, *_times(state, now), *line_texts(state)])


def _times(state: JobState, now: datetime | None) -> list[str]:
    since = sent_at(state)
    if state.record.status.terminal or now is None or since is None:
        return []
    usual = state.usual_runtime_s
    usually = f", usually {seconds_text(usual)}" if usual else ""
    return [f"{seconds_text(int(elapsed_s(since, now)))} so far{usually}"]


def lines_html(states: Sequence[JobState], now: datetime | None = None) -> Markup:
    """Return a line for each job; many of them scroll."""
    line = Markup(
        '<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis;'
        'line-height:1.6"><b style="{}">{}</b> <span style="{}">{}</span></div>'
    )
    lines = NO_HTML.join(
        line.format(
            tone_of(state),
            html_text(status_word(state)),
            QUIET,
            html_text(line_text(state, now)),
        )
        for state in states
    )
    box = Markup('<div style="max-height:{}px;overflow-y:auto">{}</div>')
    return box.format(LINES_PX, lines)


def set_text(states: Sequence[JobState]) -> str:
    """Write how a set of jobs stands: "12 jobs: 8 completed, 4 running · $1.63"."""
    counts = Counter(status_word(state).lower() for state in states)
    stands = ", ".join(f"{count} {word}" for word, count in counts.items())
    charges = [state.charge_micro_usd for state in states]
    spent = sum(charge for charge in charges if charge is not None)
    open_count = sum(charge is None for charge in charges)
    charged = f" · {format_usd(spent)} charged" if spent else ""
    more = f", {open_count} not settled yet" if spent and open_count else ""
    return f"{len(states)} jobs: {stands}{charged}{more}"


def set_html(states: Sequence[JobState]) -> Markup:
    """Return how a set of jobs stands, over a bar of those that have ended."""
    done = sum(state.record.status.terminal for state in states)
    failed = any(state.record.status is JobStatus.FAILED for state in states)
    tone = "#d9403c" if failed else "#388e3c" if done == len(states) else "#1e7bd6"
    share = 100 * done / len(states)
    return Markup(
        '<div style="max-width:640px"><b>{}</b>'
        '<div role="progressbar" aria-label="jobs that have ended" aria-valuemin="0" '
        'aria-valuemax="{}" aria-valuenow="{}" style="height:6px;'
        'border-radius:3px;margin:4px 0;background:rgba(128,128,128,.3)">'
        '<div style="height:6px;border-radius:3px;width:{:.0f}%;'
        'background:{}"></div></div></div>'
    ).format(html_text(set_text(states)), len(states), done, share, tone)


def kept_html(states: Sequence[JobState]) -> Markup:
    """Return what stays in a saved notebook; nothing for no jobs."""
    if len(states) <= FEW:
        return lines_html(states) if states else NO_HTML
    fold = Markup(
        '<details><summary style="cursor:pointer;{}">Show the {} jobs</summary>{}'
        "</details>"
    )
    return set_html(states) + fold.format(QUIET, len(states), lines_html(states))


def kept_text(states: Sequence[JobState]) -> str:
    """Return the same as plain text."""
    lines = [f"{status_word(state)}: {line_text(state)}" for state in states]
    head = [set_text(states)] if len(states) > FEW else []
    return "\n".join([*head, *lines])
