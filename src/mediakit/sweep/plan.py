"""A plan: every cell of a sweep with its price, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from anyio import to_thread

from mediakit.catalog import Function
from mediakit.client import AnyBudget
from mediakit.client.budgets import Budget, budget_of
from mediakit.client.preparing import full_names
from mediakit.errors import InputError, MediakitError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.forks import cached_property
from mediakit.history import Entry, History
from mediakit.history.frames import text_array
from mediakit.history.sweeps import Sweep, SweepCell, save_sweep
from mediakit.money import MicroUSD, format_usd
from mediakit.rules import all_of
from mediakit.safe_text import shown
from mediakit.sweep.cells import (
    Cell,
    CellState,
    PlanT,
    cells_of,
    draws_of,
    state_of,
)
from mediakit.sweep.grid import Grid, Point, grid_of, sweep_code
from mediakit.sweep.results import AsyncResults

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient

INDEX_NAME = "cell"
DRAFT = "draft"
MOST_IN_FLIGHT = 1_000
BALANCE_RETRY_FOR_S = 1.0
"""A plan without the balance is better than a late plan."""

Mask = npt.NDArray[np.bool_]


class BasePlan:
    """The cells of a sweep, checked, priced and compared with the history.

    Nothing is sent or charged before `run`.
    """

    async_results_type: type[AsyncResults] = AsyncResults
    code: str = ""
    """The call that recreates it."""
    is_past = False
    """Whether it is what the history has of a sweep; then no new cell can be sent."""

    def __init__(
        self,
        client: AsyncClient,
        function: Function,
        grid: Grid,
        cells: Sequence[Cell],
        *,
        draws: Sequence[Entry | None],
        spendable_micro_usd: int | None,
    ) -> None:
        self.client = client
        self.function = function
        self.grid = grid
        self.cells = cells
        self.draws = draws
        self.spendable_micro_usd = spendable_micro_usd
        self._axes: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes, in the given order; without `take`."""
        return tuple(self.grid.axes)

    @property
    def takes(self) -> int:
        """Return the number of takes of each point of the grid."""
        return self.grid.takes

    @cached_property
    def valid(self) -> Mask:
        """Return which cells can be sent, one boolean per cell."""
        return np.array([cell.problem is None for cell in self.cells])

    @property
    def new(self) -> Mask:
        """Return which cells a run would send, one boolean per cell."""
        return self._are(CellState.NEW)

    @property
    def owned(self) -> Mask:
        """Return which cells already have a job, one boolean per cell."""
        return self._are(CellState.OWNED)

    @property
    def states(self) -> list[CellState]:
        """Return the state of each cell."""
        return [*map(state_of, self.cells, self.draws)]

    def _are(self, wanted: CellState) -> Mask:
        return np.array([state is wanted for state in self.states])

    @cached_property
    def id(self) -> str:
        """Return the id of this sweep: equal plans have the same id in any kernel.

        The order of the axes and of their values does not matter.
        """
        sent = (f"{cell.key or cell.fields} {cell.sent_take}" for cell in self.cells)
        return sha256("\n".join(sorted(sent)).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """Return a short name: the function and the axes."""
        by = f" by {all_of(self.axes)}" if self.axes else ""
        return f"{self.function.kind}{by}"

    def estimate(self) -> Estimate:
        """Return the total price of the new cells; owned cells cost nothing (spec 8).

        `low` and `high` are integers of micro-USD. `high` is None if a cell has no
        known price.
        """
        return _total(self._new_estimates())

    def estimates_by_kind(self) -> dict[EstimateKind, Estimate]:
        """Return the total price of the new cells, by kind of estimate."""
        new = list(self._new_estimates())
        kinds = {estimate.kind for estimate in new}
        return {
            kind: _total(each for each in new if each.kind is kind)
            for kind in EstimateKind
            if kind in kinds
        }

    def _new_estimates(self) -> Iterator[Estimate]:
        for cell, state in zip(self.cells, self.states, strict=True):
            if state is CellState.NEW:
                yield cell.estimate

    async def _refresh(self) -> None:
        self.draws = await draws_of(self.client, self.function, self.cells)
        self.spendable_micro_usd = await _spendable(self.client)

    # -- running it ---------------------------------------------------------------

    @property
    def can_draft(self) -> bool:
        """Tell whether the function makes drafts, and this plan is for finals."""
        return DRAFT in self.function.fields and DRAFT not in self.cells[0].fields

    async def _begin(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> AsyncResults:
        limit_micro_usd, shared = await self._admitted(budget, in_flight)
        made = self.async_results_type
        return made(self, self.client, limit_micro_usd, in_flight, shared=shared)

    async def _admitted(
        self, budget: AnyBudget | None, in_flight: object
    ) -> tuple[int | None, Budget | None]:
        """Check the arguments of a run, and record the sweep in the history.

        Returns the limit of the run, and the named budget that it comes from.
        """
        _check_in_flight(in_flight)
        components = self.client.components
        shared = _shared_budget(components.admission.budget, budget)
        limit = budget_of("sweep", budget if shared is None else shared)
        limit_micro_usd = None if limit is None else limit.limit_micro_usd
        self.draws = await draws_of(self.client, self.function, self.cells)
        if limit_micro_usd is not None:
            await self._check_budget(limit_micro_usd)
        prompt = self.grid.fixed.get("prompt")
        await components.account_history.write(
            save_sweep,
            Sweep(
                self.id,
                self.function.path,
                self.axes,
                prompt if isinstance(prompt, str) else None,
                self.code,
            ),
            [*self._recorded_cells()],
            service=self.client.service.identity,
        )
        return limit_micro_usd, shared

    def _recorded_cells(self) -> Iterator[SweepCell]:
        for cell, draw in zip(self.cells, self.draws, strict=True):
            key = cell.key if draw is None else draw.asked_key
            if key is not None and cell.problem is None:
                point = {name: label_of(value) for name, value in cell.axes.items()}
                yield SweepCell(key, cell.sent_take, {**point, "take": cell.take})

    async def _check_budget(self, limit_micro_usd: int) -> None:
        """Raise an error if no new cell fits the budget.

        A sweep that already has charges continues: if the rest of its budget is too
        small for any cell, each cell reports that.
        """
        holds = (each.hold_micro_usd for each in self._new_estimates())
        cheapest_micro_usd = min((h for h in holds if h is not None), default=0)
        if cheapest_micro_usd <= limit_micro_usd:
            return
        if not await self._used_micro_usd():
            raise InputError(
                "budget",
                got=format_usd(limit_micro_usd),
                accepted=f"at least {format_usd(cheapest_micro_usd)}, the price of the "
                "cheapest new cell",
            )

    async def _used_micro_usd(self) -> int:
        """Return what the runs of this sweep have spent and hold so far."""
        ask = self.client.components.account_history.ask
        use = await ask(History.sweep_use, self.id)
        return use.spent_micro_usd + use.reserved_micro_usd

    async def _drafts(self) -> Self:
        if not self.can_draft:
            accepted = (
                "a function that makes drafts, and a plan that is not of drafts yet"
            )
            raise InputError(DRAFT, got=self.function.kind, accepted=accepted)
        made = await self._with(draft=True)
        made.code = f"{self.code}\nplan = plan.drafts()"
        return made

    async def _with(self, **fields: object) -> Self:
        """Return the plan with other values of fields that do not vary."""
        points = [replace(p, fields={**p.fields, **fields}) for p in self.grid.points]
        fixed = {**self.grid.fixed, **fields}
        grid = replace(self.grid, points=points, fixed=fixed)
        return await planned(self.client, self.function, grid, self._made_as)

    async def _best(
        self, frame: pd.DataFrame, k: object, by: str, changes: Mapping[str, object]
    ) -> Self:
        """Plan the best results of a frame again, with other values of fields."""
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise InputError("k", got=k, accepted="a number of results, such as 3")
        if by not in frame or not pd.api.types.is_numeric_dtype(frame[by].dtype):
            raise InputError("by", got=by, accepted="a column of numbers")
        changes = full_names(self.function, changes)
        made = frame[(frame.index < len(self)) & frame["status"].eq("completed")]
        judged = made[made["keep"] | made[by].notna()]
        order = judged.sort_values(["keep", by], ascending=False, kind="stable").index
        axes = [name for name in self.axes if name not in changes]
        points: list[Point] = []
        for cell in (self.cells[number] for number in order):
            fields = {**cell.fields, **changes}
            if DRAFT not in changes:
                fields.pop(DRAFT, None)
            if len(points) < k and all(fields != point.fields for point in points):
                points.append(Point({name: cell.axes[name] for name in axes}, fields))
        if not points:
            accepted = "a column with values, or results that are kept"
            raise InputError("by", got=by, accepted=accepted)
        values = {name: tuple(point.axes[name] for point in points) for name in axes}
        grid = Grid(values, changes, frozenset(), points, takes=1)
        plan = await planned(self.client, self.function, grid, self._made_as)
        rows = [dict(point.fields) for point in points]
        plan.code = sweep_code(self.function.path, {"rows": rows})
        return plan

    @property
    def _made_as(self) -> Callable[..., Self]:
        return type(self)

    # -- as a frame and as text ---------------------------------------------------

    def frame(self) -> pd.DataFrame:
        """Return the plan as a frame, one row per cell, in the order of sending.

        Returns:
            The axes (numbers as int64 or float64, true and false as bool, everything
            else as category), `take` (int64), `valid` (bool), `problem` (str, <NA> for
            none), `owned` (bool), `low_micro_usd` and `high_micro_usd` (Int64
            micro-USD, <NA> is unknown), `estimate_kind` (category) and `state`
            (category: new, owned, failed, lost, invalid).
        """
        found = self.axes_frame().copy()
        found["valid"] = self.valid
        found["problem"] = text_array([cell.problem for cell in self.cells])
        found["owned"] = self.owned
        estimates = [cell.estimate for cell in self.cells]
        found["low_micro_usd"] = pd.array([e.low for e in estimates], dtype="Int64")
        found["high_micro_usd"] = pd.array([e.high for e in estimates], dtype="Int64")
        kinds = [each.kind.value for each in estimates]
        found["estimate_kind"] = _category(kinds, EstimateKind)
        found["state"] = _category([state.value for state in self.states], CellState)
        return found

    def axes_frame(self) -> pd.DataFrame:
        """Return the axes and `take` alone, as they are in `frame`."""
        if self._axes is None:
            columns: dict[str, Any] = {
                name: _column([cell.axes[name] for cell in self.cells])
                for name in self.axes
            }
            takes = [cell.take for cell in self.cells]
            columns["take"] = np.array(takes, dtype="int64")
            self._axes = pd.DataFrame(columns).rename_axis(INDEX_NAME)
        return self._axes

    @property
    def counts(self) -> dict[CellState, int]:
        """Return the number of cells in each state."""
        counts = Counter(self.states)
        return {state: counts[state] for state in CellState}

    @property
    def after_micro_usd(self) -> int | None:
        """Return the balance left afterwards; None is unknown."""
        high = self.estimate().high
        if high is None or self.spendable_micro_usd is None:
            return None
        return self.spendable_micro_usd - high

    def reasons(self) -> list[tuple[str, int]]:
        """Return why cells cannot be sent, with counts, the most frequent first."""
        problems = (cell.problem for cell in self.cells)
        return Counter(each for each in problems if each is not None).most_common()

    def __repr__(self) -> str:
        counts = self.counts
        takes = f", {self.takes} takes each" if self.takes > 1 else ""
        prices = (f"{e.text} {_KINDS[k]}" for k, e in self.estimates_by_kind().items())
        lines = [
            f"{self.title}: {_cells(len(self))}{takes}",
            f"{counts[CellState.OWNED]:,} owned, {counts[CellState.NEW]:,} new: "
            f"{' + '.join(prices) or '$0.00'}",
            *(f"{counts[s]:,} {words}" for s, words in _ASIDE.items() if counts[s]),
            *(f"  {_cells(count)}: {reason}" for reason, count in self.reasons()),
        ]
        after = self.after_micro_usd
        if after is not None:
            now = format_usd(self.spendable_micro_usd or 0)
            lines.append(f"Balance {now} now, {format_usd(after)} after")
        return "\n".join(lines)


_ASIDE = {
    CellState.FAILED: "failed before; results.retry() submits them again",
    CellState.LOST: "submitted before; the output is no longer available",
    CellState.INVALID: "invalid (not sent):",
}
_KINDS = {
    EstimateKind.EXACT: "exact",
    EstimateKind.NOMINAL: "nominal",
    EstimateKind.UPPER_BOUND: "at most",
    EstimateKind.UNKNOWN: "price",
}


def _total(estimates: Iterable[Estimate]) -> Estimate:
    """Sum estimates; the least firm determines the kind. Of none, it is exactly 0."""
    found = list(estimates)
    if not found:
        return Estimate(MicroUSD(0), MicroUSD(0), EstimateKind.EXACT)
    lows = [each.low for each in found if each.low is not None]
    highs = [each.high for each in found if each.high is not None]
    kinds = list(EstimateKind)
    unpriced = len(found) - len(lows)
    has, is_not = ("cell has", "is") if unpriced == 1 else ("cells have", "are")
    note = f"{unpriced:,} {has} no known price and {is_not} not included."
    return Estimate(
        MicroUSD(sum(lows)) if lows else None,
        MicroUSD(sum(highs)) if len(highs) == len(found) else None,
        max((each.kind for each in found), key=kinds.index),
        notes=(note,) if unpriced else (),
    )


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _column(values: Sequence[object]) -> Any:
    kinds = {type(value) for value in values}
    if kinds == {bool} or kinds <= {int, float}:
        return np.array(values)
    labels = [label_of(value) for value in values]
    return pd.Categorical(labels, categories=pd.Index(list(dict.fromkeys(labels))))


def _category(values: Sequence[str], levels: Iterable[str]) -> Any:
    of_type = pd.CategoricalDtype([str(level) for level in levels])
    return pd.Categorical(list(values), dtype=of_type)


def label_of(value: object) -> object:
    """Return the label of a value in a frame: the value itself if possible."""
    if isinstance(value, str | int | float | bool):
        return value
    job_id = getattr(value, "id", None)
    return job_id if isinstance(job_id, str) else str(value)


def _shared_budget(own: Budget | None, amount: AnyBudget | None) -> Budget | None:
    """Return the named budget that a run counts against; None for a plain amount.

    A request counts against one budget. A client with its own budget would spend
    without counting it there, so it runs sweeps only under that budget.
    """
    if not isinstance(amount, Budget):
        return None
    if own is None:
        return amount
    if (own.name, own.period) != (amount.name, amount.period):
        raise InputError(
            "budget",
            got=f"the budget {shown(amount.name)}",
            accepted='an amount such as "$5", because this client has a budget of its '
            "own and a request counts against one budget only. Use a client without a "
            "budget to run sweeps under another one",
        )
    return min(own, amount, key=lambda budget: budget.limit_micro_usd)


def _check_in_flight(in_flight: object) -> None:
    """Reject what is not a number of cells; None is the usual one."""
    if in_flight is None:
        return
    counts = range(1, MOST_IN_FLIGHT + 1)
    if not isinstance(in_flight, int) or in_flight is True or in_flight not in counts:
        accepted = f"a whole number from 1 to {MOST_IN_FLIGHT:,}"
        raise InputError("in_flight", got=in_flight, accepted=accepted)


class AsyncPlan(BasePlan):
    """A plan whose run is awaited; `AsyncClient.sweep` makes it."""

    async def run(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> AsyncResults:
        """Start to send the new cells; returns live results at once.

        The run continues while the kernel is idle or busy. If the kernel is killed,
        run the same cell again to continue; nothing is paid twice.

        Args:
            budget: The limit for this sweep over all its runs, such as "$5". A
                `mk.Budget` is shared with all others that use it. None for no limit.
            in_flight: The maximum number of cells in flight; 16 by default.

        Raises:
            InputError: No new cell fits the budget; nothing was sent.
        """
        return await self._begin(budget, in_flight)

    async def drafts(self) -> Self:
        """Return the same plan as drafts, for a fraction of the price (spec 4.4).

        Raises:
            InputError: The function does not make drafts.
        """
        return await self._drafts()

    async def refresh(self) -> Self:
        """Read the history and the balance again."""
        await self._refresh()
        return self


async def plan_of(
    client: AsyncClient,
    make: Callable[..., PlanT],
    function: str,
    /,
    *,
    zip: object = None,
    rows: object = None,
    sample: object = None,
    takes: object = 1,
    **given: object,
) -> PlanT:
    """Check and price a sweep, and compare it with the history; nothing is sent."""
    found = client.catalog.function(function)
    read = partial(grid_of, zipped=zip, rows=rows, sample=sample, takes=takes)
    grid = await to_thread.run_sync(read, found, given)
    plan = await planned(client, found, grid, make)
    arguments = {"zip": zip, "rows": rows, "sample": sample}
    arguments["takes"] = None if takes == 1 else takes
    plan.code = sweep_code(function, {**given, **arguments})
    return plan


async def planned(
    client: AsyncClient, function: Function, grid: Grid, make: Callable[..., PlanT]
) -> PlanT:
    """Make a plan of a grid: check it, price it and compare it with the history."""
    cells = await cells_of(client, function, grid)
    return make(
        client,
        function,
        grid,
        cells,
        draws=await draws_of(client, function, cells),
        spendable_micro_usd=await _spendable(client),
    )


async def _spendable(client: AsyncClient) -> int | None:
    try:
        balance = await client.components.billing.balance(
            retry_for_s=BALANCE_RETRY_FOR_S
        )
        return balance.spendable_micro_usd
    except MediakitError:
        return None
