"""The acts on a job: conditions, prices, and confirmation questions.

Cards, walls, the studio, their pages and keyboard help read `ACTS`. To add an act, add
a row; each place handles acts without `do` itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, get_args

from mediakit.api_models import ErrorCode, JobStatus
from mediakit.client.async_job import AsyncJob
from mediakit.client.idempotency_keys import NOTHING_KNOWN
from mediakit.client.job_state import JobState
from mediakit.estimates import Estimate
from mediakit.history import Entry
from mediakit.media_limits import MediaName

FORGOTTEN = "The prompt and the settings were forgotten here, too."
BUTTON_CHANGED = (
    "The button now says “{}” instead of “{}”. Nothing was sent. Press it again to pay "
    "this price."
)
# The same request would fail the same way.
_FAILS_AGAIN = (ErrorCode.INVALID_INPUT, ErrorCode.CONTENT_MODERATION)


class Place(StrEnum):
    """Where an act is offered; free acts with `many` are also in the studio."""

    CARD = "card"  # of one job
    MENU = "menu"  # of a tile on a wall
    TILE = "tile"  # on a wall, without a menu
    SELECTION = "selection"  # of several tiles on a wall
    SENDING = "sending"  # while a request is being sent


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The facts about a job that decide which acts it allows."""

    status: JobStatus | None  # None before the service has answered
    error_code: str | None = None  # of the failure
    media_type: str | None = None
    has_output: bool = False
    has_request: bool = False  # whether the request is known here
    has_texts: bool = False  # whether a prompt or settings are stored here
    is_comparable: bool = False  # whether it can be compared with its input
    is_erased: bool = False
    is_gone: bool = False  # whether the service no longer knows it

    @property
    def is_completed(self) -> bool:
        """Return whether the job completed; it may have been erased since."""
        return self.status is JobStatus.COMPLETED

    @property
    def is_retryable(self) -> bool:
        """Return whether the same request may succeed now."""
        failed = self.status is JobStatus.FAILED and self.has_request
        return failed and self.error_code not in _FAILS_AGAIN

    @property
    def is_usable(self) -> bool:
        """Return whether the output can be the input of another job."""
        return self.has_output and self.media_type in get_args(MediaName)

    @property
    def is_rateable(self) -> bool:
        """Return whether there is a result to judge."""
        return self.is_completed and not (self.is_erased or self.is_gone)

    @property
    def is_erasable(self) -> bool:
        """Return whether the service has something to erase (spec 4.18)."""
        has_ended = self.status is not None and self.status.terminal
        return has_ended and not (self.is_erased or self.is_gone)


class Consent(NamedTuple):
    """The price and the options that a person agreed to with a click."""

    max_price: Estimate | None = None  # the price on the button
    ticked: bool = False  # whether the box of the question was ticked


Outcome = AsyncJob | str | None
"""A new job to show, a sentence to show, or None if the job itself shows the result."""
Do = Callable[[AsyncJob, Consent], Awaitable[Outcome]]
Pricing = Callable[[AsyncJob], Awaitable[Estimate]]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question before an act; nothing is done until it is answered."""

    text: str
    yes: str
    points: tuple[str, ...] = ()
    tick: str = ""  # the label of an optional box, for jobs whose request is known


@dataclass(frozen=True, kw_only=True)
class Many:
    """The words of an act on several jobs; {} stands for them: "3 results"."""

    yes: str
    done: str
    question: str = ""  # asked in the studio


@dataclass(frozen=True, kw_only=True)
class Act:
    """Something that can be done with a job."""

    name: str
    label: str
    can: Callable[[Standing], bool]
    """False for a status of None, unless the act needs no job."""
    hint: str = ""
    places: frozenset[Place] = frozenset({Place.CARD, Place.MENU})
    do: Do | None = None
    meanwhile: str = ""
    result: str = ""  # a name for the new job
    is_paid: bool = False
    price: Pricing | None = None
    estimate: Callable[[JobState], Estimate | None] = lambda _: None
    """The price until `price` has been read."""
    question: Question | None = None
    replaces: Question | None = None  # asked before a file is replaced
    many: Many | None = None
    key: str = ""  # on a wall; for acts in the menu, it opens the menu
    is_local: bool = False  # writes to the kernel's machine

    def text(self, price: Estimate | None, label: str = "") -> str:
        """Return the button's label, or another one, with the price if known."""
        label = label or self.label
        if price is None or price.low is None:
            return label
        return f"{label} · {price.short_text}"


def standing_of_entry(entry: Entry) -> Standing:
    """Return the facts about a job that the history knows."""
    is_erased, is_gone = entry.deleted_at is not None, entry.gone_at is not None
    is_known = entry.body != NOTHING_KNOWN
    return Standing(
        status=entry.status if entry.job_id else None,
        error_code=entry.error_code,
        media_type=entry.media_type,
        has_output=bool(entry.job_id and entry.output_url)
        and not (is_erased or is_gone),
        has_request=is_known and not is_erased,
        has_texts=is_known or bool(entry.prompt),
        is_erased=is_erased,
        is_gone=is_gone,
    )


def standing_of(state: JobState) -> Standing:
    """Return the facts about a job."""
    record = state.record
    standing = standing_of_entry(state.entry)
    return replace(
        standing,
        status=record.status,
        error_code=record.error.code if record.error else None,
        media_type=state.media_type,
        has_output=state.has_output and not standing.is_gone,
        has_request=standing.has_request and not state.is_erased,
        is_comparable=state.before_url is not None,
        is_erased=state.is_erased,
    )


def _always(_: Standing) -> bool:
    return True


async def _retry(job: AsyncJob, consent: Consent) -> AsyncJob:
    return await job.retry(max_price=consent.max_price)


async def _take(job: AsyncJob, consent: Consent) -> AsyncJob:
    return await job.next_take(max_price=consent.max_price)


async def _erase(job: AsyncJob, consent: Consent) -> str | None:
    await job.erase(forget=consent.ticked)
    return FORGOTTEN if consent.ticked else None


async def _forget(job: AsyncJob, _: Consent) -> str:
    await job.forget()
    return FORGOTTEN


ACTS = (
    Act(
        name="retry",
        label="Try again",
        hint="Send the same request again",
        can=lambda job: job.is_retryable,
        places=frozenset({Place.CARD}),
        do=_retry,
        meanwhile="Sending the request again…",
        is_paid=True,
        price=AsyncJob.next_price,
        estimate=lambda state: state.estimate,
    ),
    Act(
        name="upscale",
        label="Upscale",
        hint="Make this result larger; you pay when it completes",
        can=lambda job: job.is_usable,
        places=frozenset({Place.MENU, Place.SELECTION}),
        result="The upscaled result",
        is_paid=True,
        many=Many(
            yes="Upscale {}",
            done="Upscaling {}. Each upscaled one appears beside its original.",
        ),
    ),
    Act(
        name="take",
        label="Another take",
        hint="Send the same request for another take; you pay when it completes",
        can=lambda job: job.is_completed and job.has_request,
        places=frozenset({Place.CARD, Place.MENU, Place.SELECTION}),
        do=_take,
        meanwhile="Sending the request for another take…",
        result="Another take",
        is_paid=True,
        price=AsyncJob.next_price,
        estimate=lambda state: state.estimate,
        many=Many(
            yes="Another take of {}",
            done="Sent another take of {}. Each appears beside its result.",
        ),
    ),
    Act(
        name="stop",
        label="Stop trying",
        hint="Send nothing more of this request",
        can=_always,
        places=frozenset({Place.SENDING}),
    ),
    Act(
        name="show",
        label="Show upscaled · $0.00",
        hint="Show the upscaled result, which you already have",
        can=lambda job: job.is_usable,
        places=frozenset({Place.MENU}),
    ),
    Act(
        name="vary",
        label="Edit and rerun",
        hint="Put these settings into a form; nothing is sent",
        can=lambda job: job.has_request,
        places=frozenset({Place.CARD}),
    ),
    Act(
        name="use",
        label="Use as…",
        hint="Choose a function that takes this result, and open its form",
        can=lambda job: job.is_usable,
    ),
    Act(
        name="compare",
        label="Before / after",
        hint="Compare the result with its input, with a slider between them",
        can=lambda job: job.is_comparable,
        places=frozenset({Place.CARD}),
    ),
    Act(
        name="download",
        label="Download",
        hint="Save the file through your browser",
        can=lambda job: job.has_output,
    ),
    Act(
        name="save",
        label="Save to folder",
        hint="Save the result in this notebook's folder, on the machine that runs it",
        can=lambda job: job.has_output,
        places=frozenset({Place.CARD, Place.SELECTION}),
        meanwhile="Saving…",
        replaces=Question(
            text="The folder has a file of this name. Replace it?", yes="Replace"
        ),
        many=Many(
            yes="Save {}",
            done=(
                "Saved {} to {}. Each has a JSON file next to it that says how it was "
                "made."
            ),
        ),
        is_local=True,
    ),
    Act(
        name="erase",
        label="Erase…",
        hint="Delete the result and the request at the service",
        can=lambda job: job.is_erasable,
        places=frozenset({Place.CARD}),
        do=_erase,
        meanwhile="Erasing…",
        question=Question(
            text="Erase this job?",
            yes="Erase",
            points=(
                "The service deletes stored media and requests. This cannot be undone.",
                "What stays: prompts and charges in your history, and files that you "
                "saved or downloaded.",
            ),
            tick="Also forget the prompt and settings in your history and in this card",
        ),
        many=Many(
            question="Erase {} for good?", yes="Yes, erase {}", done="Erased {}."
        ),
    ),
    Act(
        name="forget",
        label="Forget the prompt…",
        hint="Remove the prompt from your history and from this notebook",
        can=lambda job: job.is_erased and job.has_texts,
        places=frozenset({Place.CARD}),
        do=_forget,
        meanwhile="Forgetting…",
        question=Question(
            text="Forget it?",
            yes="Forget",
            points=(
                "This removes the prompt and the settings from your history and the "
                "job's card.",
                "Not removed: the charge, saved files and the JSON files next to them, "
                "code in cells, values in forms, and job cards in cells that have not "
                "run since the kernel started.",
            ),
        ),
    ),
    Act(
        name="rate",
        label="Rate",
        can=lambda job: job.is_rateable,
        places=frozenset({Place.TILE}),
        key="1\N{EN DASH}5",
    ),
    Act(
        name="keep",
        label="Keep",
        can=lambda job: job.is_rateable,
        places=frozenset({Place.TILE}),
        key="K",
    ),
    Act(
        name="tags",
        label="Tags",
        can=_always,
        places=frozenset({Place.TILE}),
        key="T",
    ),
    Act(
        name="note",
        label="Note",
        can=_always,
        places=frozenset({Place.TILE}),
        key="N",
    ),
)


def results_text(count: int, total: int) -> str:
    """Return a number of results, which may be some of several: "2 of 3 results"."""
    number = f"{count:,}" if count == total else f"{count:,} of {total:,}"
    return f"{number} result{'' if total == 1 else 's'}"


def free_acts_on_many(acts: Iterable[Act]) -> list[Act]:
    """Return the acts that the studio does with selected jobs."""
    return [act for act in acts if act.many is not None and not act.is_paid]


def act_of(acts: Iterable[Act], name: str) -> Act:
    """Return the act of a name."""
    return next(act for act in acts if act.name == name)


def page_acts(acts: Iterable[Act]) -> dict[str, dict[str, Any]]:
    """Return the acts by name, as pages draw them."""
    return {act.name: _drawn(act) for act in acts}


def _drawn(act: Act) -> dict[str, Any]:
    parts = (act.question, act.replaces, act.many)
    question, replaces, many = (asdict(part) if part else None for part in parts)
    return {
        "name": act.name,
        "label": act.label,
        "hint": act.hint,
        "places": sorted(act.places),
        "is_paid": act.is_paid,
        "key": act.key,
        "question": question,
        "replaces": replaces,
        "many": many,
    }
