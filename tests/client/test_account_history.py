"""Writes to the history run on a thread; another program's lock delays only them."""

from __future__ import annotations

import asyncio
import logging
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.client import Service
from mediakit.client.account_history import AccountHistory
from mediakit.errors import BudgetError, MediakitError
from mediakit.history import BudgetLimit, History
from tests.support.submissions import HERE, costing, job, submission

BUDGET = BudgetLimit("kites", 1_000)
BLOCKED = "The history file"
PATIENCE_S = 60.0


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


@pytest.fixture
def account_history(history: History) -> AccountHistory:
    return AccountHistory(history, Service("http://127.0.0.1:1", "key-0123456789"))


def at_once(*writes: Any) -> list[Any]:
    """Await all on one event loop; errors are returned."""

    async def gathered() -> list[Any]:
        return await asyncio.gather(*writes, return_exceptions=True)

    with asyncio.Runner() as runner:
        return runner.run(gathered())


@contextmanager
def locked(place: str) -> Iterator[None]:
    """Hold the write lock of a file, as another program does."""
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def eventually(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(in_time, condition)


def in_time(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


# -- each write -----------------------------------------------------------------------


def test_of_claims_at_once_only_those_that_fit_are_written(
    history: History, account_history: AccountHistory
) -> None:
    claims = [costing(f"k{n}", 300) for n in range(5)]

    found = at_once(
        *(account_history.write(History.claim, each, budget=BUDGET) for each in claims)
    )

    assert [type(each) for each in found] == [tuple] * 3 + [BudgetError] * 2
    assert history.budget_use(BUDGET.name).reserved_micro_usd == 900
    assert [history.find_key(f"k{n}") is not None for n in range(5)] == [
        *([True] * 3),
        *([False] * 2),
    ]


def test_a_write_that_fills_the_disk_is_an_error_and_leaves_nothing_half_written(
    history: History, account_history: AccountHistory, tmp_path: Path
) -> None:
    history.claim(submission(key="before"))
    large = b"x" * 300_000
    claims = [submission(f"k{n}", body=large) for n in range(20)]

    with room_on_disk(tmp_path, 3_000_000):
        found = at_once(
            *(account_history.write(History.claim, each) for each in claims)
        )

    failed = [each for each in found if isinstance(each, MediakitError)]
    written = [each[0] for each in found if not isinstance(each, MediakitError)]
    assert written
    assert failed
    assert all("could not be written" in str(each) for each in failed)
    assert all("Its entries are unchanged." in str(each) for each in failed)
    keys = {entry.key for entry in history.page()}
    assert keys == {"before", *(entry.key for entry in written)}
    assert history.reserved_micro_usd(**HERE) == 340_000 * len(keys)
    missing = next(each for each in claims if each.key not in keys)
    ((entry, claimed),) = at_once(account_history.write(History.claim, missing))
    assert (entry, claimed) == (history.find_key(missing.key), True)


@contextmanager
def room_on_disk(folder: Path, more_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so much more than the largest one here."""
    largest_bytes = max(path.stat().st_size for path in folder.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_bytes + more_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_was_given_up_before_its_turn_is_not_written(
    history: History, account_history: AccountHistory
) -> None:
    async def give_up() -> None:
        first, second = (
            asyncio.ensure_future(account_history.write(History.claim, submission(key)))
            for key in ("first", "second")
        )
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first

    assert at_once(give_up()) == [None]
    assert history.find_key("first") is not None
    assert history.find_key("second") is None


def test_a_write_that_has_begun_is_finished_before_its_call_ends_cancelled(
    history: History, account_history: AccountHistory
) -> None:
    begun = threading.Event()

    def slow(history: History) -> None:
        begun.set()
        time.sleep(0.1)
        history.claim(submission("begun"))

    async def give_up() -> None:
        writing = asyncio.ensure_future(account_history.write(slow))
        await eventually(begun.is_set)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert history.find_key("begun") is not None

    assert at_once(give_up()) == [None]


# -- a file that another program holds ------------------------------------------------


def test_a_locked_file_can_be_read_and_blocks_only_writes(
    history: History, account_history: AccountHistory
) -> None:
    history.claim(submission("known"))

    async def use() -> None:
        with locked(history.place):
            writing = asyncio.ensure_future(
                account_history.write(History.claim, submission("new"))
            )
            assert account_history.blocked_text() == ""
            await eventually(lambda: bool(account_history.blocked_text()))
            assert await account_history.ask(History.find_key, "known") is not None
            assert await account_history.ask(History.find_key, "new") is None
            assert not writing.done()
        entry, claimed = await writing
        assert (entry.key, claimed, account_history.blocked_text()) == ("new", True, "")

    assert at_once(use()) == [None]


def test_a_write_that_may_be_deferred_does_not_wait_until_a_file_is_unlocked(
    history: History, account_history: AccountHistory
) -> None:
    history.claim(submission("k1"))
    history.record_job("k1", job())

    def note(status: str) -> Any:
        return account_history.write_soon("media_1", History.record, job(status))

    def status() -> str | None:
        entry = history.find("media_1")
        return None if entry is None else entry.status

    async def use() -> None:
        with locked(history.place):
            await note("running")
            await note("completed")
            assert status() == "queued"
        await eventually(lambda: status() == "completed")

    assert at_once(use()) == [None]


def test_a_report_that_the_full_disk_refuses_is_written_when_there_is_room(
    history: History,
    account_history: AccountHistory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("mediakit.client.account_history.RETRY_AFTER_S", 0.01)
    tries: list[str] = []

    def report(history: History) -> None:
        tries.append("try")
        if len(tries) == 1:
            raise MediakitError("The disk is full.")
        history.claim(submission("reported"))

    assert at_once(account_history.write_soon("media_1", report)) == [None]

    assert history.find_key("reported") is not None
    assert "The disk is full. Trying again in 0 s." in caplog.text


# -- a client whose history another program holds -------------------------------------


def test_while_another_program_locks_the_history_jobs_continue_and_are_recorded_later(
    client: Client, tmp_path: Path
) -> None:
    store = client.components.store
    one = client.submit("text-to-video", prompt="a locked kite", duration=3)

    with locked(store.place):
        assert client.balance().balance_micro_usd > 0
        assert one.wait(PATIENCE_S).status == "completed"
        assert one.settle(PATIENCE_S).charge_micro_usd == 204_000
        assert one.download(tmp_path).stat().st_size > 0
        assert client.job(one.id).refresh().charge_micro_usd == 204_000
        entry = store.find(one.id)
        assert entry is not None
        assert entry.charge_micro_usd is None

    def is_recorded() -> bool:
        entry = store.find(one.id)
        return entry is not None and entry.charge_micro_usd == 204_000

    in_time(is_recorded)


def test_a_submit_says_that_another_program_holds_the_history_and_is_made_once(
    own_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mediakit.client")
    place = own_client.components.store.place

    def said() -> list[str]:
        return [
            each.getMessage()
            for each in caplog.records
            if f"{BLOCKED} {place} is locked" in each.getMessage()
        ]

    with ThreadPoolExecutor() as threads:
        with locked(place):
            submitting = threads.submit(
                own_client.submit, "text-to-video", prompt="a kite", duration=3
            )
            in_time(lambda: bool(said()))
            assert own_client.balance().balance_micro_usd == 1_000_000_000
            assert not submitting.done()
        one = submitting.result(PATIENCE_S)

    # The service counts a job on the day on which its charge was settled.
    assert one.wait(PATIENCE_S).settle(PATIENCE_S).charge_micro_usd == 204_000
    assert int(own_client.spend.daily()["jobs"].sum()) == 1
    assert len(own_client.components.store.page()) == 1
