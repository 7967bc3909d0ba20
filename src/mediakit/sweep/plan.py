"""A plan: every cell of a sweep with its price, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
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
from mediakit.media import file_of
from mediakit.money import format_usd
from mediakit.rates import Estimate, EstimateKind
from mediakit.rules import all_of
from mediakit.schema import canonical_json
from mediakit.sweep.budget import parse_budget, shared_budget
from mediakit.sweep.checking import (
    Problems,
    Sources,
    findings_of,
    problems_of,
)
from mediakit.sweep.exporting.code import sweep_code
from mediakit.sweep.owned import (
    STATES,
    CellState,
    Draws,
    Keys,
    draws_of,
    keys_of,
    owned_draws,
    state_of,
)
from mediakit.sweep.parameter_grid import Codes, Dimension, Grid, Source, grid_of
from mediakit.sweep.pricing import KINDS, Prices, prices_of
from mediakit.sweep.results import AsyncResults, Results

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient
    from mediakit.blocking_client import Client
    from mediakit.history import OwnedDraw

INDEX_NAME = "cell"
DRAFT = "draft"
BALANCE_RETRY_FOR_S = 1.0
"""A plan without the balance is better than a late plan."""


@dataclass(frozen=True)
class Ownership:
    """What the history has for the cells of a plan.

    Args:
        states: The state of each cell, as an index into `STATES`.
        draws: The draws in the history, by cell.
    """

    states: npt.NDArray[np.int8]
    draws: Mapping[int, OwnedDraw]

    def are(self, state: CellState) -> npt.NDArray[np.bool_]:
        """Return which cells are in a state."""
        found: npt.NDArray[np.bool_] = self.states == STATES.index(state)
        return found


class BasePlan:
    """The cells of a sweep, checked, priced and compared with the history.

    Nothing is sent or charged before `run`.

    Args:
        client: The client.
        function: The function.
        grid: The grid.
        sources: The source of each field's values.
        problems: The cells that cannot be sent, and why.
        prices: The price of each cell.
        draws: How takes differ.
        keys: The key of each cell's request.
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
        sources: Sources,
        *,
        problems: Problems,
        prices: Prices,
        draws: Draws,
        keys: Keys,
        spendable_micro_usd: int | None,
    ) -> None:
        self.client = client
        self.function = function
        self.grid = grid
        self.sources = sources
        self.problems = problems
        self.prices = prices
        self.draws = draws
        self.spendable_micro_usd = spendable_micro_usd
        self._keys = keys
        self._ownership: Ownership | None = None

    def __len__(self) -> int:
        return len(self.grid)

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes, in the given order; without `take`."""
        return self.grid.axes

    @property
    def takes(self) -> int:
        """Return the number of takes of each point of the grid."""
        return self.grid.takes

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Return which cells can be sent, one boolean per cell."""
        return self.problems.valid

    @property
    def low_micro_usd(self) -> Codes:
        """Return the lowest price of each cell, int64 micro-USD; -1 is unknown."""
        return self.prices.low_micro_usd

    @property
    def high_micro_usd(self) -> Codes:
        """Return the highest price of each cell, int64 micro-USD; -1 is unknown."""
        return self.prices.high_micro_usd

    @cached_property
    def id(self) -> str:
        """Return the id of this sweep: equal plans have the same id in any kernel.

        The order of the axes and of their values does not matter.
        """
        service = self.client.service
        fields = {n: sorted({*map(_text, s.values)}) for n, s in self.sources.items()}
        parts = [service.identity, self.function.path, fields]
        chosen = self.grid.chosen
        sample = None if chosen is None else chosen.tolist()
        together = [sorted(_rows_of(d)) for d in self.grid.dimensions]
        whole = canonical_json([*parts, self.takes, sample, sorted(together)])
        return sha256(whole).hexdigest()[:16]

    @property
    def title(self) -> str:
        """Return a short name: the function and the axes."""
        by = f" by {all_of(self.axes)}" if self.axes else ""
        return f"{self.function.kind}{by}"

    def take(self, cell: int) -> int:
        """Return the take number to send; 1 if the seed distinguishes takes."""
        return self.draws.take_of(self.grid.take_of(cell))

    def values(self, cell: int) -> dict[str, object]:
        """Return the value of each axis, and the take, of one cell."""
        found: dict[str, object] = {}
        for number, dimension in enumerate(self.grid.dimensions):
            code = self.grid.code_of(cell, (number,))
            found |= {name: values[code] for name, values in dimension.columns.items()}
        return {**found, "take": self.grid.take_of(cell)}

    def fields(self, cell: int) -> dict[str, object]:
        """Return the fields of one cell, as for `client.submit`."""
        found = {
            name: source.values[self.grid.code_of(cell, source.dimensions)]
            for name, source in self.sources.items()
        }
        return {**found, **self.draws.fields_of(self.grid.take_of(cell))}

    def problem(self, cell: int) -> str | None:
        """Return why a cell cannot be sent; None if it can."""
        return self.problems.of(cell)

    def key(self, cell: int) -> str | None:
        """Return the key of a cell's request; None if a file cannot be read."""
        return self._keys.of(cell)

    # -- ownership ----------------------------------------------------------------

    @property
    def ownership(self) -> Ownership:
        """Return what the history had for the cells when it was last read."""
        if self._ownership is None:
            raise RuntimeError("a plan is made by client.sweep")
        return self._ownership

    async def read_ownership(self) -> Ownership:
        """Read again what the history has."""
        known = await owned_draws(self.client, self.function)
        self._ownership = await to_thread.run_sync(self._compared, known)
        return self._ownership

    def _compared(self, known: Mapping[tuple[str, int], OwnedDraw]) -> Ownership:
        """Compare the cells with the history, by what they ask for, and take."""
        valid = self.valid
        new, invalid = STATES.index(CellState.NEW), STATES.index(CellState.INVALID)
        states = np.where(valid, new, invalid).astype("int8")
        found: dict[int, OwnedDraw] = {}
        for cell, key in self._keys.cells_of({key for key, _ in known}):
            draw = known.get((key, self.take(cell)))
            if draw is not None and valid[cell]:
                found[cell] = draw
                states[cell] = STATES.index(state_of(draw))
        return Ownership(states, found)

    async def _refresh(self) -> None:
        await self.read_ownership()
        self.spendable_micro_usd = await _spendable(self.client)

    @property
    def new(self) -> npt.NDArray[np.bool_]:
        """Return which cells a run would send, one boolean per cell."""
        return self.ownership.are(CellState.NEW)

    @property
    def owned(self) -> npt.NDArray[np.bool_]:
        """Return which cells already have a job, one boolean per cell."""
        return self.ownership.are(CellState.OWNED)

    def estimate(self) -> Estimate:
        """Return the total price of the new cells; owned cells cost nothing (spec 8).

        `low` and `high` are integers of micro-USD. `high` is None if a cell has no
        known price.
        """
        return self.prices.total(self.new)

    def estimates_by_kind(self) -> dict[EstimateKind, Estimate]:
        """Return the total price of the new cells, by kind of estimate."""
        found = {}
        for place, kind in enumerate(KINDS):
            cells = self.new & (self.prices.kinds == place)
            if cells.any():
                found[kind] = self.prices.total(cells)
        return found

    # -- running it ---------------------------------------------------------------

    @property
    def can_draft(self) -> bool:
        """Tell whether the function makes drafts, and this plan is for finals."""
        return DRAFT in self.function.fields and DRAFT not in self.sources

    async def _begin(
        self, budget: AnyBudget | None = None, in_flight: int | None = None
    ) -> AsyncResults:
        limit_micro_usd, shared = self._limits(budget)
        await self.read_ownership()
        made = self.async_results_type
        return made(self, self.client, limit_micro_usd, in_flight, shared=shared)

    def _limits(self, budget: AnyBudget | None) -> tuple[int | None, Budget | None]:
        """Return the limit of a run, and the named budget it comes from."""
        shared = shared_budget(self.client.components.admission.budget, budget)
        return parse_budget(budget if shared is None else shared), shared

    async def _drafts(self) -> Self:
        if not self.can_draft:
            accepted = "a plan for finals, of a function that makes drafts"
            raise InputError(DRAFT, got=self.function.kind, accepted=accepted)
        made = await self._with({**self.sources, DRAFT: Source((), (True,))})
        made.code = f"{self.code}\nplan = plan.drafts()"
        return made

    async def _with(self, sources: Sources) -> Self:
        made = type(self)
        return await planned(self.client, self.function, self.grid, sources, made)

    # -- as a frame and as text ---------------------------------------------------

    def frame(self) -> pd.DataFrame:
        """Return the plan as a frame, one row per cell, in the order of sending.

        Returns:
            The axes (category; whole numbers stay int64), `take` (int64), `valid`
            (bool), `problem` (str, <NA> for none), `owned` (bool), `low_micro_usd`
            and `high_micro_usd` (Int64 micro-USD, <NA> is unknown), `estimate_kind`
            (category) and `state` (category: new, owned, failed, lost, invalid).
        """
        columns: dict[str, Any] = axis_columns(self.grid)
        columns["valid"] = self.valid
        texts = text_array([*self.problems.texts, None])
        columns["problem"] = texts.take(self.problems.codes)  # -1 is the last: none
        columns["owned"] = self.owned
        columns["low_micro_usd"] = _money(self.low_micro_usd)
        columns["high_micro_usd"] = _money(self.high_micro_usd)
        columns["estimate_kind"] = categories_of(
            self.prices.kinds, [kind.value for kind in KINDS]
        )
        columns["state"] = categories_of(
            self.ownership.states, [state.value for state in STATES]
        )
        return pd.DataFrame(columns).rename_axis(INDEX_NAME)

    @property
    def counts(self) -> dict[CellState, int]:
        """Return the number of cells in each state."""
        counts = np.bincount(self.ownership.states, minlength=len(STATES))
        return {s: int(n) for s, n in zip(STATES, counts, strict=True)}

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
        codes = self.problems.codes
        counts = np.bincount(codes[codes >= 0], minlength=len(self.problems.texts))
        pairs = zip(self.problems.texts, counts.tolist(), strict=True)
        return sorted(((t, n) for t, n in pairs if n), key=lambda p: -p[1])

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


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _money(amounts: Codes) -> pd.api.extensions.ExtensionArray:
    return pd.arrays.IntegerArray(amounts.copy(), amounts < 0)


def _text(value: object) -> str:
    """Format a value for the id of a sweep; a medium in memory by its content."""
    if isinstance(value, str):
        return value
    if (job_id := getattr(value, "id", None)) is not None:
        return str(job_id)
    is_plain = isinstance(value, int | float | Path | list | tuple | dict | None)
    file = None if is_plain else file_of(value, "sweep")
    return repr(value) if file is None else sha256(file.read_bytes()).hexdigest()


def _rows_of(dimension: Dimension) -> list[list[str]]:
    """Return the values that belong together in a dimension, one row for each."""
    columns = sorted(dimension.columns.items())
    texts = [[f"{name}={_text(v)}" for v in values] for name, values in columns]
    return [list(row) for row in zip(*texts, strict=True)]


def categories_of(codes: npt.NDArray[Any], levels: Sequence[Any]) -> pd.Categorical:
    """Return a category column from indexes into its levels."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(list(levels)))


def axis_columns(grid: Grid) -> dict[str, Any]:
    """Return a column for each axis and for the take, one row per cell."""
    found: dict[str, Any] = {}
    for number, dimension in enumerate(grid.dimensions):
        codes = grid.codes((number,))
        for name, values in dimension.columns.items():
            found[name] = _column(values, codes)
    takes = np.arange(1, grid.takes + 1, dtype="int64")
    found["take"] = np.repeat(takes, grid.point_count)
    return found


def _column(values: Sequence[object], codes: Codes) -> Any:
    if all(type(value) is int for value in values):
        return np.array(values, dtype="int64")[codes]
    labels = [label_of(value) for value in values]
    if len(set(labels)) < len(labels):
        return pd.Categorical([labels[code] for code in codes], ordered=False)
    return categories_of(codes, labels)


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

    async def _with(self, sources: Sources) -> Self:
        make = partial(type(self), self.owner)
        return await planned(self.client, self.function, self.grid, sources, make)

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
        owner.io.call(self.read_ownership)
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
    grid, sources = await to_thread.run_sync(read, found, given)
    plan = await planned(client, found, grid, sources, make)
    arguments = {"zip": zipped, "rows": rows, "sample": sample}
    arguments["takes"] = None if takes == 1 else takes
    plan.code = sweep_code(function, {**given, **arguments})
    return plan


async def planned(
    client: AsyncClient,
    function: Function,
    grid: Grid,
    sources: Sources,
    make: Callable[..., PlanT],
) -> PlanT:
    """Make a plan of a grid: check it, price it and compare it with the history.

    Raises:
        InputError: No cell can be sent.
    """
    findings = await to_thread.run_sync(findings_of, function, sources, grid)
    prices, about_media = await prices_of(client, function, sources, grid)
    draws = draws_of(function, sources)
    plan = make(
        client,
        function,
        grid,
        sources,
        problems=problems_of(grid, [*findings, *about_media]),
        prices=prices,
        draws=draws,
        keys=await keys_of(client, function, sources, grid, draws),
        spendable_micro_usd=await _spendable(client),
    )
    await plan.read_ownership()
    return plan


async def _spendable(client: AsyncClient) -> int | None:
    try:
        balance = await client.components.billing.balance(
            retry_for_s=BALANCE_RETRY_FOR_S
        )
        return balance.spendable_micro_usd
    except MediakitError:
        return None
