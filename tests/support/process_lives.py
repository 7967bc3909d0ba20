"""Lives of a process that buys the same cells: told from inside, ended from outside.

A new interpreter needs half a second to import mediakit, and hundreds of them are
killed here. So each life is a fork of one process that has imported it and done
nothing else: no client, no connection and no thread of it is older than the life.
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

# What mediakit imports when it is needed, lest each life imports it anew.
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
    "after an answer",
    "while watching",
]

GAVE_UP = 3
KILLED = -signal.SIGKILL
AT_ONCE_N = 8
PATIENCE_S = 600.0
READ_BYTES = 65_536

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Cell:
    """One thing to buy.

    Args:
        kind: The function.
        fields: Its fields.
        charge_micro_usd: What it costs.
        extra: Properties of a function whose fields are open.
    """

    kind: str
    fields: dict[str, Any]
    charge_micro_usd: int
    extra: dict[str, Any] | None = None

    @property
    def call(self) -> dict[str, Any]:
        """Return the arguments of `submit` behind the kind."""
        return {"extra": self.extra, **self.fields}


@dataclass(frozen=True)
class Program:
    """What each life does, the same from the beginning, however the last one ended.

    Args:
        base_url: The service.
        api_key: Its key.
        history: The history's database.
        cells: What to buy.
        at_once: Buy several at a time, instead of one after the other.
    """

    base_url: str
    api_key: str = field(repr=False)
    history: str = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    at_once: bool = False

    def connect(self) -> mk.Client:
        """Connect as a person does, without the greeting."""
        with redirect_stdout(StringIO()):
            return mk.connect(
                self.base_url,
                self.api_key,
                history=self.history,
                catalog=Catalog.default(),
            )


def live(
    program: Program, seed: int, told: connection.Connection, last: Phase | None
) -> None:
    """Buy all cells, in an order of this life's own, until all charges are settled."""
    # A person's Ctrl-C is for the tests, which end this process themselves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(phase: Phase) -> None:
        os.write(told.fileno(), f"{phase}\n".encode())
        if phase == last:
            time.sleep(PATIENCE_S)

    listen(tell)
    cells = Random(seed).sample(program.cells, len(program.cells))
    try:
        if program.at_once:
            asyncio.run(buy_at_once(program, cells, tell))
        else:
            buy_in_turn(program, cells, tell)
    except mk.ServiceError:
        os._exit(GAVE_UP)


def buy_in_turn(
    program: Program, cells: list[Cell], tell: Callable[[Phase], None]
) -> None:
    with program.connect() as client:
        jobs = []
        for cell in cells:
            tell("before a claim")
            job = client.submit(cell.kind, **cell.call)
            tell("while watching")
            jobs.append(job.wait())
        for job in jobs:
            job.settle()


async def buy_at_once(
    program: Program, cells: list[Cell], tell: Callable[[Phase], None]
) -> None:
    room = asyncio.Semaphore(AT_ONCE_N)
    async with mk.AsyncClient(
        program.base_url,
        program.api_key,
        history=program.history,
        catalog=Catalog.default(),
    ) as client:

        async def buy(cell: Cell) -> None:
            async with room:
                tell("before a claim")
                job = await client.submit(cell.kind, **cell.call)
                tell("while watching")
                await job.wait()
            await job.settle()

        await asyncio.gather(*map(buy, cells))


def listen(tell: Callable[[Phase], None]) -> None:
    """Tell the phases that only mediakit itself knows of."""
    claim, exchange = History.claim, ServiceClient.exchange

    @wraps(claim)
    def claiming(*args: Any, **kwargs: Any) -> Any:
        claimed = claim(*args, **kwargs)
        tell("after a claim")
        return claimed

    @wraps(exchange)
    async def exchanging(
        self: ServiceClient, method: str, path: str, **kwargs: Any
    ) -> HttpResponse:
        asked: Awaitable[HttpResponse] = exchange(self, method, path, **kwargs)
        if method != "POST":
            return await asked
        if path.endswith("/uploads"):
            tell("during an upload")
            return await asked
        tell("during a POST")
        answer = await asked
        tell("after an answer")
        return answer

    History.claim = claiming  # type: ignore[method-assign]
    ServiceClient.exchange = exchanging  # type: ignore[method-assign]


@dataclass(frozen=True)
class End:
    """When a life is killed.

    Args:
        phase: So long after this phase began for the first time,
        delay_s: in seconds,
        latest_s: and so long after it began to buy when there is no such phase.
        stands_still: Whether it stands still there, lest the phase is over before.
    """

    phase: Phase
    delay_s: float
    latest_s: float
    stands_still: bool = False


class Life:
    """One life: a process that is killed in the end, or comes to its own."""

    def __init__(self, program: Program, seed: int, end: End | None) -> None:
        self.phases: list[Phase] = ["starting"]
        self.is_over = False
        self._end = end
        self._hears, told = CONTEXT.Pipe(duplex=False)
        last = end.phase if end and end.stands_still else None
        self._process = CONTEXT.Process(target=live, args=(program, seed, told, last))
        self._process.start()
        told.close()
        self.ends_at_s = time.monotonic() + PATIENCE_S
        self._mind_the_end("starting")

    @property
    def exit_code(self) -> int:
        """Return how it ended: 0, `GAVE_UP` or `KILLED`; anything else is a mistake."""
        assert self._process.exitcode is not None
        return self._process.exitcode

    @property
    def hears(self) -> connection.Connection:
        """Return what becomes ready when it tells something, or is over."""
        return self._hears

    def hear(self) -> None:
        """Take what it tells."""
        told = os.read(self._hears.fileno(), READ_BYTES)
        if not told:
            self._hears.close()
            self._process.join()
            self.is_over = True
        for line in told.decode().splitlines():
            self.phases.append(line)  # type: ignore[arg-type]
            self._mind_the_end(self.phases[-1])

    def _mind_the_end(self, phase: Phase) -> None:
        now_s = time.monotonic()
        if self._end is None:
            self.ends_at_s = now_s + PATIENCE_S  # it gets on, however slowly
            return
        if phase == self._end.phase:
            self.ends_at_s = min(self.ends_at_s, now_s + self._end.delay_s)
        if phase == "before a claim":
            self.ends_at_s = min(self.ends_at_s, now_s + self._end.latest_s)

    def kill(self) -> None:
        """Kill it, now."""
        self._process.kill()

    def end(self) -> None:
        """Kill it as planned; one that should have lived took too long."""
        assert self._end is not None, f"it stands still: {self.phases[-9:]}"
        self.ends_at_s += PATIENCE_S
        self.kill()


def attend(lives: list[Life]) -> list[Life]:
    """Hear lives, kill those whose time has come, and return those that are over."""
    due_s = min(life.ends_at_s for life in lives)
    wait_s = max(0.0, due_s - time.monotonic())
    heard = connection.wait([life.hears for life in lives], wait_s)
    for life in lives:
        if life.hears in heard:
            life.hear()
        if not life.is_over and life.ends_at_s <= time.monotonic():
            life.end()
    return [life for life in lives if life.is_over]
