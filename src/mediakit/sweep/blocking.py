"""Blocking plans and results for scripts and notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, cast

from mediakit.client import AnyBudget, AsyncJob
from mediakit.client.blocking import (
    Blocking,
    ProcessBound,
    blocking,
    documented_by,
    itself,
)
from mediakit.client.budgets import Budget
from mediakit.client.io_thread import io_thread
from mediakit.errors import WaitInterrupted, WaitTimeoutError
from mediakit.estimates import Price
from mediakit.sweep.outcomes import Progress
from mediakit.sweep.outputs import score_run
from mediakit.sweep.plan import AsyncPlan, PlanFacts
from mediakit.sweep.results import AsyncResults
from mediakit.sweep.results_export import log_results
from mediakit.sweep.scoring import Scorer
from mediakit.sweep.trackers import (
    log_to_mlflow,
    log_to_wandb,
    run_id_of_mlflow,
    run_of_wandb,
)

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.async_client import AsyncClient
    from mediakit.blocking_client import Client
    from mediakit.job import Job
    from mediakit.widgets.gallery import Gallery

P = ParamSpec("P")
T = TypeVar("T")


def _owned(results: Results, job: AsyncJob, /) -> Job:
    return results.owned(job)


class Results(Blocking, ProcessBound):
    """The results of a run for scripts and notebooks; its methods block.

    The run starts at once and continues whether or not anything waits for it.
    """

    core: AsyncResults
    _instead = AsyncResults._instead

    def __init__(
        self,
        plan: PlanFacts,
        core: AsyncClient,
        budget_micro_usd: int | None = None,
        in_flight: int | None = None,
        *,
        owned: Callable[[AsyncJob], Job],
        shared: Budget | None = None,
    ) -> None:
        its = AsyncResults(plan, core, budget_micro_usd, in_flight, shared=shared)
        super().__init__(its)
        self.owned = owned

    def __len__(self) -> int:
        return len(self.core)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {"owned"})

    def __repr__(self) -> str:
        return f"<Results {self.progress.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        await asyncio.wrap_future(io_thread().post(self.core.wait))
        return self

    @property
    def plan(self) -> PlanFacts:
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

    @documented_by(AsyncResults.subscribe)
    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end."""
        return self.core.subscribe(listener)

    @documented_by(AsyncResults.wait)
    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the run has ended; Ctrl-C only ends the waiting."""
        try:
            self._call(self.core.wait, timeout_s)
        except WaitTimeoutError as error:
            error.job = self
            raise
        except KeyboardInterrupt:
            raise WaitInterrupted(
                "stopped waiting; the sweep continues: call results.wait() to wait "
                "again, results.stop() to stop it"
            ) from None
        return self

    @property
    def kept(self) -> list[Job]:
        """Return the jobs of the kept cells, in plan order."""
        return [self.owned(job) for job in self._call(lambda: self.core.kept)]

    stop = blocking(AsyncResults.stop, itself)
    retry = blocking(AsyncResults.retry, itself)
    frame = blocking(AsyncResults.frame)
    scores = blocking(AsyncResults.scores)
    job = blocking(AsyncResults.job, _owned)
    ranking = blocking(AsyncResults.ranking)
    compare = blocking(AsyncResults.compare)
    cost_of_keeper = blocking(AsyncResults.cost_of_keeper)
    pareto = blocking(AsyncResults.pareto)
    fix = blocking(AsyncResults.fix, _owned)

    @documented_by(AsyncResults.promotion)
    def promotion(
        self,
        /,
        k: int | None = None,
        *,
        by: str = "rating",
        best: str | None = None,
        where: Mapping[str, object] | None = None,
        ascending: bool = False,
        **changes: object,
    ) -> Plan:
        """Plan the best results again with other values; nothing is sent yet."""
        more: Any = {**changes, "best": best, "where": where, "ascending": ascending}
        plan = self._call(self.core.promotion, k, by=by, **more)
        return cast(Plan, plan)

    @documented_by(AsyncResults.promote)
    def promote(
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
    ) -> Results:
        """Run the best results again with other values, within a budget."""
        more: Any = {**changes, "best": best, "where": where, "ascending": ascending}
        return self.promotion(k, by=by, **more).run(budget)

    @documented_by(AsyncResults.score)
    def score(
        self,
        fn: Scorer,
        executor: Executor | None = None,
        *,
        version: str | None = None,
    ) -> pd.DataFrame:
        """Score all outputs with a function; `frame()` includes the scores."""
        # Runs in the caller's thread, so that interrupts and warnings reach the caller.
        return score_run(self.core.run, self.core.files.fetch, fn, executor, version)

    @property
    def widget(self) -> Any:
        """Return the live wall as an ipywidgets widget, for your own layouts."""
        return self.core.widget

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.gallery())  # type: ignore[no-untyped-call]

    @documented_by(AsyncResults.gallery)
    def gallery(self, rows: str | None = None, cols: str | None = None) -> Gallery:
        """Return the wall of all cells, to be shown in the cell."""
        return self.core.gallery(rows, cols)

    # Trackers know the active run by the thread.
    @documented_by(AsyncResults.to_wandb)
    def to_wandb(self, run: Any = None, *, name: str = "results") -> None:
        """Log the results to a run of Weights & Biases (the extra `wandb`)."""
        log_results(self.core, log_to_wandb, run_of_wandb(run), name)

    @documented_by(AsyncResults.to_mlflow)
    def to_mlflow(self, run_id: str | None = None, *, name: str = "results") -> None:
        """Log the results to a run of MLflow (the extra `mlflow`)."""
        log_results(self.core, log_to_mlflow, run_id_of_mlflow(run_id), name)

    agreement = blocking(AsyncResults.agreement)
    export = blocking(AsyncResults.export)
    rate = blocking(AsyncResults.rate)
    keep = blocking(AsyncResults.keep)
    note = blocking(AsyncResults.note)
    tag = blocking(AsyncResults.tag)


class Plan(PlanFacts):
    """A plan for scripts and notebooks; its methods block."""

    def __init__(self, owner: Client, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.owner = owner

    @property
    def _made_as(self) -> Callable[..., Self]:
        return partial(type(self), self.owner)

    @documented_by(AsyncPlan.run)
    def run(
        self,
        budget: AnyBudget | None = None,
        in_flight: int | None = None,
        *,
        max_price: Price | None = None,
    ) -> Results:
        """Start sending the new cells; return live results at once."""
        owner = self.owner
        limit_micro_usd, shared = owner.io.call(
            self._admitted, budget, in_flight, max_price
        )
        its: dict[str, Any] = {"owned": owner.owned, "shared": shared}
        return Results(self, self.client, limit_micro_usd, in_flight, **its)

    @documented_by(AsyncPlan.drafts)
    def drafts(self) -> Self:
        """Return the same plan as drafts, for a fraction of the price (spec 4.4)."""
        return self.owner.io.call(self._drafts)

    def refresh(self) -> Self:
        """Read the history and the balance again."""
        self.owner.io.call(self._refresh)
        return self
