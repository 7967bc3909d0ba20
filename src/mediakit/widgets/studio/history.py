"""The history in the studio: the query, its rows, and the selection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Catalog, title_at
from mediakit.client.job_acts import ACTS, Act, act_of, standing_of_entry
from mediakit.client.job_texts import STATE_WORDS, State, charge_word, state_of_entry
from mediakit.errors import InputError, MediakitError
from mediakit.history import Entry, EntryState, ratings
from mediakit.history.sweeps import sweep_names
from mediakit.history.titles import NO_NAMES, title_of
from mediakit.money import format_usd
from mediakit.web_urls import web_url
from mediakit.widgets.job.text import (
    date_text,
    function_of,
    settings_text,
    shortened,
)

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

PAGE_ROWS = 20
MOST_SELECTED = 5_000
PROMPT_SHOWN = 160
NEVER_SENT_ON = "webhook_url"
HOW_TO_BEGIN = (
    "No jobs yet. Choose a function under Make, fill in its form and press Generate."
)
NO_MATCH = "No matching jobs. Remove a filter, or try fewer words."
_TONES: Mapping[State, str] = {
    "completed": "good",
    "erased": "quiet",
    "failed": "bad",
    "gone": "quiet",
    "refused": "bad",
    "unanswered": "warn",
}


@dataclass(frozen=True)
class Query:
    """The search and the filters; empty strings match everything."""

    text: str = ""
    kind: str = ""
    status: str = ""
    project: str = ""
    sweep: str = ""
    tag: str = ""
    rating: str = ""  # the minimum, "1" to "5"
    keep: str = ""  # "yes" or "no"
    since: str = ""  # YYYY-MM-DD in UTC
    until: str = ""  # inclusive
    order: str = "newest"

    @property
    def is_narrow(self) -> bool:
        return replace(self, order="newest") != Query()

    @property
    def wanted(self) -> dict[str, Any]:
        names = ("kind", "status", "project", "sweep", "tag")
        return {
            **{name: getattr(self, name) or None for name in names},
            "text": self.text,
            "order": self.order,
            "rating": int(self.rating) if self.rating else None,
            "keep": self.keep == "yes" if self.keep else None,
            "since": self.since or None,
            "until": _day_after(self.until) if self.until else None,
        }


def _day_after(day: str) -> date:
    try:
        return date.fromisoformat(day) + timedelta(days=1)
    except (ValueError, OverflowError):
        accepted = "a day in UTC such as 2026-10-01"
        raise InputError("until", got=day, accepted=accepted) from None


@dataclass(frozen=True)
class Page:
    """One page of search results."""

    query: Query = Query()
    entries: tuple[Entry, ...] | None = None  # None before they were read
    has_more: bool = False
    before: tuple[Entry, ...] = ()  # the last entry of each page before this one
    judged: Mapping[str, ratings.Judgement] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[Entry, ...]:
        return self.entries or ()

    @property
    def text(self) -> str:
        if self.entries is None:
            return "Reading the history…"
        if not self.entries:
            return NO_MATCH if self.query.is_narrow else HOW_TO_BEGIN
        first = len(self.before) * PAGE_ROWS + 1
        last = first + len(self.entries) - 1
        if first == 1 and not self.has_more:
            places = f"{last} jobs" if last > 1 else "1 job"
        else:
            end = "" if self.has_more else f" of {last:,}"
            places = f"Jobs {first:,} to {last:,}{end}"
        return f"{places} · Times are in UTC."


# -- ratings and choices --------------------------------------------------------------


def judgements_of(client: Client, entries: Iterable[Entry]) -> list[ratings.Judgement]:
    parts = client.components
    ids = [entry.job_id for entry in entries if entry.job_id]
    return ratings.judgements(parts.store, **parts.account_history.owner, job_ids=ids)


def read_choices(client: Client) -> dict[str, list[list[str]]]:
    """Return the choices of the filters, as values with names; blocks."""
    store, owner = client.components.store, client.components.account_history.owner
    service = client.service.identity
    titles = sorted({(function.title, function.kind) for function in client.catalog})
    kinds = {function.path: function.kind for function in client.catalog}
    sweeps = sweep_names(store, kinds, service=service)
    return {
        "kinds": [[kind, title] for title, kind in titles],
        "projects": [[name, name] for name in store.projects(service=service)],
        "sweeps": [list(each) for each in sweeps],
        "tags": [[tag, tag] for tag in ratings.tags(store, **owner)],
    }


# -- rows -----------------------------------------------------------------------------


def row_of(
    entry: Entry,
    catalog: Catalog,
    names: Mapping[str, str] = NO_NAMES,
    judged: ratings.Judgement | None = None,
) -> dict[str, Any]:
    state = state_of_entry(entry)
    function = function_of(entry, catalog)
    makes = "video" if function is None else function.media_type
    return {
        "number": entry.number,
        "title": shortened(title_of(entry, names), PROMPT_SHOWN),
        "function": title_at(entry.kind, entry.function),
        "settings": settings_text(json.loads(entry.body), names),
        "media": "" if state == "erased" else entry.media_type or makes,
        "state": STATE_WORDS[state],
        "tone": _TONES.get(state, ""),
        "charge": charge_word(entry),
        "date": date_text(entry.created_at),
        "project": entry.project or "",
        "rating": (judged.rating or 0) if judged else 0,
        "rates": act_of(ACTS, "rate").can(standing_of_entry(entry)),
        "kept": bool(judged and judged.keep),
        "tags": list(judged.tags) if judged else [],
        "job": entry.job_id or "",
        "problem": "" if entry.job_id else _no_job(entry),
    }


def _no_job(entry: Entry) -> str:
    if entry.state is EntryState.REFUSED:
        words = shortened(entry.error_message or entry.error_code or "", PROMPT_SHOWN)
        return f"The request was refused: {words}"
    return "The service did not answer; a job may exist"


def settings_of(entry: Entry) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(entry.body)
    if not body:
        raise MediakitError(
            f"The settings of {entry.job_id or entry.function} are unknown: it was not "
            "submitted from this history."
        )
    return {name: value for name, value in body.items() if name != NEVER_SENT_ON}


def picture_url(entry: Entry) -> str | None:
    """Return the URL from which a result's poster can be made, or None."""
    if not has_result(entry) or entry.media_type == "audio":
        return None
    return web_url(str(entry.output_url))


# -- the selection --------------------------------------------------------------------


class Selection:
    """The selected entries, in the order of selection."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.number: entry for entry in entries}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def numbers(self) -> list[int]:
        return list(self._entries)

    def add(self, entries: Iterable[Entry]) -> None:
        self._entries.update((entry.number, entry) for entry in entries)

    def remove(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._entries.pop(entry.number, None)

    def renew(self, entries: Iterable[Entry]) -> None:
        self.add(entry for entry in entries if entry.number in self._entries)

    def where(self, holds: Callable[[Entry], bool]) -> tuple[Entry, ...]:
        return tuple(filter(holds, self._entries.values()))

    def able(self, act: Act) -> tuple[Entry, ...]:
        """Return the jobs that an act can be done with."""
        return self.where(lambda entry: act.can(standing_of_entry(entry)))

    @property
    def text(self) -> str:
        if not self._entries:
            return ""
        charged = sum(each.charge_micro_usd or 0 for each in self._entries.values())
        words = [f"{len(self):,} selected", f"{format_usd(charged)} charged"]
        unsettled = len(self.where(is_unsettled))
        words += [f"{unsettled:,} not settled yet"] if unsettled else []
        return " · ".join(words)


def has_result(entry: Entry) -> bool:
    return standing_of_entry(entry).has_output


def is_unsettled(entry: Entry) -> bool:
    return (
        entry.job_id is not None
        and entry.charge_micro_usd is None
        and entry.gone_at is None
    )
