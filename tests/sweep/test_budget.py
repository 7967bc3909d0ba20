"""Reservations: what a run may still send, whatever charges turn out to be."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import pytest

from mediakit import InputError
from mediakit.history import BudgetUse
from mediakit.sweep.budget import Reservations, parse_budget, too_small


class Books:
    """What the history says of a sweep, and how often it was asked."""

    def __init__(self, spent: int = 0, reserved: int = 0) -> None:
        self.use = BudgetUse(spent, reserved)
        self.reads = 0

    async def read(self) -> BudgetUse:
        self.reads += 1
        return self.use


def reserve(reservations: Reservations, *prices: int, **more: Any) -> list[bool]:
    async def all_of_them() -> list[bool]:
        return [
            await reservations.reserve(cell, price, **more)
            for cell, price in enumerate(prices)
        ]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("amount", "micro_usd"),
    [("$5", 5_000_000), ("5 USD", 5_000_000), (2, 2_000_000), (None, None)],
)
def test_a_budget_is_read_as_elsewhere_in_the_client(
    amount: Any, micro_usd: int | None
) -> None:
    assert parse_budget(amount) == micro_usd


@pytest.mark.parametrize("amount", ["five", -1, 0.5, True])
def test_what_is_no_amount_is_refused_as_a_budget(amount: Any) -> None:
    with pytest.raises(InputError, match="budget") as caught:
        parse_budget(amount)
    assert caught.value.field == "budget"


def test_a_budget_that_is_too_small_names_the_cheapest_cell() -> None:
    assert "at least $0.204" in str(too_small(100_000, 204_000))


def test_a_quarter_more_is_held_until_a_charge_has_been_seen() -> None:
    reservations = Reservations(500, Books().read)
    assert reserve(reservations, 100, 100, 100, 100, 100) == [True] * 4 + [False]


def test_a_cell_alone_may_use_the_whole_budget_before_a_charge_has_been_seen() -> None:
    assert reserve(Reservations(100, Books().read), 100) == [False]
    assert reserve(Reservations(100, Books().read), 100, is_alone=True) == [True]


def test_a_cell_alone_keeps_the_margin_once_charges_were_above_their_estimates() -> (
    None
):
    reservations = Reservations(100, Books().read)
    reservations.charged(100, 130)
    assert reserve(reservations, 80, is_alone=True) == [False]
    assert reserve(reservations, 76, is_alone=True) == [True]


def test_estimates_that_held_are_reserved_as_they_are() -> None:
    reservations = Reservations(500, Books().read)
    reservations.charged(100, 100)
    assert reservations.factor == 1
    assert reserve(reservations, 100, 100, 100, 100, 100, 100) == [True] * 5 + [False]


def test_the_largest_charge_for_its_estimate_sets_what_is_held() -> None:
    reservations = Reservations(500, Books().read)
    for high, charge in [(100, 90), (100, 120), (100, 100)]:
        reservations.charged(high, charge)
    assert reservations.factor == Fraction(6, 5)
    assert reserve(reservations, 100, 100, 100, 100, 100) == [True] * 4 + [False]


@pytest.mark.parametrize("high", [None, 0])
def test_a_charge_without_an_estimate_says_nothing_of_others(high: int | None) -> None:
    reservations = Reservations(500, Books().read)
    reservations.charged(high, 70)
    assert reservations.factor == Fraction(5, 4)


def test_what_earlier_runs_spent_and_hold_counts() -> None:
    reservations = Reservations(1_000, Books(spent=600, reserved=100).read)
    reservations.charged(100, 100)
    assert reserve(reservations, 200, 101, 100) == [True, False, True]


def test_the_history_is_read_again_only_when_something_does_not_fit() -> None:
    books = Books()
    reservations = Reservations(300, books.read)
    reservations.charged(100, 100)
    reserve(reservations, 100, 100, 100)
    assert books.reads == 1
    reservations.claimed(0)
    reservations.claimed(1)
    books.use = BudgetUse(spent_micro_usd=50, reserved_micro_usd=0)
    assert reserve(reservations, 100, 50) == [True, True]
    assert books.reads == 2


def test_what_is_claimed_while_the_history_is_read_is_not_forgotten() -> None:
    books = Books()

    async def read() -> BudgetUse:
        before = books.use
        reservations.claimed(0)
        books.use = BudgetUse(spent_micro_usd=0, reserved_micro_usd=100)
        return before

    reservations = Reservations(200, read)
    reservations.charged(100, 100)
    assert reserve(reservations, 100) == [True]

    async def two_more() -> tuple[bool, bool]:
        return await reservations.reserve(1, 100), await reservations.reserve(2, 1)

    assert asyncio.run(two_more()) == (True, False)


def test_a_dropped_reservation_makes_room_again() -> None:
    reservations = Reservations(100, Books().read)
    reservations.charged(100, 100)
    assert reserve(reservations, 100, 100) == [True, False]
    reservations.dropped(0)
    assert reserve(reservations, 100) == [True]


def test_a_reservation_that_is_made_again_counts_once() -> None:
    reservations = Reservations(100, Books().read)
    reservations.charged(100, 100)
    assert reserve(reservations, 60) == [True]
    assert reserve(reservations, 90) == [True]
    assert reserve(reservations, 101) == [False]


def test_without_a_budget_the_history_is_not_read() -> None:
    books = Books(spent=10**9)
    assert reserve(Reservations(None, books.read), 10**12) == [True]
    assert books.reads == 0


def test_a_cell_that_is_over_says_what_is_spent_and_held() -> None:
    reservations = Reservations(5_000_000, Books(4_700_000, 200_000).read)
    reserve(reservations, 340_000)
    text = reservations.over_text(340_000)
    assert "up to $0.34" in text
    assert "$4.70 of the budget of $5.00 is spent and $0.20 is held" in text
    assert "This cell was not sent" in text
