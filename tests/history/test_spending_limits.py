"""Submissions fit the balance and the budget, also with concurrent senders."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from mediakit.errors import BalanceError, BudgetError
from mediakit.history import BudgetLimit, BudgetUse, History, Spendable
from mediakit.history import spending_limits as limits_module
from tests.support.servers.postgres import default_to_stricter_transactions
from tests.support.soak import trials
from tests.support.submissions import (
    HERE,
    completed,
    costing,
    failed,
    job,
    race,
    start,
    submission,
)

KITES = BudgetLimit("kites", 1_000)


# -- the balance ------------------------------------------------------------------


def test_a_claim_that_fits_the_balance_to_the_micro_dollar_is_written(history):
    spendable = Spendable(1_000, 0)
    assert history.claim(costing("k1", 400), spendable=spendable)[1]
    assert history.claim(costing("k2", 600), spendable=spendable)[1]
    assert history.account_use(**HERE).reserved_micro_usd == 1_000
    with pytest.raises(BalanceError):
        history.claim(costing("k3", 1), spendable=spendable)


def test_a_claim_that_does_not_fit_says_by_how_much_and_writes_nothing(history):
    history.claim(costing("k1", 400_000))
    with pytest.raises(BalanceError) as caught:
        history.claim(costing("k2", 700_001), spendable=Spendable(1_000_000, 0))
    assert str(caught.value) == (
        "This request may cost up to $0.700001, but only $0.60 of the balance is "
        "available ($0.40 is held for jobs in progress). Nothing was sent. Top up, or "
        "request something cheaper."
    )
    assert caught.value.needed_micro_usd == 700_001
    assert caught.value.available_micro_usd == 600_000
    assert history.find_key("k2") is None
    assert history.account_use(**HERE).reserved_micro_usd == 400_000


def test_a_balance_that_was_read_before_a_charge_is_not_spent_twice(history):
    spendable = Spendable(1_000, history.settled_total_micro_usd(**HERE))
    history.claim(costing("k1", 400), spendable=spendable)
    history.record_job("k1", completed(300))
    assert history.claim(costing("k2", 700), spendable=spendable)[1]
    with pytest.raises(BalanceError) as caught:
        history.claim(costing("k3", 1), spendable=spendable)
    assert caught.value.available_micro_usd == 0
    others = costing("k4", 900, account="other")
    assert history.claim(others, spendable=Spendable(900, 0))[1]


def test_an_unknown_price_is_left_to_the_service(history):
    unknown = submission("k1", estimate_high_micro_usd=None, reserved_micro_usd=50)
    assert history.claim(unknown, spendable=Spendable(0, 0))[1]
    assert history.account_use(**HERE).reserved_micro_usd == 50


# -- the budget -------------------------------------------------------------------


def test_a_budget_refuses_a_claim_that_does_not_fit_and_reports_its_use(history):
    budget = BudgetLimit("kites", 1_000_000)
    history.claim(costing("k1", 400_000), budget=budget)
    history.claim(costing("k2", 500_000), budget=budget)
    history.record_job("k1", completed(300_000))
    with pytest.raises(BudgetError) as caught:
        history.claim(costing("k3", 250_000), budget=budget)
    assert str(caught.value) == (
        "This request may cost up to $0.25, which is $0.05 over what is left of the "
        "budget 'kites' of $1.00: $0.30 is spent and $0.50 is held for jobs in "
        "progress. Nothing was sent. Raise the budget, or request something cheaper."
    )
    assert caught.value.needed_micro_usd == 250_000
    assert caught.value.available_micro_usd == 200_000
    assert history.find_key("k3") is None
    assert history.claim(costing("k4", 200_000), budget=budget)[1]


def test_a_claim_has_to_fit_both_the_budget_and_the_sweep(history):
    both = {"budget": KITES, "sweep": BudgetLimit("3f2a", 500)}
    history.claim(costing("k1", 400), **both)
    with pytest.raises(
        BudgetError, match=r"\$0.0001 over .* \$0.0004 is held"
    ) as caught:
        history.claim(costing("k2", 200), **both)
    assert "of the sweep's budget of $0.0005" in str(caught.value)
    with pytest.raises(BudgetError, match="the budget 'kites'"):
        history.claim(
            costing("k2", 700), **both | {"sweep": BudgetLimit("3f2a", 5_000)}
        )
    assert history.budget_use("kites") == BudgetUse(0, 400)
    assert history.sweep_use("3f2a") == BudgetUse(0, 400)
    assert history.account_use(**HERE) == BudgetUse(0, 400)


def test_a_budget_is_shared_by_all_accounts_and_identified_by_its_name(history):
    history.claim(costing("k1", 600, account="other"), budget=KITES)
    with pytest.raises(BudgetError):
        history.claim(costing("k2", 600), budget=KITES)
    assert history.claim(costing("k2", 600), budget=BudgetLimit("boats", 600))[1]
    assert history.claim(costing("k3", 600))[0].budget is None
    assert history.frame()["budget"].dropna().tolist() == ["boats", "kites"]


def test_an_unknown_price_is_refused_with_a_budget(history):
    unknown = submission("k1", estimate_high_micro_usd=None, reserved_micro_usd=0)
    with pytest.raises(
        BudgetError, match=r"The price of this request is unknown.* Nothing was sent"
    ) as caught:
        history.claim(unknown, budget=KITES)
    assert caught.value.needed_micro_usd is None
    assert caught.value.available_micro_usd == 1_000
    assert history.find_key("k1") is None


def test_an_unanswered_submission_is_moved_to_another_budget_if_it_fits(history):
    history.claim(costing("k1", 400), budget=BudgetLimit("boats", 400))
    history.claim(costing("k2", 700), budget=KITES)
    with pytest.raises(BudgetError, match="may have created a job") as caught:
        history.count_against("k1", KITES)
    assert caught.value.available_micro_usd == 300
    assert history.budget_use("boats") == BudgetUse(0, 400)

    history.claim(submission("k3", estimate_high_micro_usd=None, reserved_micro_usd=0))
    with pytest.raises(BudgetError, match="The price of this request is unknown"):
        history.count_against("k3", KITES)

    moved = history.count_against("k1", BudgetLimit("kites", 1_100))
    assert moved.budget == "kites"
    assert history.count_against("k1", KITES) == moved == history.find_key("k1")
    assert history.budget_use("kites") == BudgetUse(0, 1_100)
    assert history.budget_use("boats") == BudgetUse(0, 0)
    answered = history.record_job("k1", job())
    assert history.count_against("k1", BudgetLimit("boats", 0)) == answered


def test_an_unanswered_submission_is_moved_to_the_sweep_that_sends_it_if_it_fits(
    history,
):
    history.claim(costing("k1", 400), sweep=BudgetLimit("first", 400))
    small, large = BudgetLimit("second", 399), BudgetLimit("second", 400)
    with pytest.raises(BudgetError, match="of the sweep's budget") as caught:
        history.count_against("k1", None, "second", small)
    assert caught.value.scope == "sweep"
    assert history.sweep_use("first") == BudgetUse(0, 400)

    assert history.count_against("k1", None, "second", large).sweep == "second"
    assert history.sweep_use("first") == BudgetUse(0, 0)
    assert history.sweep_use("second") == BudgetUse(0, 400)


def test_a_limit_with_a_margin_keeps_more_than_is_held(history):
    limit = BudgetLimit("3f2a", 1_000, margin=Fraction(5, 4))
    history.claim(costing("k1", 400), sweep=limit)
    with pytest.raises(BudgetError, match=r"\$0.000002 over"):
        history.claim(costing("k2", 401), sweep=limit)
    assert history.claim(costing("k2", 400), sweep=limit)[1]
    history.record_job("k1", completed(500))
    with pytest.raises(BudgetError):
        history.claim(costing("k3", 1), sweep=limit)


def test_failed_and_refused_submissions_release_their_holds(history):
    for key in ("k1", "k2"):
        history.claim(costing(key, 300), budget=KITES)
    history.record_job("k1", failed(job_id="media_1"))
    history.record_refusal("k2", code="422", message="no")
    assert history.budget_use("kites") == BudgetUse(0, 0)
    assert history.claim(costing("k4", 1_000), budget=KITES)[1]


# -- any order --------------------------------------------------------------------


class Service:
    """The true balance of the service, and the state of its jobs."""

    def __init__(self, balance):
        self.balance = balance
        self.running = set()
        self.failed = set()
        self.charges = {}

    def collect(self, key, charge):
        self.running.discard(key)
        self.balance -= charge
        self.charges[key] = charge

    def refund(self, key, charge):
        self.balance += self.charges[key] - charge
        self.charges[key] = charge

    def record(self, key):
        """Return the current record of a job; None without a job."""
        if key in self.charges:
            return completed(self.charges[key], job_id=f"media_{key}")
        if key in self.failed:
            return failed(job_id=f"media_{key}")
        return job("running", f"media_{key}") if key in self.running else None


NUMBERS = count(1)


class AnyOrder(RuleBasedStateMachine):
    """Two histories of one file, one account, two budgets, and old balances."""

    claims = Bundle("claims")
    readings = Bundle("readings")
    balances = Bundle("balances")

    def __init__(self, histories):
        super().__init__()
        self.histories = histories

    @initialize(
        target=balances,
        balance=st.integers(20, 60),
        limits=st.tuples(st.integers(10, 20), st.integers(20, 60)),
    )
    def open(self, balance, limits):
        self.service = Service(balance)
        self.owner = {"service": "sandbox", "account": f"mine {next(NUMBERS)}"}
        self.budgets = [
            BudgetLimit(f"{self.owner['account']} {n}", limit)
            for n, limit in enumerate(limits)
        ]
        self.prices = {}  # by key: what was claimed, and under which budget
        self.held = set()
        self.refused = set()
        self.spent = {}  # by key: the first charge that was recorded
        return Spendable(balance, 0)

    def reserved(self, budget=None):
        return sum(
            price
            for key, (price, name) in self.prices.items()
            if key in self.held and budget in (None, name)
        )

    def settled(self, budget=None):
        return sum(
            charge
            for key, charge in self.spent.items()
            if budget in (None, self.prices[key][1])
        )

    def fits(self, price, spendable, budget):
        since = self.settled() - spendable.settled_micro_usd
        available = spendable.micro_usd - since - self.reserved()
        used = self.settled(budget.name) + self.reserved(budget.name)
        return price <= available and used + price <= budget.limit_micro_usd

    def attempt(self, key, history, price, spendable, budget):
        expected = self.fits(price, spendable, budget)
        before = history.page(**self.owner, limit=1_000)
        submit = costing(key, price, **self.owner)
        try:
            _, is_new = history.claim(submit, spendable=spendable, budget=budget)
        except (BalanceError, BudgetError):
            assert not expected
            assert history.page(**self.owner, limit=1_000) == before
            return False
        assert expected
        assert is_new
        self.prices[key] = (price, budget.name)
        self.held.add(key)
        return True

    @rule(
        target=claims,
        who=st.integers(0, 1),
        price=st.integers(0, 20),
        spendable=balances,
        budget=st.integers(0, 1),
    )
    def claim(self, who, price, spendable, budget):
        key = f"{self.owner['account']} {len(self.prices)}"
        history = self.histories[who]
        if self.attempt(key, history, price, spendable, self.budgets[budget]):
            return key
        return multiple()

    @rule(key=claims, who=st.integers(0, 1), spendable=balances)
    def claim_again(self, key, who, spendable):
        history = self.histories[who]
        price, name = self.prices[key]
        (budget,) = (one for one in self.budgets if one.name == name)
        if key in self.refused:
            if self.attempt(key, history, price, spendable, budget):
                self.refused.remove(key)
            return
        known = history.find_key(key)
        submit = costing(key, price, **self.owner)
        again = history.claim(submit, spendable=spendable, budget=budget)
        assert again == (known, False)

    @rule(
        key=claims,
        what=st.sampled_from(["refused", "taken", "collected", "failed", "refunded"]),
        percent=st.sampled_from([100, 50, 0]),
        who=st.sampled_from([0, 1, None]),
    )
    def the_service_decides(self, key, what, percent, who):
        service = self.service
        if key in self.held and not service.record(key):
            if what == "refused":
                self.refuse(key)
                return
            service.running.add(key)
        if what == "collected" and key in service.running:
            service.collect(key, self.prices[key][0] * percent // 100)
        elif what == "failed" and key in service.running:
            service.running.remove(key)
            service.failed.add(key)
        elif what == "refunded" and key in service.charges:
            service.refund(key, service.charges[key] * percent // 100)
        self.tell(who, service.record(key))

    def refuse(self, key):
        self.histories[0].record_refusal(key, code="422", message="no")
        self.held.remove(key)
        self.refused.add(key)

    @rule(key=claims, who=st.integers(0, 1), is_late=st.booleans())
    def a_record_is_read(self, key, who, is_late):
        record = self.service.record(key)
        self.tell(who, job("queued", record.id) if record and is_late else record)

    def tell(self, who, record):
        """Record a job in one of the histories, or in none."""
        if who is None or record is None:
            return
        key = record.id.removeprefix("media_")
        self.histories[who].record_job(key, record)
        if record.status.terminal:
            self.held.discard(key)
        if record.settled_charge_micro_usd is not None:
            self.spent.setdefault(key, record.settled_charge_micro_usd)

    @rule(target=readings, who=st.integers(0, 1))
    def reading_the_balance_begins(self, who):
        return self.histories[who].settled_total_micro_usd(**self.owner)

    @rule(target=balances, settled_before=readings, top_up=st.integers(0, 20))
    def reading_the_balance_ends(self, settled_before, top_up):
        spendable = Spendable(self.service.balance, settled_before)
        self.service.balance += top_up
        return spendable

    @invariant()
    def budgets_are_kept(self):
        for budget in getattr(self, "budgets", ()):
            use = self.histories[0].budget_use(budget.name)
            expected = (self.settled(budget.name), self.reserved(budget.name))
            assert (use.spent_micro_usd, use.reserved_micro_usd) == expected
            assert sum(expected) <= budget.limit_micro_usd

    @invariant()
    def the_balance_carries_all_that_may_still_be_charged(self):
        if not hasattr(self, "service"):
            return
        ended = self.service.failed | self.service.charges.keys() | self.refused
        open_ = sum(
            price for key, (price, _) in self.prices.items() if key not in ended
        )
        assert self.service.balance - open_ >= 0


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_any_order_of_submissions_ends_and_charges_keeps_balance_and_budgets(place):
    few = settings(max_examples=trials(30, soak=100) if isinstance(place, Path) else 5)
    with History(place) as one, History(place) as other:
        run_state_machine_as_test(lambda: AnyOrder((one, other)), settings=few)


# -- at the same time -------------------------------------------------------------

RACE = """
import sys
from mediakit.errors import BalanceError, BudgetError
from mediakit.history import BudgetLimit, History, Spendable
from tests.support.submissions import costing
place, name, limit = sys.argv[1:]
limits = {"balance": {"spendable": Spendable(1_000, 0)}}
limits["budget"] = {"budget": BudgetLimit("kites", 1_000)}
sys.stdin.readline()
claimed = refused = 0
with History(place) as history:
    for n in range(20):
        try:
            history.claim(costing(f"{name} {n}", 100), **limits[limit])
            claimed += 1
        except (BalanceError, BudgetError):
            refused += 1
print(claimed, refused)
"""


@pytest.mark.parametrize(
    ("where", "limit"),
    [
        ("sqlite", "balance"),
        ("sqlite", "budget"),
        ("postgres", "balance"),
        pytest.param("postgres", "budget", marks=pytest.mark.soak),
    ],
)
def test_four_processes_claim_no_more_than_the_money_covers(
    where, limit, tmp_path, request
):
    if where == "sqlite":
        place = tmp_path / "history.db"
    else:
        place = request.getfixturevalue("postgres_url")
        default_to_stricter_transactions(place)
    History(place).close()
    outcomes = race([start(RACE, place, f"p{n}", limit) for n in range(4)])
    counts = [tuple(map(int, line.split())) for line in outcomes]
    assert sum(claimed for claimed, _ in counts) == 10
    assert sum(refused for _, refused in counts) == 70
    with History(place) as history:
        assert history.account_use(**HERE).reserved_micro_usd == 1_000


@pytest.mark.parametrize("limit", ["balance", "budget"])
def test_a_claim_waits_for_the_decision_on_the_previous_one(
    limit, postgres_url, monkeypatch
):
    limits = {
        "balance": {"spendable": Spendable(1_000, 0)},
        "budget": {"budget": KITES},
    }[limit]
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    before_deciding, may_decide = threading.Event(), threading.Event()
    check = f"mediakit.history.spending_limits.refuse_beyond_{limit}"
    decide = getattr(limits_module, f"refuse_beyond_{limit}")

    def slowly(*args):
        if not before_deciding.is_set():
            before_deciding.set()
            assert may_decide.wait(120)
        decide(*args)

    with (
        History(postgres_url) as history,
        psycopg.connect(postgres_url, autocommit=True) as other,
        ThreadPoolExecutor() as pool,
    ):
        monkeypatch.setattr(check, slowly)
        first = pool.submit(history.claim, costing("k1", 600), **limits)
        assert before_deciding.wait(120)
        second = pool.submit(history.claim, costing("k2", 600), **limits)
        while not (second.done() or other.execute(waits).fetchone()[0]):
            time.sleep(0.01)
        may_decide.set()
        assert first.result()[1]
        with pytest.raises((BalanceError, BudgetError)):
            second.result()


def test_an_entry_that_another_sweep_submitted_first_keeps_its_sweep(
    history: History,
) -> None:
    first, _ = history.claim(costing("k1", 400), sweep=BudgetLimit("first", 1_000))
    again, is_new = history.claim(costing("k1", 400), sweep=BudgetLimit("second", 0))
    assert (again, is_new) == (first, False)
    assert history.sweep_use("first") == BudgetUse(0, 400)
    assert history.sweep_use("second") == BudgetUse(0, 0)


def test_a_refused_entry_belongs_to_the_sweep_that_submits_again(
    history: History,
) -> None:
    history.claim(costing("k1", 400), sweep=BudgetLimit("first", 1_000))
    history.record_refusal("k1", code="422", message="no")
    entry, is_new = history.claim(costing("k1", 400), sweep=BudgetLimit("second", 400))
    assert (entry.sweep, is_new) == ("second", True)
    assert history.sweep_use("first") == BudgetUse(0, 0)
    assert history.sweep_use("second") == BudgetUse(0, 400)
