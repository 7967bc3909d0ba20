"""The wall of a run, which follows its cells."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from anyio import to_thread

from mediakit.client import JobState
from mediakit.client.io_thread import io_thread
from mediakit.clock import SystemClock
from mediakit.history import Preference, ratings
from mediakit.money import format_usd
from mediakit.sweep import (
    AsyncResults,
    BasePlan,
    CellStatus,
    Progress,
    label_of,
    preferences_of,
    rows_of,
)
from mediakit.widgets.gallery import (
    Gallery,
    ResultActions,
    WallCell,
    WallSummary,
    judged_as,
)
from mediakit.widgets.gallery.result_actions import OpenForm
from mediakit.widgets.toolkit.throttle import Paced


class Wall:
    """Feeds a gallery with the cells of a run."""

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
        origin = json.dumps(["wall", *self._owner.values(), results.id])
        own = ResultActions(results.client, open_form, origin)
        self.gallery = Gallery(
            self._cells(),
            rows=rows,
            cols=cols,
            title=plan.title,
            summary=self._summary(results.progress),
            judge=self._judge,
            prefer=self._prefer,
            preferences=preferences_of(results.run),
            actions=own.wall_actions(retry=self._retry, export=self._export),
        )
        # What changed while the wall was made is read now: the run may have ended.
        updates = Paced(
            io_thread(), SystemClock(), 0, self._read, self.gallery.complain
        )
        end = results.subscribe(lambda _: updates.ask())
        updates.ask()
        for act in (end, updates.close):
            self.gallery.on_close(act)

    def _cells(self) -> list[WallCell]:
        plan, found = self._results.plan, []
        for index, row in enumerate(rows_of(self._results.run)):
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
                    problem=outcome.problem,
                    media_type=outcome.media_type,
                    url=outcome.output_url,
                    charge_micro_usd=outcome.charge_micro_usd,
                    retry_price="" if row.is_repair else planned.estimate.text,
                    runtime_s=outcome.runtime_s,
                    **judged_as(said),
                    made="repaired" if row.is_repair else "",
                )
            )
        return found

    def _summary(self, progress: Progress) -> WallSummary:
        spent, budget = progress.spent_micro_usd, progress.budget_micro_usd
        of = "" if budget is None else f" of {format_usd(budget)}"
        left = f"about {progress.eta_s:.0f} s left" if progress.eta_s else ""
        kind = self._estimate.kind.value.replace("_", " ")
        return WallSummary(
            owned=progress.owned,
            new="" if progress.is_done else self._estimate.text,
            new_note=f"new, {kind}",
            spent=format_usd(spent),
            spent_note=f"spent{of}{', with earlier runs' if progress.owned else ''}",
            left=left,
        )

    # -- following the run --------------------------------------------------------

    async def _read(self) -> None:
        def read() -> tuple[list[WallCell], WallSummary]:
            return self._cells(), self._summary(self._results.progress)

        async with self._reading:
            cells, summary = await to_thread.run_sync(read)
            self.gallery.update(cells, summary=summary)

    # -- what people do -----------------------------------------------------------

    async def _judge(self, job_id: str, /, **changes: Any) -> None:
        await self._results._judge(job_id, **changes)
        # A reading that began before must not be shown after it.
        await self._read()

    async def _prefer(self, **chosen: Any) -> Preference:
        account_history = self._results.components.account_history
        return await account_history.write(ratings.prefer, **self._owner, **chosen)

    async def _export(self) -> str:
        folder = f"sweep-{self._results.id[:8]}"
        done = await to_thread.run_sync(self._results._export, folder)
        return f"{done!r} Open {done.report} to see all of it."

    async def _retry(self, cell: int) -> str:
        """Send a cell again, and say what that costs, or why it was not sent."""
        run = self._results.run
        is_tried = asyncio.Event()

        def look(_: Progress) -> None:
            if run.outcomes[cell].status is not CellStatus.PLANNED:
                is_tried.set()

        run.retry(cell=cell)
        end = run.subscribe(look)
        await is_tried.wait()
        end()
        outcome = run.outcomes[cell]
        if outcome.job_id is None:
            return str(outcome.problem)
        return f"Sent again. It may cost {run.plan.cells[cell].estimate.text}."


def _labels(plan: BasePlan) -> list[dict[str, str]]:
    """Return the words of each cell's value on each axis; a job has its title."""
    words: dict[str, dict[str, str]] = {}
    for cell in plan.cells:
        for axis, value in cell.axes.items():
            words.setdefault(axis, {})[str(label_of(value))] = _title(value)
    for titles in words.values():
        often = Counter(titles.values())
        for label, title in titles.items():
            if often[title] > 1:  # two jobs of one title stay two rows
                titles[label] = f"{title} · {label.partition('_')[2][:8]}"
    return [
        {axis: words[axis][str(label_of(value))] for axis, value in cell.axes.items()}
        for cell in plan.cells
    ]


def _title(value: object) -> str:
    state = getattr(value, "state", None)
    return state.title if isinstance(state, JobState) else str(label_of(value))


def wall_of(
    results: AsyncResults,
    rows: str | None = None,
    cols: str | None = None,
    open_form: OpenForm | None = None,
) -> Gallery:
    if rows is None and cols is None:
        axes = [*results.plan.axes, *(["take"] if results.plan.takes > 1 else [])]
        rows, cols = (*axes, None, None)[:2]
    return Wall(results, rows, cols, open_form).gallery
