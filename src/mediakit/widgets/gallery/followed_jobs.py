"""Jobs submitted from a wall, as cells beside the results they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mediakit.client import AsyncJob, JobState
from mediakit.errors import MediakitError
from mediakit.widgets.gallery.cells import FIRST_EXTRA, WallCell
from mediakit.widgets.toolkit.background_tasks import TaskRunner


class FollowedJobs:
    """Follows jobs to their end, and shows each as a cell."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._jobs: dict[str, tuple[AsyncJob, WallCell]] = {}
        self._judged: dict[str, dict[str, Any]] = {}
        self._ends: list[Callable[[], None]] = []

    def add(self, job: AsyncJob, parent: WallCell, tasks: TaskRunner) -> None:
        """Show a job beside the cell whose result it uses."""
        if job.id in self._jobs:
            return
        self._jobs[job.id] = (job, parent)
        self._ends.append(job.subscribe(lambda _: self._changed()))
        tasks.run(lambda: _followed(job))

    def judge(self, job_id: str, changes: Mapping[str, Any]) -> None:
        if job_id in self._jobs:
            self._judged.setdefault(job_id, {}).update(changes)

    def cells(self, others: Sequence[WallCell]) -> list[WallCell]:
        ids = {cell.job_id for cell in others}
        return [
            replace(
                _cell(FIRST_EXTRA + at, job.state, parent), **self._judged.get(id_, {})
            )
            for at, (id_, (job, parent)) in enumerate(self._jobs.items())
            if id_ not in ids
        ]

    def close(self) -> None:
        """Stop following; the jobs continue."""
        for end in self._ends:
            end()


async def _followed(job: AsyncJob) -> None:
    with suppress(MediakitError):  # how it ended is part of its state
        await job.settle()


def _cell(index: int, state: JobState, parent: WallCell) -> WallCell:
    record = state.record
    file = record.output.file if record.output else None
    take = state.entry.take
    is_same = state.prompt is not None and state.prompt == parent.prompt
    return WallCell(
        index,
        job_id=record.id,
        labels=parent.labels,
        prompt=state.prompt,
        take=take if is_same else parent.take,
        status=record.status.value,
        problem=record.error.message if record.error else state.trouble,
        media_type=state.media_type,
        url=file.url if file else None,
        charge_micro_usd=state.charge_micro_usd,
        runtime_s=record.runtime_s,
        made=f"take {take}" if is_same else state.function_title,
    )
