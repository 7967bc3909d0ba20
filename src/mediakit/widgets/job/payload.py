"""A job as plain data for the page, and the actions on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mediakit.api_models import JobStatus
from mediakit.catalog import Function
from mediakit.client import AsyncJob, JobState
from mediakit.client.job_acts import ACTS, Act, Place, standing_of
from mediakit.client.job_texts import REUSED
from mediakit.estimates import Estimate
from mediakit.history.titles import take_text
from mediakit.media_html import data_url
from mediakit.notebook import in_voila
from mediakit.web_urls import web_url
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.job.card import (
    LINE_CHARACTERS,
    PROMPT_SHOWN,
    facts_of,
    line_texts,
    set_text,
)
from mediakit.widgets.job.player import (
    NO_ENVIRONMENT,
    WHAT,
    browser_url,
    playback_notice,
)
from mediakit.widgets.job.preview import CLIP_NOTE, NO_PREVIEW, Preview
from mediakit.widgets.job.text import (
    clock_of,
    date_text,
    failure_of,
    shortened,
    status_word,
)
from mediakit.widgets.job.uses import Uses, uses_of_job

Payload = dict[str, Any]

TONES = {
    JobStatus.QUEUED: "quiet",
    JobStatus.RUNNING: "busy",
    JobStatus.COMPLETED: "good",
    JobStatus.FAILED: "bad",
}
SHAPE = re.compile(r"([1-9]\d?):([1-9]\d?)")
USUAL_SHAPE = {"video": (16, 9), "image": (1, 1)}


@dataclass(frozen=True)
class JobHost:
    """The callbacks of the place that shows a job."""

    # shows a job submitted from this one; None if nothing can be submitted
    add: Callable[[AsyncJob], object] | None = None
    # fills a form with a job's settings; returns a message
    vary: Callable[[JobState], str] | None = None
    # the name in the history of the form that new jobs belong to
    origin: str | None = None
    uses: Uses | None = None  # opens forms that use the job's result
    acts: tuple[Act, ...] = ACTS

    def does(self, act: Act, environment: Mapping[str, str]) -> bool:
        """Return whether this place supports an act."""
        if act.is_paid and self.add is None:
            return False
        ways = {"vary": self.vary, "use": self.uses}
        has_way = ways.get(act.name, act) is not None
        return has_way and not (act.is_local and in_voila(environment))


@dataclass(frozen=True)
class Shown:
    """The display state of a job's view."""

    preview: Preview = NO_PREVIEW
    # just submitted: the page scrolls to the job if it is out of sight
    arrives: bool = False
    note: str = ""  # a sentence about the last action
    is_alert: bool = False  # whether the note reports an error
    delay: str = ""  # why the request in flight is slow
    busy: frozenset[str] = frozenset()  # the acts in progress
    # the forms opened for the result, as path and widget model
    forms: tuple[tuple[str, str], ...] = ()
    # by act; only prices that have been read
    prices: Mapping[str, Estimate] = field(default_factory=dict)
    can_stop: bool = False  # whether the request in flight can be stopped


def varied(function: Function, body: Mapping[str, object]) -> dict[str, object]:
    """Return form values for a request; omitted fields have their default."""
    values = {name: spec.default for name, spec in function.fields.items()}
    sent = {name: value for name, value in body.items() if name != "webhook_url"}
    if not function.is_open:
        return values | sent
    further = {name: value for name, value in sent.items() if name not in values}
    values_sent = {name: value for name, value in sent.items() if name in values}
    return values | values_sent | {FURTHER.name: further}


# -- acts -------------------------------------------------------------------------


def offered(
    state: JobState, host: JobHost, environment: Mapping[str, str] = NO_ENVIRONMENT
) -> tuple[Act, ...]:
    """Return the acts that a card offers, in order."""
    standing = standing_of(state)
    return tuple(
        act
        for act in host.acts
        if Place.CARD in act.places
        and host.does(act, environment)
        and act.can(standing)
    )


def price_now(act: Act, state: JobState, shown: Shown) -> Estimate | None:
    """Return the price of an act; an earlier one until it has been read."""
    return shown.prices.get(act.name) or act.estimate(state)


# -- the picture and the texts ----------------------------------------------------


def job_payload(
    state: JobState,
    shown: Shown,
    host: JobHost,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> Payload:
    title, failure, before = state.prompt or state.subject, None, state.before_url
    reason, acts = failure_of(state), offered(state, host, environment)
    if reason is not None:
        failure = [reason.happened, reason.advice, reason.said]
    facts = ((fact.label, fact.text, fact.code) for fact in facts_of(state))
    return {
        **_standing(state),
        "title": title,
        "short": shortened(title, PROMPT_SHOWN) if len(title) > PROMPT_SHOWN else "",
        "take": take_text(state.entry),
        "line": " · ".join(line_texts(state, shown.preview.info)),
        "failure": failure,
        "reused": REUSED.format(id=state.record.id) if state.reused else "",
        "trouble": state.trouble or "",
        "place": _place(state),
        "result": _result(state, shown.preview, environment),
        "before": browser_url(before, environment) if before else None,
        "erased": _erased_text(state),
        "facts": list(map(list, facts)),
        "acts": [*(act.name for act in acts), *(["stop"] * shown.can_stop)],
        "prices": {
            act.name: act.text(price_now(act, state, shown))
            for act in acts
            if act.is_paid
        },
        "knows": standing_of(state).has_request,
        "finals": _finals(state, host),
        "busy": sorted(shown.busy),
        "note": " ".join(filter(None, (shown.note, shown.delay))),
        "alert": shown.is_alert and not shown.delay,
        "forms": [list(form) for form in shown.forms],
        "arrives": shown.arrives,
    }


def _finals(state: JobState, host: JobHost) -> list[list[str]]:
    """Return the functions that render a draft in full, for the menu."""
    if host.uses is None or not state.body.get("draft"):
        return []
    uses = uses_of_job(host.uses.catalog, state)
    return [[u.function.path, u.title, u.tooltip] for u in uses if u.text is not None]


def line_payload(state: JobState) -> Payload:
    """Return a job as a line of data, for a cell that waits for it."""
    title = shortened(state.title, LINE_CHARACTERS)
    texts = [title, *line_texts(state)]
    return {**_standing(state), "texts": texts, "trouble": state.trouble or ""}


def set_payload(states: list[JobState]) -> Payload:
    return {
        "text": set_text(states),
        "done": sum(state.record.status.terminal for state in states),
        "failed": any(state.record.status is JobStatus.FAILED for state in states),
    }


def _standing(state: JobState) -> Payload:
    clock, line = clock_of(state), None
    if clock is not None:
        line = {
            "before": clock.before,
            "since_ms": _ms(clock.since),
            "after": clock.after,
            # The usual runtime is measured from the submission.
            "sent_ms": _ms(state.submitted_at or state.started_at),
            "usual_s": state.usual_runtime_s,
            "runs": state.record.status is JobStatus.RUNNING,
        }
    tone = "quiet" if state.is_erased else TONES[state.record.status]
    word = status_word(state)
    return {"id": state.record.id, "word": word, "tone": tone, "clock": line}


def _ms(instant: datetime | None) -> int | None:
    return None if instant is None else int(instant.timestamp() * 1000)


def _place(state: JobState) -> list[int] | None:
    """Return the aspect ratio of the result, or of the expected one."""
    usual = USUAL_SHAPE.get(state.media_type)
    if usual is None or (state.record.status.terminal and not state.has_output):
        return None
    match = SHAPE.fullmatch(str(state.body.get("aspect_ratio")))
    return [int(match[1]), int(match[2])] if match else list(usual)


def _result(
    state: JobState, preview: Preview, environment: Mapping[str, str]
) -> Payload | None:
    file = state.output_file
    if file is None:
        return None
    address = web_url(file.url)
    if address is None:
        return {"address": file.url[:200]}
    medium, info = state.media_type, preview.info
    if medium not in WHAT:
        medium = (file.content_type or "").split("/", 1)[0]
    # For a picture, the poster replaces a picture that the browser cannot load.
    poster = preview.poster if preview.needs_copy or medium == "image" else None
    return {
        "medium": medium,
        "what": WHAT.get(medium, "result"),
        "url": browser_url(address, environment),
        "type": file.content_type or "",
        "name": state.file_name(file.url),
        "label": shortened(state.title, 120),
        "bytes": info.size_bytes if info else None,
        "size": [info.width, info.height] if info and info.pixels else None,
        # Where the browser can decode the first frame, that is sharper than the poster.
        "poster": data_url(poster) if poster else None,
        "notice": playback_notice(preview.codec) if medium == "video" else "",
        "copy_note": CLIP_NOTE,
    }


def _erased_text(state: JobState) -> str:
    if state.record.deleted_at is None:
        return ""
    at = date_text(state.record.deleted_at)
    return f"The service erased the result and the request on {at} UTC."
