"""The wall of a run, which shows its progress."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyio import to_thread

from mediakit.client import JobState
from mediakit.client.io_thread import io_thread
from mediakit.client.job_acts import BUTTON_CHANGED
from mediakit.client.job_state import estimate_of
from mediakit.clock import SystemClock
from mediakit.errors import InputError, MediakitError
from mediakit.estimates import Estimate
from mediakit.history import Preference, ratings
from mediakit.money import format_usd
from mediakit.sweep import (
    AsyncResults,
    CellStatus,
    Plan,
    PlanFacts,
    Progress,
    label_of,
    preferences_of,
    rows_of,
)
from mediakit.sweep.cells import total_of
from mediakit.sweep.outcomes import Outcome
from mediakit.sweep.outputs import job_of
from mediakit.sweep.results_frame import score_texts
from mediakit.widgets.gallery import (
    Done,
    Gallery,
    ResultActions,
    WallCell,
    WallSummary,
    judged_as,
)
from mediakit.widgets.gallery.result_actions import OpenForm
from mediakit.widgets.toolkit.throttle import Paced

NO_RETRY = (
    "This cell cannot be sent again: it already has a result, or one is being made."
)
NO_RETRY_WITHIN_BUDGET = (
    "It cannot be retried: its price is unknown, so the budget cannot be enforced."
)


class SweepWall:
    """Updates a gallery with the cells of a run."""

    def __init__(
        self,
        results: AsyncResults,
        rows: str | None,
        cols: str | None,
        open_form: OpenForm | None = None,
    ) -> None:
        self._results = results
        self._owner: dict[str, Any] = results.components.account_history.owner
        self._reading = asyncio.Lock()
        plan = results.plan
        self._labels = _labels(plan)
        self._estimate = plan.estimate()
        self._retries: dict[int, Retry] = {}
        self._rest: Resend | None = None
        origin = json.dumps(["wall", *self._owner.values(), results.id])
        own = ResultActions(results.client, open_form, origin, results.run)
        self.gallery = Gallery(
            self._cells(),
            rows=rows,
            cols=cols,
            title=plan.title,
            summary=self._summary(results.progress),
            judge=self._judge,
            prefer=self._prefer,
            preferences=preferences_of(results.run),
            actions=own.wall_actions(
                retry=self._retry,
                resend_text=self._resend_text,
                resend=self._resend,
                rest=self._send_rest,
                stop=self._stop,
                export=self._export,
            ),
        )
        # Read changes since the wall was created: the run may have ended.
        updates = Paced(
            io_thread(), SystemClock(), 0, self._read, self.gallery.complain
        )
        end = results.subscribe(lambda _: updates.ask())
        # Other jobs submitted on the wall may be charged after the run has ended.
        leave = results.client.on_settled(lambda _: updates.ask())
        updates.ask()
        for act in (end, leave, updates.close):
            self.gallery.on_close(act)

    def _cells(self) -> list[WallCell]:
        plan, run, found = self._results.plan, self._results.run, []
        rows = rows_of(run)
        scores = score_texts(run, [row.outcome.job_id for row in rows])
        for index, row in enumerate(rows):
            planned, outcome, said = plan.cells[row.cell], row.outcome, row.judgement
            prompt = planned.fields.get("prompt")
            status: Any = outcome.status.value
            found.append(
                WallCell(
                    index,
                    job_id=outcome.job_id,
                    labels=self._labels[row.cell],
                    prompt=prompt if isinstance(prompt, str) else None,
                    take=planned.take,
                    status=status,
                    problem=self._problem(index, outcome),
                    media_type=outcome.media_type,
                    url=outcome.output_url,
                    charge_micro_usd=outcome.charge_micro_usd,
                    retry=self._retry_text(index) if index == row.cell else "",
                    runtime_s=outcome.runtime_s,
                    **judged_as(said),
                    scores=scores.get(outcome.job_id or "", ""),
                    made="repaired" if row.is_repair else "",
                )
            )
        return found

    def _summary(self, progress: Progress) -> WallSummary:
        spent, budget = progress.spent_micro_usd, progress.budget_micro_usd
        note = ["spent" if budget is None else f"of {format_usd(budget)} spent"]
        if progress.held_micro_usd:
            note.append(f"{format_usd(progress.held_micro_usd)} held")
        if progress.owned:
            note.append("including earlier runs")
        left = f"about {progress.eta_s:.0f} s left" if progress.eta_s else ""
        kind = self._estimate.kind.value.replace("_", " ")
        return WallSummary(
            owned=progress.owned,
            new="" if progress.is_done else self._estimate.text,
            new_note=f"new, {kind}",
            spent=format_usd(spent),
            spent_note=", ".join(note),
            left=left,
            rest=self._rest_text(),
            can_stop=any(
                o.status is CellStatus.PLANNED for o in self._results.run.outcomes
            ),
            waits=self._results.run.delay_text,
        )

    # -- following the run --------------------------------------------------------

    async def _read(self) -> None:
        def read() -> tuple[list[WallCell], WallSummary]:
            return self._cells(), self._summary(self._results.progress)

        async with self._reading:
            await self._read_retries()
            cells, summary = await to_thread.run_sync(read)
            self.gallery.update(cells, summary=summary)

    def complete(self) -> None:
        """Write the final state, in a notebook without a page."""
        if self.gallery.has_no_page:
            io_thread().call(self._read)
            self.gallery.complete()

    # -- user actions --------------------------------------------------------------

    async def _judge(self, job_id: str, /, **changes: Any) -> None:
        await self._results._judge(job_id, **changes)
        # Discard reads that began earlier.
        await self._read()

    async def _prefer(self, **chosen: Any) -> Preference:
        account_history = self._results.components.account_history
        return await account_history.write(ratings.prefer, **self._owner, **chosen)

    async def _export(self) -> Done:
        folder = f"sweep-{self._results.id[:8]}"
        done = await self._results.export(folder)
        report = done.report if isinstance(done.report, Path) else None
        place = "" if report is None else str(report.absolute())
        return Done(f"{done!r} The report is {done.report}.", path=place)

    # -- sending a cell again -----------------------------------------------------

    def _problem(self, cell: int, outcome: Outcome) -> str | None:
        """Return the problem of a cell, and why it has no Retry button."""
        retry = self._retries.get(cell)
        if retry is None or not retry.is_unenforceable:
            return outcome.problem
        if outcome.status is CellStatus.UNSENT:
            return outcome.problem  # it names the budget
        return f"{outcome.problem or ''} {NO_RETRY_WITHIN_BUDGET}".lstrip()

    def _retry_text(self, cell: int) -> str:
        """Return the label of a cell's Retry button, or "" if there is none."""
        run = self._results.run
        is_over = run.outcomes[cell].status in (CellStatus.FAILED, CellStatus.UNSENT)
        if not is_over or not run.can_retry(cell):
            return ""
        usual = Retry(run.requests.prices[cell], run.outcomes[cell])
        return self._retries.get(cell, usual).text

    async def _read_retries(self) -> None:
        """Read the current prices of retries, and any raised budget."""
        run, before, retries = self._results.run, self._retries, dict[int, Retry]()
        for cell, outcome in enumerate(run.outcomes):
            is_over = outcome.status in (CellStatus.FAILED, CellStatus.UNSENT)
            if is_over and run.can_retry(cell):
                retry = before.get(cell)
                if retry is None or retry.outcome is not outcome:
                    retry = Retry(await run.price_again(cell), outcome)
                retries[cell] = retry
        prices = [retry.price for retry in retries.values()]
        limits = await run.budget.limits_for(prices, are_cells=True)
        accepts_all = await run.budget.accepts_unknown_prices()
        self._retries = {
            cell: replace(
                retry,
                limit_micro_usd=limit,
                is_unenforceable=retry.price.hold_micro_usd is None and not accepts_all,
            )
            for (cell, retry), limit in zip(retries.items(), limits, strict=True)
        }
        unsent = [
            cell
            for cell, retry in retries.items()
            if retry.outcome.status is CellStatus.UNSENT
        ]
        self._rest = await self._resend_of(unsent) if len(unsent) > 1 else None

    async def _resend_of(self, cells: Sequence[int]) -> Resend | None:
        """Return the price of several cells together; None for no cells."""
        if not cells:
            return None
        prices = {cell: self._retries[cell].price for cell in cells}
        total = total_of(prices.values())
        [limit] = await self._results.run.budget.limits_for([total], are_cells=True)
        return Resend(prices, total, limit)

    def _rest_text(self) -> str:
        """Return the label of the button that sends all unsent cells, or ""."""
        return "" if self._rest is None else self._rest.text("Send the remaining")

    async def _send_rest(self, text: str) -> str:
        """Send all unsent cells, within the budget on the button."""
        self._retries.clear()
        await self._read_retries()
        return await self._send_all(self._rest, self._rest_text(), text)

    async def _resend_text(self, cells: Sequence[int]) -> str:
        """Return the label of the button that resends several cells, or ""."""
        resend = await self._resend_of([c for c in cells if self._can_resend(c)])
        return "" if resend is None else resend.text("Retry")

    async def _resend(self, cells: Sequence[int], text: str) -> str:
        """Resend several cells, within the budget on the button."""
        for cell in cells:
            self._retries.pop(cell, None)
        await self._read_retries()
        resend = await self._resend_of([c for c in cells if self._can_resend(c)])
        now = "" if resend is None else resend.text("Retry")
        return await self._send_all(resend, now, text)

    def _can_resend(self, cell: int) -> bool:
        return cell in self._retries and bool(self._retry_text(cell))

    async def _send_all(self, resend: Resend | None, now: str, text: str) -> str:
        """Send several cells if their button still says the same."""
        if resend is None or not now:
            raise MediakitError(NO_RETRY)
        if now != text:
            await self._read()
            raise MediakitError(BUTTON_CHANGED.format(now, text))
        run = self._results.run
        with run.budget.raised_to(resend.limit_micro_usd):
            for cell, price in resend.prices.items():
                run.retry(cell=cell, price=price)
        count = len(resend.prices)
        cells = "cell. It" if count == 1 else "cells. They"
        return f"Sending {count:,} {cells} may cost {resend.total.text}."

    async def _stop(self) -> str:
        """Send no more cells; sent jobs cannot be cancelled."""
        await self._results.stop()
        await self._read()
        return (
            "Stopped. Jobs that were already sent continue, and are charged when they "
            "complete. A cell whose request got no answer says that a job may exist."
        )

    async def _retry(self, cell: int, text: str) -> str:
        """Retry a cell at the price on its button; return a sentence on its cost."""
        run = self._results.run
        if cell not in range(len(run.outcomes)):
            raise InputError("cell", got=cell, accepted="a cell of this wall")
        self._retries.pop(cell, None)
        await self._read_retries()
        now = self._retry_text(cell)
        if not now:
            raise MediakitError(NO_RETRY)
        if now != text:
            await self._read()
            raise MediakitError(BUTTON_CHANGED.format(now, text))
        retry = self._retries[cell]
        with run.budget.raised_to(retry.limit_micro_usd):
            job_id = await self._resend_cell(cell, retry)
        job = await job_of(self._results.client.components, job_id)
        return f"Sent again. It may cost {estimate_of(job.state.entry).text}."

    async def _resend_cell(self, cell: int, retry: Retry) -> str:
        """Send a cell again and return its job; an error says why that failed."""
        run, is_tried = self._results.run, asyncio.Event()
        failed_id = run.outcomes[cell].job_id

        def look(_: Progress) -> None:
            if run.outcomes[cell].status is not CellStatus.PLANNED:
                is_tried.set()

        end = run.subscribe(look)
        run.retry(cell=cell, price=retry.price)
        await is_tried.wait()
        end()
        outcome = run.outcomes[cell]
        is_failed = outcome.status is CellStatus.FAILED
        if outcome.job_id is None or (is_failed and outcome.job_id == failed_id):
            raise MediakitError(str(outcome.problem))
        return outcome.job_id


@dataclass(frozen=True)
class Retry:
    """The price and the budget for retrying a cell."""

    price: Estimate
    outcome: Outcome
    limit_micro_usd: int | None = None
    """The raised budget; None if the budget covers the price."""
    is_unenforceable: bool = False
    """Whether the price is unknown and there is a budget."""

    @property
    def text(self) -> str:
        """Return the label of the button; "" if it cannot be sent."""
        if self.is_unenforceable:
            return ""
        price = "price unknown" if self.price.low is None else self.price.text
        if self.limit_micro_usd is None:
            return f"Retry (R) \N{MIDDLE DOT} {price}"
        limit = format_usd(self.limit_micro_usd)
        return f"Raise the budget to {limit} and send (R) \N{MIDDLE DOT} {price}"


@dataclass(frozen=True)
class Resend:
    """Several cells that are sent again together, with their price and budget."""

    prices: Mapping[int, Estimate]
    total: Estimate
    limit_micro_usd: int | None
    """The raised budget; None if the budget covers the total."""

    def text(self, words: str) -> str:
        """Return the label of the button; "" if the highest price is unknown."""
        if self.total.high is None:
            return ""
        count, price = len(self.prices), self.total.text
        if self.limit_micro_usd is None:
            return f"{words} {count:,} \N{MIDDLE DOT} {price}"
        limit = format_usd(self.limit_micro_usd)
        return f"Raise the budget to {limit} and send {count:,} \N{MIDDLE DOT} {price}"


def _labels(plan: PlanFacts) -> list[dict[str, str]]:
    """Return the label of each cell on each axis; for a job, its title."""
    words: dict[str, dict[str, str]] = {}
    for cell in plan.cells:
        for axis, value in cell.axes.items():
            words.setdefault(axis, {})[str(label_of(value))] = _title(value)
    for titles in words.values():
        often = Counter(titles.values())
        for label, title in titles.items():
            if often[title] > 1:  # two jobs with the same title need two rows
                titles[label] = f"{title} · {label.partition('_')[2][:8]}"
    return [
        {axis: words[axis][str(label_of(value))] for axis, value in cell.axes.items()}
        for cell in plan.cells
    ]


def _title(value: object) -> str:
    state = getattr(value, "state", None)
    return state.title if isinstance(state, JobState) else str(label_of(value))


def wall_of(
    results: AsyncResults, rows: str | None = None, cols: str | None = None
) -> SweepWall:
    """Return the wall of a run; `AsyncResults.gallery` describes the axes."""
    if rows is None and cols is None:
        axes = [*results.plan.axes, *(["take"] if results.plan.takes > 1 else [])]
        # The cells of a single axis flow into rows of any length.
        rows, cols = (axes[0], axes[1]) if len(axes) > 1 else (None, None)
    return SweepWall(results, rows, cols, _form_opener(results.plan))


def _form_opener(plan: PlanFacts) -> OpenForm | None:
    """Return a function that opens a form for a result; None if there is no client."""
    owner = plan.owner if isinstance(plan, Plan) else None
    if owner is None:
        return None

    def open_form(path: str, name: str, values: dict[str, Any]) -> Any:
        return owner.form(path, name=name, fresh=True, **values).widget

    return open_form
