"""A plan: every cell of a sweep with its price, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from mediakit.client.request_preparation import full_names
from mediakit.errors import ConflictError, InputError, MediakitError
from mediakit.estimates import (
    Estimate,
    EstimateKind,
    Price,
    check_price_limit,
    price_limit,
)
from mediakit.forks import cached_property
from mediakit.history import Entry, History
from mediakit.history.frames import text_array
from mediakit.history.sweeps import Sweep, SweepCell, save_sweep
from mediakit.money import MicroUSD, format_usd
from mediakit.rules import all_of
from mediakit.sweep.axis_columns import column_of, label_of
from mediakit.sweep.cells import (
    Cell,
    CellState,
    PlanT,
    cells_of,
    draws_of,
    have_other_files,
    state_of,
    total_of,
)
from mediakit.sweep.grid import Grid, grid_of, sweep_code, undeclared_note
from mediakit.sweep.power import Power, fewest_text, power_of
from mediakit.sweep.promotion import promoted
from mediakit.sweep.results import AsyncResults
from mediakit.sweep.run_budget import shared_budget
from mediakit.sweep.sending_order import in_sending_order, unit_of, units_lines

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient
    from mediakit.widgets.sweeps import PlanView

INDEX_NAME = "cell"
DRAFT = "draft"
MOST_REASONS = 8
OTHER_FILES = (
    "A file has changed since its result was made, so the result would be remade from "
    "a different file. Nothing was sent. To use the files that were sent originally, "
    "call promotion() or promote() on client.sweep_results({!r})."
)
MOST_IN_FLIGHT = 1_000
BALANCE_RETRY_FOR_S = 1.0
"""A plan without the balance is better than a late plan."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AffordablePart:
    """The part of a plan's new cells that an amount pays for."""

    count: int
    price: Estimate
    most_micro_usd: int | None  # None means no upper limit
    is_sure: bool


class PlanFacts:
    """The cells of a sweep, checked, priced and compared with the history.

    Nothing is sent or charged before `run`.
    """

    code: str = ""
    """The call that recreates the plan."""
    note: str = ""
    """A remark on the choice of cells, such as tied results; usually empty."""
    first_price: str = ""
    """What the first run sent, and for how much, in words; empty before a run."""
    is_past = False
    """Whether the plan was restored from the history; then no new cell can be sent."""
    view: PlanView | None = None
    """The view that shows the plan and follows its runs."""

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
    def unit(self) -> str | None:
        """Return the axis whose values are sent one after the other, if any.

        All cells of one value, such as a shot, are sent before those of the next, so
        that a budget for part of the sweep buys the same shots of each version.
        """
        return unit_of(self.grid.axes, self.grid.slots)

    @cached_property
    def sending_order(self) -> list[int]:
        """Return the numbers of the cells in sending order."""
        return in_sending_order(self.cells, self.unit, self.grid.shuffle)

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
        return total_of(self._new_estimates())

    def power(
        self,
        difference: float = 0.5,
        *,
        axis: str | None = None,
        value: str = "rating",
        deviation: float = 1.0,
        budget: AnyBudget | None = None,
    ) -> Power:
        """Return how likely `results.compare` is to find a difference, before the run.

        Args:
            difference: The true difference between two values of the axis.
            axis: The axis that will be compared; by default, the first one that is not
                sent one value after the other, such as the prompt.
            value: What will be compared: "rating", in whole stars, or a score.
            deviation: The standard deviation of the difference between pairs. 1 is
                usual for stars; `results.compare(...).frame` has that of an earlier
                sweep.
            budget: Count only the pairs that fit this budget.

        Returns:
            The power of this plan, and the number and price of the pairs needed.

        Raises:
            InputError: The axis cannot be compared, or an argument is invalid.
        """
        return power_of(
            self,
            difference,
            axis=axis,
            value=value,
            deviation=deviation,
            budget=budget,
        )

    def estimates_by_kind(self) -> dict[EstimateKind, Estimate]:
        """Return the total price of the new cells by kind of estimate."""
        new = list(self._new_estimates())
        kinds = {estimate.kind for estimate in new}
        return {
            kind: total_of(each for each in new if each.kind is kind)
            for kind in EstimateKind
            if kind in kinds
        }

    def _new_estimates(self) -> Iterator[Estimate]:
        """Yield the prices of the new cells, in sending order."""
        states = self.states
        for number in self.sending_order:
            if states[number] is CellState.NEW:
                yield self.cells[number].estimate

    def _within(self, limit_micro_usd: int) -> AffordablePart:
        """Return the part of the new cells that an amount pays for."""
        sent, left, new = [], limit_micro_usd, list(self._new_estimates())
        for estimate in new:
            hold = estimate.hold_micro_usd
            if hold is not None and hold <= left:  # a cheaper cell may still fit
                left -= hold
                sent.append(estimate)
        # If prices differ, the cells that fit depend on the holds that are released in
        # the meantime.
        is_sure = len(sent) == len(new) or (
            all(each.kind is EstimateKind.EXACT for each in new)
            and len({each.high for each in new}) == 1
        )
        price = total_of(sent)
        most = price.high if is_sure else MicroUSD(limit_micro_usd)
        return AffordablePart(len(sent), price, most, is_sure=is_sure)

    async def _refresh(self) -> None:
        self.draws = await draws_of(self.client, self.function, self.cells)
        self.spendable_micro_usd = await _spendable(self.client)

    async def _again(self) -> Self:
        """Plan again, because files and clips at URLs may have changed."""
        if not self.function.may_name_media:
            await self._refresh()
            return self
        made, grid = self._made_as, self.grid
        again = await planned(self.client, self.function, grid, made, is_sent=True)
        again.code, again.note = self.code, self.note
        return again

    # -- running the plan ---------------------------------------------------------

    @property
    def can_draft(self) -> bool:
        """Return whether the function makes drafts and this plan is not one."""
        return DRAFT in self.function.fields and DRAFT not in self.cells[0].fields

    async def _begin(
        self,
        budget: AnyBudget | None = None,
        in_flight: int | None = None,
        max_price: Price | None = None,
    ) -> AsyncResults:
        limit_micro_usd, shared = await self._admitted(budget, in_flight, max_price)
        return AsyncResults(
            self, self.client, limit_micro_usd, in_flight, shared=shared
        )

    async def _admitted(
        self,
        budget: AnyBudget | None,
        in_flight: object,
        max_price: Price | None,
    ) -> tuple[int | None, Budget | None]:
        """Check the arguments of a run, and record the sweep in the history.

        Returns the limit of the run, and the named budget that it comes from.
        """
        _check_in_flight(in_flight)
        components = self.client.components
        shared = shared_budget(components.admission.budget, budget)
        limit = budget_of("sweep", budget if shared is None else shared)
        limit_micro_usd = None if limit is None else limit.limit_micro_usd
        self.draws = await draws_of(self.client, self.function, self.cells)
        check_price_limit(self.estimate(), price_limit(max_price))
        if new := self.counts[CellState.NEW]:
            price = f"First run: {_cells(new)} for {self.estimate().text}"
            self.first_price = self.first_price or price
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
                its = {**cell.axes, **cell.labels}
                point = {name: label_of(value) for name, value in its.items()}
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
        """Return the micro-USD that the runs of this sweep have spent and hold."""
        ask = self.client.components.account_history.ask
        use = await ask(History.sweep_use, self.id)
        return use.spent_micro_usd + use.reserved_micro_usd

    async def _drafts(self) -> Self:
        if not self.can_draft:
            kinds = ", ".join(f.kind for f in self.client.catalog if DRAFT in f.fields)
            accepted = (
                f"a function that makes drafts ({kinds or 'there is none'}), "
                "and a plan that is not of drafts yet"
            )
            raise InputError(DRAFT, got=self.function.kind, accepted=accepted)
        drafts = await self._with(draft=True)
        drafts.code = f"{self.code}\nplan = plan.drafts()"
        return drafts

    async def _with(self, **fields: object) -> Self:
        """Return the plan with other values for fields that do not vary."""
        points = [replace(p, fields={**p.fields, **fields}) for p in self.grid.points]
        fixed = {**self.grid.fixed, **fields}
        grid = replace(self.grid, points=points, fixed=fixed)
        plan = await planned(self.client, self.function, grid, self._made_as)
        plan.note = self.note
        return plan

    async def _best(
        self,
        frame: pd.DataFrame,
        k: object,
        by: str,
        changes: Mapping[str, object],
        **choice: Any,
    ) -> Self:
        """Plan the best results of a frame again, with other values."""
        changes = full_names(self.function, changes)
        grid, note, numbers = promoted(self, frame, k, by, changes, **choice)
        made_of = [self.cells[number] for number in numbers]
        names_files = not self.is_past and self.function.may_name_media
        if names_files and await have_other_files(self.client, self.function, made_of):
            raise ConflictError(OTHER_FILES.format(self.id))
        plan = await planned(self.client, self.function, grid, self._made_as)
        rows = [dict(point.fields) for point in grid.points]
        plan.code = sweep_code(self.function.path, {"rows": rows})
        plan.note = note
        return plan

    @property
    def _made_as(self) -> Callable[..., Self]:
        return type(self)

    # -- as a frame, as text and on a page ----------------------------------------

    def frame(self) -> pd.DataFrame:
        """Return the plan as a frame, one row per cell, in the order of the axes.

        Returns:
            The axes (numbers as int64 or float64, true and false as bool, everything
            else as category), `take` (int64), the labels (as the axes), `valid` (bool),
            `problem` (str, <NA> for none), `owned` (bool), `low_micro_usd` and
            `high_micro_usd` (Int64 micro-USD, <NA> means unknown), `estimate_kind`
            (category) and `state` (category: new, owned, failed, lost, invalid).
        """
        table = self.axes_frame().copy()
        table["valid"] = self.valid
        table["problem"] = text_array([cell.problem for cell in self.cells])
        table["owned"] = self.owned
        estimates = [cell.estimate for cell in self.cells]
        table["low_micro_usd"] = pd.array([e.low for e in estimates], dtype="Int64")
        table["high_micro_usd"] = pd.array([e.high for e in estimates], dtype="Int64")
        kinds = [each.kind.value for each in estimates]
        table["estimate_kind"] = _category(kinds, EstimateKind)
        table["state"] = _category([state.value for state in self.states], CellState)
        return table

    def axes_frame(self) -> pd.DataFrame:
        """Return only the columns of axes, `take` and labels of `frame`."""
        if self._axes is None:
            columns: dict[str, Any] = {
                name: column_of([cell.axes[name] for cell in self.cells])
                for name in self.axes
            }
            takes = [cell.take for cell in self.cells]
            columns["take"] = np.array(takes, dtype="int64")
            for name in self.cells[0].labels:
                columns[name] = column_of(
                    [cell.labels.get(name) for cell in self.cells]
                )
            self._axes = pd.DataFrame(columns).rename_axis(INDEX_NAME)
        return self._axes

    @property
    def counts(self) -> dict[CellState, int]:
        """Return the number of cells in each state."""
        counts = Counter(self.states)
        return {state: counts[state] for state in CellState}

    @property
    def after_micro_usd(self) -> int | None:
        """Return the balance after the run; None means unknown."""
        high = self.estimate().high
        if high is None or self.spendable_micro_usd is None:
            return None
        return self.spendable_micro_usd - high

    def reasons(self) -> list[tuple[str, int]]:
        """Return why cells cannot be sent, with counts, most frequent first."""
        problems = (cell.problem for cell in self.cells)
        return Counter(each for each in problems if each is not None).most_common()

    def remarks(self) -> list[str]:
        """Return remarks to show before the run: the sending order, and the note."""
        new = [c for c, s in zip(self.cells, self.states, strict=True) if s == "new"]
        lines = units_lines(new, self.unit)
        if lines:
            lines.append(fewest_text(self))
        return [line for line in (self.first_price, *lines, self.note) if line]

    @property
    def widget(self) -> Any:
        """Return the live plan as an ipywidgets widget, for your own layouts."""
        from mediakit.widgets.sweeps import PlanView

        if self.view is None or self.view.is_closed:
            self.view = PlanView(self)
            self.view.keep()
        return self.view.widget

    def _ipython_display_(self) -> None:
        from mediakit.widgets.sweeps import PlanView

        self.view = PlanView(self)
        self.view.display()

    def __repr__(self) -> str:
        counts = self.counts
        takes = f", {self.takes} takes each" if self.takes > 1 else ""
        prices = (f"{e.text} {_KINDS[k]}" for k, e in self.estimates_by_kind().items())
        lines = [
            f"{self.title}: {_cells(len(self))}{takes}",
            f"{counts[CellState.OWNED]:,} owned, {counts[CellState.NEW]:,} new: "
            f"{' + '.join(prices) or '$0.00'}",
            *(f"{counts[s]:,} {words}" for s, words in _ASIDE.items() if counts[s]),
            *(f"  {_cells(n)}: {why}" for why, n in self.reasons()[:MOST_REASONS]),
        ]
        more = len(self.reasons()) - MOST_REASONS
        if more > 0:
            lines.append(f"  and {more:,} more reasons")
        lines += self.remarks()
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


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _category(values: Sequence[str], levels: Iterable[str]) -> Any:
    of_type = pd.CategoricalDtype([str(level) for level in levels])
    return pd.Categorical(list(values), dtype=of_type)


def _check_in_flight(in_flight: object) -> None:
    """Reject an invalid number of concurrent cells; None is the default."""
    if in_flight is None:
        return
    counts = range(1, MOST_IN_FLIGHT + 1)
    if not isinstance(in_flight, int) or in_flight is True or in_flight not in counts:
        accepted = f"a whole number from 1 to {MOST_IN_FLIGHT:,}"
        raise InputError("in_flight", got=in_flight, accepted=accepted)


class AsyncPlan(PlanFacts):
    """A plan whose run is awaited; created by `AsyncClient.sweep`."""

    async def run(
        self,
        budget: AnyBudget | None = None,
        in_flight: int | None = None,
        *,
        max_price: Price | None = None,
    ) -> AsyncResults:
        """Start sending the new cells; return live results at once.

        A cell that costs more than in this plan is not sent, and its problem says so.
        The run continues while the kernel is idle or busy. If the kernel is killed, run
        the same cell again to continue; nothing is paid twice.

        Args:
            budget: The limit for this sweep over all its runs, such as "$5". A
                `mk.Budget` is shared with all others that use it. None for no limit.
            in_flight: The maximum number of cells in flight; 16 by default.
            max_price: The price of all new cells that you have seen, as an amount or an
                estimate; nothing is sent if it is higher. None accepts any price.

        Raises:
            InputError: No new cell fits the budget; nothing was sent.
            PriceError: The new cells cost more than `max_price`; nothing was sent.
        """
        return await self._begin(budget, in_flight, max_price)

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
    labels: object = None,
    shuffle: object = None,
    **given: object,
) -> PlanT:
    """Check and price a sweep, and compare it with the history; nothing is sent."""
    model_function = client.catalog.function(function)
    read = partial(
        grid_of,
        zipped=zip,
        rows=rows,
        sample=sample,
        takes=takes,
        labels=labels,
        shuffle=shuffle,
    )
    grid = await to_thread.run_sync(read, model_function, given)
    plan = await planned(client, model_function, grid, make)
    arguments = {"zip": zip, "rows": rows, "labels": labels, "sample": sample}
    arguments |= {"takes": None if takes == 1 else takes, "shuffle": shuffle}
    plan.note = undeclared_note(model_function, grid, rows)
    plan.code = sweep_code(function, {**given, **arguments})
    return plan


async def planned(
    client: AsyncClient,
    function: Function,
    grid: Grid,
    make: Callable[..., PlanT],
    *,
    is_sent: bool = False,
) -> PlanT:
    """Check and price the cells of a grid, and compare them with the history."""
    cells = await cells_of(client, function, grid, is_sent=is_sent)
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
