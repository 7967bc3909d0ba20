"""A history entry as a row of text: state, charge, date; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any

from mediakit.catalog import Catalog, title_at
from mediakit.client.job_words import (
    STATE_WORDS,
    State,
    charge_word,
    state_of_entry,
)
from mediakit.client.titles import NO_NAMES, title_of
from mediakit.errors import InputError
from mediakit.history import Entry, EntryState
from mediakit.widgets.job.player import web_url
from mediakit.widgets.job.text import date_text, function_of, shortened
from mediakit.widgets.toolkit.styles import Tone

PROMPT_SHOWN = 160
ICONS: Mapping[str, str] = {"video": "film", "image": "picture-o", "audio": "music"}
_TONES: Mapping[State, Tone] = {
    "completed": "good",
    "erased": "quiet",
    "failed": "bad",
    "gone": "quiet",
    "refused": "bad",
    "unanswered": "warn",
}
NEVER_SENT_ON = "webhook_url"


@dataclass(frozen=True)
class Row:
    """One submit, as it is listed.

    Args:
        prompt: Its title.
        function: The function's name for people.
        state: How it stands, in a word.
        tone: How that is coloured.
        charge: What it cost, or why that is not known.
        date: When it was submitted.
        project: Its label; None for none.
        icon: The name of a picture of its kind.
        picture_url: Where its result can be seen; None for nowhere.
        job_id: Its job; None where none was made.
        no_job: Why there is nothing to open; None when there is.
        thumb: A small JPEG of the result; None while there is none.
    """

    prompt: str
    function: str
    state: str
    tone: Tone
    charge: str
    date: str
    project: str | None
    icon: str
    picture_url: str | None
    job_id: str | None
    no_job: str | None
    thumb: bytes | None = field(default=None, repr=False)


def row_of(
    entry: Entry,
    catalog: Catalog,
    zone: tzinfo = UTC,
    names: Mapping[str, str] = NO_NAMES,
) -> Row:
    """Return a submit as it is listed.

    Args:
        entry: The submit.
        catalog: Knows what the functions make.
        zone: In which dates are written.
        names: Names of media, by URL.
    """
    function = function_of(entry, catalog)
    makes = "video" if function is None else function.media_type
    media_type = entry.media_type or makes
    state = state_of_entry(entry)
    return Row(
        prompt=shortened(title_of(entry, names), PROMPT_SHOWN),
        function=title_at(entry.kind, entry.function),
        state=STATE_WORDS[state],
        tone=_TONES.get(state, "plain"),
        charge=charge_word(entry),
        date=date_text(entry.created_at, zone),
        project=entry.project,
        icon=ICONS.get(media_type, "file-o"),
        picture_url=_picture_url(entry, media_type),
        job_id=entry.job_id,
        no_job=None if entry.job_id else _no_job(entry),
    )


def settings_of(entry: Entry) -> dict[str, Any]:
    """Return the fields of a submit's request, to be used again.

    Where the end was posted to is not one of them.

    Raises:
        InputError: The history does not know what was asked for.
    """
    body: dict[str, Any] = json.loads(entry.body)
    if not body:
        raise InputError(
            "settings",
            got=entry.job_id or entry.function,
            accepted="a submit of this history; this one was made elsewhere, and "
            "only its result is known",
        )
    return {name: value for name, value in body.items() if name != NEVER_SENT_ON}


def _picture_url(entry: Entry, media_type: str) -> str | None:
    if entry.output_url is None or entry.deleted_at or entry.gone_at:
        return None
    return None if media_type == "audio" else web_url(entry.output_url)


def _no_job(entry: Entry) -> str:
    if entry.state is EntryState.REFUSED:
        words = shortened(entry.error_message or entry.error_code or "", PROMPT_SHOWN)
        return f"The request was refused: {words}"
    return "The service did not answer, so the job is unknown"
