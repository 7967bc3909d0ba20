"""Prepares the request of each cell of a run; price and files may have changed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mediakit.client.components import Components
from mediakit.client.request_preparation import ValidatedRequest
from mediakit.errors import ConflictError, PriceError
from mediakit.estimates import Estimate, EstimateKind
from mediakit.history.sweeps import SweepCell, change_request
from mediakit.money import MicroUSD
from mediakit.sweep.axis_columns import label_of

if TYPE_CHECKING:
    from mediakit.sweep.plan import PlanFacts

CHANGED = (
    "A file of this cell was changed after the plan was made, so no job was submitted. "
    "Call results.retry() to send the cell with the file as it is now."
)


class CellRequests:
    """Prepares cells at most at the shown price, with the files of the plan.

    A cell whose price or request has changed is refused once; the next try sends it.
    """

    def __init__(self, plan: PlanFacts, components: Components) -> None:
        self._plan = plan
        self._components = components
        # The price shown for each cell; the plan's prices may be read again during the
        # run.
        self.prices = [cell.estimate for cell in plan.cells]
        self._keys = [cell.key for cell in plan.cells]
        self._has_other_price: set[int] = set()

    async def prepared(self, cell: int) -> ValidatedRequest:
        """Check and price a cell, and upload its files.

        Raises:
            PriceError: It costs more than was shown.
            ConflictError: A file was changed.
        """
        fields: dict[str, Any] = dict(self._plan.cells[cell].fields)
        prepare = partial(self._components.prepared, max_price=self.prices[cell])
        request = await prepare(self._plan.function.path, **fields)
        if request.sent:
            await self._check_files(cell, request)
        return request

    async def _check_files(self, cell: int, request: ValidatedRequest) -> None:
        before = self._keys[cell]
        key = self._components.submissions.of(request).asked_key
        if before is None or before == key:
            return
        self._keys[cell] = key
        planned = self._plan.cells[cell]
        point = {name: label_of(value) for name, value in planned.axes.items()}
        recorded = SweepCell(before, planned.sent_take, {**point, "take": planned.take})
        change = partial(change_request, sweep_id=self._plan.id, cell=recorded)
        await self._components.account_history.write(change, asked_key=key)
        if cell not in self._has_other_price:  # the new price was reported
            raise ConflictError(CHANGED)

    def take_price(self, cell: int, error: PriceError) -> None:
        """Accept the price in an error for the next try of a cell."""
        self._has_other_price.add(cell)
        most = error.price_micro_usd
        high = None if most is None else MicroUSD(most)
        self.prices[cell] = Estimate(high, high, EstimateKind.UPPER_BOUND)
