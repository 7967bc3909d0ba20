"""A run: sends the cells of a plan on the I/O thread, with limited concurrency."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mediakit.client import AsyncJob, JobState
from mediakit.client.budgets import Budget
from mediakit.client.components import Components
from mediakit.client.idempotency import draw_of, was_rejected
from mediakit.client.loop import CLOSED, ClosedError, notify
from mediakit.client.requests import ValidatedRequest
from mediakit.errors import (
    NOTHING_SENT,
    AuthError,
    BalanceError,
    BudgetError,
    JobFailedError,
    MediakitError,
    RateLimitError,
    ServiceError,
    WaitTimeoutError,
)
from mediakit.history import BudgetUse, Entry, EntryState, History
from mediakit.records import JobStatus
from mediakit.sweep.budget import Reservations
from mediakit.sweep.cell_states import OPEN, Cells, CellStatus, Progress

if TYPE_CHECKING:
    from mediakit.sweep.plan import BasePlan

log = logging.getLogger("mediakit.sweep")

Numbers = np.ndarray[Any, np.dtype[np.int64]]
IN_FLIGHT = 16
PAUSE_S = 60.0
"""Seconds to wait after 429 if the service does not specify a time."""
CLOSED_CHECK_INTERVAL_S = 1.0
"""Seconds between checks whether the client was closed."""
PROGRESS_INTERVAL_S = 0.2
LONGEST_TURN_S = 0.01
BESIDE_FIELDS = ("seconds", "webhook_url", "extra")
MAX_UNANSWERED_N = 16
"""The rest is not sent after this many unanswered submissions in a row."""
SILENT = (
    "This cell was not sent: the service does not answer the cells before it. Call "
    "results.retry() to send it."
)
STOPPED = f"The sweep was stopped. {NOTHING_SENT} Call results.retry() to send it."


class _OverBudgetError(Exception):
    """A cell does not fit the budget while others are in flight."""

    def __init__(self, hold_micro_usd: int) -> None:
        super().__init__()
        self.hold_micro_usd = hold_micro_usd


class _UnsentError(Exception):
    """A cell is not sent; the message is a sentence for people."""


class Runner:
    """Sends the valid cells of a plan in order; a failure does not end the run.

    Each slot has a worker that processes one cell after another. A worker continues
    when its job ends, but the price stays reserved until the charge is settled. A cell
    that does not fit the budget waits until something is released.

    Args:
        plan: The plan.
        components: Those of the client.
        budget_micro_usd: The limit over all runs of the sweep; None for no limit.
        in_flight: The maximum number of cells in flight.
        shared: The named budget that sets the limit, shared with others; None for an
            amount.
    """

    def __init__(
        self,
        plan: BasePlan,
        components: Components,
        budget_micro_usd: int | None,
        in_flight: int,
        shared: Budget | None = None,
    ) -> None:
        self.plan = plan
        self.components = components
        self.budget_micro_usd = budget_micro_usd
        self.cells = Cells(plan.valid)
        self.done = asyncio.Event()
        self.is_closed = False
        self.stopped: str | None = None
        self.shared = shared
        self._reservations = Reservations(budget_micro_usd, self._budget_use, shared)
        self._in_flight = in_flight
        self._slots_n = float(in_flight)
        self._round = 0
        self._unanswered_n = 0
        self._order = np.flatnonzero(plan.valid)
        self._next = 0
        self._retried: deque[int] = deque()
        self._waiting: list[tuple[int, int]] = []
        self._has_release = False
        self._is_short = self._is_last_try = False
        self._failed_jobs: dict[int, str] = {}
        self._pause: asyncio.Task[None] | None = None
        self._pause_until_s = 0.0
        self._pause_text: str | None = None
        self._workers_n = 0
        self._settling_n = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._owned_n = self._sent_n = self._finished_n = 0
        self._began_s = self._turn_began_s = perf_counter()
        self._listeners: list[Callable[[Progress], object]] = []
        self._notification: asyncio.TimerHandle | None = None
        self._notified_s = 0.0

    # -- called from outside, on the I/O thread -----------------------------------

    async def start(self) -> None:
        """Start sending."""
        self._loop = asyncio.get_running_loop()
        self._began_s = perf_counter()
        # A retry claims without `submit`, which sets the limit otherwise.
        self.components.admission.limit_sweep(self.plan.id, self._own_limit_micro_usd)
        self._pump()
        self._end_if_over()

    @property
    def _own_limit_micro_usd(self) -> int | None:
        """Return the limit of this sweep alone; None if the limit is shared."""
        return self.budget_micro_usd if self.shared is None else None

    def stop(self, why: str = STOPPED) -> None:
        """Send no more cells; those in flight continue.

        Args:
            why: The reason, reported for the cells that are not sent.
        """
        if self.stopped is None and not self.done.is_set():
            self.stopped = why
            waiting = [cell for _, cell in self._waiting]
            rest = [*self._order[self._next :].tolist(), *self._retried, *waiting]
            self._drop_remaining()
            self._unsend(np.array(sorted(rest), np.int64), why)
            self._pause_until_s = 0.0
            self._end_if_over()

    def _drop_remaining(self) -> None:
        self._next = len(self._order)
        self._retried.clear()
        self._waiting.clear()

    def retry(self, code: str | None = None, cell: int | None = None) -> int:
        """Send failed and unsent cells again; failed jobs with a new key.

        Args:
            code: Only cells whose job failed with this code.
            cell: Only this cell.

        Returns:
            The number of cells.
        """
        cells = self.cells.cells_in(CellStatus.FAILED, CellStatus.UNSENT)
        if code is not None:
            texts = {cell: self.cells.text("error_code", cell) for cell in cells}
            cells = np.array([c for c in cells if texts[c] == code], np.int64)
        if cell is not None:
            cells = cells[cells == cell]
        for again in cells.tolist():
            job_id = self.cells.text("job_id", again)
            # Without an error code, reading the job may have failed instead of the job.
            if job_id and self.cells.text("error_code", again):
                self._failed_jobs[again] = job_id
        if len(cells):
            self.cells.set_status(cells, CellStatus.PLANNED)
            self._order = np.union1d(self._order[self._next :], cells)
            self._next = 0
            self.stopped, self._unanswered_n, self._is_short = None, 0, False
            self.done.clear()
            self._changed()
            self._pump()
        return len(cells)

    def subscribe(self, listener: Callable[[Progress], object]) -> Callable[[], None]:
        """Call a function with the progress, at most every 0.2 s and at the end."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def notify_change(self) -> None:
        """Notify the listeners that a cell has changed."""
        self._changed()

    async def use(self) -> BudgetUse:
        """Read the sweep's charges and holds, over all runs and processes."""
        return await self.components.account_history.ask(
            History.sweep_use, self.plan.id
        )

    async def _budget_use(self) -> BudgetUse:
        """Read the charges and holds of the budget, which may be shared."""
        if self.shared is None:
            return await self.use()
        label = self.shared.label(self.components.clock.now())
        return await self.components.account_history.ask(History.budget_use, label)

    def progress(self, use: BudgetUse) -> Progress:
        """Return the progress of the run.

        Args:
            use: The sweep's charges and holds.
        """
        counts = self.cells.counts
        return Progress(
            cells=len(self.cells),
            owned=self._owned_n,
            sent=self._sent_n,
            running=counts[CellStatus.RUNNING] + counts[CellStatus.QUEUED],
            completed=counts[CellStatus.COMPLETED],
            failed=counts[CellStatus.FAILED],
            unsent=counts[CellStatus.UNSENT],
            invalid=counts[CellStatus.INVALID],
            spent_micro_usd=use.spent_micro_usd,
            held_micro_usd=use.reserved_micro_usd,
            budget_micro_usd=self._own_limit_micro_usd,
            eta_s=self._eta_s(),
            is_done=self.done.is_set(),
            trouble=self._pause_text or self.stopped,
        )

    def _eta_s(self) -> float | None:
        """Estimate the seconds until all cells have ended, at the current rate."""
        counts = self.cells.counts
        left = sum(counts[status] for status in (CellStatus.PLANNED, *OPEN))
        if self.done.is_set() or not left:
            return 0.0
        if not self._finished_n:
            return None
        return float(left * (perf_counter() - self._began_s) / self._finished_n)

    # -- workers ------------------------------------------------------------------

    def _pump(self) -> None:
        """Start workers while there are slots and cells."""
        while self._workers_n < int(self._slots_n):
            cell = self._take_cell()
            if cell is None:
                return
            self._start_worker(cell)
            if not self._has_planned():
                return  # this cell waited for the budget: see whether it fits first

    def _start_worker(self, cell: int) -> None:
        self._workers_n += 1
        self._keep(self._work(cell), self._worker_ended)

    def _keep(
        self,
        work: Coroutine[Any, Any, None],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)
        return task

    def _has_planned(self) -> bool:
        return bool(self._retried) or self._next < len(self._order)

    def _take_cell(self) -> int | None:
        """Return the next cell to send; None if there is none."""
        is_held_up = self._is_short or self._is_last_try or self._pause is not None
        if is_held_up or self.stopped is not None:
            return None
        if self._retried:
            return self._retried.popleft()
        if self._next < len(self._order):
            self._next += 1
            return int(self._order[self._next - 1])
        if self._has_release and self._waiting:
            return heapq.heappop(self._waiting)[1]
        return None

    async def _work(self, cell: int | None) -> None:
        while cell is not None:
            await self._do(cell)
            self._pump()
            if self._workers_n > int(self._slots_n):
                return
            await self._yield_to_loop()
            cell = self._take_cell()

    async def _yield_to_loop(self) -> None:
        """Yield to other tasks of the I/O thread after a long turn without waiting."""
        if perf_counter() - self._turn_began_s > LONGEST_TURN_S:
            await asyncio.sleep(0)
            self._turn_began_s = perf_counter()

    def _worker_ended(self, task: asyncio.Task[None]) -> None:
        self._workers_n -= 1
        self._ended(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return  # the process is shutting down
        if (error := task.exception()) is not None:
            log.error("a task of a sweep failed; the others continue", exc_info=error)
        self._pump()
        self._end_if_over()

    def _end_if_over(self) -> None:
        """End the run if nothing is in flight and nothing more can be sent."""
        if self._workers_n or self._settling_n or self._pause or self.done.is_set():
            return
        if self._waiting and not self._is_last_try:
            # Nothing else is in flight: a cell that does not fit now never will.
            self._is_short, self._is_last_try = False, True
            self._start_worker(heapq.heappop(self._waiting)[1])
            return
        for hold_micro_usd, cell in self._waiting:
            self._unsent(cell, self._reservations.over_text(hold_micro_usd))
        self._waiting.clear()
        self._is_last_try = False
        self.done.set()
        self._changed()

    # -- one cell -----------------------------------------------------------------

    async def _do(self, cell: int) -> None:
        """Submit a cell and wait until it ends; any error is recorded for the cell."""
        its_round = self._round
        try:
            job = await self._submitted(cell)
            if job is not None:
                await self._follow(cell, job)
        except _OverBudgetError as error:
            self._put_back(cell, error.hold_micro_usd)
        except _UnsentError as error:
            self._unsent(cell, str(error))
        except (BalanceError, BudgetError) as error:
            self._too_expensive(cell, error)
        except MediakitError as error:
            self._is_last_try = False
            self._refused(cell, error, its_round)
        except Exception as error:
            self._is_last_try = False
            log.exception("a cell of a sweep failed")
            problem = f"Sending it failed: {type(error).__name__}: {error}"
            self.cells.record_problem(cell, CellStatus.FAILED, problem)
        self._changed()

    async def _submitted(self, cell: int) -> AsyncJob | None:
        """Find or submit the job of a cell; None if its result is already known."""
        failed_id = self._failed_jobs.get(cell)
        try:
            if failed_id is not None:
                return await self._resubmitted(cell, failed_id)
            return await self._found_or_submitted(cell)
        except BaseException as error:
            # If something may have been sent, the history knows what is held.
            if _is_surely_unsent(error):
                self._reservations.dropped(cell)
            else:
                self._reservations.claimed(cell)
            raise

    async def _found_or_submitted(self, cell: int) -> AsyncJob | None:
        key = self.plan.cells[cell].key
        entry = None
        if key is not None:
            entry = await self._entry(cell, {"asked_key": key, "draw_key": key})
        if entry is not None and self._is_known(cell, entry):
            return None
        if _is_new(entry) or _is_unanswered(entry):
            await self._reserve(cell, self._unheld_micro_usd(cell, entry))
        request = await self._request_of(cell)
        if entry is None:
            draw = draw_of(self.components.submissions.of(request))
            entry = await self._entry(cell, draw)
            if entry is not None and self._is_known(cell, entry):
                self._reservations.dropped(cell)
                return None
        if _is_new(entry):
            await self._reserve(cell, request.estimate.hold_micro_usd)
        elif not _is_unanswered(entry):
            self._reservations.dropped(cell)
        self._refuse_stopped()
        job = await self.submit(request, self.plan.cells[cell].sent_take)
        was_owned = entry is not None and entry.job_id == job.id
        is_counted = self.shared is not None or not self._is_of_others(entry)
        self._record_job(cell, was_owned=was_owned, counts=is_counted)
        return job

    async def _resubmitted(self, cell: int, failed_id: str) -> AsyncJob:
        """Submit a request whose job failed again, with a new key."""
        await self._reserve(cell, self._hold_micro_usd(cell))
        self._refuse_stopped()
        job = await self.components.submissions.attempt_again(
            failed_id, sweep=self.plan.id, budget=self.shared
        )
        del self._failed_jobs[cell]
        self._record_job(cell, was_owned=False)
        return job

    def _unheld_micro_usd(self, cell: int, entry: Entry | None) -> int | None:
        """Return what a cell may cost beyond what its sweep already holds for it."""
        is_held = _is_unanswered(entry) and not self._is_of_others(entry)
        return 0 if is_held else self._hold_micro_usd(cell)

    def _is_of_others(self, entry: Entry | None) -> bool:
        """Tell whether an unanswered request counts against another budget.

        A shared budget takes it over when it is submitted again; a sweep does not.
        """
        if entry is None or entry.state is not EntryState.UNANSWERED:
            return False
        if self.shared is not None:
            return entry.budget != self.shared.label(self.components.clock.now())
        return entry.sweep != self.plan.id

    def _hold_micro_usd(self, cell: int) -> int | None:
        return self.plan.cells[cell].estimate.hold_micro_usd

    def _record_job(self, cell: int, *, was_owned: bool, counts: bool = True) -> None:
        """Record that a cell has a job.

        Args:
            cell: The cell.
            was_owned: The job existed before this run.
            counts: The history counts it against this sweep. Otherwise its price
                stays reserved until the end of the run.
        """
        if counts:
            self._reservations.claimed(cell)
        self._is_last_try = False
        self._unanswered_n = 0
        self._slots_n = min(self._in_flight, self._slots_n + 1 / self._slots_n)
        if was_owned:
            self._owned_n += 1
        else:
            self._sent_n += 1

    async def _entry(self, cell: int, draw: Mapping[str, str]) -> Entry | None:
        """Return the latest attempt at a cell; None without one.

        Args:
            cell: The cell.
            draw: The keys of its request; see `draw_of`.
        """
        return await self.components.account_history.ask(
            History.newest, **draw, take=self.plan.cells[cell].sent_take
        )

    def _is_known(self, cell: int, entry: Entry) -> bool:
        """Record a cell whose job has ended and is settled in the history."""
        has_failed = entry.status is JobStatus.FAILED and not was_rejected(entry)
        has_settled = entry.charge_micro_usd is not None
        is_completed = entry.status is JobStatus.COMPLETED and has_settled
        if entry.job_id is None or not (has_failed or is_completed):
            return False
        self.cells.record_entry(cell, entry)
        self._is_last_try = False
        self._owned_n += 1
        return True

    async def _reserve(self, cell: int, hold_micro_usd: int | None) -> None:
        """Reserve the price of a cell, or raise an error if it is not sent now."""
        if self.budget_micro_usd is None:
            return
        if hold_micro_usd is None:
            raise _UnsentError(self._reservations.unknown_text())
        is_alone = self._workers_n == 1 and not self._settling_n
        if not await self._reservations.reserve(
            cell, hold_micro_usd, is_alone=is_alone
        ):
            raise _OverBudgetError(hold_micro_usd)
        self._pump()

    async def _request_of(self, cell: int) -> ValidatedRequest:
        """Check and price a cell, and upload its files."""
        fields = dict(self.plan.cells[cell].fields)
        beside: dict[str, Any] = {n: fields.pop(n, None) for n in BESIDE_FIELDS}
        return await self.components.prepared(self.plan.function.path, fields, **beside)

    async def submit(self, request: ValidatedRequest, take: int = 1) -> AsyncJob:
        """Submit a request that counts against this sweep, and against its budget."""
        self.components.admission.limit_sweep(self.plan.id, self._own_limit_micro_usd)
        return await self.components.submit_prepared(
            request, take, sweep=self.plan.id, budget=self.shared
        )

    def _refuse_stopped(self) -> None:
        if self.stopped is not None:
            raise _UnsentError(self.stopped)

    async def _follow(self, cell: int, job: AsyncJob) -> None:
        """Wait until a job ends; another task waits for its charge."""
        unsubscribe = job.subscribe(partial(self._seen, cell))
        try:
            if not job.status.terminal:
                await self._patiently(job.wait)
        except JobFailedError:
            pass
        except WaitTimeoutError:
            self._close()
            return
        except MediakitError as error:
            text, job_id = str(error), job.id
            self.cells.record_problem(cell, CellStatus.FAILED, text, job_id=job_id)
            self._released()
            return
        finally:
            unsubscribe()
        if job.state.is_over or job.status is JobStatus.FAILED:
            self._finished(cell, job.state)
        else:
            self._settling_n += 1
            self._keep(self._settle(cell, job), self._settled)

    async def _patiently(self, wait: Callable[[], Awaitable[AsyncJob]]) -> None:
        """Wait for a job, even while the service limits how often it may be read."""
        while True:
            try:
                await wait()
            except RateLimitError:
                await self.components.clock.sleep(CLOSED_CHECK_INTERVAL_S)
            else:
                return

    def _seen(self, cell: int, state: JobState) -> None:
        self.cells.record_state(cell, state)
        self._changed()

    async def _settle(self, cell: int, job: AsyncJob) -> None:
        try:
            await self._patiently(job.settle)
        except WaitTimeoutError:
            self._close()
        except MediakitError:
            pass  # the job has completed; its charge stays unknown
        self._finished(cell, job.state)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling_n -= 1
        self._ended(task)

    def _finished(self, cell: int, state: JobState) -> None:
        self.cells.record_state(cell, state)
        self._finished_n += 1
        charge_micro_usd = state.charge_micro_usd
        if charge_micro_usd is not None and state.record.status is JobStatus.COMPLETED:
            estimate = state.estimate
            hold_micro_usd = None if estimate is None else estimate.hold_micro_usd
            self._reservations.charged(hold_micro_usd, charge_micro_usd)
        self._released()

    def _released(self) -> None:
        """Record that less may be held now, so that waiting cells are retried."""
        self._has_release, self._is_short = True, False
        self._changed()

    # -- errors -------------------------------------------------------------------

    def _refused(self, cell: int, error: MediakitError, its_round: int) -> None:
        """Record the error of a cell, and apply its consequences for the others."""
        if isinstance(error, JobFailedError) and isinstance(error.job, AsyncJob):
            self._record_job(cell, was_owned=error.job.state.reused)
            self._finished(cell, error.job.state)
        elif isinstance(error, ClosedError):
            self._unsent(cell, str(error))
            self._close()
        elif isinstance(error, RateLimitError) and error.status != 403:
            if self.stopped is not None:
                self._unsent(cell, self.stopped)
                return
            self._retried.append(cell)
            self._wait_for_service(error, its_round)
        elif isinstance(error, AuthError | RateLimitError):
            self._unsent(cell, str(error))
            self.stop(str(error))
        else:
            self._failed(cell, error)

    def _put_back(self, cell: int, hold_micro_usd: int) -> None:
        """Put a cell back until less is held."""
        if self.stopped is not None:
            self._unsent(cell, self.stopped)
        else:
            heapq.heappush(self._waiting, (hold_micro_usd, cell))
            self._has_release = False

    def _too_expensive(self, cell: int, error: BalanceError | BudgetError) -> None:
        """Hold back a cell that the budget or the balance is too low for.

        Others may release their holds, unless the service itself rejected the cell.
        """
        was_answered = isinstance(error, BalanceError) and error.status is not None
        is_own = isinstance(error, BudgetError) and self._is_of_run(error)
        has_others = self._workers_n > 1 or self._settling_n > 0
        if has_others and not was_answered:
            self._put_back(cell, error.needed_micro_usd or 0)
            self._is_short = not is_own
            return
        self._unsent(cell, str(error))
        if not is_own:
            self.stop(str(error))

    def _is_of_run(self, error: BudgetError) -> bool:
        """Tell whether the run's budget is too low, so that a cheaper cell may fit."""
        return self.shared is not None or error.scope == "sweep"

    def _failed(self, cell: int, error: MediakitError) -> None:
        status = CellStatus.UNSENT if error.sent is False else CellStatus.FAILED
        job_id = getattr(error, "job_id", None)
        self.cells.record_problem(cell, status, str(error), job_id=job_id)
        self._released()
        if isinstance(error, ServiceError) and error.status is None:
            self._unanswered_n += 1
            if self._unanswered_n >= MAX_UNANSWERED_N:
                self.stop(SILENT)

    def _wait_for_service(self, error: RateLimitError, its_round: int) -> None:
        """Pause for as long as the service asks, and reduce concurrency.

        Only the first of several simultaneous rejections halves the concurrency.
        """
        if its_round == self._round:
            self._slots_n = max(1.0, self._slots_n / 2)
            self._round += 1
        clock = self.components.clock
        wait_s = PAUSE_S if error.retry_after_s is None else error.retry_after_s
        until_s = clock.monotonic_s() + wait_s
        self._pause_until_s = max(self._pause_until_s, until_s)
        self._pause_text = str(error)
        if self._pause is None:
            self._pause = self._keep(self._wait_for_pause(), self._pause_ended)

    async def _wait_for_pause(self) -> None:
        clock = self.components.clock
        while (left_s := self._pause_until_s - clock.monotonic_s()) > 0:
            if self.components.transport.closed:
                return
            await clock.sleep(min(left_s, CLOSED_CHECK_INTERVAL_S))

    def _pause_ended(self, task: asyncio.Task[None]) -> None:
        self._pause = self._pause_text = None
        self._ended(task)

    def _unsend(self, cells: Numbers, why: str) -> None:
        self.cells.set_status(cells, CellStatus.UNSENT, why)
        self._changed()

    def _unsent(self, cell: int, why: str) -> None:
        self.cells.record_problem(cell, CellStatus.UNSENT, why)

    def _close(self) -> None:
        """End the run because the client was closed; jobs continue at the service."""
        self.is_closed = True
        self.stop(CLOSED)

    # -- progress -----------------------------------------------------------------

    def _changed(self) -> None:
        """Notify the listeners soon, but not more often than every 0.2 s."""
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
        self._keep(self._notify(), self._tasks.discard)

    async def _notify(self) -> None:
        try:
            use = await self.use()
        except Exception:
            log.exception("the progress of a sweep cannot be read")
        else:
            notify(self._listeners, self.progress(use))


def _is_surely_unsent(error: BaseException) -> bool:
    if isinstance(error, MediakitError):
        return error.sent is False
    return isinstance(error, _OverBudgetError | _UnsentError)


def _is_unanswered(entry: Entry | None) -> bool:
    """Tell whether a request may have been sent but was never answered."""
    return entry is not None and entry.state is EntryState.UNANSWERED


def _is_new(entry: Entry | None) -> bool:
    """Tell whether submitting a cell is, or may be, charged."""
    if entry is None or entry.state is EntryState.REFUSED:
        return True
    return was_rejected(entry)
