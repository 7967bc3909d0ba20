"""Another program's lock delays only writes to the history."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.client import Service
from mediakit.client.account_history import AccountHistory
from mediakit.errors import MediakitError
from mediakit.history import History
from tests.support.submissions import submission
from tests.support.waiting import until

BLOCKED = "The history file"
SERVICE = Service("http://127.0.0.1:1", "key-0123456789")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


@pytest.fixture
def account_history(history: History) -> AccountHistory:
    return AccountHistory(history, SERVICE)


def at_once(*writes: Any) -> list[Any]:
    """Await all coroutines on one event loop; return errors as values."""

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


# -- a history file locked by another program ------------------------------------------


def test_an_update_that_a_full_disk_rejects_is_written_once_there_is_space(
    history: History, caplog: pytest.LogCaptureFixture
) -> None:
    account_history = AccountHistory(history, SERVICE, retry_after_s=0.01)
    tries: list[str] = []

    def report(history: History) -> None:
        tries.append("try")
        if len(tries) <= 2:
            raise MediakitError("The disk is full.")
        history.claim(submission("reported"))

    assert at_once(account_history.write_soon("media_1", report)) == [None]

    assert history.find_key("reported") is not None
    assert "The disk is full. Trying again in 0 s." in caplog.text


def test_the_event_loop_never_waits_for_a_database_server(
    postgres_url: str,
) -> None:
    used: list[threading.Thread] = []

    def note_thread(history: History) -> None:
        history.find("media_1")
        used.append(threading.current_thread())

    with History(postgres_url) as history:
        account_history = AccountHistory(history, SERVICE)
        calls = (account_history.ask(note_thread), account_history.write(note_thread))
        soon = account_history.write_soon("media_1", note_thread)
        assert at_once(*calls, soon) == [None] * 3

    assert len(used) == 3
    assert threading.current_thread() not in used


# -- a client whose history is locked by another program -------------------------------


def test_while_another_program_locks_the_history_jobs_continue_and_are_recorded_later(
    client: Client, tmp_path: Path
) -> None:
    store = client.components.store
    one = client.submit("text-to-video", prompt="a locked kite", duration=3)

    with locked(store.place):
        assert client.balance().balance_micro_usd > 0
        assert one.wait().status == "completed"
        assert one.settle().charge_micro_usd == 204_000
        assert one.download(tmp_path).stat().st_size > 0
        assert client.job(one.id).refresh().charge_micro_usd == 204_000
        entry = store.find(one.id)
        assert entry is not None
        assert entry.charge_micro_usd is None

    def is_recorded() -> bool:
        entry = store.find(one.id)
        return entry is not None and entry.charge_micro_usd == 204_000

    until(is_recorded)


def test_a_submit_reports_a_locked_history_and_is_made_once(
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
            until(lambda: bool(said()))
            assert own_client.balance().balance_micro_usd == 1_000_000_000
            assert not submitting.done()
        one = submitting.result()

    # The service counts a job on the day on which its charge was settled.
    assert one.wait().settle().charge_micro_usd == 204_000
    assert int(own_client.spend.daily()["jobs"].sum()) == 1
    assert len(own_client.components.store.page()) == 1
