"""A job as it stays in a saved notebook: static HTML and plain text; pure.

It is read without a kernel, in untrusted copies, on code-hosting pages and in
exports. Each of these strips something: style sheets, classes, single properties, the
player. So every piece stands without the others, colours are given twice (a plain
one, then the theme's), and nothing depends on a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from mediakit.client import JobState
from mediakit.markup import html_text
from mediakit.records import JobStatus
from mediakit.widgets.controls.messages import title_at
from mediakit.widgets.job.player import (
    CARD_MAX_PX,
    NO_ENVIRONMENT,
    WHAT,
    Embedded,
    Still,
    browser_url,
    link_html,
    player_html,
    web_url,
)
from mediakit.widgets.job.results.output_facts import NO_FACTS, OutputFacts
from mediakit.widgets.job.text import (
    Failure,
    asked_text,
    charge_text,
    erased,
    estimate_text,
    failure_of,
    has_output,
    price_text,
    ran_text,
    shortened,
    status_word,
    times_text,
)

PROMPT_SHOWN = 280
REUSED = "Reusing an existing job: nothing was sent and nothing is charged again."
ALT_LENGTH = 120

# Sanitisers keep plain colours and drop variables: the last one that stays wins.
QUIET = "color:#767676;color:var(--jp-ui-font-color2,#767676)"
BAD = "color:#d32f2f;color:var(--jp-error-color1,#d32f2f)"
LINE = "rgba(128,128,128,.35)"
MONO = "font-family:monospace"

_TONES: Mapping[JobStatus, str] = {
    JobStatus.QUEUED: QUIET,
    JobStatus.RUNNING: "color:#1976d2;color:var(--jp-brand-color1,#1976d2)",
    JobStatus.COMPLETED: "color:#388e3c;color:var(--jp-success-color1,#388e3c)",
    JobStatus.FAILED: BAD,
}


def tone_of(state: JobState) -> str:
    """Return the style of a job's status, readable on light and on dark."""
    return QUIET if erased(state) else _TONES[state.record.status]


@dataclass(frozen=True)
class Fact:
    """One line of what is known of a job.

    Args:
        label: What it is.
        text: The fact, as plain text.
        code: It is to be copied, and shown as code.
    """

    label: str
    text: str
    code: bool = False


def title_text(state: JobState) -> str:
    """Write a job's function for people: "Text to video"."""
    return title_at(state.kind, state.function)


def facts_of(state: JobState) -> list[Fact]:
    """Return what is folded away of a job, in the order in which it is shown."""
    words, call = _later(state)
    facts = [
        Fact("Function", title_text(state)),
        Fact("Path", state.function, code=True),
        Fact("Settings", asked_text(state.body)),
        Fact("Estimate", estimate_text(state.estimate)),
        Fact("Charge", charge_text(state)),
        Fact("Time", times_text(state)),
        Fact("Service", state.service),
        Fact("Job", state.record.id, code=True),
        Fact(words, call, code=True),
    ]
    return [fact for fact in facts if fact.text]


def line_texts(state: JobState, facts: OutputFacts = NO_FACTS) -> list[str]:
    """Return the facts of the one line that everybody reads, without the status."""
    of_file = facts.texts if has_output(state) else ()
    return [text for text in (*of_file, price_text(state), ran_text(state)) if text]


def card_html(
    state: JobState,
    *,
    poster: bytes | None = None,
    player: bool = True,
    codec: str | None = None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
    embedded: Embedded | None = None,
    facts: OutputFacts = NO_FACTS,
) -> str:
    """Return a job as HTML that stays readable whatever is stripped from it.

    Args:
        state: The job.
        poster: A small JPEG of the result; None when there is none.
        player: Make a video play where that is possible.
        codec: The codec of the picture; None when it is not known.
        environment: See `playback.browser_url`.
        embedded: What of its result is part of the notebook; None for nothing.
        facts: How large and how long the result is.
    """
    media = _media_html(
        state, poster, codec, environment, player=player, embedded=embedded
    )
    words = "".join(
        [
            prompt_html(state),
            line_html(state, facts),
            failure_html(failure_of(state)),
            reused_html(state),
            details_html(state),
        ]
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 16px;padding:12px;'
        f'margin:4px 0;max-width:960px;border:1px solid {LINE};border-radius:4px">'
        + (f'<div style="flex:0 1 {CARD_MAX_PX}px">{media}</div>' if media else "")
        + f'<div style="flex:1 1 300px">{words}</div></div>'
    )


def line_html(state: JobState, facts: OutputFacts = NO_FACTS) -> str:
    """Return how a job stands, and its facts, in one line."""
    tag = (
        '<b style="border:1px solid currentColor;border-radius:9px;padding:0 8px;'
        f'font-size:11px;{tone_of(state)}">{html_text(status_word(state))}</b>'
    )
    texts = " · ".join(html_text(text) for text in line_texts(state, facts))
    return (
        f'<div style="margin:0 0 6px;font-variant-numeric:tabular-nums">{tag} '
        f'<span style="{QUIET}">{texts}</span></div>'
    )


def details_html(state: JobState) -> str:
    """Return what few people need: names, settings, times and ids, folded away."""
    return (
        f'<details style="margin:6px 0 0"><summary style="cursor:pointer;{QUIET}">'
        f"Details</summary>{facts_html(facts_of(state))}</details>"
    )


def prompt_html(state: JobState) -> str:
    """Return the prompt; a long one is shortened and unfolds.

    A job without a prompt is headed by its function.
    """
    prompt = state.prompt or title_text(state)
    style = "white-space:pre-wrap;word-break:break-word;margin:0 0 6px"
    if len(prompt) <= PROMPT_SHOWN:
        return f'<div style="{style};font-weight:600">{html_text(prompt)}</div>'
    brief = html_text(shortened(prompt, PROMPT_SHOWN))
    return (
        f'<details style="margin:0 0 6px"><summary><b>{brief}</b> '
        f'<span style="{QUIET}">(all {len(prompt):,} characters)</span></summary>'
        f'<div style="{style};padding:6px 0 0 12px">{html_text(prompt)}</div></details>'
    )


def failure_html(failure: Failure | None) -> str:
    """Return why a job failed and what to do; the service's words come last."""
    if failure is None:
        return ""
    return (
        f'<div style="margin:0 0 6px"><div><span style="{BAD}">'
        f"{html_text(failure.happened)}</span> {html_text(failure.advice)}</div>"
        f'<div style="{QUIET};word-break:break-word">{html_text(failure.said)}</div>'
        "</div>"
    )


def reused_html(state: JobState) -> str:
    """Return that nothing was bought, where that is so."""
    if not state.reused:
        return ""
    return f'<div style="margin:0 0 6px">{REUSED}</div>'


def facts_html(facts: list[Fact]) -> str:
    """Return facts as lines that read as lines without any style too."""
    return "".join(_fact_html(fact) for fact in facts)


def _fact_html(fact: Fact) -> str:
    text = html_text(fact.text)
    if fact.code:
        text = (
            f'<code style="{MONO};user-select:all;word-break:break-all">{text}</code>'
        )
    return (
        '<div style="display:flex;gap:8px;line-height:1.6">'
        f'<span style="flex:0 0 72px;{QUIET}">{html_text(fact.label)}:</span> '
        f'<span style="flex:1 1 0;word-break:break-word">{text}</span></div>'
    )


def _media_html(
    state: JobState,
    poster: bytes | None,
    codec: str | None,
    environment: Mapping[str, str],
    *,
    player: bool,
    embedded: Embedded | None,
) -> str:
    output = state.record.output
    if erased(state) or output is None or output.file is None:
        return ""
    still = still_of(state, poster)
    if player or still is None or web_url(output.file.url) is None:
        return player_html(
            output.file.url,
            output.media_type,
            output.file.content_type,
            codec,
            still=still,
            max_px=CARD_MAX_PX,
            environment=environment,
            embedded=embedded,
        )
    src = escape(browser_url(output.file.url, environment), quote=True)
    what = WHAT.get(output.media_type, "result")
    return f"{still.html(CARD_MAX_PX)}<div>{link_html(src, f'Open the {what}')}</div>"


def still_of(state: JobState, poster: bytes | None) -> Still | None:
    """Return the poster with words for those who cannot see it."""
    if poster is None:
        return None
    shown = shortened(state.prompt or title_text(state), ALT_LENGTH)
    return Still(poster, f"A first look at the result: {shown}")


def _later(state: JobState) -> tuple[str, str]:
    """Return how to get at the job from a notebook that was opened again."""
    if erased(state) or state.record.status is JobStatus.FAILED:
        return "", ""
    call = f'client.job("{state.record.id}")'
    if not state.record.status.terminal:
        return "See it now", call
    return "Reopen", call


def card_text(state: JobState, facts: OutputFacts = NO_FACTS) -> str:
    """Return a job as plain text, for terminals and for places without HTML.

    Args:
        state: The job.
        facts: How large and how long the result is.
    """
    return "\n".join(_text_lines(state, facts))


def _text_lines(state: JobState, facts: OutputFacts) -> Iterator[str]:
    yield f"{title_text(state)}: {status_word(state).lower()}"
    if state.prompt:
        yield f"Prompt: {state.prompt}"
    of_file = facts.texts if has_output(state) else ()
    if of_file:
        yield f"Output: {' · '.join(of_file)}"
    failure = failure_of(state)
    if failure is not None:
        yield f"{failure.happened} {failure.advice}"
        yield failure.said
    if state.reused:
        yield REUSED
    for fact in facts_of(state):
        yield f"{fact.label}: {fact.text}"
    output = state.record.output
    if output is not None and output.file is not None and not erased(state):
        yield f"Result: {output.file.url}"
