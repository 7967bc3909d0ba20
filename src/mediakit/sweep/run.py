"""A run: submits the cells of a plan on the I/O thread, several at once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mediakit.api_models import JobStatus
from mediakit.client import AsyncJob, JobState
from mediakit.client.budgets import Budget
from mediakit.client.components import Components
from mediakit.client.idempotency_keys import was_rejected
from mediakit.client.io_thread import CLOSED, ClosedError
from mediakit.client.listeners import Listeners
from mediakit.client.request_preparation import ValidatedRequest
from mediakit.client.stopping import PendingSubmissions
from mediakit.client.submissions import asking_from
from mediakit.clock import SystemClock
from mediakit.errors import (
    NOTHING_SENT,
    AuthError,
    BalanceError,
    BudgetError,
    JobFailedError,
    MediakitError,
    PriceError,
    RateLimitError,
    ServiceError,
    WaitTimeoutError,
)
from mediakit.estimates import Estimate
from mediakit.history import BudgetLimit, BudgetUse
from mediakit.sweep.cell_requests import CellRequests
from mediakit.sweep.outcomes import (
    CellStatus,
    Outcome,
    Progress,
    is_final,
    outcome_of,
)
from mediakit.sweep.outputs import job_of
from mediakit.sweep.run_budget import RunBudget

if TYPE_CHECKING:
    from mediakit.sweep.plan import PlanFacts

log = logging.getLogger("mediakit.sweep")

IN_FLIGHT = 16
PAUSE_S = 60.0
"""Seconds to wait after 429 if the service does not specify a time."""
CLOSED_CHECK_INTERVAL_S = 1.0
PROGRESS_INTERVAL_S = 0.2
MAX_UNANSWERED_N = 16
"""The rest is not sent after this many unanswered submissions in a row."""
SILENT = (
    "This cell was not sent because the service did not respond to the cells before "
    "it. Call results.retry() to send it."
)
TO_PAY = "Call results.retry() to send it at this price."
STOPPED = f"The sweep was stopped. {NOTHING_SENT} Call results.retry() to send it."
PLANNED = Outcome(CellStatus.PLANNED)


class Run:
    """Submits the cells of a plan in order; a failure does not end the run.

    A cell occupies one of `in_flight` slots until its job ends, and its price is held
    in the history until it is charged. A cell that does not fit the budget waits until
    a hold is released.

    Charges may exceed their estimates. Until the first charge, a quarter of the holds
    is kept in reserve; then, as much as the largest ratio of a charge to its hold. With
    nothing else in flight, the first cell may use the whole budget.
    """

    def __init__(
        self,
        plan: PlanFacts,
        components: Components,
        limit_micro_usd: int | None,
        in_flight: int,
        shared: Budget | None = None,
    ) -> None:
        self.plan = plan
        self.components = components
        self.done = asyncio.Event()
        self.is_closed = False
        self.outcomes = [PLANNED] * len(plan)
        self.requests = CellRequests(plan, components)
        self.budget = RunBudget(
            components, plan.id, limit_micro_usd, shared, is_past=plan.is_past
        )
        self._in_flight = in_flight
        self._queue: deque[int] = deque()
        self._counts: Counter[CellStatus] = Counter({CellStatus.PLANNED: len(plan)})
        # Cells that do not fit the budget now, and the lowest hold that was refused.
        self._over_budget: list[int] = []
        self._lowest_refused_hold_micro_usd: int | None = None
        self._is_last_try = False
        # The failed outcomes of cells that are submitted again.
        self._failed: dict[int, Outcome] = {}
        self._working_n = self._settling_n = self._unanswered_n = 0
        self._owned_n = self._sent_n = self._finished_n = 0
        self._stopped: str | None = None
        self._pending = PendingSubmissions("cells", self.changed)
        self._pause: asyncio.Task[None] | None = None
        self._pause_until_s = 0.0
        self._pause_text: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._began_s = perf_counter()
        self._listeners: Listeners[Progress] = Listeners()
        self._notification: asyncio.TimerHandle | None = None
        self._notified_s = 0.0
        self._begin()

    def _begin(self) -> None:
        for number in self.plan.sending_order:
            cell, draw = self.plan.cells[number], self.plan.draws[number]
            if cell.problem is not None:
                is_past = self.plan.is_past
                status = CellStatus.UNSENT if is_past else CellStatus.INVALID
                self._set(number, Outcome(status, problem=cell.problem))
            elif draw is not None and is_final(draw):
                self._set(number, outcome_of(draw))
                self._owned_n += 1
            else:
                self._queue.append(number)

    # -- called from outside, on the I/O thread -----------------------------------

    async def start(self) -> None:
        """Start sending."""
        self._loop = asyncio.get_running_loop()
        self._pump()

    async def stop_sending(self) -> None:
        """Send no more cells, and stop retrying unanswered ones; jobs continue."""
        self.stop()
        await self._pending.stop()

    def stop(self, why: str = STOPPED) -> None:
        """Send no more cells, which report the reason; those in flight continue."""
        if self._stopped is not None or self.done.is_set():
            return
        self._stopped = why
        self._give_up([*self._queue, *self._over_budget], lambda _: why)
        self._queue.clear()
        self._over_budget.clear()
        self._pause_until_s = 0.0
        self._pump()

    def retry(
        self,
        code: str | None = None,
        cell: int | None = None,
        price: Estimate | None = None,
    ) -> None:
        """Send failed and unsent cells again, failed jobs with a new key.

        `code` limits this to jobs that failed with that code, and `cell` to one cell,
        for at most the shown price.
        """
        if cell is not None and price is not None:
            self.requests.prices[cell] = price
        again = []
        for number, outcome in enumerate(self.outcomes):
            is_wanted = code in (None, outcome.error_code) and cell in (None, number)
            is_over = outcome.status in (CellStatus.FAILED, CellStatus.UNSENT)
            if not (is_wanted and is_over and self.can_retry(number)):
                continue
            # Without an error code, reading the job may have failed instead of the job.
            if outcome.job_id and outcome.error_code:
                self._failed.setdefault(number, outcome)
            self._set(number, PLANNED)
            again.append(number)
        if not again:
            return
        due = {*self._queue, *self._over_budget, *again}
        self._queue = deque(each for each in self.plan.sending_order if each in due)
        self._over_budget, self._lowest_refused_hold_micro_usd = [], None
        self._stopped = None
        self._unanswered_n = 0
        self._began_s, self._finished_n = perf_counter(), 0
        self.done.clear()
        self._pump()

    def can_retry(self, cell: int) -> bool:
        """Return whether a cell that has no result can be sent again."""
        return self.plan.cells[cell].problem is None

    async def price_again(self, cell: int) -> Estimate:
        """Return the current price of sending a cell again.

        Rates may have risen since an earlier kernel sent it, and files may have
        changed.
        """
        outcome, function = self.outcomes[cell], self.plan.function
        components = self.components
        try:
            if outcome.job_id and outcome.error_code:
                return await components.submissions.price_again(outcome.job_id)
            if function.may_name_media:
                fields: dict[str, Any] = dict(self.plan.cells[cell].fields)
                validated = components.preparer.validated
                return (await validated(function.path, fields)).estimate
        except MediakitError:
            pass  # sending the cell reports the error
        return self.requests.prices[cell]

    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end."""
        return self._listeners.subscribe(listener)

    def progress(self, use: BudgetUse, latest: BudgetLimit | None = None) -> Progress:
        """Return the progress of the run, with the sweep's charges and holds.

        Charges and holds include all runs of the sweep, because a later run may have
        had a larger budget.
        """
        counts = self._counts
        limit_micro_usd = self.budget.own_limit_micro_usd
        if limit_micro_usd is not None and latest is not None:
            limit_micro_usd = max(limit_micro_usd, latest.limit_micro_usd)
        return Progress(
            cells=len(self.outcomes),
            owned=self._owned_n,
            sent=self._sent_n,
            running=counts[CellStatus.RUNNING] + counts[CellStatus.QUEUED],
            completed=counts[CellStatus.COMPLETED],
            failed=counts[CellStatus.FAILED],
            unsent=counts[CellStatus.UNSENT],
            invalid=counts[CellStatus.INVALID],
            spent_micro_usd=use.spent_micro_usd,
            held_micro_usd=use.reserved_micro_usd,
            budget_micro_usd=limit_micro_usd,
            eta_s=self._eta_s(),
            is_done=self.done.is_set(),
            trouble=self._pause_text or self._stopped or self.delay_text or None,
        )

    @property
    def delay_text(self) -> str:
        """Explain what slow cells are waiting for."""
        return self._pending.text

    def _eta_s(self) -> float | None:
        """Estimate the seconds until all cells have ended, at the current rate."""
        open_statuses = (CellStatus.PLANNED, CellStatus.QUEUED, CellStatus.RUNNING)
        left = sum(self._counts[status] for status in open_statuses)
        if self.done.is_set() or not left:
            return 0.0
        if not self._finished_n:
            return None
        return left * (perf_counter() - self._began_s) / self._finished_n

    # -- which cell is next -------------------------------------------------------

    def _pump(self) -> None:
        """Start cells while slots are free; end the run when nothing is left."""
        self.changed()
        while self._working_n < self._in_flight:
            cell = self._next_cell()
            if cell is None:
                break
            self._start(cell)
        if self._working_n or self._settling_n or self._pause or self.done.is_set():
            return
        if self._over_budget:
            # Nothing else is in flight: if the cheapest does not fit now, none will.
            cheapest = min(
                self._over_budget, key=lambda cell: self._hold_micro_usd(cell) or 0
            )
            self._over_budget.remove(cheapest)
            self._is_last_try = True
            self._start(cheapest)
            return
        self.done.set()
        self.changed()

    def _next_cell(self) -> int | None:
        """Return the next cell to send; None if there is none now."""
        if self._is_last_try or self._pause is not None or self._stopped is not None:
            return None
        while self._queue:
            cell = self._queue.popleft()
            dear_micro_usd = self._lowest_refused_hold_micro_usd
            hold_micro_usd = self._hold_micro_usd(cell) or 0
            if dear_micro_usd is None or hold_micro_usd < dear_micro_usd:
                return cell
            self._over_budget.append(cell)
        return None

    def _requeue_over_budget(self) -> None:
        """Try the cells over budget again, because a hold may have been released."""
        self._lowest_refused_hold_micro_usd = None
        self._queue.extendleft(reversed(self._over_budget))
        self._over_budget.clear()

    def _start(self, cell: int) -> None:
        self._working_n += 1
        self._keep(self._process(cell)).add_done_callback(self._processed)

    def _processed(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return  # the process is shutting down
        if (error := task.exception()) is not None:
            log.error("a cell of a sweep failed; the others continue", exc_info=error)
        self._pump()

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- one cell -----------------------------------------------------------------

    async def _process(self, cell: int) -> None:
        """Submit a cell, wait for its end and then, without a slot, for its charge."""
        try:
            job = await self._done_job(cell)
        finally:
            self._working_n -= 1
        if job is not None:
            self._settling_n += 1
            self._pump()
            try:
                await self._settle(job)
                self._finished(cell, job.state)
            finally:
                self._settling_n -= 1

    async def _done_job(self, cell: int) -> AsyncJob | None:
        """Submit a cell and wait for its end; return its job if it is unsettled.

        Any error is recorded for the cell.
        """
        try:
            job = await self._submit_explained(cell)
            if job is not None and await self._has_ended(cell, job):
                if not job.state.is_over and job.status is not JobStatus.FAILED:
                    return job
                self._finished(cell, job.state)
        except (BalanceError, BudgetError) as error:
            await self._too_expensive(cell, error)
        except PriceError as error:
            self._is_last_try = False
            self._too_dear(cell, error)
        except MediakitError as error:
            self._is_last_try = False
            self._refused(cell, error)
        except Exception as error:
            self._is_last_try = False
            log.exception("a cell of a sweep failed")
            problem = f"Sending it failed: {type(error).__name__}: {error}"
            self._set(cell, Outcome(CellStatus.FAILED, problem=problem))
        return None

    async def _submit_explained(self, cell: int) -> AsyncJob | None:
        """Submit a cell so that it can be stopped, and show why it is slow."""
        return await self._pending.run(
            partial(self._submit, cell),
            self.components.delays,
            SystemClock(),  # people wait in real time
            files=None,
        )

    async def _submit(self, cell: int) -> AsyncJob | None:
        """Submit a cell, or find its job; None if the run was stopped."""
        components, failed = self.components, self._failed.get(cell)
        planned, draw = self.plan.cells[cell], self.plan.draws[cell]
        if self.plan.is_past and failed is None:
            self._owned_n += 1
            return await job_of(components, str(draw and draw.job_id))
        if failed is None and draw and draw.job_id and not was_rejected(draw):
            # The cell is shown as owned, so its file, which may have changed, is not
            # sent.
            self._owned_n += 1
            return await components.submissions.job_of(draw, draw.job_id)
        request = None if failed else await self.requests.prepared(cell)
        price = self.requests.prices[cell]
        if self._stopped is not None:
            self._give_up([cell], lambda _: str(self._stopped))
            return None
        components.refuse_closed()
        margin = self.budget.margin(is_alone=self._is_last_try)
        caller = replace(self.budget.caller, margin=margin)
        if request is None:
            again = components.submissions.attempt_again
            with asking_from(None, caller):
                job = await again(str(failed and failed.job_id), price)
            del self._failed[cell]
        else:
            submit = components.submissions.submit
            job = await submit(request, planned.sent_take, caller, price)
        self._is_last_try = False
        self._unanswered_n = 0
        if job.state.reused:
            self._owned_n += 1
        else:
            self._sent_n += 1
        return job

    async def submit(self, request: ValidatedRequest) -> AsyncJob:
        """Submit a request that is not a cell, within the budget of the sweep."""
        return await self.components.submit_prepared(request, 1, self.budget.caller)

    async def _has_ended(self, cell: int, job: AsyncJob) -> bool:
        """Wait until a job ends; return False if it can no longer be read."""
        unsubscribe = job.subscribe(partial(self._seen, cell))
        try:
            if not job.status.terminal:
                await self._patiently(job.wait)
        except JobFailedError:
            pass
        except WaitTimeoutError:
            self._close()
            return False
        except MediakitError as error:
            problem = Outcome(CellStatus.FAILED, job_id=job.id, problem=str(error))
            self._set(cell, problem)
            self._requeue_over_budget()
            return False
        finally:
            unsubscribe()
        return True

    async def _settle(self, job: AsyncJob) -> None:
        try:
            await self._patiently(job.settle)
        except WaitTimeoutError:
            self._close()
        except MediakitError:
            pass  # the job has completed; its charge stays unknown

    async def _patiently(self, wait: Callable[[], Awaitable[AsyncJob]]) -> None:
        """Wait for a job, even while the service limits reads."""
        while True:
            try:
                await wait()
            except RateLimitError:
                await self.components.clock.sleep(CLOSED_CHECK_INTERVAL_S)
            else:
                return

    def _seen(self, cell: int, state: JobState) -> None:
        outcome = outcome_of(state.entry)
        if outcome.status is CellStatus.COMPLETED and outcome.media_type is None:
            outcome = replace(outcome, media_type=state.media_type)
        self._set(cell, outcome)
        self.changed()

    def _finished(self, cell: int, state: JobState) -> None:
        self._seen(cell, state)
        self._finished_n += 1
        entry, charge_micro_usd = state.entry, state.charge_micro_usd
        if charge_micro_usd and entry.reserved_micro_usd:
            self.budget.charged(charge_micro_usd, entry.reserved_micro_usd)
        self._requeue_over_budget()

    # -- the budget ---------------------------------------------------------------

    def _hold_micro_usd(self, cell: int) -> int | None:
        return self.plan.cells[cell].estimate.hold_micro_usd

    async def _too_expensive(
        self, cell: int, error: BalanceError | BudgetError
    ) -> None:
        """Postpone a cell that budget or balance does not cover now.

        Other cells may release their holds, unless the service itself rejected it.
        """
        # Cheaper cells may still fit the run's own budget.
        is_own = isinstance(error, BudgetError) and self.budget.refused(error)
        was_answered = isinstance(error, BalanceError) and error.status is not None
        if is_own and error.needed_micro_usd is None:
            self._give_up([cell], lambda _: str(error))
        elif is_own and self._is_last_try:
            await self._give_up_dear(cell)
        elif was_answered or self._is_last_try or self._stopped is not None:
            self._give_up([cell], lambda _: str(error))
            self._is_last_try = False
            self.stop(str(error))
        else:
            self._over_budget.append(cell)
            refused = (error.needed_micro_usd or 0) if is_own else 0
            lowest = self._lowest_refused_hold_micro_usd
            self._lowest_refused_hold_micro_usd = (
                refused if lowest is None else min(lowest, refused)
            )

    async def _give_up_dear(self, cell: int) -> None:
        """Leave a cell and more expensive ones unsent: no hold is left to release."""
        cells = [cell, *self._over_budget]
        holds = {each: self._hold_micro_usd(each) or 0 for each in cells}
        why = {h: await self.budget.over_text(h) for h in {*holds.values()}}
        self._give_up(cells, lambda each: why[holds[each]])
        self._over_budget.clear()
        self._is_last_try = False

    def _too_dear(self, cell: int, error: PriceError) -> None:
        """Leave a cell unsent whose price has risen; its retry may pay this price."""
        self.requests.take_price(cell, error)
        self._give_up([cell], lambda _: f"{error} {TO_PAY}")
        self._requeue_over_budget()

    # -- errors -------------------------------------------------------------------

    def _refused(self, cell: int, error: MediakitError) -> None:
        """Record the error of a cell, and its consequences for other cells."""
        text = str(error)
        if isinstance(error, ClosedError):
            self._give_up([cell], lambda _: text)
            self._close()
        elif isinstance(error, RateLimitError) and error.status != 403:
            if self._stopped is not None:
                self._give_up([cell], lambda _: str(self._stopped))
                return
            self._queue.appendleft(cell)
            self._wait_for_service(error)
        elif isinstance(error, AuthError | RateLimitError):
            self._give_up([cell], lambda _: text)
            self.stop(text)
        else:
            job_id = getattr(error, "job_id", None)
            if error.sent is False:
                self._set(cell, self._unsent(cell, text, job_id))
            else:
                failed = Outcome(CellStatus.FAILED, job_id=job_id, problem=text)
                self._set(cell, failed)
            self._requeue_over_budget()
            if isinstance(error, ServiceError) and error.status is None:
                self._unanswered_n += 1
                if self._unanswered_n >= MAX_UNANSWERED_N:
                    self.stop(SILENT)

    def _wait_for_service(self, error: RateLimitError) -> None:
        """Pause for as long as the service requests."""
        wait_s = PAUSE_S if error.retry_after_s is None else error.retry_after_s
        until_s = self.components.clock.monotonic_s() + wait_s
        self._pause_until_s = max(self._pause_until_s, until_s)
        self._pause_text = str(error)
        if self._pause is None:
            self._pause = self._keep(self._wait_for_pause())

    async def _wait_for_pause(self) -> None:
        clock = self.components.clock
        while (left_s := self._pause_until_s - clock.monotonic_s()) > 0:
            if self.components.transport.closed:
                break
            await clock.sleep(min(left_s, CLOSED_CHECK_INTERVAL_S))
        self._pause = self._pause_text = None
        self._pump()

    def _give_up(self, cells: Sequence[int], why: Callable[[int], str]) -> None:
        for cell in cells:
            self._set(cell, self._unsent(cell, why(cell)))

    def _unsent(self, cell: int, problem: str, job_id: str | None = None) -> Outcome:
        """Return the outcome of a cell that was not sent, or not sent again."""
        failed = self._failed.get(cell)
        if failed is not None and failed.charge_micro_usd:
            return replace(failed, problem=f"{failed.problem} {problem}")
        return Outcome(CellStatus.UNSENT, job_id=job_id, problem=problem)

    def _close(self) -> None:
        """End the run because the client was closed; jobs continue."""
        self.is_closed = True
        self.stop(CLOSED)

    # -- progress -----------------------------------------------------------------

    def _set(self, cell: int, outcome: Outcome) -> None:
        self._counts[self.outcomes[cell].status] -= 1
        self._counts[outcome.status] += 1
        self.outcomes[cell] = outcome

    def changed(self) -> None:
        """Notify the listeners soon, at most every 0.2 s."""
        if not self._listeners:
            return
        if self._notification is not None and self.done.is_set():
            self._notification.cancel()
            self._notification = None
        if self._notification is None:
            due_s = self._notified_s + PROGRESS_INTERVAL_S - self._loop.time()
            delay_s = 0.0 if self.done.is_set() else max(0.0, due_s)
            self._notification = self._loop.call_later(delay_s, self._start_notify)

    def _start_notify(self) -> None:
        self._notification, self._notified_s = None, self._loop.time()
        self._keep(self._notify())

    async def _notify(self) -> None:
        try:
            use = await self.budget.use()
        except Exception:
            log.exception("the progress of a sweep cannot be read")
        else:
            self._listeners.notify(self.progress(use))
