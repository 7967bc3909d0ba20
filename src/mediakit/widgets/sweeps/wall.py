"""The wall of a run, which follows its cells."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from anyio import to_thread

from mediakit.client.loop import io_thread
from mediakit.errors import InputError
from mediakit.history import tuning
from mediakit.money import format_usd
from mediakit.sweep import (
    AsyncResults,
    Progress,
    label_of,
    preferences_of,
    rows_of,
)
from mediakit.sweep.statistics import bradley_terry
from mediakit.widgets.gallery import (
    Gallery,
    Preference,
    Ranked,
    WallActions,
    WallCell,
    WallSummary,
)
from mediakit.widgets.job.preview import playable_copy
from mediakit.widgets.toolkit.styles import data_url

POSTERS = 48
POSTER_PX = 240


class Wall:
    """Feeds a gallery with the cells of a run.

    Args:
        results: The run.
        rows: The axis down the side; None with `cols` for a choice.
        cols: The axis along the top.

    Raises:
        InputError: There is no such axis.
    """

    def __init__(
        self,
        results: AsyncResults,
        rows: str | None,
        cols: str | None,
    ) -> None:
        self._results = results
        self._owner = results.components.account_history.owner
        self._looked_for: set[str] = set()
        self._running: asyncio.Task[None] | None = None
        self._latest: Progress | None = None
        plan = results.plan
        self._labels = [
            {name: str(label_of(value)) for name, value in cell.axes.items()}
            for cell in plan.cells
        ]
        self.gallery = Gallery(
            self._cells(),
            rows=rows,
            cols=cols,
            title=plan.title,
            summary=self._summary(results.progress),
            judge=self._judge,
            prefer=self._prefer,
            rank=self._rank,
            preferences=self._preferences(),
            actions=WallActions(
                retry=self._retry, export=self._export, copy=self._copy
            ),
        )
        self._unsubscribe = results.subscribe(self._changed)
        # The run may have ended after its cells were read and before the subscription.
        io_thread().post(self._begin)

    def _cells(self) -> list[WallCell]:
        """Return the cells and, below them, the repairs."""
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
                    poster=self._poster(outcome.job_id),
                    charge_micro_usd=outcome.charge_micro_usd,
                    runtime_s=outcome.runtime_s,
                    rating=said.rating if said else None,
                    keep=bool(said and said.keep),
                    tags=said.tags if said else (),
                    note=said.note if said else "",
                    parent_job_id=row.parent_job_id if row.is_repair else None,
                )
            )
        return found

    def _summary(self, progress: Progress) -> WallSummary:
        spent, budget = progress.spent_micro_usd, progress.budget_micro_usd
        of = "" if budget is None else f" of {format_usd(budget)}"
        left = f"about {progress.eta_s:.0f} s left" if progress.eta_s else ""
        new = self._results.plan.estimate()
        return WallSummary(
            owned=progress.owned,
            new=new.text,
            new_note=f"new, {new.kind.value.replace('_', ' ')}",
            spent=format_usd(spent),
            spent_note=f"spent{of}",
            left=left,
        )

    # -- following the run --------------------------------------------------------

    async def _begin(self) -> None:
        self._changed(await to_thread.run_sync(lambda: self._results.progress))

    def _changed(self, progress: Progress) -> None:
        """Show what has changed; called on the I/O thread."""
        if self.gallery.is_closed:
            self._unsubscribe()
            return
        self._latest = progress
        if self._running is None or self._running.done():
            loop = asyncio.get_running_loop()
            self._running = loop.create_task(self._catch_up())

    async def _catch_up(self) -> None:
        """Show the latest changes, and those that arrived meanwhile."""
        while (progress := self._latest) is not None:
            self._latest = None
            await self._show(progress)

    async def _show(self, progress: Progress) -> None:
        cells = await to_thread.run_sync(self._cells)
        self.gallery.update(cells, summary=self._summary(progress))
        if await self._bring_posters(cells):
            self.gallery.update(await to_thread.run_sync(self._cells))

    async def _bring_posters(self, cells: Sequence[WallCell]) -> bool:
        """Make small pictures for the first cells; tell whether there are new ones."""
        wanted = list(self._without_posters(cells))
        await asyncio.gather(*map(self._bring, wanted))
        return bool(wanted)

    def _without_posters(self, cells: Sequence[WallCell]) -> Iterator[WallCell]:
        for cell in cells[:POSTERS]:
            is_seen = cell.url and cell.media_type in ("image", "video")
            if is_seen and cell.job_id and cell.job_id not in self._looked_for:
                yield cell

    async def _bring(self, cell: WallCell) -> None:
        find = self._results.components.posters.find
        await find(str(cell.job_id), str(cell.url), POSTER_PX)
        self._looked_for.add(str(cell.job_id))

    def _poster(self, job_id: str | None) -> str | None:
        picture = self._results.components.posters.known(job_id, POSTER_PX)
        return data_url(picture) if picture else None

    # -- what people do -----------------------------------------------------------

    async def _judge(self, job_id: str, /, **changes: Any) -> None:
        await self._results._judge(job_id, **changes)

    async def _prefer(self, winner: str, loser: str, *, tie: bool = False) -> None:
        account_history = self._results.components.account_history
        await account_history.write(
            tuning.prefer, **self._owner, winner=winner, loser=loser, tie=tie
        )

    def _preferences(self) -> list[Preference]:
        return [
            Preference(each.winner, each.loser, each.tie)
            for each in preferences_of(self._results.run)
        ]

    def _rank(self, preferences: Sequence[Preference]) -> list[Ranked]:
        frame = bradley_terry(preferences)
        columns = ("item", "strength", "low", "high", "group")
        return [
            (str(job_id), float(strength), float(low), float(high), int(group))
            for job_id, strength, low, high, group in frame[[*columns]].itertuples(
                index=False
            )
        ]

    def _export(self) -> str:
        return repr(self._results._export(f"sweep-{self._results.id[:8]}"))

    async def _copy(self, job_id: str) -> bytes:
        return await playable_copy(await self._results.client.job(job_id))

    async def _retry(self, cell: int) -> None:
        self._results.run.retry(cell=cell)


def wall_of(
    results: AsyncResults,
    rows: str | None = None,
    cols: str | None = None,
) -> Gallery:
    """Return the wall of a run, which follows it.

    Args:
        results: The run.
        rows: The axis down the side.
        cols: The axis along the top.

    Raises:
        InputError: There is no such axis.
    """
    if rows is None and cols is None:
        axes = [*results.plan.axes, *(["take"] if results.plan.takes > 1 else [])]
        rows, cols = (*axes, None, None)[:2]
    for name, value in (("rows", rows), ("cols", cols)):
        known = [*results.plan.axes, "take", "prompt"]
        if value is not None and value not in known:
            raise InputError(name, got=value, accepted=" or ".join(known))
    return Wall(results, rows, cols).gallery
