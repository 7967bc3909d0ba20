"""The results of a run: live while it runs, and rated afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

import anyio
from anyio import to_thread

from mediakit.client import AsyncJob
from mediakit.client.async_job import read_timeout
from mediakit.client.blocking import ProcessBound
from mediakit.client.budgets import AnyBudget, Budget
from mediakit.client.io_thread import io_thread, networked
from mediakit.errors import HasId, InputError, WaitTimeoutError
from mediakit.history import ratings
from mediakit.sweep.agreement import Agreement, agreement
from mediakit.sweep.comparison import Comparison, compare, compare_sweeps
from mediakit.sweep.costs import cost_of_keeper, pareto
from mediakit.sweep.export import Exported
from mediakit.sweep.frame_columns import jobs_once
from mediakit.sweep.outcomes import Progress
from mediakit.sweep.outputs import (
    OutputFiles,
    entry_of,
    job_of,
    repair_output,
    score_run,
)
from mediakit.sweep.rankings import bradley_terry
from mediakit.sweep.results_export import export_results, log_results
from mediakit.sweep.results_frame import (
    frame_of,
    preferences_of,
    rows_of,
    scores_frame,
)
from mediakit.sweep.run import IN_FLIGHT, Run
from mediakit.sweep.scorer_identity import is_asynchronous
from mediakit.sweep.scoring import Scorer
from mediakit.sweep.trackers import (
    log_to_mlflow,
    log_to_wandb,
    run_id_of_mlflow,
    run_of_wandb,
)
from mediakit.table_columns import present

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.async_client import AsyncClient
    from mediakit.sweep.plan import PlanFacts
    from mediakit.widgets.gallery import Gallery
    from mediakit.widgets.sweeps.wall import SweepWall

P = ParamSpec("P")
T = TypeVar("T")

CONTINUES = "The sweep continues; call results.wait() to wait again."


class _Awaited(Generic[T]):
    """A value that is computed when it is awaited."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read

    def __await__(self) -> Generator[Any, None, T]:
        return self._read().__await__()


class AsyncResults(ProcessBound):
    """The results of a run; its methods can be awaited from any event loop.

    The run starts at once and continues whether or not anything waits for it.
    """

    _instead = "make the plan there and run it; owned cells are not paid for again"

    def __init__(
        self,
        plan: PlanFacts,
        core: AsyncClient,
        budget_micro_usd: int | None = None,
        in_flight: int | None = None,
        *,
        shared: Budget | None = None,
    ) -> None:
        self.plan = plan
        self.client = core
        self.components = core.components
        self.files = OutputFiles(core.components)
        at_once = IN_FLIGHT if in_flight is None else in_flight
        self.run = Run(plan, core.components, budget_micro_usd, at_once, shared)
        self._wall: Gallery | None = None  # for the user's own layouts
        self._walls: list[SweepWall] = []
        if plan.view is not None:
            plan.view.follow(self)
        io_thread().post(self.run.start)

    def __len__(self) -> int:
        return len(self.plan)

    def __repr__(self) -> str:
        return f"<AsyncResults {self.progress.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    @property
    def id(self) -> str:
        """Return the id of the sweep."""
        return self.plan.id

    @property
    def progress(self) -> Progress:
        """Return the progress of the run."""
        store = self.components.store
        return self.run.progress(store.sweep_use(self.id), store.sweep_limit(self.id))

    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end.

        The listener is called on the I/O thread, and must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self.run.subscribe(listener)

    # -- the run ------------------------------------------------------------------

    @networked
    async def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the run has ended and all sent cells are settled.

        A failed cell raises no error: `frame()` shows what happened to it.

        Args:
            timeout_s: The maximum number of seconds to wait; None for no limit.

        Raises:
            WaitTimeoutError: The timeout was reached, or the client was closed.
        """
        timeout_s = read_timeout(timeout_s)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with anyio.move_on_after(timeout_s):
            await self.run.done.wait()
        if not self.run.done.is_set() or self.run.is_closed:
            progress = self.run.progress(await self.run.budget.use())
            raise self._left(loop.time() - began_s, progress)
        if self._walls:
            await to_thread.run_sync(self._complete_walls)
        return self

    def _left(self, waited_s: float, progress: Progress) -> WaitTimeoutError:
        ending = CONTINUES
        if self.run.is_closed:
            ending = (
                "The client was closed. Jobs continue at the service; run the plan "
                "again with another client to continue."
            )
        waited = f"{waited_s:.1f}".removesuffix(".0")
        text = f"Waited {waited} s: {progress.text}. {ending}"
        return WaitTimeoutError(text, job=self, waited_s=waited_s)

    @networked
    async def stop(self) -> Self:
        """Send no more cells, and stop retrying unanswered submissions.

        Jobs continue and are settled. If a cell was sent without a response, its
        `problem` says that a job may exist.
        """
        await self.run.stop_sending()
        return self

    @networked
    async def retry(self, code: str | None = None) -> Self:
        """Send failed and unsent cells again, within the same budget.

        A cell with a failed job is submitted with a new key, and is charged if it
        completes.

        Args:
            code: Only cells whose job failed with this code (spec 7.3).
        """
        self.run.retry(code)
        return self

    # -- frames -------------------------------------------------------------------

    async def frame(self) -> pd.DataFrame:
        """Return the results as a frame, one row per cell of the plan.

        A repair has a row of its own below, with the axes of its cell.

        Returns:
            The axes, `take`, `status` (category), `charge_micro_usd` (Int64, <NA> is
            unknown), `charge_usd` and `runtime_s` (float64), `rating` (Int64), `keep`
            (boolean), `job_id`, `problem`, `output_url` (str), `media_type` (category),
            `prompt`, `parent_job_id`, `tags` (separated by commas), `note`, `rater` and
            `sweep` (str).

            Then the scores of its outputs that the history has, no matter who ran it:
            a column for each name (float64 or str), of the scorer and version that
            scored last; `reason` (str), with the names before it where several judges
            gave one; and `judge_cost_micro_usd` (Int64), what all judges of the output
            charged, <NA> if that is unknown. `scores()` says who scored, and when.
        """
        return await to_thread.run_sync(frame_of, self.run)

    @networked
    async def job(self, job_id: str) -> AsyncJob:
        """Return the job of a cell, after reading it from the service.

        Args:
            job_id: Its id, as in `frame()`.

        Raises:
            NotFoundError: The organization has no such job.
            ServiceError: The service does not respond.
        """
        return await self.client.job(job_id)

    @property
    def kept(self) -> Awaitable[list[AsyncJob]]:
        """Return the jobs of the kept cells, in plan order."""
        return _Awaited(self._kept)

    @networked
    async def _kept(self) -> list[AsyncJob]:
        rows = await to_thread.run_sync(rows_of, self.run)
        kept = [r.outcome.job_id for r in rows if r.judgement and r.judgement.keep]
        return [await job_of(self.client.components, str(job_id)) for job_id in kept]

    @property
    def widget(self) -> Any:
        """Return the live wall as an ipywidgets widget, for your own layouts."""
        if self._wall is None or self._wall.is_closed:
            self._wall = self.gallery()
            self._wall.keep()
        return self._wall.view

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.gallery())  # type: ignore[no-untyped-call]

    def gallery(self, rows: str | None = None, cols: str | None = None) -> Gallery:
        """Return the wall of all cells, to be shown in the cell.

        It follows the run. Results can be rated, kept and compared on it; ratings,
        notes and tags are stored in the history.

        Args:
            rows: The axis down the side, or "take" or "prompt".
            cols: The axis along the top. When both are omitted, they are the first
                two axes; the values of a single axis flow in a grid.

        Raises:
            InputError: There is no such axis.
        """
        from mediakit.widgets.sweeps import wall_of

        wall = wall_of(self, rows, cols)
        self._walls = [each for each in self._walls if not each.gallery.is_closed]
        self._walls.append(wall)
        return wall.gallery

    def _complete_walls(self) -> None:
        """Update the walls of earlier cells before the kernel may stop."""
        for wall in self._walls:
            wall.complete()

    async def scores(self) -> pd.DataFrame:
        """Return all scores of the outputs, including those of earlier versions.

        Returns:
            One row per output, scorer and value, the last used one last: `job_id`,
            `scorer` (its module and name), `version` (with the hash of its source;
            empty if it is unknown) and `name` (str), `value` (float64, NaN for a
            string), `text` (str, missing for a number), `reason` (str),
            `cost_micro_usd` (Int64, what the judge charged for the whole answer, each
            time that it was asked;
            <NA> if it is unknown, or if an answer was reused) and `scored_at` (UTC). A
            charge without a usable answer has a row without a name.
        """
        return await to_thread.run_sync(scores_frame, self.run)

    # -- comparisons and costs ----------------------------------------------------

    async def ranking(self) -> pd.DataFrame:
        """Rank the results by their blind comparisons.

        Returns:
            One row per compared result, whose job is the item, as
            `mediakit.sweep.rankings.bradley_terry` ranks them, and its prompt (str).
        """
        ranked = bradley_terry(await to_thread.run_sync(preferences_of, self.run))
        prompts = jobs_once(await self.frame())[["job_id", "prompt"]]
        return ranked.merge(
            prompts.rename(columns={"job_id": "item"}), on="item", how="left"
        )

    async def compare(
        self,
        axis: str | HasId,
        value: str = "rating",
        by: str | Sequence[str] | None = None,
    ) -> Comparison:
        """Compare the values of an axis, or two sweeps, in otherwise equal pairs.

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
        if isinstance(axis, str):
            return compare(await self.frame(), axis, value, by)
        other = getattr(axis, "core", axis)
        if not isinstance(other, AsyncResults):
            accepted = "an axis, or the results of another sweep"
            raise InputError("axis", got=axis, accepted=accepted)
        return compare_sweeps(await self.frame(), await other.frame(), value, by)

    async def cost_of_keeper(
        self, by: str | Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the cost per kept result.

        Args:
            by: An axis, or several; all cells together by default.

        Returns:
            One row per value; see `mediakit.sweep.costs.cost_of_keeper`.
        """
        return cost_of_keeper(await self.frame(), by)

    async def pareto(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return the mean rating and the mean charge of each value.

        Args:
            by: An axis, or several; each cell separately by default.

        Returns:
            One row per value; see `mediakit.sweep.costs.pareto`.
        """
        return pareto(await self.frame(), by)

    @networked
    async def fix(
        self, /, job: HasId | str, *, region: str, prompt: str, **more: object
    ) -> AsyncJob:
        """Replace a region of a clip, instead of making the whole clip again.

        The new job belongs to the clip's cell: it counts against the sweep's budget and
        in the cost per keeper (spec 4.16).

        Args:
            job: The job of the clip, or its id.
            region: The region in words, such as "the left hand".
            prompt: The new content of the region, in words.
            more: Other fields of region-replace.

        Raises:
            InputError: It is not a clip of 5 or 10 s; nothing was sent.
            NotFoundError: The history has no such job.
            BudgetError: It does not fit what is left of the sweep's budget.
        """
        return await repair_output(
            self.plan,
            _id_of(job),
            region=region,
            prompt=prompt,
            submit=self.run.submit,
            more=more,
        )

    async def promotion(
        self,
        /,
        k: int | None = None,
        *,
        by: str = "rating",
        best: str | None = None,
        where: Mapping[str, object] | None = None,
        ascending: bool = False,
        **changes: object,
    ) -> PlanFacts:
        """Plan the best results again with other values; nothing is sent yet.

        Kept results are the best, then those with the highest ratings; equal ones are
        sorted by the mean of their version. `plan.note` names a tie. Fields that are
        not given, including the seed, are those of each result; a draft is promoted to
        a final. Equal requests count once.

        Args:
            k: The number of results; with `best`, all of them by default.
            by: The column to rank by: "rating", or a score.
            best: An axis, such as "prompt": only results with the axis value that has
                the best mean, such as the best version. `plan.note` names it.
            where: Only results with these column values, such as `{"prompt": "v1"}`; a
                list matches any of its values.
            ascending: Whether lower values are better, as for flicker.
            changes: The fields to change, such as `resolution="1080p"`.

        Raises:
            InputError: Nothing is kept or rated, or an argument is invalid.
        """
        choice = {"best": best, "where": where, "ascending": ascending}
        return await self.plan._best(await self.frame(), k, by, changes, **choice)

    async def promote(
        self,
        /,
        k: int | None = None,
        *,
        by: str = "rating",
        best: str | None = None,
        where: Mapping[str, object] | None = None,
        ascending: bool = False,
        budget: AnyBudget | None = None,
        **changes: object,
    ) -> AsyncResults:
        """Run the best results again with other values, within a budget.

        Args:
            k: The number of results; with `best`, all of them by default.
            by: The column to rank by: "rating", or a score.
            best: An axis, such as "prompt": only results with the axis value that has
                the best mean, such as the best version. `plan.note` names it.
            where: Only results with these column values, such as `{"prompt": "v1"}`; a
                list matches any of its values.
            ascending: Whether lower values are better, as for flicker.
            budget: As for `plan.run`.
            changes: As for `promotion`, whose plan this runs.

        Raises:
            InputError: As for `promotion`; or no result fits the budget.
        """
        more: Any = {**changes, "best": best, "where": where, "ascending": ascending}
        plan = await self.promotion(k, by=by, **more)
        return await plan._begin(budget)

    async def score(
        self,
        fn: Scorer,
        executor: Executor | None = None,
        *,
        version: str | None = None,
    ) -> pd.DataFrame:
        """Score all outputs with a function; `frame()` includes the scores.

        Each score is stored in the history like a rating, by output, scorer and
        version, and also by row if the scorer takes one. Calling this again scores only
        new outputs and those that failed. `mediakit.sweep.scorers` has ready-made
        scorers, and `mediakit.sweep.judges` has judges that see the prompt.

        Args:
            fn: `fn(path)` or `fn(path, row)`: takes the path of a file, and a dict of
                its cell: `prompt` and the other fields, the axes, `take` and `job_id`.
                It returns a number, a string, or a dict of these by name; None is
                unknown. In a dict, `reason` is the reason of all values, and
                `cost_micro_usd` what the judge charged, a whole number; an error that
                it raises may have this attribute, too. An asynchronous function is
                awaited for 8 outputs at a time, on the loop that awaits this, or in the
                background for a blocking call. A process pool must be able to import
                it.
            executor: An executor for the calls, such as a `ThreadPoolExecutor`, a
                `ProcessPoolExecutor` or the executor of a Dask client; by default, they
                run in this process. Its workers must be able to read the files.
                Asynchronous functions cannot use one.
            version: Identifies everything that the scorer uses besides its source; by
                default `fn.version`, or the plain data that the function uses. Without
                a version, the scores of a function that uses other objects, or has
                attributes, are not reused, and a warning says so.

        Returns:
            One row per output: `job_id` (str), one column per value (float64 or str),
            `reason` (str), `cost_micro_usd` (Int64): what the judge charged now, <NA>
            if it is unknown or the score was reused; and `problem` (str): why the
            scorer failed, missing if it did not. The cost of a failed answer is
            recorded; a warning reports it, both now and before the judge is asked
            again.

        Raises:
            InputError: An argument is invalid; nothing was downloaded.
        """
        loop = asyncio.get_running_loop() if is_asynchronous(fn) else None
        its = (self.run, self.files.fetch, fn, executor, version, loop)
        return await to_thread.run_sync(score_run, *its)

    async def agreement(self, score: str, rating: str = "rating") -> Agreement:
        """Compare the scores of a judge with the ratings of people.

        Args:
            score: A column of scores.
            rating: The column of ratings, or of another judge's scores.

        Returns:
            The agreement: `text` describes it in words, `frame` has both side by side,
            the largest disagreement first.

        Raises:
            InputError: There is no such column of numbers.
        """
        return agreement(await self.frame(), score, rating)

    async def export(self, where: str | Path) -> Exported:
        """Write the outputs, a manifest and an HTML report to a folder, or one page.

        The report begins with the verdict on each axis, the means as a heatmap and the
        ranking of blind comparisons. A name that ends in `.html` makes one page to
        send, which contains the outputs: up to 24 MB, kept results first. It shows
        stills of the others, and says how many there are.

        A folder also has a manifest, as a CSV, and with pyarrow (the extra `parquet`)
        as Parquet. Both have the ratings, the scores with their reasons, and all fields
        that were sent. File names show the parameters. Exporting to the same folder
        again fetches only missing files, and replaces the manifest and the report.

        Args:
            where: A folder, a file whose name ends in `.html`, or a URL of either that
                fsspec supports.

        Returns:
            What was written, the location of the report, and what is not in it.

        Raises:
            InputError: The folder or the page cannot be written.
        """
        return await to_thread.run_sync(export_results, self, where)

    async def to_wandb(self, run: Any = None, *, name: str = "results") -> None:
        """Log the results to a run of Weights & Biases (the extra `wandb`).

        The table has the columns of an exported manifest, and `output` with pictures
        and clips. The run's summary has the sweep's charge in USD, the numbers of
        cells, and the means of ratings and scores: `results/charge_usd` and so on.

        Args:
            run: The run, as `wandb.init` returns it; by default, the active one.
            name: The name of the table, and of the metrics before their slash.

        Raises:
            InputError: No run is active.
            MediakitError: wandb is not installed.
        """
        run = run_of_wandb(run)
        await to_thread.run_sync(log_results, self, log_to_wandb, run, name)

    async def to_mlflow(
        self, run_id: str | None = None, *, name: str = "results"
    ) -> None:
        """Log the results to a run of MLflow (the extra `mlflow`).

        The run gets the exported folder as artifacts, and the rows of its manifest as a
        table for `mlflow.load_table`. Its metrics are the sweep's charge in USD, the
        numbers of cells, and the means of ratings and scores: `results/charge_usd` and
        so on.

        Args:
            run_id: The id of the run; by default, of the one active in this thread.
            name: The name of the folder, of the table without its `.json`, and of the
                metrics before their slash.

        Raises:
            InputError: No run is active, or the run already has a table of this name.
            MediakitError: mlflow is not installed.
        """
        run_id = run_id_of_mlflow(run_id)
        await to_thread.run_sync(log_results, self, log_to_mlflow, run_id, name)

    # -- ratings ------------------------------------------------------------------

    async def rate(self, job: HasId | str, rating: int | None) -> None:
        """Rate a result from 1 to 5; the history stores the rating.

        Args:
            job: The job, or its id.
            rating: 1 to 5; None clears the rating.

        Raises:
            InputError: The rating is invalid, or the job failed.
            NotFoundError: The history has no such job.
        """
        await self._judge(job, rating=rating)

    async def keep(self, job: HasId | str, keep: bool = True) -> None:  # noqa: FBT001, FBT002
        """Keep a result, which adds it to `kept`.

        Args:
            job: The job, or its id.
            keep: False to undo it.

        Raises:
            InputError: `keep` is not a boolean, or the job failed.
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
        entry = await entry_of(self.client.components, _id_of(job))
        account_history = self.components.account_history
        owner: dict[str, Any] = {**account_history.owner, "job_id": entry.job_id}
        await account_history.write(ratings.judge, **owner, **said)
        self.run.changed()


def _id_of(job: object) -> str:
    if present(job) is None:
        accepted = "a job or its id: a cell that was not sent has none"
        raise InputError("job", got=job, accepted=accepted)
    return str(getattr(job, "id", job))
