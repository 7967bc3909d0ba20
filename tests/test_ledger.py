"""What many tasks write at once is one commit, and each of them fails alone."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mediakit.client import Service
from mediakit.client.ledger import Ledger
from mediakit.errors import BudgetError, MediakitError, NotFoundError
from mediakit.history import Budget, Entry, History
from tests.intents import costing, intent, job

BUDGET = Budget("kites", 1_000)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


@pytest.fixture
def ledger(history: History) -> Ledger:
    return Ledger(history, Service("http://127.0.0.1:1", "key-0123456789"))


def at_once(*writes: Any) -> list[Any]:
    """Await all in one turn of a loop; errors are returned."""

    async def gathered() -> list[Any]:
        return await asyncio.gather(*writes, return_exceptions=True)

    with asyncio.Runner() as runner:
        return runner.run(gathered())


def test_of_claims_at_once_only_those_that_fit_are_written(
    history: History, ledger: Ledger
) -> None:
    claims = [costing(f"k{n}", 300) for n in range(5)]

    found = at_once(
        *(ledger.write(History.claim, each, budget=BUDGET) for each in claims)
    )

    assert [type(each) for each in found] == [tuple] * 3 + [BudgetError] * 2
    assert history.budget_use(BUDGET.name).reserved_micro_usd == 900
    assert [history.find_key(f"k{n}") is not None for n in range(5)] == [
        *([True] * 3),
        *([False] * 2),
    ]


def test_the_same_key_at_once_is_claimed_once(ledger: Ledger) -> None:
    found = at_once(*(ledger.write(History.claim, intent()) for _ in range(4)))

    assert [claimed for _, claimed in found] == [True, False, False, False]


def test_what_fails_takes_nothing_else_with_it(
    history: History, ledger: Ledger
) -> None:
    history.claim(intent(key="known"))

    wrong, right = at_once(
        ledger.write(History.record_job, "unknown", job()),
        ledger.write(History.record_job, "known", job()),
    )

    assert isinstance(wrong, NotFoundError)
    assert isinstance(right, Entry)
    assert history.find_key("known") == right


def test_what_could_not_be_committed_is_an_error_of_all_and_is_not_remembered(
    history: History, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.claim(intent(key="k0"))

    def full(*_: object) -> None:
        raise MediakitError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr("mediakit.history.database.FileConnection.transaction", full)
        found = at_once(*(ledger.write(History.claim, intent(key=k)) for k in "ab"))

    assert [str(each) for each in found] == ["The disk is full."] * 2
    assert history.record_job("k0", job()).job_id == "media_1"
    assert history.find_key("a") is None


def test_a_disk_that_fills_up_amid_a_commit_is_an_error_of_all_that_share_it(
    history: History, ledger: Ledger, tmp_path: Path
) -> None:
    history.claim(intent(key="before"))
    history.claim(intent(key="asked"))
    large = b"x" * 300_000  # together more than SQLite keeps in memory
    claims = [intent(f"k{n}", body=large) for n in range(20)]

    with room_on_disk(tmp_path, 3_000_000):
        alone, *found = at_once(
            ledger.write(History.claim, intent("alone")),
            *(ledger.write(History.claim, each) for each in claims),
            ledger.write(History.record_job, "asked", job()),
            ledger.write(History.claim, intent("small")),
        )

    assert alone == (history.find_key("alone"), True)
    assert {type(each) for each in found} == {MediakitError}
    (told,) = {str(each) for each in found}
    assert "could not be written" in told
    assert "What it held is unchanged." in told
    assert [entry.key for entry in history.page()] == ["alone", "asked", "before"]
    assert history.find("media_1") is None
    ((entry, claimed),) = at_once(ledger.write(History.claim, claims[0]))
    assert (entry, claimed) == (history.find_key("k0"), True)


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
    history: History, ledger: Ledger
) -> None:
    async def give_up() -> None:
        first, second = (
            asyncio.ensure_future(ledger.write(History.claim, intent(key)))
            for key in ("first", "second")
        )
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first

    at_once(give_up())

    assert history.find_key("first") is not None
    assert history.find_key("second") is None


def test_a_task_that_writes_alone_waits_for_no_turn_of_the_loop(ledger: Ledger) -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def write_often() -> list[int]:
        counting = asyncio.ensure_future(count_turns())
        seen = []
        for number in range(3):
            await asyncio.sleep(0)
            before = turns
            await ledger.write(History.claim, intent(f"k{number}"))
            its_job = job(job_id=f"media_{number}")
            await ledger.write(History.record_job, f"k{number}", its_job)
            seen.append(turns - before)
        counting.cancel()
        return seen

    assert at_once(write_often()) == [[0, 0, 0]]


def test_what_several_tasks_write_turn_after_turn_is_one_commit_a_turn(
    history: History, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[None] = []
    together = History.together

    def counted(self: History) -> Any:
        commits.append(None)
        return together(self)

    monkeypatch.setattr(History, "together", counted)

    async def work(name: str) -> None:
        for number in range(4):
            await ledger.write(History.claim, intent(f"{name}{number}"))

    at_once(*(work(name) for name in "abcde"))

    assert len(history.page()) == 20
    assert 4 <= len(commits) <= 5  # the first of all is written on the spot


def test_several_loops_may_use_one_ledger(history: History, ledger: Ledger) -> None:
    for key in ("one", "two"):
        ((entry, claimed),) = at_once(ledger.write(History.claim, intent(key=key)))
        assert (entry.key, claimed) == (key, True)
