"""A plan: every cell of a sweep with its price, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from anyio import to_thread

from mediakit.cached import cached_property
from mediakit.catalog import Function
from mediakit.client import AnyBudget
from mediakit.client.budgets import Budget
from mediakit.errors import InputError, MediakitError
from mediakit.history.frames import text_array
from mediakit.money import MicroUSD, format_usd
from mediakit.rates import Estimate, EstimateKind
from mediakit.rules import all_of
from mediakit.sweep.budget import parse_budget, shared_budget
from mediakit.sweep.cells import (
    Cell,
    CellState,
    cells_of,
    owned_draws,
    state_of,
)
from mediakit.sweep.exporting.code import sweep_code
from mediakit.sweep.grid import Grid, grid_of
from mediakit.sweep.results import AsyncResults, Results

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient
    from mediakit.blocking_client import Client

INDEX_NAME = "cell"
DRAFT = "draft"
BALANCE_RETRY_FOR_S = 1.0
"""A plan without the balance is better than a late plan."""

Mask = npt.NDArray[np.bool_]


class BasePlan:
    """The cells of a sweep, checked, priced and compared with the history.

    Nothing is sent or charged before `run`.

    Args:
        client: The client.
        function: The function.
        grid: What varies.
        cells: The cells, in the order of sending.
        states: The state of each cell.
        spendable_micro_usd: The spendable amount when it was made; None is unknown.
    """

    async_results_type: type[AsyncResults] = AsyncResults
    code: str = ""
    """The call that recreates it."""

    def __init__(
        self,
        client: AsyncClient,
        function: Function,
        grid: Grid,
        cells: Sequence[Cell],
        *,
        states: Sequence[CellState],
        spendable_micro_usd: int | None,
    ) -> None:
        self.client = client
        self.function = function
        self.grid = grid
        self.cells = cells
        self.states = states
        self.spendable_micro_usd = spendable_micro_usd

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
        self.states = await _states(self.client, self.function, self.cells)
        self.spendable_micro_usd = await _spendable(self.client)

    # -- running it ---------------------------------------------------------------

    @property
    def can_draft(self) -> bool:
        """Tell whether the function makes drafts, and this plan is for finals."""
        return DRAFT in self.function.fields and DRAFT not in self.cells[0].fields

    async def _begin(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> AsyncResults:
        limit_micro_usd, shared = self._limits(budget)
        self.states = await _states(self.client, self.function, self.cells)
        made = self.async_results_type
        return made(self, self.client, limit_micro_usd, in_flight, shared=shared)

    def _limits(self, budget: AnyBudget | None) -> tuple[int | None, Budget | None]:
        """Return the limit of a run, and the named budget it comes from."""
        shared = shared_budget(self.client.components.admission.budget, budget)
        return parse_budget(budget if shared is None else shared), shared

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
        columns: dict[str, Any] = {
            name: _column([cell.axes[name] for cell in self.cells])
            for name in self.grid.axes
        }
        columns["take"] = np.array([cell.take for cell in self.cells], dtype="int64")
        columns["valid"] = self.valid
        columns["problem"] = text_array([cell.problem for cell in self.cells])
        columns["owned"] = self.owned
        estimates = [cell.estimate for cell in self.cells]
        columns["low_micro_usd"] = pd.array([e.low for e in estimates], dtype="Int64")
        columns["high_micro_usd"] = pd.array([e.high for e in estimates], dtype="Int64")
        columns["estimate_kind"] = _category(
            [e.kind.value for e in estimates], EstimateKind
        )
        columns["state"] = _category([state.value for state in self.states], CellState)
        return pd.DataFrame(columns).rename_axis(INDEX_NAME)

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

    def lines(self) -> Iterator[str]:
        """Yield the plan's lines of text."""
        takes = f", {self.takes} takes each" if self.takes > 1 else ""
        yield f"{self.title}: {_cells(len(self))}{takes}"
        counts = self.counts
        yield (
            f"{counts[CellState.OWNED]:,} owned, {counts[CellState.NEW]:,} new: "
            f"{self.price_text}"
        )
        for state, words in _ASIDE.items():
            if counts[state]:
                yield f"{counts[state]:,} {words}"
        for reason, count in self.reasons():
            yield f"  {_cells(count)}: {reason}"
        after = self.after_micro_usd
        if after is not None:
            now = format_usd(self.spendable_micro_usd or 0)
            yield f"Balance {now} now, {format_usd(after)} after"

    @property
    def price_text(self) -> str:
        """Format the price of the new cells, by kind of estimate."""
        kinds = self.estimates_by_kind()
        if not kinds:
            return "$0.00"
        texts = [f"{e.text} {_KINDS[kind]}" for kind, e in kinds.items()]
        return " + ".join(texts)

    def reasons(self) -> list[tuple[str, int]]:
        """Return why cells cannot be sent, with counts, the most frequent first."""
        problems = (cell.problem for cell in self.cells)
        return Counter(each for each in problems if each is not None).most_common()

    def __repr__(self) -> str:
        return "\n".join(self.lines())


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


class AsyncPlan(BasePlan):
    """A plan whose run is awaited; `AsyncClient.sweep` makes it."""

    async def run(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> AsyncResults:
        """Start to send the new cells; returns live results at once.

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


class Plan(BasePlan):
    """A plan for scripts and notebooks; its methods block.

    Args:
        owner: The client that made it.
        args: As for `BasePlan`.
        kwargs: As for `BasePlan`.
    """

    results_type: type[Results[Any]] = Results

    def __init__(self, owner: Client, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner

    @property
    def _made_as(self) -> Callable[..., Self]:
        return partial(type(self), self.owner)

    def run(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> Results[Any]:
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
        (limit_micro_usd, shared), owner = self._limits(budget), self.owner
        self.states = owner.io.call(_states, self.client, self.function, self.cells)
        return self.results_type(
            self,
            self.client,
            owner.io,
            limit_micro_usd,
            in_flight,
            owned=owner.owned,
            shared=shared,
        )

    def drafts(self) -> Self:
        """Return the same plan as drafts, for a fraction of the price (spec 4.4).

        Raises:
            InputError: The function does not make drafts.
        """
        return self.owner.io.call(self._drafts)

    def refresh(self) -> Self:
        """Read the history and the balance again."""
        self.owner.io.call(self._refresh)
        return self


PlanT = TypeVar("PlanT", bound=BasePlan)


async def plan_of(
    client: AsyncClient,
    function: str,
    given: Mapping[str, object],
    *,
    zipped: object = None,
    rows: object = None,
    sample: object = None,
    takes: object = 1,
    make: Callable[..., PlanT],
) -> PlanT:
    """Check and price a sweep, and compare it with the history; nothing is sent.

    Raises:
        InputError: An argument is not acceptable, or no cell can be sent.
    """
    found = client.catalog.function(function)
    read = partial(grid_of, zipped=zipped, rows=rows, sample=sample, takes=takes)
    grid = await to_thread.run_sync(read, found, given)
    plan = await planned(client, found, grid, make)
    arguments = {"zip": zipped, "rows": rows, "sample": sample}
    arguments["takes"] = None if takes == 1 else takes
    plan.code = sweep_code(function, {**given, **arguments})
    return plan


async def planned(
    client: AsyncClient, function: Function, grid: Grid, make: Callable[..., PlanT]
) -> PlanT:
    """Make a plan of a grid: check it, price it and compare it with the history.

    Raises:
        InputError: No cell can be sent.
    """
    cells = await cells_of(client, function, grid)
    return make(
        client,
        function,
        grid,
        cells,
        states=await _states(client, function, cells),
        spendable_micro_usd=await _spendable(client),
    )


async def _states(
    client: AsyncClient, function: Function, cells: Iterable[Cell]
) -> list[CellState]:
    """Read the state of each cell from the history."""
    draws = await owned_draws(client, function)
    return [state_of(cell, draws) for cell in cells]


async def _spendable(client: AsyncClient) -> int | None:
    try:
        balance = await client.components.billing.balance(
            retry_for_s=BALANCE_RETRY_FOR_S
        )
        return balance.spendable_micro_usd
    except MediakitError:
        return None
