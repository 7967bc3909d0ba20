"""Money of a prepaid and a postpaid organization at once, under any order of events."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.api_models import ErrorCode
from mediakit.sandbox.store import admission, jobs, money, orgs
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.store.jobs import JobRow
from tests.sandbox.store.rows import DAY_US, NOON, at, new_job
from tests.support.soak import trials

# What each has to spend: a balance, or a cycle's limit.
MEANS = 12_000
# Boundaries: nothing, one, half, just over two thirds, all, one too much.
AMOUNTS = (0, 1, MEANS // 2, MEANS * 2 // 3 + 1, MEANS, MEANS + 1)
SHORT_OF = {
    "prepaid": ErrorCode.INSUFFICIENT_BALANCE,
    "postpaid": ErrorCode.CYCLE_LIMIT_EXCEEDED,
}


@dataclass
class Account:
    """The few numbers that the stored organization must match."""

    org: str
    api_key: str
    mode: Literal["prepaid", "postpaid"]
    funds: int
    credits: int
    settled_in_cycle: int = 0
    running: list[JobRow] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    held: int = 0

    @property
    def left(self) -> int:
        if self.mode == "prepaid":
            return self.funds + self.credits - self.held
        return MEANS - self.settled_in_cycle - self.held

    def settle(self) -> None:
        for charge in self.pending:
            self.settled_in_cycle += charge
            if self.mode == "prepaid":
                of_credits = min(charge, self.credits)
                self.credits -= of_credits
                self.funds -= charge - of_credits


class Books:
    """A store with two organizations beside their accounts."""

    def __init__(self, db: SandboxDatabase, credits_micro_usd: int) -> None:
        self.db = db
        self.now_us = NOON
        self.made = 0
        self.holds: dict[str, int] = {}
        self.accounts = [
            self._open("prepaid", credits_micro_usd),
            self._open("postpaid", credits_micro_usd),
        ]

    def _open(self, mode: Literal["prepaid", "postpaid"], credits: int) -> Account:
        org = orgs.add_org(
            self.db,
            self.now_us,
            name=mode,
            mode=mode,
            balance_micro_usd=MEANS,
            credit_micro_usd=credits,
            cycle_limit_micro_usd=MEANS if mode == "postpaid" else None,
            concurrency=2,
            queue_size=50,
        )
        key_id, _ = orgs.add_key(self.db, self.now_us, org=org)
        return Account(org, key_id, mode, MEANS - credits, credits)

    def submit(self, account: Account, price: int) -> None:
        name = f"{self.made}"
        self.made += 1
        new = new_job(name, account.org, account.api_key, price, self.now_us)
        job, _ = admission.submit(self.db, new, None)
        wanted = SHORT_OF[account.mode] if price > account.left else None
        assert job.error_code == wanted
        if wanted is None:
            account.held += price
            self.holds[job.id] = price

    def running(self, account: Account) -> list[JobRow]:
        while job := jobs.claim(self.db, self.now_us):
            owner = next(one for one in self.accounts if one.org == job.org)
            owner.running.append(job)
        return account.running

    def raise_hold(self, account: Account, price: int) -> None:
        if not self.running(account):
            return
        job = account.running[0]
        more = price - self.holds[job.id]
        refusal = admission.hold_more(self.db, job.id, price, self.now_us)
        wanted = SHORT_OF[account.mode] if more > max(0, account.left) else None
        assert (None if refusal is None else refusal.code) == wanted
        if wanted is None and more > 0:
            account.held += more
            self.holds[job.id] = price

    def complete(self, account: Account, amount: int) -> None:
        if not self.running(account):
            return
        job = account.running.pop(0)
        charge = min(amount, self.holds[job.id])
        assert jobs.complete(self.db, job, charge, **self._ends())
        account.pending.append(charge)

    def fail(self, account: Account, _: int) -> None:
        if self.running(account):
            job = account.running.pop(0)
            assert jobs.fail(self.db, job, ErrorCode.INTERNAL, "x", **self._ends())
            account.held -= self.holds.pop(job.id)

    def kill(self, account: Account, _: int) -> None:
        jobs.requeue_running(self.db)
        for each in self.accounts:
            each.running.clear()

    def _ends(self) -> dict[str, int]:
        return {"now_us": self.now_us, "settle_due_us": self.now_us}

    def settle(self, account: Account, _: int) -> None:
        money.settle_due(self.db, self.now_us)
        for each in self.accounts:
            each.settle()
            each.pending.clear()
            each.held = self._in_flight(each)

    def submit_and_complete(self, account: Account, price: int) -> None:
        self.submit(account, price)
        self.complete(account, price)
        self.settle(account, price)

    def grant_credit(self, account: Account, amount: int) -> None:
        self._grant(account, amount, is_credit=True)
        account.credits += amount

    def grant_funds(self, account: Account, amount: int) -> None:
        self._grant(account, amount, is_credit=False)
        account.funds += amount

    def _grant(self, account: Account, amount: int, *, is_credit: bool) -> None:
        orgs.grant(
            self.db, account.org, amount, is_credit=is_credit, now_us=self.now_us
        )

    def next_month(self, account: Account, _: int) -> None:
        self.now_us += 31 * DAY_US
        for each in self.accounts:
            each.settled_in_cycle = 0

    def assert_right(self) -> None:
        for account in self.accounts:
            row = orgs.find_org(self.db, account.org)
            assert row["balance_micro_usd"] == account.funds + account.credits
            assert row["credit_micro_usd"] == account.credits
            assert row["held_micro_usd"] == account.held == self._in_flight(account)
            assert self._ledger(account) == (
                account.funds + account.credits,
                account.credits,
            )
            assert account.left >= 0

    def _ledger(self, account: Account) -> tuple[int, int]:
        row = self.db.one(
            "SELECT sum(amount_micro_usd), sum(credit_micro_usd) FROM ledger"
            " WHERE org = ?",
            account.org,
        )
        assert row is not None
        return row[0], row[1]

    def _in_flight(self, account: Account) -> int:
        total: int = self.db.value(
            "SELECT (SELECT coalesce(sum(hold_micro_usd), 0) FROM job"
            " WHERE status IN ('queued', 'running') AND org = ?)"
            " + (SELECT coalesce(sum(hold_micro_usd), 0) FROM charge"
            " WHERE state = 'pending' AND org = ?) AS total",
            account.org,
            account.org,
        )
        return total


KINDS = (
    "submit",
    "submit_and_complete",
    "complete",
    "settle",
    "raise_hold",
    "fail",
    "kill",
    "grant_credit",
    "grant_funds",
    "next_month",
)
happenings = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 1), st.sampled_from(AMOUNTS)),
    min_size=10,
    max_size=40,
)


@settings(max_examples=trials(30, soak=100))
@given(st.sampled_from([0, MEANS // 2, MEANS]), happenings)
def test_no_organization_overspends_or_spends_another_organizations_money(
    credits: int, happened: list[tuple[Any, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = SandboxDatabase(Path(folder) / "db")
        books = Books(db, credits)
        for kind, which, amount in happened:
            getattr(books, kind)(books.accounts[which], amount)
            books.assert_right()
        db.close()


def test_the_cycle_of_an_instant_is_its_month_in_utc() -> None:
    assert money.cycle_at(at(2026, 2, 1)) == (
        at(2026, 2, 1),
        at(2026, 3, 1),
    )
    assert money.cycle_at(at(2026, 3, 1) - 1) == (
        at(2026, 2, 1),
        at(2026, 3, 1),
    )
    assert money.cycle_at(at(2026, 12, 31)) == (
        at(2026, 12, 1),
        at(2027, 1, 1),
    )
