"""The figures of the studio's head, from what is known of balance and budget."""

from __future__ import annotations

from mediakit.api_models import Balance
from mediakit.client import BudgetState
from mediakit.widgets.form.funds import Funds
from mediakit.widgets.studio.head import facts_of

BUDGET = BudgetState(5_000_000, spent_micro_usd=1_000_000, reserved_micro_usd=500_000)


def test_the_balance_stands_beside_a_budget_with_less_left() -> None:
    balance = Balance(balance_micro_usd=100_000_000)
    funds = Funds(balance, held_micro_usd=500_000, held_jobs=1, budget=BUDGET)

    of_balance, of_budget = facts_of(funds, BUDGET, 0)[:2]

    assert (of_balance["label"], of_balance["amount"]) == ("balance", "$99.50")
    assert of_balance["exact"] == "Balance: $99.50"
    assert (of_budget["label"], of_budget["amount"]) == ("left of budget", "$3.50")


def test_a_balance_that_was_not_read_is_unknown_whatever_the_budget() -> None:
    funds = Funds(budget=BUDGET, trouble="The balance is not known.")

    assert facts_of(funds, BUDGET, 0)[0]["exact"] == "Balance: unknown"
