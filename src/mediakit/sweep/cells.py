"""The cells of a plan, checked, priced and compared with the history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from mediakit.api_models import JobStatus
from mediakit.catalog import Function
from mediakit.client.idempotency_keys import draw_key_of, was_rejected
from mediakit.client.job_state import estimate_of
from mediakit.client.request_preparation import full_names, plain_body, stripped_body
from mediakit.errors import InputError, MediakitError, NotFoundError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.history import Entry, EntryState, lineage
from mediakit.history.sweeps import Sweep, SweepCell, find_sweep
from mediakit.media import body_with_placeholders
from mediakit.money import MicroUSD
from mediakit.rules import Problem, ValueDescription
from mediakit.safe_text import shown
from mediakit.schema import canonical_json
from mediakit.sweep.grid import Grid, Point, Values, fields_by_name

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient
    from mediakit.sweep.plan import PlanFacts

T = TypeVar("T")
PlanT = TypeVar("PlanT", bound="PlanFacts")

FIRST_SEED = 1
CELLS_AT_ONCE = 16
SHOWN_N = 5
UNPRICED = Estimate(None, None, EstimateKind.UNKNOWN)


class CellState(StrEnum):
    """The state of a cell before the run."""

    NEW = "new"
    """The cell will be sent and charged."""
    OWNED = "owned"
    """The cell already has a job, whose use costs nothing more."""
    FAILED = "failed"
    """The job failed; `results.retry()` submits the cell again."""
    LOST = "lost"
    """The cell has a job, but its output was erased or is unknown to the service."""
    INVALID = "invalid"
    """The cell cannot be sent."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One request of a sweep.

    Args:
        axes: The value of each axis.
        fields: The fields, as for `client.submit`.
        take: The number of the take, from 1.
        sent_take: The take to send; 1 if the seed distinguishes the takes.
        problem: Why the request cannot be sent; None if it can.
        estimate: The price of the request.
        key: The key of the request; None if a file cannot be read, or a string cannot
            be encoded as UTF-8.
        labels: The labels of the cell's row, which are never sent.
    """

    axes: Values
    fields: Values
    take: int
    sent_take: int
    problem: str | None
    estimate: Estimate
    key: str | None
    labels: Values = field(default_factory=dict)


async def cells_of(
    client: AsyncClient, function: Function, grid: Grid, *, is_sent: bool = False
) -> list[Cell]:
    """Return all cells: the points of the grid in take 1, then in take 2, and so on.

    This reads local files and the lengths of media at URLs; the latter are read again
    if the cells are about to be sent.
    """
    points = _Points(client, function, grid.points, is_sent=is_sent)
    problems = await points.problems()
    _refuse_all(function, grid, problems)
    estimates, named = await points.estimates(), await points.named()
    seed_field = seed_field_of(function, grid)
    first_seed = grid.fixed.get(seed_field or "", FIRST_SEED)
    key_of = _key_of(client.service.identity, function)
    cells: list[Cell] = []
    for take in range(1, grid.takes + 1):
        seed = (
            {} if seed_field is None else {seed_field: int(str(first_seed)) + take - 1}
        )
        cell_by_key: dict[str, int] = {}
        for number, point in enumerate(grid.points):
            fields = named[number]
            key = None if fields is None else key_of({**fields, **seed})
            problem = problems[number][0].sentence if problems[number] else None
            if key is not None and problem is None:
                twin = cell_by_key.setdefault(key, len(cells))
                if twin != len(cells):
                    problem = f"It is a duplicate of cell {twin:,}: no field differs"
            cell = Cell(
                axes=point.axes,
                fields={**point.fields, **seed} if seed else point.fields,
                take=take,
                sent_take=1 if seed else take,
                problem=problem,
                estimate=estimates[number],
                key=key,
                labels=point.labels,
            )
            cells.append(cell)
    return cells


async def have_other_files(
    client: AsyncClient, function: Function, cells: Sequence[Cell]
) -> bool:
    """Return whether a file of a cell has changed since the plan."""
    points = [Point(cell.axes, cell.fields, cell.labels) for cell in cells]
    reading = _Points(client, function, points, is_sent=False)
    await reading.problems()
    key_of = _key_of(client.service.identity, function)
    return any(
        fields is not None and cell.key not in (None, key_of(fields))
        for cell, fields in zip(cells, await reading.named(), strict=True)
    )


def seed_field_of(function: Function, grid: Grid) -> str | None:
    """Return the field whose seed distinguishes the takes, or None if there is none.

    All cells of a take share a seed, and the next take has the next seed, so that
    differences between cells are not due to the seed. A seed that varies itself, or is
    negative, is sent as given.
    """
    seeds = [name for name, spec in function.fields.items() if spec.seed]
    if not seeds:
        return None
    name = seeds[0]
    if name in grid.fixed:
        given = grid.fixed[name]
        return name if isinstance(given, int) and given >= 0 else None
    return None if name in grid.points[0].fields else name


def _key_of(service: str, function: Function) -> Callable[[Values], str | None]:
    """Return a function from named fields to the key; see `Submission.asked_key`."""

    def key_of(fields: Values) -> str | None:
        body = function.canonical_body(plain_body(function, fields))
        try:
            content = canonical_json(body)
        except UnicodeEncodeError:  # half an emoji, which is never sent
            return None
        return draw_key_of(service, function.path, content)

    return key_of


def _refuse_all(
    function: Function, grid: Grid, problems: Sequence[Sequence[Problem]]
) -> None:
    """Raise an error if no point can be sent; problems of all points come first."""
    if not all(problems):
        return
    sentences = [{problem.sentence for problem in each} for each in problems]
    in_all = set.intersection(*sentences)
    if in_all:
        shared = [problem for problem in problems[0] if problem.sentence in in_all]
        raise InputError.of(shared, spec=function.spec)
    reasons = list(dict.fromkeys(each[0].sentence for each in problems))
    reasons_text = "; ".join(reasons[:SHOWN_N])
    if len(reasons) > SHOWN_N:
        reasons_text += f"; and {len(reasons) - SHOWN_N:,} more reasons"
    raise InputError(
        " and ".join(grid.axes) or "sweep",
        got=ValueDescription("no valid cell"),
        accepted=f"values that the function accepts: {reasons_text}",
    )


class _Points:
    """Checks and prices the points of a grid, each distinct question once.

    The fields of points are the same objects as the values of the axes, so equal
    questions are recognised by identity.
    """

    def __init__(
        self,
        client: AsyncClient,
        function: Function,
        points: Sequence[Point],
        *,
        is_sent: bool,
    ) -> None:
        self._is_sent = is_sent
        self._preparer = client.components.preparer
        self._function = function
        self._points = points
        self._slots = asyncio.Semaphore(CELLS_AT_ONCE)
        self._media: set[str] = set()

    async def problems(self) -> list[list[Problem]]:
        """Return the problems of each point."""
        by_point = await to_thread.run_sync(self._checked)
        for name in sorted(self._media):

            async def of_medium(fields: Values, name: str = name) -> list[Problem]:
                return await self._media_problems(name, fields)

            for known, its in zip(
                by_point, await self._each([name], of_medium), strict=True
            ):
                reported = {problem.field for problem in known}
                known += [problem for problem in its if problem.field not in reported]
        return by_point

    def _checked(self) -> list[list[Problem]]:
        by_point = []
        for point in self._points:
            plain = plain_body(self._function, point.fields)
            if self._function.may_name_media:
                self._media |= {item.field for item in self._function.media(plain)}
            body, _ = body_with_placeholders(self._function, plain)
            by_point.append(self._function.check(body))
        return by_point

    async def _media_problems(self, name: str, fields: Values) -> list[Problem]:
        try:
            await self._preparer.validated(self._function.path, fields)
        except InputError as error:
            return [problem for problem in error.problems if problem.root == name]
        except MediakitError as error:
            return [Problem(name, None, "", message=f"cannot be used: {error}")]
        return []

    async def estimates(self) -> list[Estimate]:
        """Return the price of each point."""
        return await self._each(self._priced_by(), self._estimate)

    def _priced_by(self) -> Iterable[str]:
        """Return the fields that affect the price."""
        names = self._function.declared.priced_by
        if self._function.rate is None and names is not None:
            return {*names, *self._media}
        specs = self._function.fields
        given = {name for point in self._points[:1] for name in point.fields}
        plain = {n for n, spec in specs.items() if spec.multiline or spec.seed}
        return given - plain

    async def _estimate(self, fields: Values) -> Estimate:
        try:
            request = await self._preparer.validated(
                self._function.path, fields, is_sent=self._is_sent, price_only=True
            )
            return request.estimate
        except InputError:
            return UNPRICED

    async def named(self) -> list[Values | None]:
        """Return the fields of each point, with jobs and local files by name.

        Returns None if a file cannot be read. Nothing is uploaded.
        """
        if not self._media:
            return [point.fields for point in self._points]
        media = await self._each(self._media, self._named_media)
        return [
            None if its is None else {**point.fields, **its}
            for point, its in zip(self._points, media, strict=True)
        ]

    async def _named_media(self, fields: Values) -> Values | None:
        try:
            request = await self._preparer.validated(
                self._function.path, fields, price_only=True
            )
            named = await self._preparer.named(request)
        except (MediakitError, OSError):
            return None
        files = {path: file.url for path, file in named.sent.items()}
        body = self._function.with_media(request.body, request.names | files)
        return {name: body[name] for name in self._media if name in body}

    async def _each(
        self, names: Iterable[str], ask: Callable[[Values], Awaitable[T]]
    ) -> list[T]:
        """Call a function for each combination of some fields; results by point."""
        names = sorted(names)
        combinations = [
            tuple(id(point.fields.get(name)) for name in names)
            for point in self._points
        ]
        points = dict(zip(combinations, self._points, strict=True))

        async def answer(fields: Values) -> T:
            async with self._slots:
                return await ask(fields)

        answers = await asyncio.gather(*(answer(p.fields) for p in points.values()))
        by_point = dict(zip(points, answers, strict=True))
        return [by_point[combination] for combination in combinations]


def total_of(estimates: Iterable[Estimate]) -> Estimate:
    """Sum estimates; the least firm determines the kind. No estimates cost 0."""
    parts = list(estimates)
    if not parts:
        return Estimate(MicroUSD(0), MicroUSD(0), EstimateKind.EXACT)
    lows = [each.low for each in parts if each.low is not None]
    highs = [each.high for each in parts if each.high is not None]
    kinds = list(EstimateKind)
    unpriced = len(parts) - len(lows)
    has, is_not = ("cell has", "is") if unpriced == 1 else ("cells have", "are")
    note = f"{unpriced:,} {has} no known price and {is_not} not included."
    return Estimate(
        MicroUSD(sum(lows)) if lows else None,
        MicroUSD(sum(highs)) if len(highs) == len(parts) else None,
        max((each.kind for each in parts), key=kinds.index),
        notes=(note,) if unpriced else (),
    )


# -- the cells in the history ---------------------------------------------------------


async def draws_of(
    client: AsyncClient, function: Function, cells: Iterable[Cell]
) -> list[Entry | None]:
    """Read each cell's newest attempt from the history, or None if there is none.

    A URL in the fields may be that of a job or a file that was sent before, so each
    cell is also looked up by the key of its exact content.
    """
    rows = await client.components.account_history.ask(
        lineage.owned_draws, service=client.service.identity, function=function.path
    )
    exact = {(row.draw_key, row.take): row for row in rows}
    draws = exact | {(row.asked_key, row.take): row for row in rows}
    for row in rows:
        if row.prompt is not None and row.prompt != row.prompt.strip():
            body = stripped_body(function, row.body)
            key = draw_key_of(row.service, row.function, body)
            draws.setdefault((key, row.take), row)
    return [draws.get((cell.key or "", cell.sent_take)) for cell in cells]


def state_of(cell: Cell, draw: Entry | None) -> CellState:
    """Return the state of a cell from its history entry."""
    if cell.problem is not None:
        return CellState.INVALID
    if draw is None or draw.state in (EntryState.REFUSED, EntryState.UNANSWERED):
        # An unanswered request is sent again, so it may be charged.
        return CellState.NEW
    if draw.status == JobStatus.FAILED:
        # A request rejected on submission made no job: the next call submits it again.
        return CellState.NEW if was_rejected(draw) else CellState.FAILED
    is_lost = draw.gone_at is not None or draw.deleted_at is not None
    return CellState.LOST if is_lost else CellState.OWNED


# -- a sweep that was run before ------------------------------------------------------

NOT_SENT = (
    "This cell was not sent. To send it, re-create the plan with the code in "
    "results.plan.code and run it."
)


async def past_plan(
    client: AsyncClient, sweep_id: str, make: Callable[..., PlanT]
) -> PlanT:
    """Return the plan of a sweep in the history; nothing is sent."""
    ask = client.components.account_history.ask
    record = await ask(find_sweep, sweep_id, service=client.service.identity)
    if record is None:
        raise NotFoundError(
            f"The sweep {shown(sweep_id)} is not in this history. client.sweeps() "
            "lists those that are."
        )
    sweep, rows = record
    function = client.catalog.function(sweep.function)
    cells = [_past_cell(sweep, cell, entry) for cell, entry in rows]
    grid = Grid(
        axes={
            name: tuple(dict.fromkeys(cell.axes[name] for cell in cells))
            for name in sweep.axes
        },
        fixed={} if sweep.prompt is None else {"prompt": sweep.prompt},
        slots=frozenset(_slots_of(sweep, function)),
        points=[
            Point(cell.axes, cell.fields, cell.labels)
            for cell in cells
            if cell.take == 1
        ],
        takes=max(cell.take for cell in cells),
    )
    draws = await draws_of(client, function, cells)
    plan = make(client, function, grid, cells, draws=draws, spendable_micro_usd=None)
    plan.code, plan.is_past = sweep.code, True
    vars(plan)["id"] = sweep.id
    return plan


def _slots_of(sweep: Sweep, function: Function) -> list[str]:
    """Return the axes of a past sweep that filled slots of a template."""
    if function.is_open:
        return []
    fields = fields_by_name(function)
    return [
        name
        for name in sweep.axes
        if not {*full_names(function, {name: ""})} & {*fields}
    ]


def _past_cell(sweep: Sweep, cell: SweepCell, entry: Entry | None) -> Cell:
    is_sent = entry is not None and entry.job_id is not None
    return Cell(
        axes={name: cell.point[name] for name in sweep.axes},
        fields=json.loads(entry.body) if entry is not None else {},
        take=int(str(cell.point["take"])),
        sent_take=cell.take,
        problem=None if is_sent else NOT_SENT,
        estimate=UNPRICED if entry is None else estimate_of(entry),
        key=cell.asked_key,
        labels={n: v for n, v in cell.point.items() if n not in (*sweep.axes, "take")},
    )
