"""The data of a wall: cells, its header, and the actions that it offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypedDict

from mediakit.errors import InputError
from mediakit.money import format_usd

CellStatus = Literal[
    "planned", "invalid", "unsent", "queued", "running", "completed", "failed"
]

TAKE, PROMPT = "take", "prompt"
BEST_RATING = 5
MAX_TAGS = 20
MAX_TAG_LENGTH = 60
MAX_NOTE_LENGTH = 4_000


@dataclass(frozen=True)
class WallCell:
    """One cell of a wall.

    Args:
        index: Its number, which no other cell has.
        job_id: Its job; None where nothing was sent.
        labels: The text of its value on each axis, by axis.
        prompt: The prompt as it was sent.
        take: Which draw of the same request it is, from 1.
        status: How it stands.
        problem: Why it is invalid, unsent or failed, as a sentence.
        media_type: "video", "image" or "audio".
        url: Where the result is; only http(s) addresses are shown.
        poster: A small picture of the result, as an http(s) address or a `data:` URI.
        charge_micro_usd: What it cost; None while that is not known.
        runtime_s: How long it has been running, or ran.
        rating: From 1 to 5; None where it is not rated.
        keep: Whether it is kept.
        tags: Its tags.
        note: A note for people.
        parent_job_id: The job that it was made from.
    """

    index: int
    job_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    prompt: str | None = None
    take: int = 1
    status: CellStatus = "planned"
    problem: str | None = None
    media_type: str | None = None
    url: str | None = None
    poster: str | None = None
    charge_micro_usd: int | None = None
    runtime_s: float | None = None
    rating: int | None = None
    keep: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    parent_job_id: str | None = None

    def text(self, axis: str) -> str:
        """Return its value on an axis, as text; `take` and `prompt` are axes too."""
        if axis in self.labels:
            return self.labels[axis]
        if axis == TAKE:
            return str(self.take)
        return (self.prompt or "") if axis == PROMPT else ""

    def looks_like(self, other: WallCell) -> bool:
        """Tell whether a wall shows the two alike; it counts seconds by itself."""
        if self == other:
            return True
        both_run = self.status == other.status == "running"
        return both_run and replace(self, runtime_s=other.runtime_s) == other


@dataclass(frozen=True)
class WallSummary:
    """The figures in the header that the cells do not tell; empty ones are left out.

    Args:
        owned: How many cells were submitted before.
        new: The price of the other cells, such as "$1.43".
        new_note: What kind of price that is, such as "new, exact".
        spent: What was spent, such as "$0.61".
        spent_note: Of what, such as "spent of $3.00".
        left: When it will be over, such as "about 20 s left".
        next_label: The text of the primary button, such as "Upscale the 2 kept ·
            $0.46"; without one there is no such button.
    """

    owned: int | None = None
    new: str = ""
    new_note: str = "new"
    spent: str = ""
    spent_note: str = "spent"
    left: str = ""
    next_label: str = ""


@dataclass(frozen=True)
class WallActions:
    """What the buttons of a wall do; a button without an action is not shown.

    Each is called on a worker thread, or awaited on the I/O thread where it is a
    coroutine function. An exception is shown in the wall as a sentence.

    Args:
        retry: Sends a failed or unsent cell again; takes its index.
        export: Saves what there is. A text that it returns is shown.
        next: Takes the kept cells to the next step. A text that it returns is shown.
        copy: Returns an mp4 that a browser plays in place of a job's result; takes its
            id. It has no button.
    """

    retry: Callable[[int], object] | None = None
    export: Callable[[], object] | None = None
    next: Callable[[], object] | None = None
    copy: Callable[[str], Awaitable[bytes]] | None = None


class Preference(NamedTuple):
    """Which of two jobs was preferred.

    Attributes:
        winner: A job id.
        loser: The other job's id.
        tie: Neither was; the order of the two has no meaning then.
    """

    winner: str
    loser: str
    tie: bool = False


Ranked = tuple[str, float, float, float, int]
"""A job's id, its strength, the low and high end of the strength's interval, and its
group: strengths of different groups cannot be compared."""

Rank = Callable[[Sequence[Preference]], Sequence[Ranked]]


class Judgement(TypedDict, total=False):
    """What a person changed in how they judge a job."""

    rating: int | None
    keep: bool
    tags: tuple[str, ...]
    note: str


def judgement_of(changes: object) -> Judgement:
    """Read a change as the browser sends it.

    Raises:
        InputError: It is no change that a wall makes.
    """
    if not isinstance(changes, dict) or not changes or set(changes) - set(_READERS):
        raise InputError("changes", got=changes, accepted=" or ".join(_READERS))
    read = {name: _READERS[name](value) for name, value in changes.items()}
    return Judgement(**read)  # type: ignore[typeddict-item] # the readers check each


def _rating(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or (whole and 1 <= value <= BEST_RATING):  # type: ignore[operator] # whole says so
        return value  # type: ignore[return-value] # whole says so
    raise InputError("rating", got=value, accepted=f"1 to {BEST_RATING}, or None")


def _keep(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError("keep", got=value, accepted="true or false")


def _tags(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list | tuple) else [value]
    tags = tuple(dict.fromkeys(str(text).strip() for text in texts if text))
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in tags):
        accepted = f"at most {MAX_TAGS} tags of at most {MAX_TAG_LENGTH} characters"
        raise InputError("tags", got=value, accepted=accepted)
    return tuple(tag for tag in tags if tag)


def _note(value: object) -> str:
    if isinstance(value, str) and len(value) <= MAX_NOTE_LENGTH:
        return value.strip()
    accepted = f"a text of at most {MAX_NOTE_LENGTH:,} characters"
    raise InputError("note", got=value, accepted=accepted)


_READERS: Mapping[str, Callable[[object], Any]] = {
    "rating": _rating,
    "keep": _keep,
    "tags": _tags,
    "note": _note,
}


@dataclass(frozen=True)
class Header:
    """The header of a wall, counted.

    Args:
        figures: Each figure with what it counts.
        total: The number of cells.
        completed: How many are completed.
        running: How many are queued or running.
        failed: How many failed.
        progress: The same in words; empty where nothing was to be run.
    """

    figures: tuple[tuple[str, str], ...]
    total: int
    completed: int
    running: int
    failed: int
    progress: str


def header_of(cells: Sequence[WallCell], summary: WallSummary) -> Header:
    """Count what the header of a wall shows."""
    states = [cell.status for cell in cells]
    count = {status: states.count(status) for status in dict.fromkeys(states)}
    running = count.get("queued", 0) + count.get("running", 0)
    further = (
        (running, "running"),
        (count.get("failed", 0), "failed"),
        (count.get("unsent", 0), "unsent"),
        (count.get("invalid", 0), "invalid"),
    )
    completed = count.get("completed", 0)
    words = [f"{completed:,} of {len(cells):,} done"]
    words += [f"{number:,} {name}" for number, name in further if number]
    words += [summary.left] if summary.left else []
    return Header(
        figures=_figures(cells, summary),
        total=len(cells),
        completed=completed,
        running=running,
        failed=count.get("failed", 0),
        progress=" · ".join(words) if cells else "",
    )


def _figures(
    cells: Sequence[WallCell], summary: WallSummary
) -> tuple[tuple[str, str], ...]:
    owned = "" if summary.owned is None else f"{summary.owned:,}"
    kept = sum(cell.keep for cell in cells)
    figures = (
        (f"{len(cells):,}", "cell" if len(cells) == 1 else "cells"),
        (owned, "owned · free"),
        (summary.new, summary.new_note),
        (summary.spent, summary.spent_note),
        (f"{kept:,}", "kept"),
    )
    return tuple((figure, name) for figure, name in figures if figure)


def price_text(cell: WallCell) -> str:
    """Return what a cell cost; nothing while that is not known."""
    known = cell.charge_micro_usd is not None
    return format_usd(cell.charge_micro_usd) if known else ""
