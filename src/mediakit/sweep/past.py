"""A sweep that was run before, from the history alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from mediakit.client.job_state import estimate_of
from mediakit.errors import NotFoundError
from mediakit.history import Entry
from mediakit.history.sweeps import Sweep, SweepCell, find_sweep
from mediakit.safe_text import shown
from mediakit.sweep.cells import UNPRICED, Cell, draws_of
from mediakit.sweep.grid import Grid, Point
from mediakit.sweep.plan import PlanT

if TYPE_CHECKING:
    from mediakit.async_client import AsyncClient

NOT_SENT = (
    "This cell was not sent. Make its plan again to send it: print(results.plan.code)."
)


async def past_plan(
    client: AsyncClient, sweep_id: str, make: Callable[..., PlanT]
) -> PlanT:
    """Return the plan of a sweep as the history has it; nothing is sent.

    Raises:
        NotFoundError: The history has no such sweep.
        InputError: The service no longer has its function.
    """
    ask = client.components.account_history.ask
    found = await ask(find_sweep, sweep_id, service=client.service.identity)
    if found is None:
        raise NotFoundError(
            f"The sweep {shown(sweep_id)} is not in this history. client.sweeps() "
            "lists those that are."
        )
    sweep, rows = found
    function = client.catalog.function(sweep.function)
    cells = [_past_cell(sweep, cell, entry) for cell, entry in rows]
    grid = Grid(
        axes={
            name: tuple(dict.fromkeys(cell.axes[name] for cell in cells))
            for name in sweep.axes
        },
        fixed={} if sweep.prompt is None else {"prompt": sweep.prompt},
        slots=frozenset(),
        points=[Point(cell.axes, cell.fields) for cell in cells if cell.take == 1],
        takes=max(cell.take for cell in cells),
    )
    draws = await draws_of(client, function, cells)
    plan = make(client, function, grid, cells, draws=draws, spendable_micro_usd=None)
    plan.code, plan.is_past = sweep.code, True
    vars(plan)["id"] = sweep.id
    return plan


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
    )
