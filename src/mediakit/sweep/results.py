"""The results of a run: live while it is running, and rated afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import anyio
import numpy as np
from anyio import to_thread

from mediakit.client import AsyncJob
from mediakit.client.async_job import check_timeout
from mediakit.client.budgets import Budget
from mediakit.client.docstrings import explained_by
from mediakit.client.loop import (
    Blocking,
    IOThread,
    ProcessBound,
    blocking,
    io_thread,
    itself,
    networked,
)
from mediakit.errors import (
    HasId,
    InputError,
    NotFoundError,
    WaitTimeoutError,
    shown,
)
from mediakit.history import Entry, History, Judgement, tuning
from mediakit.sweep.budget import too_small
from mediakit.sweep.cell_states import STATUS_NAMES, CellStatus, Columns, Progress
from mediakit.sweep.exporting import Exported, export
from mediakit.sweep.grid import RESERVED
from mediakit.sweep.outputs import (
    OutputFiles,
    finals_of,
    fixed,
    outputs_of,
    repair_columns,
)
from mediakit.sweep.runner import IN_FLIGHT, Runner
from mediakit.sweep.scoring import BATCH, HistoryScores, Output, Scorer, score_outputs
from mediakit.sweep.statistics import (
    Comparison,
    bradley_terry,
    compare,
    compare_sweeps,
    cost_of_keeper,
    pareto,
)

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.async_client import AsyncClient
    from mediakit.job import Job
    from mediakit.sweep.plan import BasePlan

T = TypeVar("T")
JobT_co = TypeVar("JobT_co", bound="Job", covariant=True)

MOST_IN_FLIGHT = 1_000
MEDIA_TYPES = ("video", "image", "audio")
CONTINUES = "The sweep continues; call results.wait() to wait again."


class _Awaited(Generic[T]):
    """A value that is read when it is awaited."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read

    def __await__(self) -> Generator[Any, None, T]:
        return self._read().__await__()


class AsyncResults(ProcessBound):
    """The results of a run; its methods can be awaited from any event loop.

    The run starts at once and continues whether or not anything waits for it.

    Args:
        plan: The plan.
        core: The client.
        budget_micro_usd: The limit over all runs of the sweep; None for no limit.
        in_flight: The maximum number of cells in flight; 16 by default.
        shared: The named budget that sets the limit; None for an amount.

    Raises:
        InputError: No new cell fits the budget, or `in_flight` is not a count.
    """

    _instead = "make the plan there and run it; owned cells are not paid for again"

    def __init__(
        self,
        plan: BasePlan,
        core: AsyncClient,
        budget_micro_usd: int | None = None,
        in_flight: int | None = None,
        *,
        shared: Budget | None = None,
    ) -> None:
        in_flight = IN_FLIGHT if in_flight is None else in_flight
        _check_in_flight(in_flight)
        _check_budget(plan, core, budget_micro_usd)
        self.plan = plan
        self.client = core
        self.components = core.components
        self.runner = Runner(plan, core.components, budget_micro_usd, in_flight, shared)
        self.files = OutputFiles(core)
        self._axes: pd.DataFrame | None = None
        self._scores: dict[str, dict[str, float]] = {}
        io_thread().post(self.runner.start)

    def __len__(self) -> int:
        return len(self.plan)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.progress.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    @property
    def id(self) -> str:
        """Return the id of the sweep."""
        return self.plan.id

    @property
    def progress(self) -> Progress:
        """Return the progress of the run."""
        return self.runner.progress(self.components.store.sweep_use(self.plan.id))

    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end.

        It is called on the I/O thread, and must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self.runner.subscribe(listener)

    # -- the run ------------------------------------------------------------------

    @networked
    async def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until nothing more can be sent and everything sent is settled.

        A failed cell raises no error: `frame()` shows what happened to it.

        Args:
            timeout_s: The maximum number of seconds to wait; None for no limit.

        Raises:
            WaitTimeoutError: The timeout was reached, or the client was closed.
        """
        check_timeout(timeout_s)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with anyio.move_on_after(timeout_s):
            await self.runner.done.wait()
        if not self.runner.done.is_set() or self.runner.is_closed:
            raise self._left(loop.time() - began_s)
        return self

    def _left(self, waited_s: float) -> WaitTimeoutError:
        said = CONTINUES
        if self.runner.is_closed:
            said = (
                "The client was closed. Jobs continue at the service; run the plan "
                "again with another client to continue."
            )
        waited = f"{waited_s:.1f}".removesuffix(".0")
        text = f"Waited {waited} s for {self.progress.text}. {said}"
        return WaitTimeoutError(text, job=self, waited_s=waited_s)

    @networked
    async def stop(self) -> Self:
        """Send no more cells; those in flight continue and are settled."""
        self.runner.stop()
        return self

    @networked
    async def retry(self, code: str | None = None) -> Self:
        """Send failed and unsent cells again, within the same budget.

        A cell with a failed job is submitted with a new key, and is charged if it
        completes.

        Args:
            code: Only cells whose job failed with this code (spec 7.3).
        """
        self.runner.retry(code)
        return self

    # -- its results --------------------------------------------------------------

    async def frame(self) -> pd.DataFrame:
        """Return the results as a frame, one row per cell of the plan.

        Returns:
            The axes, `take`, `status` (category), `charge_micro_usd` (Int64, <NA> is
            unknown), `runtime_s` (float64), `rating` (Int8), `keep` (boolean),
            `job_id`, `problem`, `output_url` (str), `media_type` (category), `prompt`
            and `parent_job_id` (str).
        """
        return await to_thread.run_sync(self._frame)

    def _frame(self) -> pd.DataFrame:
        import pandas as pd

        from mediakit.history.frames import text_array

        if self._axes is None:
            self._axes = self.plan.frame()[[*self.plan.axes, "take"]]
        columns = self.runner.cells.copied()
        job_ids = columns.texts["job_id"]
        found = self._axes.copy(deep=False)
        names = pd.Index(STATUS_NAMES)
        found["status"] = pd.Categorical.from_codes(columns.status, categories=names)
        charges = columns.charge_micro_usd
        found["charge_micro_usd"] = pd.arrays.IntegerArray(charges, charges < 0)
        found["runtime_s"] = columns.runtime_s
        for name, values in self._judged(job_ids).items():
            found[name] = values
        found["job_id"] = text_array(columns.column("job_id"))
        found["problem"] = text_array(self._problems(columns))
        found["output_url"] = text_array(columns.column("output_url"))
        found["media_type"] = pd.Categorical(
            columns.column("media_type"), categories=pd.Index(MEDIA_TYPES)
        )
        if "prompt" not in self.plan.axes:
            found["prompt"] = text_array(self._prompts())
        found["parent_job_id"] = text_array(self._parents(job_ids))
        found = self._with_repairs(found)
        for name, values in self._scores.items():
            found[name] = found["job_id"].map(values).astype("float64")
        return found

    def _repairs(self) -> list[tuple[str, Entry, int]]:
        """Return the repairs of this sweep, oldest first.

        Returns:
            The job that was repaired, the entry of the repair, and the cell of both.
        """
        job_ids = self.runner.cells.job_ids()
        cell_of = {job_id: cell for cell, job_id in job_ids.items()}
        found = []
        for parent, entry in tuning.children(self.components.store, self.plan.id):
            if parent in cell_of and entry.job_id and entry.job_id not in cell_of:
                cell_of[entry.job_id] = cell_of[parent]
                found.append((parent, entry, cell_of[parent]))
        return found

    def _with_repairs(self, found: pd.DataFrame) -> pd.DataFrame:
        """Add a row for each repair, below the cells, with the axes of its cell."""
        import pandas as pd

        found_repairs = self._repairs()
        repairs = [(parent, entry) for parent, entry, _ in found_repairs]
        if not repairs:
            return found
        rows = found.iloc[[cell for *_, cell in found_repairs]].copy()
        rows.index = pd.RangeIndex(len(found), len(found) + len(rows), name="cell")
        for name, values in repair_columns(repairs, self._judgements).items():
            its_type: Any = rows[name].dtype
            rows[name] = pd.array(values, dtype=its_type)
        return pd.concat([found, rows])

    def _problems(self, columns: Columns) -> list[str | None]:
        problems = columns.column("problem")
        for cell in np.flatnonzero(columns.status == CellStatus.INVALID).tolist():
            problems[cell] = self.plan.cells[cell].problem
        return problems

    def _prompts(self) -> list[str | None]:
        prompts = (cell.fields.get("prompt") for cell in self.plan.cells)
        return [each if isinstance(each, str) else None for each in prompts]

    def _judged(self, job_ids: dict[int, str]) -> dict[str, Any]:
        """Return the columns of ratings, as they are in the history now."""
        import pandas as pd

        rating = np.zeros(len(self), np.int8)
        keep = np.zeros(len(self), np.bool_)
        judged = {each.job_id: each for each in self._judgements(job_ids.values())}
        for cell, job_id in job_ids.items():
            judgement = judged.get(job_id)
            if judgement is not None:
                rating[cell] = judgement.rating or 0
                keep[cell] = judgement.keep
        unchanged = np.zeros(len(self), np.bool_)
        return {
            "rating": pd.arrays.IntegerArray(rating, rating == 0),
            "keep": pd.arrays.BooleanArray(keep, unchanged),
        }

    def _judgements(self, job_ids: Iterable[str]) -> list[Judgement]:
        owner = self.components.account_history.owner
        return tuning.judgements(self.components.store, **owner, job_ids=list(job_ids))

    def _parents(self, job_ids: dict[int, str]) -> list[str | None]:
        found: list[str | None] = [None] * len(self)
        parents = tuning.parents(self.components.store, job_ids.values())
        for cell, job_id in job_ids.items():
            its = parents.get(job_id)
            found[cell] = its[0][1] if its else None
        return found

    @networked
    async def job(self, job_id: str) -> AsyncJob:
        """Return the job of a cell, after reading it from the service.

        Args:
            job_id: Its id, as in `frame()`.

        Raises:
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        return await self.client.job(job_id)

    @property
    def kept(self) -> Awaitable[list[AsyncJob]]:
        """Return the jobs of the kept cells, in the plan's order."""
        return _Awaited(self._kept)

    @networked
    async def _kept(self) -> list[AsyncJob]:
        entries = await to_thread.run_sync(self._kept_entries)
        return [await self.components.jobs.resume(entry) for entry in entries]

    def _kept_entries(self) -> list[Entry]:
        job_ids = dict(sorted(self.runner.cells.job_ids().items()))
        made = [*job_ids.values(), *(str(e.job_id) for _, e, _ in self._repairs())]
        kept = {j.job_id for j in self._judgements(made) if j.keep}
        found = (self.components.store.find(i) for i in made if i in kept)
        return [entry for entry in found if entry is not None]

    # -- comparisons and costs ----------------------------------------------------

    async def ranking(self) -> pd.DataFrame:
        """Return the results ranked by blind comparisons.

        Returns:
            One row per compared result, the best first; see
            `mediakit.sweep.statistics.bradley_terry`.
        """
        return await to_thread.run_sync(self._ranking)

    def _ranking(self) -> pd.DataFrame:
        mine = set(self.runner.cells.job_ids().values())
        mine |= {str(entry.job_id) for _, entry, _ in self._repairs()}
        said = tuning.preferences(
            self.components.store, **self.components.account_history.owner
        )
        return bradley_terry([p for p in said if {p.winner, p.loser} <= mine])

    async def compare(
        self,
        axis: str | HasId,
        value: str = "rating",
        by: str | Sequence[str] | None = None,
    ) -> Comparison:
        """Compare the values of an axis, or two sweeps, in pairs that share all else.

        Args:
            axis: The axis; or the results of another sweep, such as of the next
                version of a prompt, to compare with these.
            value: The column to compare: "rating", or a column of scores.
            by: The columns that make a pair, such as "prompt"; by default, all other
                axes, or the axes that both sweeps have.

        Returns:
            The comparison: `text` describes it in words, `frame` in numbers.

        Raises:
            InputError: There is no such axis or column.
        """
        return await to_thread.run_sync(self._compare, axis, value, by)

    def _compare(
        self, axis: object, value: str, by: str | Sequence[str] | None
    ) -> Comparison:
        if isinstance(axis, str):
            return compare(self._frame(), axis, value, by)
        other = getattr(axis, "core", axis)
        if not isinstance(other, AsyncResults):
            accepted = "an axis, or the results of another sweep"
            raise InputError("axis", got=axis, accepted=accepted)
        return compare_sweeps(self._frame(), other._frame(), value, by)

    async def cost_of_keeper(
        self, by: str | Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the cost of finding a kept result.

        Args:
            by: An axis, or several; all cells together by default.

        Returns:
            One row per value; see `mediakit.sweep.statistics.cost_of_keeper`.
        """
        return cost_of_keeper(await self.frame(), by)

    async def pareto(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return the mean rating and the mean charge.

        Args:
            by: An axis, or several; each cell separately by default.

        Returns:
            One row per value; see `mediakit.sweep.statistics.pareto`.
        """
        return pareto(await self.frame(), by)

    async def fix(
        self, job: HasId | str, *, region: str, prompt: str, **more: object
    ) -> AsyncJob:
        """Replace a region of a clip, instead of making the whole clip again.

        The new job belongs to that cell: it counts against the sweep's budget and
        in the cost of a keeper (spec 4.16).

        Args:
            job: The job of the clip, or its id.
            region: The region in words, such as "the left hand".
            prompt: What to show there instead.
            more: Other fields of region-replace.

        Raises:
            InputError: It is not a clip of 5 or 10 s; nothing was sent.
            NotFoundError: The history has no such job.
            BudgetError: It does not fit what is left of the sweep's budget.
        """
        return await self._fix(job, region=region, prompt=prompt, more=more)

    @networked
    async def _fix(
        self, job: HasId | str, *, region: str, prompt: str, more: dict[str, Any]
    ) -> AsyncJob:
        job_id = str(job if isinstance(job, str) else getattr(job, "id", job))
        return await fixed(
            self.plan,
            job_id,
            region=region,
            prompt=prompt,
            submit=self.runner.submit,
            more=more,
        )

    async def finals(self) -> pd.DataFrame:
        """Return the prices of the finals of these drafts, and the deadlines.

        A draft is finalized by the function `r1-finalize`, within 7 days (spec 4.4).

        Returns:
            One row per completed draft: the axes, `take`, `rating`, `keep`, `job_id`,
            `low_micro_usd` and `high_micro_usd` (Int64) of the final, and
            `finalize_before` (datetime64[us, UTC]).

        Raises:
            InputError: These are not drafts; `plan.drafts()` makes a plan of drafts.
        """
        return await self._finals(await self.frame())

    @networked
    async def _finals(self, frame: pd.DataFrame) -> pd.DataFrame:
        return await finals_of(self.plan, frame)

    async def score(
        self, fn: Scorer, executor: Executor | None = None, *, batch: int = BATCH
    ) -> pd.DataFrame:
        """Score all outputs with a function; `frame()` includes the scores.

        Scores are stored by output and scorer version: calling it again scores only
        new outputs. A closure or an object with attributes needs a `version` for that;
        without one its scores are not stored. See `mediakit.sweep.scorers` for
        ready-made scorers.

        Args:
            fn: Takes the path of a file and returns a number, or numbers by name.
            executor: Where to run it, such as a `ProcessPoolExecutor` or the executor
                of a Dask client; this process by default.
            batch: The number of outputs per task.

        Returns:
            One row per output: `job_id` (str), one column per number (float64), and
            `problem` (str): why the scorer failed, <NA> if it did not.

        Raises:
            InputError: An argument is not acceptable; nothing was scored.
        """
        return await to_thread.run_sync(partial(self._score, fn, executor, batch))

    def _score(self, fn: Scorer, executor: Executor | None, batch: int) -> pd.DataFrame:
        scored = score_outputs(
            self._outputs(),
            fn,
            fetch=self.files.fetch,
            executor=executor,
            batch=batch,
            store=HistoryScores(
                self.components.store, **self.components.account_history.owner
            ),
        )
        for name in scored.columns.drop(["job_id", "problem"]):
            values = dict(zip(scored["job_id"], scored[name], strict=True))
            taken = name in RESERVED or name in self.plan.axes
            column = f"score_{name}" if taken else str(name)
            self._scores.setdefault(column, {}).update(values)
        return scored

    def _outputs(self) -> list[Output]:
        frame, owner = self._frame(), self.components.account_history.owner
        known = tuning.sha256s(self.components.store, frame["job_id"].dropna(), **owner)
        return outputs_of(frame, known)

    async def export(self, where: str | Path) -> Exported:
        """Write the outputs, a manifest and an HTML report to a folder.

        File names show the parameters. Exporting to the same folder again fetches
        only missing files, and does not change files of others.

        Args:
            where: A folder, or a URL that fsspec supports.

        Returns:
            What was written, and the location of `report.html`.

        Raises:
            InputError: The folder cannot be written.
        """
        return await to_thread.run_sync(self._export, where)

    def _export(self, where: str | Path) -> Exported:
        progress = self.progress
        return export(
            self._frame(),
            where,
            fetch=self.files.fetch,
            plan_code=self.plan.code,
            title=self.plan.title,
            axes=self.plan.axes,
            numbers={
                "cells": progress.cells,
                "completed": progress.completed,
                "failed": progress.failed,
                "owned": progress.owned,
                "spent_micro_usd": progress.spent_micro_usd,
            },
        )

    # -- ratings ------------------------------------------------------------------

    async def rate(self, job: HasId | str, rating: int | None) -> None:
        """Rate a result from 1 to 5; the rating is stored in the history.

        Args:
            job: The job, or its id.
            rating: 1 to 5; None clears the rating.

        Raises:
            InputError: The rating is not one of these.
            NotFoundError: The history has no such job.
        """
        await self._judge(job, rating=rating)

    async def keep(self, job: HasId | str, keep: bool = True) -> None:  # noqa: FBT001, FBT002
        """Keep a result, which adds it to `kept`.

        Args:
            job: The job, or its id.
            keep: False to undo it.

        Raises:
            InputError: `keep` is neither true nor false.
            NotFoundError: The history has no such job.
        """
        await self._judge(job, keep=keep)

    async def note(self, job: HasId | str, text: str) -> None:
        """Set the note of a result; an empty text removes it.

        Raises:
            InputError: The note is not text, or is too long.
            NotFoundError: The history has no such job.
        """
        await self._judge(job, note=text)

    async def tag(self, job: HasId | str, *tags: str) -> None:
        """Set the tags of a result, replacing its earlier tags.

        Raises:
            InputError: A tag is not a short text.
            NotFoundError: The history has no such job.
        """
        await self._judge(job, tags=tags)

    @networked
    async def _judge(self, job: HasId | str, /, **said: Any) -> None:
        job_id = job if isinstance(job, str) else getattr(job, "id", None)
        account_history = self.components.account_history
        entry = None
        if isinstance(job_id, str):
            entry = await account_history.ask(History.find, job_id)
        if entry is None:
            raise NotFoundError(f"{shown(job_id)} is not in this history.")
        owner: dict[str, Any] = {**account_history.owner, "job_id": entry.job_id}
        await account_history.write(tuning.judge, **owner, **said)
        self.runner.notify_change()


class Results(Blocking, ProcessBound, Generic[JobT_co]):
    """The results of a run for scripts and notebooks; its methods block.

    The run starts at once and continues whether or not anything waits for it.

    Args:
        plan: The plan.
        core: The client on the I/O thread.
        io: The I/O thread.
        budget_micro_usd: The limit over all runs of the sweep; None for no limit.
        in_flight: The maximum number of cells in flight; 16 by default.
        owned: Makes the blocking version of a job, as the client does.
        shared: The named budget that sets the limit; None for an amount.

    Raises:
        InputError: No new cell fits the budget, or `in_flight` is not a count.
    """

    core: AsyncResults
    _instead = AsyncResults._instead

    def __init__(
        self,
        plan: BasePlan,
        core: AsyncClient,
        io: IOThread,
        budget_micro_usd: int | None = None,
        in_flight: int | None = None,
        *,
        owned: Callable[[AsyncJob], JobT_co],
        shared: Budget | None = None,
    ) -> None:
        self.core = AsyncResults(plan, core, budget_micro_usd, in_flight, shared=shared)
        self.io = io
        self._owned = owned

    def __len__(self) -> int:
        return len(self.core)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.progress.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        await asyncio.wrap_future(self.io.post(self.core.wait))
        return self

    @property
    def plan(self) -> BasePlan:
        """Return the plan."""
        return self.core.plan

    @property
    def id(self) -> str:
        """Return the id of the sweep."""
        return self.core.id

    @property
    def progress(self) -> Progress:
        """Return the progress of the run."""
        return self.core.progress

    @explained_by(AsyncResults.subscribe)
    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end."""
        return self.core.subscribe(listener)

    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until nothing more can be sent and everything sent is settled.

        A failed cell raises no error: `frame()` shows what happened to it. Ctrl-C only
        stops waiting.

        Args:
            timeout_s: The maximum number of seconds to wait; None for no limit.

        Raises:
            WaitTimeoutError: The timeout was reached, or the client was closed.
        """
        try:
            self.io.call(self.core.wait, timeout_s)
        except WaitTimeoutError as error:
            error.job = self
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "stopped waiting; the sweep continues: call results.wait() to wait "
                "again, results.stop() to stop it"
            ) from None
        return self

    stop = blocking(AsyncResults.stop, itself)
    retry = blocking(AsyncResults.retry, itself)
    frame = blocking(AsyncResults.frame)

    @explained_by(AsyncResults.job)
    def job(self, job_id: str) -> JobT_co:
        """Return the job of a cell, after reading it from the service."""
        return self._owned(self.io.call(self.core.job, job_id))

    @property
    def kept(self) -> list[JobT_co]:
        """Return the jobs of the kept cells, in the plan's order."""
        return [self._owned(job) for job in self.io.call(self.core._kept)]

    ranking = blocking(AsyncResults.ranking)
    compare = blocking(AsyncResults.compare)
    cost_of_keeper = blocking(AsyncResults.cost_of_keeper)
    pareto = blocking(AsyncResults.pareto)

    @explained_by(AsyncResults.fix)
    def fix(
        self, job: HasId | str, *, region: str, prompt: str, **more: object
    ) -> JobT_co:
        """Replace a region of a clip, instead of making the whole clip again."""
        made = self.io.call(
            self.core._fix, job, region=region, prompt=prompt, more=more
        )
        return self._owned(made)

    finals = blocking(AsyncResults.finals)

    @explained_by(AsyncResults.score)
    def score(
        self, fn: Scorer, executor: Executor | None = None, *, batch: int = BATCH
    ) -> pd.DataFrame:
        """Score all outputs with a function."""
        return self.core._score(fn, executor, batch)

    export = blocking(AsyncResults.export)
    rate = blocking(AsyncResults.rate)
    keep = blocking(AsyncResults.keep)
    note = blocking(AsyncResults.note)
    tag = blocking(AsyncResults.tag)


def _check_in_flight(in_flight: object) -> None:
    counts = range(1, MOST_IN_FLIGHT + 1)
    if not isinstance(in_flight, int) or in_flight is True or in_flight not in counts:
        accepted = f"a whole number from 1 to {MOST_IN_FLIGHT:,}"
        raise InputError("in_flight", got=in_flight, accepted=accepted)


def _check_budget(
    plan: BasePlan, core: AsyncClient, budget_micro_usd: int | None
) -> None:
    """Raise an error if no new cell fits the budget.

    A sweep that already has charges continues: if the rest of its budget is too small
    for any cell, each cell reports that.
    """
    if budget_micro_usd is None:
        return
    holds = (each.hold_micro_usd for each in plan._new_estimates())
    cheapest_micro_usd = min((h for h in holds if h is not None), default=0)
    if cheapest_micro_usd <= budget_micro_usd:
        return
    use = core.components.store.sweep_use(plan.id)
    if not use.spent_micro_usd and not use.reserved_micro_usd:
        raise too_small(budget_micro_usd, cheapest_micro_usd)
