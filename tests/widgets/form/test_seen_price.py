"""Which price people had before their eyes when they clicked."""

from __future__ import annotations

from itertools import combinations

import pytest

from mediakit.estimates import Estimate, EstimateKind
from mediakit.money import MicroUSD
from mediakit.widgets.form.price.seen_price import ARRIVES_S, SeenPrice, is_dearer


def price(low: int | None, high: int | None) -> Estimate:
    return Estimate(
        None if low is None else MicroUSD(low),
        None if high is None else MicroUSD(high),
        EstimateKind.UNKNOWN if low is None else EstimateKind.UPPER_BOUND,
    )


EXACT, RANGE = price(5, 5), price(1, 7)
FROM_CHEAP_TO_DEAR = [
    price(0, 0),
    EXACT,
    RANGE,  # its upper end counts
    price(7, 7),
    price(2, None),
    price(3, None),
    price(None, None),
]


@pytest.mark.parametrize(("before", "now"), list(combinations(FROM_CHEAP_TO_DEAR, 2)))
def test_a_price_is_dearer_by_its_upper_end_and_dearest_without_one(
    before: Estimate, now: Estimate
) -> None:
    assert is_dearer(now, before)
    assert not is_dearer(before, now)
    assert not is_dearer(now, now)


def test_a_price_counts_as_seen_once_it_has_stood_for_a_while() -> None:
    seen = SeenPrice()
    assert seen.at(0.0) is None

    seen.show(EXACT, 0.0)
    assert seen.at(0.0) == EXACT  # there was none before it
    seen.show(RANGE, 10.0)
    seen.show(RANGE, 10.4)
    assert seen.at(10.0 + ARRIVES_S / 2) == EXACT
    assert seen.at(10.0 + ARRIVES_S) == RANGE


def test_the_least_price_of_the_last_moment_is_the_one_that_was_seen() -> None:
    seen = SeenPrice()

    for amount, at_s in ((9, 0.0), (3, 10.0), (6, 10.1), (8, 10.2)):
        seen.show(price(amount, amount), at_s)
    assert seen.at(10.2) == price(3, 3)
    assert seen.at(10.15 + ARRIVES_S) == price(6, 6)
    assert seen.at(20.0) == price(8, 8)
