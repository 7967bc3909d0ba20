"""Worker processes that buy the same cells, report their phase, and are killed.

Importing mediakit takes half a second, and hundreds of workers are killed here. So
each worker is a fork of one process that has done nothing but import it: its clients,
connections and threads are its own.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import wraps
from io import StringIO
from multiprocessing import connection
from random import Random
from typing import Any, Literal

import anyio

import mediakit as mk
from mediakit.catalog import Catalog
from mediakit.client.http import ServiceClient
from mediakit.client.responses import HttpResponse
from mediakit.history import History

# Modules that mediakit imports lazily: import them once, before the forks.
for _name in (
    "mediakit.entry_points",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
):
    importlib.import_module(_name)
anyio.run(anyio.sleep, 0)

Phase = Literal[
    "starting",
    "before a claim",
    "during an upload",
    "after a claim",
    "during a POST",
    "after a response",
    "while polling",
]

SERVICE_FAILED = 3
KILLED = -signal.SIGKILL
CONCURRENCY = 8
TIMEOUT_S = 600.0
READ_BYTES = 65_536

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Cell:
    """A request and its expected charge.

    Args:
        kind: The function.
        fields: Its fields.
        charge_micro_usd: The expected charge.
        extra: Undeclared properties, for a function that accepts any.
    """

    kind: str
    fields: dict[str, Any]
    charge_micro_usd: int
    extra: dict[str, Any] | None = None

    @property
    def call(self) -> dict[str, Any]:
        """Return the arguments of `submit` after the kind."""
        return {"extra": self.extra, **self.fields}


@dataclass(frozen=True)
class Program:
    """The work of every worker, which starts from the beginning each time.

    Args:
        base_url: The service.
        api_key: Its key.
        history: The history's database.
        cells: The cells to buy.
        concurrent: Buy several cells at a time, instead of one after another.
    """

    base_url: str
    api_key: str = field(repr=False)
    history: str = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    concurrent: bool = False

    def connect(self) -> mk.Client:
        """Connect as a user does, without printing the greeting."""
        with redirect_stdout(StringIO()):
            return mk.connect(
                self.base_url,
                self.api_key,
                history=self.history,
                catalog=Catalog.default(),
            )


def run_program(
    program: Program,
    seed: int,
    reports: connection.Connection,
    pause_in: Phase | None,
) -> None:
    """Buy all cells in a random order, and wait until all charges are settled."""
    # Ctrl-C in the terminal is for pytest, which ends this process itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def report(phase: Phase) -> None:
        os.write(reports.fileno(), f"{phase}\n".encode())
        if phase == pause_in:
            time.sleep(TIMEOUT_S)

    report_phases(report)
    cells = Random(seed).sample(program.cells, len(program.cells))
    try:
        if program.concurrent:
            asyncio.run(buy_concurrently(program, cells, report))
        else:
            buy_in_turn(program, cells, report)
    except mk.ServiceError:
        os._exit(SERVICE_FAILED)


def buy_in_turn(
    program: Program, cells: list[Cell], report: Callable[[Phase], None]
) -> None:
    with program.connect() as client:
        jobs = []
        for cell in cells:
            report("before a claim")
            job = client.submit(cell.kind, **cell.call)
            report("while polling")
            jobs.append(job.wait())
        for job in jobs:
            job.settle()


async def buy_concurrently(
    program: Program, cells: list[Cell], report: Callable[[Phase], None]
) -> None:
    slots = asyncio.Semaphore(CONCURRENCY)
    async with mk.AsyncClient(
        program.base_url,
        program.api_key,
        history=program.history,
        catalog=Catalog.default(),
    ) as client:

        async def buy(cell: Cell) -> None:
            async with slots:
                report("before a claim")
                job = await client.submit(cell.kind, **cell.call)
                report("while polling")
                await job.wait()
            await job.settle()

        await asyncio.gather(*map(buy, cells))


def report_phases(report: Callable[[Phase], None]) -> None:
    """Report the phases inside mediakit's own calls."""
    claim, exchange = History.claim, ServiceClient.exchange

    @wraps(claim)
    def reporting_claim(*args: Any, **kwargs: Any) -> Any:
        entry = claim(*args, **kwargs)
        report("after a claim")
        return entry

    @wraps(exchange)
    async def reporting_exchange(
        self: ServiceClient, method: str, path: str, **kwargs: Any
    ) -> HttpResponse:
        response: Awaitable[HttpResponse] = exchange(self, method, path, **kwargs)
        if method != "POST":
            return await response
        if path.endswith("/uploads"):
            report("during an upload")
            return await response
        report("during a POST")
        received = await response
        report("after a response")
        return received

    History.claim = reporting_claim  # type: ignore[method-assign]
    ServiceClient.exchange = reporting_exchange  # type: ignore[method-assign]


@dataclass(frozen=True)
class KillPoint:
    """The time at which a worker is killed.

    Args:
        phase: The phase whose first start counts.
        delay_s: Seconds after that start.
        latest_s: Seconds after the first claim, if the phase does not occur.
        pauses: Whether the worker pauses in the phase, which might end too soon.
    """

    phase: Phase
    delay_s: float
    latest_s: float
    pauses: bool = False


class Worker:
    """A worker process, which is killed at its kill point or runs to its end."""

    def __init__(
        self, program: Program, seed: int, kill_point: KillPoint | None
    ) -> None:
        self.phases: list[Phase] = ["starting"]
        self.has_ended = False
        self.kill_point = kill_point
        self.reports, sender = CONTEXT.Pipe(duplex=False)
        pause_in = kill_point.phase if kill_point and kill_point.pauses else None
        self._process = CONTEXT.Process(
            target=run_program, args=(program, seed, sender, pause_in)
        )
        self._process.start()
        sender.close()
        self.deadline_s = time.monotonic() + TIMEOUT_S
        self._update_deadline("starting")

    @property
    def exit_code(self) -> int:
        """Return 0, `SERVICE_FAILED` or `KILLED`; any other code is a bug."""
        assert self._process.exitcode is not None
        return self._process.exitcode

    def read_reports(self) -> None:
        """Read the reported phases; at the end of the pipe, the worker has ended."""
        lines = os.read(self.reports.fileno(), READ_BYTES)
        if not lines:
            self.reports.close()
            self._process.join()
            self.has_ended = True
        for line in lines.decode().splitlines():
            self.phases.append(line)  # type: ignore[arg-type]
            self._update_deadline(self.phases[-1])

    def _update_deadline(self, phase: Phase) -> None:
        now_s = time.monotonic()
        if self.kill_point is None:
            self.deadline_s = now_s + TIMEOUT_S  # any progress counts, however slow
            return
        if phase == self.kill_point.phase:
            self.deadline_s = min(self.deadline_s, now_s + self.kill_point.delay_s)
        if phase == "before a claim":
            self.deadline_s = min(self.deadline_s, now_s + self.kill_point.latest_s)

    def kill(self) -> None:
        """Kill the process now."""
        self._process.kill()

    def kill_as_planned(self) -> None:
        """Kill the process at its kill point; without one, it made no progress."""
        assert self.kill_point is not None, f"no progress since {self.phases[-9:]}"
        self.deadline_s += TIMEOUT_S
        self.kill()


def wait_for_ended(workers: list[Worker]) -> list[Worker]:
    """Read reports, kill the workers that are due, and return the ended ones."""
    due_s = min(worker.deadline_s for worker in workers)
    wait_s = max(0.0, due_s - time.monotonic())
    ready = connection.wait([worker.reports for worker in workers], wait_s)
    for worker in workers:
        if worker.reports in ready:
            worker.read_reports()
        if not worker.has_ended and worker.deadline_s <= time.monotonic():
            worker.kill_as_planned()
    return [worker for worker in workers if worker.has_ended]
