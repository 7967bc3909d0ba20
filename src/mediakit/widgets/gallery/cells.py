"""The data of a wall: its cells, header and actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mediakit.api_models import JobStatus
from mediakit.client.job_acts import ACTS, Act, Place, Question, Standing
from mediakit.client.job_texts import State
from mediakit.client.recipes import Edit
from mediakit.estimates import Estimate
from mediakit.money import format_usd
from mediakit.web_urls import web_url

if TYPE_CHECKING:
    from mediakit.client import AsyncJob
    from mediakit.client.progress import DelayMessages
    from mediakit.history.ratings import Judgement

TAKE_AXIS, PROMPT_AXIS = "take", "prompt"
EMBEDDED = "data:image/"
NO_ADDRESS = "The result's address is not a web address, so it is not opened."
FIRST_EXTRA = 1_000_000
"""The index of the first job submitted from a wall, above the indices of cells."""


@dataclass(frozen=True)
class WallCell:
    """One cell of a wall."""

    index: int
    job_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # by axis
    prompt: str | None = None
    take: int = 1
    status: State = "planned"
    problem: str | None = None
    media_type: str | None = None
    url: str | None = None
    poster: str | None = None  # an http(s) address or a `data:` URI
    charge_micro_usd: int | None = None
    retry: str = ""  # the label of the Retry button; empty without one
    runtime_s: float | None = None
    rating: int | None = None
    keep: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    scores: str = ""  # scores and reasons
    made: str = ""  # how it was made from another result, such as "Video upscale"

    def text(self, axis: str) -> str:
        """Return its value on an axis, or its `take` or `prompt`, as text."""
        if axis in self.labels:
            return self.labels[axis]
        if axis == TAKE_AXIS:
            return str(self.take)
        return (self.prompt or "") if axis == PROMPT_AXIS else ""

    @property
    def is_extra(self) -> bool:
        """Return whether its job was submitted from the wall."""
        return self.index >= FIRST_EXTRA

    @property
    def address(self) -> str | None:
        """Return the result's URL if that is a web address."""
        return web_url(self.url) if self.url else None

    @property
    def standing(self) -> Standing:
        """Return the facts about its job that the wall knows."""
        has_job = self.job_id is not None and self.status in {*JobStatus}
        return Standing(
            status=JobStatus(self.status) if has_job else None,
            media_type=self.media_type,
            has_output=has_job and self.is_shown,
            has_request=has_job,
        )

    def has_menu(self, acts: Iterable[Act]) -> bool:
        """Return whether an act of its menu can be done."""
        menu = (act for act in acts if Place.MENU in act.places)
        standing = self.standing
        return standing.status is not None and any(act.can(standing) for act in menu)

    @property
    def is_shown(self) -> bool:
        return self.status == "completed" and self.address is not None

    @property
    def reason(self) -> str | None:
        """Return why nothing is shown."""
        is_closed = self.status == "completed" and self.url and not self.is_shown
        return NO_ADDRESS if is_closed else self.problem


@dataclass(frozen=True)
class WallSummary:
    """Figures in the header that do not follow from the cells; empty if unknown."""

    owned: int = 0
    new: str = ""
    new_note: str = "new"
    spent: str = ""
    spent_note: str = "spent"
    left: str = ""
    rest: str = ""
    """The label of the button that sends the cells that are not sent."""
    can_stop: bool = False
    waits: str = ""
    """Why cells that are being sent have no job yet."""


def judged_as(said: Judgement | None) -> dict[str, Any]:
    if said is None:
        return {}
    judged = {"rating": said.rating, "keep": bool(said.keep)}
    return {**judged, "tags": said.tags, "note": said.note}


class Offer(NamedTuple):
    """An action on a result."""

    name: str
    text: str
    words: str
    is_paid: bool = False
    file: str = ""
    price: Estimate | None = None
    """The highest price; None if it is free or its price is unknown."""
    limit_micro_usd: int | None = None
    """The raised budget of the sweep; None if the budget does not change."""
    question: Question | None = None
    ticked: bool = False
    """Whether the box of its question was ticked."""
    parts: tuple[tuple[str, Offer], ...] = ()
    """Of an action on several results: their jobs, and the offer for each."""

    @property
    def payload(self) -> dict[str, object]:
        """Return the offer as data for the page."""
        parts = {name: getattr(self, name) for name in self._fields[:5]}
        return {**parts, "question": self.question and asdict(self.question)}


class Done(NamedTuple):
    """The outcome of an offer."""

    said: str
    job: AsyncJob | None = None
    form: Any = None
    path: str = ""
    """A file of the kernel's machine to open, where the server has it; or none."""


class Made(NamedTuple):
    """A job that was submitted from a wall, now or in an earlier kernel."""

    job: AsyncJob
    sources: Sequence[str]
    """The ids of the jobs that may be its sources, the likeliest first."""
    judged: Mapping[str, Any]


class TileActions(Protocol):
    """Actions on results besides judging them; awaited on the I/O thread."""

    async def offers(self, job_id: str) -> list[Offer]:
        """Return the offers for a job's result."""

    async def joint_offers(self, job_ids: Sequence[str]) -> list[Offer]:
        """Return the offers for the results of several jobs, with their total prices.

        An offer's `parts` are the jobs that it is possible for.
        """

    async def act(self, job_id: str, offer: Offer) -> Done:
        """Carry out an offer."""

    async def made(self) -> list[Made]:
        """Return the jobs submitted from this wall, oldest first."""


@dataclass(frozen=True)
class WallActions:
    """The actions of a wall; one that is None has no button."""

    # resends a cell; takes the label of the button that was clicked
    retry: Callable[[int, str], Awaitable[str]] | None = None
    # the label of the button that resends several cells; "" if none can be resent
    resend_text: Callable[[Sequence[int]], Awaitable[str]] | None = None
    # resends several cells; takes the label of the button that was clicked
    resend: Callable[[Sequence[int], str], Awaitable[str]] | None = None
    # sends all unsent cells; takes the label of the button that was clicked
    rest: Callable[[str], Awaitable[str]] | None = None
    stop: Callable[[], Awaitable[str]] | None = None
    export: Callable[[], Awaitable[Done]] | None = None
    copy: Callable[[str], Awaitable[bytes]] | None = None
    picture: Callable[[WallCell], Awaitable[bytes | None]] | None = None
    tile: TileActions | None = None
    acts: tuple[Act, ...] = ACTS
    # explains slow submissions of `tile`
    delays: DelayMessages | None = None
    # returns the length of a job's file, and the edits that add its recipe
    recipe: Callable[[str], Awaitable[tuple[int, list[Edit]]]] | None = None


@dataclass(frozen=True)
class Header:
    """The header of a wall, with its counts."""

    figures: tuple[tuple[str, str], ...]
    total: int
    completed: int
    running: int
    failed: int
    progress: str
    rest: str
    can_stop: bool
    waits: str


def header_of(cells: Sequence[WallCell], summary: WallSummary) -> Header:
    states = [cell.status for cell in cells]
    count = {status: states.count(status) for status in dict.fromkeys(states)}
    running = count.get("queued", 0) + count.get("running", 0)
    further = (
        (running, "running"),
        (count.get("failed", 0), "failed"),
        (count.get("unsent", 0), "not sent"),
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
        rest=summary.rest,
        can_stop=summary.can_stop,
        waits=summary.waits,
    )


def _figures(
    cells: Sequence[WallCell], summary: WallSummary
) -> tuple[tuple[str, str], ...]:
    own = [cell for cell in cells if not cell.is_extra]
    extra = [cell for cell in cells if cell.is_extra]
    kept = sum(cell.keep for cell in own)
    also = sum(cell.keep for cell in extra)
    charged = sum(cell.charge_micro_usd or 0 for cell in extra)
    paid = f" for {format_usd(charged)}" if charged else ""
    figures = (
        (f"{len(own):,}", "cell" if len(own) == 1 else "cells"),
        (f"{summary.owned:,}" if summary.owned else "", "already yours · $0"),
        (summary.new, summary.new_note),
        (summary.spent, summary.spent_note),
        (f"{kept:,}", "kept"),
        (
            f"{len(extra):,}" if extra else "",
            f"made from these results{paid}, {also:,} kept",
        ),
    )
    return tuple((figure, name) for figure, name in figures if figure)


def price_text(cell: WallCell) -> str:
    is_charged = cell.charge_micro_usd is not None
    return format_usd(cell.charge_micro_usd) if is_charged else ""


def is_embedded(poster: str | None) -> bool:
    """Return whether a poster is embedded, not a URL."""
    return poster is not None and poster.startswith(EMBEDDED) and poster.isascii()


def shown_poster(poster: str | None) -> str:
    if poster is None:
        return ""
    return poster if is_embedded(poster) else (web_url(poster) or "")
