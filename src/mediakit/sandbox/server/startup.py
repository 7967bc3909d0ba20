"""Opens a data directory: repairs the store and resumes the clock."""

import json
from functools import partial

from mediakit.clock import Clock, SystemClock
from mediakit.sandbox.core.files import Files
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.core.timed_work import CLOCK_FACT, Timekeeper, save_clock
from mediakit.sandbox.core.upload_signing import Signer
from mediakit.sandbox.faults.active_faults import Faults
from mediakit.sandbox.server.data_dir import Account, DataDir
from mediakit.sandbox.settings import Sandbox
from mediakit.sandbox.store import holds_and_charges, job_queue, named_values, uploads
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.organizations import keys
from mediakit.sandbox.timing.clock import SandboxClock, to_us
from mediakit.sandbox.timing.wakeup import Wakeup


def open_service(
    settings: Sandbox, data_dir: DataDir, account: Account, base_url: str
) -> Service:
    """Open the store and repair what a killed server left incomplete.

    Args:
        settings: The settings of the sandbox.
        data_dir: Its data directory; the caller holds its lock.
        account: Its name, key and secret.
        base_url: The URL at which it will serve.
    """
    db = Database(data_dir.database)
    clock = resume_clock(db, SystemClock(), settings.speed)
    open_accounts = partial(_open_accounts, db, settings, account, clock)
    open_accounts()
    files = Files(data_dir.path)
    files.sweep()
    job_queue.requeue_running(db)
    for file in (*job_queue.erased_files(db), *uploads.unstored_files(db)):
        files.remove(file)
    return Service(
        settings=settings,
        base_url=base_url,
        identity=account.identity,
        db=db,
        files=files,
        clock=clock,
        catalog=settings.catalog,
        signer=Signer(bytes.fromhex(account.signing_secret)),
        starts=Wakeup(clock),
        settlements=Wakeup(clock),
        deliveries=Wakeup(clock),
        removals=Wakeup(clock),
        faults=Faults(db, settings.catalog),
        timekeeper=Timekeeper(db, clock),
        open_accounts=open_accounts,
    )


def _open_accounts(
    db: Database, settings: Sandbox, account: Account, clock: SandboxClock
) -> None:
    keys.open_org(
        db,
        balance_micro_usd=settings.balance_micro_usd,
        concurrency=settings.concurrency,
        queue_size=settings.queue_size,
        now_us=clock.now_us(),
    )
    keys.allow_key(db, account.api_key, clock.now_us())


def resume_clock(db: Database, system: Clock, speed: float) -> SandboxClock:
    """Return a clock that continues where the stored one stopped, with a new speed.

    It stood still meanwhile, but it is never behind this machine's time: today's jobs
    would be in the reports of a month that is over.
    """
    epoch_us = max(to_us(system.now()), holds_and_charges.latest_us(db))
    stored = named_values.read(db, CLOCK_FACT)
    if stored is not None:
        epoch_us = max(epoch_us, json.loads(stored)["epoch_us"])
    clock = SandboxClock(system, epoch_us=epoch_us, speed=speed)
    save_clock(db, clock)
    return clock
