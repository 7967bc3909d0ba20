"""Serves a data directory from a thread of this process."""

import asyncio
import logging
import os
import socket
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from ipaddress import ip_address
from typing import ClassVar
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from mediakit.clock import Clock, SystemClock, to_us
from mediakit.errors import ServiceError
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.data_dir import Account, DataDir
from mediakit.sandbox.faults import Faults
from mediakit.sandbox.file_eviction import CHECK_INTERVAL_S, evict_oldest_files
from mediakit.sandbox.files import Files
from mediakit.sandbox.jobs.inputs import JobInputs
from mediakit.sandbox.jobs.job_runner import JobRunner
from mediakit.sandbox.jobs.renderer import POOL, Renderer
from mediakit.sandbox.server.app import Connection, make_app
from mediakit.sandbox.service import SandboxService
from mediakit.sandbox.settings import Sandbox
from mediakit.sandbox.store import jobs, money, orgs
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.webhook_sender import WebhookSender
from mediakit.sandbox.work_loop import (
    CLOCK_LEASE_S,
    Work,
    WorkLoop,
    regular_work,
    save_clock,
    stored_epoch_us,
)

logger = logging.getLogger(__name__)

BACKLOG = 512
STOP_TIMEOUT_S = 5.0
START_TICK_S = 0.005
WARM_AFTER_S = 0.1


class Host:
    """A server of one data directory, in a daemon thread."""

    alive: ClassVar["weakref.WeakSet[Host]"] = weakref.WeakSet()

    def __init__(self, settings: Sandbox, data_dir: DataDir, lock: int) -> None:
        self._data_dir = data_dir
        self._lock: int | None = lock
        self._socket: socket.socket | None = None
        Host.alive.add(self)
        try:
            self._socket = listen(settings.host, settings.port, data_dir.base_url())
            self.base_url = base_url_of(self._socket)
            self._serve(settings, self._socket)
        except BaseException:
            self.abandon()
            raise

    def _serve(self, settings: Sandbox, listening: socket.socket) -> None:
        account = self._data_dir.open_account(settings.api_key)
        service = open_service(settings, self._data_dir, account, self.base_url)
        self._server = uvicorn.Server(
            uvicorn.Config(
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
        )
        self._thread = threading.Thread(
            target=self._run, args=[listening], name="mediakit-sandbox", daemon=True
        )
        self._data_dir.announce(self.base_url, os.getpid())
        self._thread.start()
        try:
            while not self._server.started:
                self._thread.join(START_TICK_S)
                if not self._thread.is_alive():
                    raise ServiceError("The sandbox did not start; see its log.")
        except BaseException:  # including an interrupt
            self._server.should_exit = True
            self._thread.join()
            raise

    def _run(self, listening: socket.socket) -> None:
        try:
            self._server.run(sockets=[listening])
        finally:
            listening.close()
            # The data directory may have been removed, or its disk may be full.
            with suppress(OSError):
                self._data_dir.announce(self.base_url, None)
            # Release the lock last, because this thread may write until here.
            self.abandon()

    def abandon(self) -> None:
        """Release the port and the lock, even in a forked child, which does not serve.

        A second call does nothing.
        """
        if self._socket is not None:
            self._socket.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def stop(self, timeout_s: float) -> None:
        """Stop serving; the data directory is released once the server has ended."""
        self._server.should_exit = True
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            logger.warning("The sandbox is taking longer than usual to stop.")


@asynccontextmanager
async def _lifespan(app: Starlette, service: SandboxService) -> AsyncIterator[None]:
    may_loop_back = service.settings.allow_loopback_callbacks
    inputs = JobInputs(service.db, service.files, allow_loopback=may_loop_back)
    renderer = Renderer(max(1, service.settings.concurrency))
    runner = JobRunner(service, inputs, renderer, SystemClock())
    sender = WebhookSender(service, SystemClock())
    service.work.works.extend(_works(service, runner, sender))
    tasks = [asyncio.create_task(service.work.run(), name="work")]
    if service.settings.concurrency:
        tasks.append(asyncio.create_task(_warm(), name="warming"))
    for task in tasks:
        task.add_done_callback(_report)
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await service.work.cancel()
    renderer.close()
    with suppress(sqlite3.Error):  # such as a full disk
        save_clock(service.db, service.clock, ahead_s=0)
    service.db.close()


async def _warm() -> None:
    # Starting a process takes longer than answering, and a job does not wait for it.
    await asyncio.sleep(WARM_AFTER_S)
    POOL.warm()


def _works(
    service: SandboxService, runner: JobRunner, sender: WebhookSender
) -> list[Work]:
    db, clock = service.db, service.clock
    return [
        # Anything that may let a job start wakes the loop.
        Work(runner.start_due, lambda: None, tasks=runner.tasks),
        Work(
            partial(money.settle_due, db),
            partial(money.next_settlement_us, db),
            "settled_n",
        ),
        Work(sender.start_due, sender.next_due_us, "attempts_n", sender.tasks),
        regular_work(clock, CHECK_INTERVAL_S, partial(evict_oldest_files, service)),
        regular_work(clock, CLOCK_LEASE_S / 2, partial(save_clock, db, clock)),
    ]


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("the sandbox's %s ended", task.get_name(), exc_info=problem)


# -- Opening a data directory --------------------------------------------------------


def open_service(
    settings: Sandbox, data_dir: DataDir, account: Account, base_url: str
) -> SandboxService:
    """Open the store, and repair the data of a killed server."""
    db = SandboxDatabase(data_dir.database)
    clock = resume_clock(db, SystemClock(), settings.speed)

    def open_accounts() -> None:
        orgs.open_default(
            db,
            account.api_key,
            balance_micro_usd=settings.balance_micro_usd,
            concurrency=settings.concurrency,
            queue_size=settings.queue_size,
            now_us=clock.now_us(),
        )

    open_accounts()
    files = Files(data_dir.path)
    files.sweep()
    jobs.requeue_running(db)
    for file in jobs.removed_files(db):
        files.remove(file)
    return SandboxService(
        settings=settings,
        base_url=base_url,
        identity=account.identity,
        db=db,
        files=files,
        clock=clock,
        catalog=settings.catalog,
        faults=Faults(db, settings.catalog),
        work=WorkLoop(db, clock),
        open_accounts=open_accounts,
    )


def resume_clock(db: SandboxDatabase, system: Clock, speed: float) -> SandboxClock:
    """Return a clock that continues from the stored one, with a new speed.

    The clock stood still in the meantime, but it never falls behind this machine's
    time: today's jobs would then be in the reports of a past month.
    """
    epoch_us = max(to_us(system.now()), money.latest_us(db), stored_epoch_us(db))
    clock = SandboxClock(system, epoch_us=epoch_us, speed=speed)
    save_clock(db, clock)
    return clock


# -- Sockets -----------------------------------------------------------------------


def listen(host: str, port: int, previous_url: str | None) -> socket.socket:
    """Listen on the given port, or on the previous one, which old URLs contain."""
    previous = urlsplit(previous_url or "").port
    if not port and previous is not None:
        try:
            return _listen(host, previous)
        except ServiceError:
            logger.info("port %d is in use; the sandbox uses another one", previous)
    return _listen(host, port)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is explicit because asyncio sets TCP_NODELAY only on sockets that
    # name it. Without it each small response waits 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        raise ServiceError(
            f"The sandbox cannot listen on {host}, port {port}: {problem.strerror}. "
            "Choose another --port or --host."
        ) from None
    listening.setblocking(False)  # noqa: FBT003 - its only parameter
    return listening


def base_url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket on this machine."""
    host, port = listening.getsockname()[:2]
    address = ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
