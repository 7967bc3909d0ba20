"""The jobs that a cell waits for, as HTML and as plain text; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from mediakit.client import JobState
from mediakit.markup import html_text
from mediakit.money import format_usd
from mediakit.records import JobStatus
from mediakit.widgets.job.card import QUIET, line_texts, title_text, tone_of
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
    """Write how a job stands in one line: its prompt, then what is known of it.

    Args:
        state: The job.
        now: The instant to count to while it runs; None counts nothing.
    """
    name = state.prompt or title_text(state)
    one_line = shortened(" ".join(name.split()), LINE_CHARACTERS)
    return " · ".join([one_line, *_times(state, now), *line_texts(state)])


def _times(state: JobState, now: datetime | None) -> list[str]:
    since = sent_at(state)
    if state.record.status.terminal or now is None or since is None:
        return []
    usual = state.usual_runtime_s
    usually = f" of usually {seconds_text(usual)}" if usual else ""
    return [f"{seconds_text(int(elapsed_s(since, now)))}{usually}"]


def lines_html(states: Sequence[JobState], now: datetime | None = None) -> str:
    """Return a line for each job; many of them scroll."""
    lines = "".join(
        '<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis;'
        f'line-height:1.6"><b style="{tone_of(state)}">'
        f'{html_text(status_word(state))}</b> <span style="{QUIET}">'
        f"{html_text(line_text(state, now))}</span></div>"
        for state in states
    )
    return f'<div style="max-height:{LINES_PX}px;overflow-y:auto">{lines}</div>'


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


def set_html(states: Sequence[JobState]) -> str:
    """Return how a set of jobs stands, over a bar of those that have ended."""
    done = sum(state.record.status.terminal for state in states)
    failed = any(state.record.status is JobStatus.FAILED for state in states)
    tone = "#d9403c" if failed else "#388e3c" if done == len(states) else "#1e7bd6"
    share = 100 * done / len(states)
    return (
        f'<div style="max-width:640px"><b>{html_text(set_text(states))}</b>'
        f'<div role="progressbar" aria-label="jobs that have ended" aria-valuemin="0" '
        f'aria-valuemax="{len(states)}" aria-valuenow="{done}" style="height:6px;'
        f'border-radius:3px;margin:4px 0;background:rgba(128,128,128,.3)">'
        f'<div style="height:6px;border-radius:3px;width:{share:.0f}%;'
        f'background:{tone}"></div></div></div>'
    )


def kept_html(states: Sequence[JobState]) -> str:
    """Return what stays in a saved notebook; nothing for no jobs."""
    if len(states) <= FEW:
        return lines_html(states) if states else ""
    fold = (
        f'<summary style="cursor:pointer;{QUIET}">Show the {len(states)} jobs</summary>'
    )
    lines = lines_html(states)
    return f"{set_html(states)}<details>{fold}{lines}</details>"


def kept_text(states: Sequence[JobState]) -> str:
    """Return the same as plain text."""
    lines = [f"{status_word(state)}: {line_text(state)}" for state in states]
    head = [set_text(states)] if len(states) > FEW else []
    return "\n".join([*head, *lines])
