"""Serves a data directory from a thread of this process."""

import asyncio
import logging
import os
import socket
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import uvicorn
from starlette.applications import Starlette

from mediakit.clock import SystemClock
from mediakit.errors import ServiceError
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.core.timed_work import TimedWork, keep_time, save_clock
from mediakit.sandbox.delivery.sender import Sender
from mediakit.sandbox.jobs.inputs import Inputs
from mediakit.sandbox.jobs.job_runner import JobRunner
from mediakit.sandbox.jobs.renderer import Renderer
from mediakit.sandbox.jobs.retention import remove_old
from mediakit.sandbox.server.app import make_app
from mediakit.sandbox.server.connections import Connection
from mediakit.sandbox.server.data_dir import DataDir, Lock
from mediakit.sandbox.server.sockets import BACKLOG, base_url_of, close, listen
from mediakit.sandbox.server.startup import open_service
from mediakit.sandbox.settings import Sandbox
from mediakit.sandbox.store import holds_and_charges
from mediakit.sandbox.timing.wakeup import Wakeup, run_forever

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 5.0
START_TICK_S = 0.05
WARM_AFTER_S = 0.1


class Host:
    """One server on one data directory, in a daemon thread.

    Args:
        settings: Its settings.
        data_dir: The data directory.
        lock: Its lock, released when the server's thread ends.

    Raises:
        ServiceError: The port is taken, or the server does not start.
    """

    def __init__(self, settings: Sandbox, data_dir: DataDir, lock: Lock) -> None:
        self._data_dir = data_dir
        self._lock = lock
        self._socket = listen(settings.host, settings.port, data_dir.base_url())
        self.base_url = base_url_of(self._socket)
        try:
            self._serve(settings)
        except BaseException:
            close(self._socket)
            raise

    def _serve(self, settings: Sandbox) -> None:
        account = self._data_dir.open_account(settings.api_key)
        self._server = _Server(
            open_service(settings, self._data_dir, account, self.base_url)
        )
        self._thread = threading.Thread(
            target=self._run, name="mediakit-sandbox", daemon=True
        )
        self._data_dir.announce(self.base_url, os.getpid())
        self._thread.start()
        try:
            self._await_start()
        except BaseException:  # an interrupt, too
            self._server.should_exit = True
            self._thread.join()
            raise

    def _await_start(self) -> None:
        while not self._server.serving.wait(START_TICK_S):
            if not self._thread.is_alive():
                raise ServiceError("The sandbox did not start; see its log.")

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            close(self._socket)
            # The data directory may have been removed, or its disk may be full.
            with suppress(OSError):
                self._data_dir.announce(self.base_url, None)
            # Last, because this thread may write until here.
            self._lock.release()

    def stop(self) -> None:
        """Stop serving; the data directory is released once the server has ended."""
        self._server.should_exit = True
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            logger.warning("The sandbox is taking longer than usual to stop.")


class _Server(uvicorn.Server):
    """uvicorn's server, with an event for other threads that is set once it serves."""

    def __init__(self, service: Service) -> None:
        self.serving = threading.Event()
        config = uvicorn.Config(
            make_app(service, lambda app: _lifespan(app, service)),
            http=Connection,
            loop="asyncio",
            ws="none",
            lifespan="on",
            backlog=BACKLOG,
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()


@asynccontextmanager
async def _lifespan(app: Starlette, service: Service) -> AsyncIterator[None]:
    may_loop_back = service.settings.allow_loopback_callbacks
    inputs = Inputs(service.db, service.files, allow_loopback=may_loop_back)
    renderer = Renderer(max(1, service.settings.concurrency))
    await renderer.start()
    runner = JobRunner(service, inputs, renderer, SystemClock())
    settling = run_forever(
        service.health,
        "settling charges",
        service.settlements,
        lambda: _settle(service),
    )
    removing = run_forever(
        service.health,
        "removing old files",
        service.removals,
        lambda: remove_old(service),
    )
    keeping_time = run_forever(
        service.health,
        "keeping the time",
        Wakeup(service.clock),
        lambda: keep_time(service.db, service.clock),
    )
    sender = Sender(service, SystemClock())
    service.pauses.extend((runner.paused, sender.paused))
    service.timed.extend(_timed(service, runner, sender))
    tasks = [
        asyncio.create_task(runner.run(), name="runner"),
        asyncio.create_task(settling, name="settler"),
        asyncio.create_task(removing, name="remover"),
        asyncio.create_task(keeping_time, name="timekeeper"),
        asyncio.create_task(sender.run(), name="sender"),
    ]
    if service.settings.concurrency:
        tasks.append(asyncio.create_task(_warm(renderer), name="warming"))
    for task in tasks:
        task.add_done_callback(_report)
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await renderer.close()
    with suppress(sqlite3.Error):  # a full disk
        save_clock(service.db, service.clock, ahead_s=0)
    service.db.close()


async def _warm(renderer: Renderer) -> None:
    # Starting a process takes longer than answering, and a job does not wait for it.
    await asyncio.sleep(WARM_AFTER_S)
    await renderer.warm()


def _settle(service: Service) -> int | None:
    holds_and_charges.settle_due(service.db, service.clock.now_us())
    return holds_and_charges.next_settlement_us(service.db)


def _timed(service: Service, runner: JobRunner, sender: Sender) -> list[TimedWork]:
    async def settle(now_us: int) -> int:
        return holds_and_charges.settle_due(service.db, now_us)

    async def start(now_us: int) -> int:
        return runner.start_due(now_us)

    return [
        TimedWork("started_n", runner.next_start_us, start),
        TimedWork(
            "settled_n",
            lambda: holds_and_charges.next_settlement_us(service.db),
            settle,
        ),
        TimedWork("attempts_n", sender.next_due_us, sender.do_due),
    ]


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("the sandbox's %s ended", task.get_name(), exc_info=problem)
