"""Totals agree with the entries after any changes, in any order."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from mediakit.errors import BudgetError, NotFoundError
from mediakit.history import BudgetLimit, BudgetUse, Entry, History, importing
from tests.support.soak import trials
from tests.support.submissions import (
    HERE,
    START,
    completed,
    costing,
    failed,
    job,
)
from tests.support.virtual_clock import VirtualClock

NUMBERS = count(1)
BUDGETS = ("kites", "boats")
SWEEPS = ("plan 1", "plan 2")
PLENTY_MICRO_USD = 10**9


def used(entry: Entry) -> tuple[int, int]:
    """Return the spending and the hold of one entry, from its state alone."""
    waits = entry.state in ("unanswered", "submitted", "terminal")
    holds = waits and entry.status != "failed"
    return entry.charge_micro_usd or 0, entry.reserved_micro_usd if holds else 0


def counted(entries: list[Entry]) -> BudgetUse:
    spent, held = zip(*map(used, entries), strict=True) if entries else ((), ())
    return BudgetUse(sum(spent), sum(held))


def agrees(history: History, account: str) -> None:
    """Compare the totals with the sums over all entries."""
    entries = history.page(limit=10_000)
    mine = [entry for entry in entries if entry.account == account]
    jobs = [entry.job_id for entry in mine if entry.job_id is not None]
    assert len(jobs) == len(set(jobs))
    assert history.account_use(service="sandbox", account=account) == counted(mine)
    for name in {entry.budget for entry in entries if entry.budget}:
        under_it = [entry for entry in entries if entry.budget == name]
        assert history.budget_use(name) == counted(under_it)
    for name in {entry.sweep for entry in entries if entry.sweep}:
        cells = [entry for entry in entries if entry.sweep == name]
        assert history.sweep_use(name) == counted(cells)


class Anything(RuleBasedStateMachine):
    """Two histories of one database, and all changes of an entry."""

    keys = Bundle("keys")

    def __init__(self, histories: tuple[History, History]) -> None:
        super().__init__()
        self.histories = histories

    @initialize()
    def begin(self) -> None:
        self.account = f"mine {next(NUMBERS)}"
        self.jobs = Counter[str]()

    def submission(
        self, key: str, price: int, budget: str | None = None, sweep: str | None = None
    ) -> Any:
        return costing(
            key,
            price,
            account=self.account,
            draw_key=f"draw {key}",
            budget=budget,
            sweep=sweep,
        )

    @rule(
        target=keys,
        who=st.integers(0, 1),
        price=st.integers(0, 3),
        budget=st.sampled_from([None, *BUDGETS]),
        sweep=st.sampled_from([None, *SWEEPS]),
    )
    def a_submit(
        self, who: int, price: int, budget: str | None, sweep: str | None
    ) -> str:
        key = f"k{next(NUMBERS)}"
        self.histories[who].claim(self.submission(key, price, budget, sweep))
        return key

    @rule(key=keys, who=st.integers(0, 1), budget=st.sampled_from(BUDGETS))
    def the_same_again(self, key: str, who: int, budget: str) -> None:
        limit = BudgetLimit(budget, PLENTY_MICRO_USD)
        its_sweep = BudgetLimit(SWEEPS[0], PLENTY_MICRO_USD)
        asked = self.submission(key, 2, sweep=SWEEPS[1])
        self.histories[who].claim(asked, budget=limit, sweep=its_sweep)

    @rule(
        key=keys,
        who=st.integers(0, 1),
        what=st.sampled_from(["queued", "running", "completed", "unsettled", "failed"]),
        charge=st.integers(0, 3),
    )
    def a_record_is_read(self, key: str, who: int, what: str, charge: int) -> None:
        job_id = f"media_{key}"
        known = self.histories[who].find_key(key)
        if known is None or known.job_id not in (None, job_id):
            return
        record = {
            "completed": completed(charge, job_id=job_id),
            "unsettled": job("completed", job_id),
            "failed": failed(job_id=job_id),
        }.get(what, job("queued" if what == "queued" else "running", job_id))
        self.histories[who].record_job(key, record)

    @rule(
        key=keys,
        who=st.integers(0, 1),
        budget=st.sampled_from(BUDGETS),
        limit_micro_usd=st.sampled_from([0, 3, PLENTY_MICRO_USD]),
    )
    def another_budget_takes_it_over(
        self, key: str, who: int, budget: str, limit_micro_usd: int
    ) -> None:
        history = self.histories[who]
        with suppress(BudgetError, NotFoundError):
            history.count_against(key, BudgetLimit(budget, limit_micro_usd))

    @rule(key=keys, who=st.integers(0, 1))
    def a_refusal(self, key: str, who: int) -> None:
        if self.histories[who].find_key(key) is not None:
            self.histories[who].record_refusal(key, code="422", message="no")

    @rule(key=keys, who=st.integers(0, 1))
    def the_service_forgets_it(self, key: str, who: int) -> None:
        self.histories[who].mark_gone(f"media_{key}")

    @rule(
        key=keys,
        who=st.integers(0, 1),
        is_known=st.booleans(),
        charge=st.none() | st.integers(0, 3),
    )
    def a_lost_job_is_taken_in(
        self, *, key: str, who: int, is_known: bool, charge: int | None
    ) -> None:
        self.jobs[key] += 1
        job_id = f"media_{key} {self.jobs[key]}"
        name = f"rebuilt-{job_id}"
        asked = self.submission(key if is_known else name, 3, BUDGETS[0], SWEEPS[0])
        record = job("completed", job_id) if charge is None else None
        importing.adopt(
            self.histories[who],
            asked,
            record or completed(charge or 0, job_id=job_id),
            created_at=START,
            submitted_at=None,
            finished_at=None,
        )

    @rule(key=keys, who=st.integers(0, 1), charge=st.none() | st.integers(0, 3))
    def its_job_is_taken_in_without_its_request(
        self, key: str, who: int, charge: int | None
    ) -> None:
        job_id = f"media_{key}"
        record = job("running", job_id) if charge is None else None
        importing.adopt(
            self.histories[who],
            self.submission(f"rebuilt-{job_id}", 1, BUDGETS[1]),
            record or completed(charge or 0, job_id=job_id),
            created_at=START,
            submitted_at=None,
            finished_at=None,
        )

    @invariant()
    def totals_agree(self) -> None:
        if hasattr(self, "account"):
            agrees(self.histories[0], self.account)


def test_totals_agree_with_entries_after_every_change(place: Any) -> None:
    is_file = isinstance(place, Path)
    few = settings(max_examples=trials(20, soak=60) if is_file else 6)

    class Now(Anything):
        def __init__(self) -> None:
            # Each example has its own file: all entries are read after each change.
            its = place.with_name(f"{next(NUMBERS)}.sqlite3") if is_file else place
            super().__init__((History(its), History(its)))

        def teardown(self) -> None:
            for history in self.histories:
                history.close()

    run_state_machine_as_test(Now, settings=few)


def test_a_job_that_the_service_does_not_know_is_asked_for_and_held_for_a_day(
    history: History, clock: VirtualClock
) -> None:
    history.claim(costing("k1", 400))
    history.record_job("k1", job("running"))
    for hours, held in ((0, 400), (23, 400), (1, 0)):
        asyncio.run(clock.advance(hours * 3_600))
        history.mark_gone("media_1")
        assert history.account_use(**HERE) == BudgetUse(0, held)
        assert len(history.unsettled(service="sandbox")) == (1 if held else 0)
    seen_again = history.record(job("running"))
    assert seen_again is not None
    assert seen_again.gone_at is None
    assert history.account_use(**HERE) == BudgetUse(0, 400)
    history.record(completed(300))
    assert history.account_use(**HERE) == BudgetUse(300, 0)
