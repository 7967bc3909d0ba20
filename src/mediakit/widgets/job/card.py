"""Jobs in a saved notebook, as cards and lines: static HTML and plain text.

Cards must work without a kernel, in untrusted notebooks, on code-hosting pages and in
exports. Each of these strips something: style sheets, classes, single properties, the
player. So every part works without the others, each colour is given twice (the plain
colour, then the theme's), and nothing depends on a class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from mediakit.api_models import JobStatus
from mediakit.client import JobState
from mediakit.client.job_texts import REUSED
from mediakit.history.titles import take_text
from mediakit.media_limits import MediaInfo
from mediakit.money import format_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.job.player import (
    MAX_PX,
    NO_ENVIRONMENT,
    Embedded,
    Still,
    player_html,
)
from mediakit.widgets.job.preview import NO_PREVIEW, Preview
from mediakit.widgets.job.text import (
    as_of_text,
    charge_text,
    estimate_text,
    failure_of,
    file_texts,
    price_text,
    ran_text,
    settings_text,
    shortened,
    status_word,
    times_text,
)

PROMPT_SHOWN = 280
ALT_LENGTH = 120
FEW_WAITS = 3
"""The maximum number of jobs with separate lines; more share one progress line."""
LINE_CHARACTERS = 72
LINES_PX = 240

# Sanitisers drop the variable and keep the plain colour.
QUIET = "color:#767676;color:var(--jp-ui-font-color2,#767676)"
BAD = "color:#d32f2f;color:var(--jp-error-color1,#d32f2f)"
LINE = "rgba(128,128,128,.35)"
MONO = "font-family:monospace"

ENDED = "jobs that have ended"

_TONES: Mapping[JobStatus, str] = {
    JobStatus.QUEUED: QUIET,
    JobStatus.RUNNING: "color:#1976d2;color:var(--jp-brand-color1,#1976d2)",
    JobStatus.COMPLETED: "color:#388e3c;color:var(--jp-success-color1,#388e3c)",
    JobStatus.FAILED: BAD,
}


def tone_of(state: JobState) -> str:
    """Return the style of a job's status, readable on light and dark pages."""
    return QUIET if state.is_erased else _TONES[state.record.status]


@dataclass(frozen=True)
class Fact:
    """One known fact about a job."""

    label: str
    text: str
    code: bool = False  # shown as code that can be copied


def facts_of(state: JobState) -> list[Fact]:
    """Return the facts in a job's folded section, in display order."""
    words, call = _later(state)
    facts = [
        Fact("Function", state.function_title),
        Fact("Path", state.function, code=True),
        Fact("Settings", settings_text(state.body, state.names)),
        Fact("Estimate", estimate_text(state.estimate)),
        Fact("Charge", charge_text(state)),
        Fact("Time", times_text(state)),
        Fact("Service", state.service),
        Fact("Job", state.record.id, code=True),
        Fact(words, call, code=True),
    ]
    return [fact for fact in facts if fact.text]


def line_texts(state: JobState, info: MediaInfo | None = None) -> list[str]:
    """Return the facts in the line that is always visible, except the status."""
    of_file = file_texts(info) if state.has_output else ()
    return [text for text in (*of_file, price_text(state), ran_text(state)) if text]


def card_html(
    state: JobState,
    preview: Preview = NO_PREVIEW,
    *,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
    embedded: Embedded | None = None,
    as_of: datetime | None = None,
) -> Markup:
    """Return a job as HTML that stays readable whatever is stripped from it.

    `as_of` is the time of writing, shown for a job that may change.
    """
    output = state.output_file
    media = NO_HTML
    if output is not None:
        alt = f"A first look at the result: {shortened(state.title, ALT_LENGTH)}"
        player = player_html(
            output.url,
            state.media_type,
            output.content_type,
            preview.codec,
            still=Still(preview.poster, alt) if preview.poster else None,
            environment=environment,
            embedded=embedded,
        )
        media = Markup('<div style="flex:0 1 {}px">{}</div>').format(MAX_PX, player)
    return Markup(
        '<div style="display:flex;flex-wrap:wrap;gap:8px 16px;padding:12px;'
        'margin:4px 0;max-width:960px;border:1px solid {};border-radius:4px">{}'
        '<div style="flex:1 1 300px">{}{}{}{}{}{}{}</div></div>'
    ).format(
        LINE,
        media,
        _prompt_html(state),
        _standing_html(state, preview.info),
        as_of_html(None if _is_final(state) else as_of),
        _failure_html(state),
        _sentence_html(preview.trouble),
        _sentence_html(REUSED.format(id=state.record.id) if state.reused else None),
        _details_html(state),
    )


def _standing_html(state: JobState, info: MediaInfo | None) -> Markup:
    return Markup(
        '<div style="margin:0 0 6px;font-variant-numeric:tabular-nums"><b style="'
        "border:1px solid currentColor;border-radius:9px;padding:0 8px;"
        'font-size:11px;{}">{}</b> <span style="{}">{}</span></div>'
    ).format(
        tone_of(state),
        html_text(status_word(state)),
        QUIET,
        html_text(" · ".join(line_texts(state, info))),
    )


def as_of_html(as_of: datetime | None) -> Markup:
    """Return when an unfinished copy was written; "" if there is no time."""
    if as_of is None:
        return NO_HTML
    line = Markup('<div style="margin:0 0 6px;{}">{}</div>')
    return line.format(QUIET, as_of_text(as_of))


def _is_final(state: JobState) -> bool:
    return state.is_over or state.is_erased


def _details_html(state: JobState) -> Markup:
    """Return the folded facts, one per line even without styles."""
    return Markup(
        '<details style="margin:6px 0 0"><summary style="cursor:pointer;{}">'
        "Details</summary>{}</details>"
    ).format(QUIET, NO_HTML.join(map(_fact_html, facts_of(state))))


def _prompt_html(state: JobState) -> Markup:
    """Return the prompt, or else the title, and the take."""
    prompt, take = state.prompt or state.subject, NO_HTML
    if take_text(state.entry):
        aside = Markup(' <span style="{};font-weight:400">· {}</span>')
        take = aside.format(QUIET, take_text(state.entry))
    style = "white-space:pre-wrap;word-break:break-word;margin:0 0 6px"
    if len(prompt) <= PROMPT_SHOWN:
        line = Markup('<div style="{};font-weight:600">{}{}</div>')
        return line.format(style, html_text(prompt), take)
    return Markup(
        '<details style="margin:0 0 6px"><summary><b>{}</b>{} '
        '<span style="{}">(all {:,} characters)</span></summary>'
        '<div style="{};padding:6px 0 0 12px">{}</div></details>'
    ).format(
        html_text(shortened(prompt, PROMPT_SHOWN)),
        take,
        QUIET,
        len(prompt),
        style,
        html_text(prompt),
    )


def _failure_html(state: JobState) -> Markup:
    """Return why a job failed and what to do, then the service's words."""
    failure = failure_of(state)
    if failure is None:
        return NO_HTML
    return Markup(
        '<div style="margin:0 0 6px"><div><span style="{}">{}</span> {}</div>'
        '<div style="{};word-break:break-word">{}</div></div>'
    ).format(
        BAD,
        html_text(failure.happened),
        html_text(failure.advice),
        QUIET,
        html_text(failure.said),
    )


def _sentence_html(sentence: str | None) -> Markup:
    if sentence is None:
        return NO_HTML
    return Markup('<div style="margin:0 0 6px">{}</div>').format(html_text(sentence))


def _fact_html(fact: Fact) -> Markup:
    text = html_text(fact.text)
    if fact.code:
        text = Markup(
            '<code style="{};user-select:all;word-break:break-all">{}</code>'
        ).format(MONO, text)
    return Markup(
        '<div style="display:flex;gap:8px;line-height:1.6">'
        '<span style="flex:0 0 72px;{}">{}:</span> '
        '<span style="flex:1 1 0;word-break:break-word">{}</span></div>'
    ).format(QUIET, html_text(fact.label), text)


def _later(state: JobState) -> tuple[str, str]:
    """Return how to get the job in a notebook that was reopened."""
    if state.is_erased or state.record.status is JobStatus.FAILED:
        return "", ""
    call = f"client.job({state.record.id!r})"
    if not state.record.status.terminal:
        return "See it now", call
    return "Reopen", call


def card_text(
    state: JobState, preview: Preview = NO_PREVIEW, as_of: datetime | None = None
) -> str:
    """Return a job as plain text, for front ends without HTML."""
    return "\n".join(_text_lines(state, preview, as_of))


def _text_lines(
    state: JobState, preview: Preview, as_of: datetime | None
) -> Iterator[str]:
    yield f"{state.function_title}: {status_word(state).lower()}"
    if as_of is not None and not _is_final(state):
        yield as_of_text(as_of)
    if state.prompt:
        yield f"Prompt: {state.prompt}"
    elif state.subject != state.function_title:
        yield state.subject
    if take_text(state.entry):
        yield take_text(state.entry).capitalize()
    of_file = file_texts(preview.info) if state.has_output else ()
    if of_file:
        yield f"Output: {' · '.join(of_file)}"
    failure = failure_of(state)
    if failure is not None:
        yield f"{failure.happened} {failure.advice}"
        yield failure.said
    if preview.trouble:
        yield preview.trouble
    if state.reused:
        yield REUSED.format(id=state.record.id)
    for fact in facts_of(state):
        yield f"{fact.label}: {fact.text}"
    output = state.output_file
    if output is not None:
        yield f"Result: {output.url}"


# -- jobs that a cell waited for --------------------------------------------------


def waited_html(states: Sequence[JobState], as_of: datetime | None = None) -> Markup:
    """Return the saved lines of jobs that a cell waited for; "" if there are none."""
    written = as_of_html(None if all(map(_is_final, states)) else as_of)
    if len(states) <= FEW_WAITS:
        return _lines_html(states) + written if states else NO_HTML
    fold = Markup(
        '<details><summary style="cursor:pointer;{}">Show the {} jobs</summary>{}'
        "</details>"
    )
    lines = fold.format(QUIET, len(states), _lines_html(states))
    return _set_html(states) + written + lines


def waited_text(states: Sequence[JobState], as_of: datetime | None = None) -> str:
    lines = [f"{status_word(state)}: {line_text(state)}" for state in states]
    head = [set_text(states)] if len(states) > FEW_WAITS else []
    written = [] if all(map(_is_final, states)) else [as_of_text(as_of)]
    return "\n".join([*head, *lines, *filter(None, written)])


def line_text(state: JobState) -> str:
    return " · ".join([shortened(state.title, LINE_CHARACTERS), *line_texts(state)])


def set_text(states: Sequence[JobState]) -> str:
    """Return a summary of jobs: "12 jobs: 8 completed, 4 running · $1.63"."""
    counts = Counter(status_word(state).lower() for state in states)
    stands = ", ".join(f"{count} {word}" for word, count in counts.items())
    charges = [state.charge_micro_usd for state in states]
    spent = sum(charge for charge in charges if charge is not None)
    open_count = sum(charge is None for charge in charges)
    charged = f" · {format_usd(spent)} charged" if spent else ""
    more = f", {open_count} not settled yet" if spent and open_count else ""
    return f"{len(states)} jobs: {stands}{charged}{more}"


def _lines_html(states: Sequence[JobState]) -> Markup:
    line = Markup(
        '<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis;'
        'line-height:1.6"><b style="{}">{}</b> <span style="{}">{}</span></div>'
    )
    lines = NO_HTML.join(
        line.format(
            tone_of(state),
            html_text(status_word(state)),
            QUIET,
            html_text(line_text(state)),
        )
        for state in states
    )
    box = Markup('<div style="max-height:{}px;overflow-y:auto">{}</div>')
    return box.format(LINES_PX, lines)


def _set_html(states: Sequence[JobState]) -> Markup:
    """Return a summary of jobs over a progress bar."""
    done = sum(state.record.status.terminal for state in states)
    failed = any(state.record.status is JobStatus.FAILED for state in states)
    tone = "#d9403c" if failed else "#388e3c" if done == len(states) else "#1e7bd6"
    share = 100 * done / len(states)
    return Markup(
        '<div style="max-width:640px"><b>{}</b>'
        '<div role="progressbar" aria-label="{}" aria-valuemin="0" '
        'aria-valuemax="{}" aria-valuenow="{}" style="height:6px;'
        'border-radius:3px;margin:4px 0;background:rgba(128,128,128,.3)">'
        '<div style="height:6px;border-radius:3px;width:{:.0f}%;'
        'background:{}"></div></div></div>'
    ).format(html_text(set_text(states)), ENDED, len(states), done, share, tone)
