"""The price, beside the spendable amount."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import combinations

import pytest

from mediakit.api_models import Balance
from mediakit.catalog import Catalog
from mediakit.client import BudgetState
from mediakit.errors import PriceError
from mediakit.estimates import check_price_limit
from mediakit.widgets.form.funds import Affordability, Funds
from mediakit.widgets.form.payload import price_payload, price_seen, tone_of
from mediakit.widgets.form.state import FormState
from mediakit.widgets.toolkit.styles import Tone
from tests.support.widgets import texts

CATALOG = Catalog.default()


def state_of(kind: str, funds: Funds, **values: object) -> FormState:
    return FormState.start(CATALOG.function(kind), values).with_balance(funds)


def usd(amount: int, held_micro_usd: int = 0, jobs: int | None = None) -> Funds:
    return Funds(Balance(balance_micro_usd=amount * 1_000_000), held_micro_usd, jobs)


def whole(state: FormState) -> str:
    return "\n".join(texts(price_payload(state)))


def budget(spent_micro_usd: int, reserved_micro_usd: int = 0) -> BudgetState:
    return BudgetState(1_000_000, spent_micro_usd, reserved_micro_usd)


AUTO = {"prompt": "a", "duration": "auto"}


@pytest.mark.parametrize(
    ("state", "parts"),
    [
        (
            state_of("text-to-video", usd(100)),
            [
                "$0.34",
                "exact",
                "Balance $100.00\u00a0· about 294 more",
            ],
        ),
        (
            state_of("r1", usd(100), **AUTO),
            ["$0.97\u2013$7.28", "upper bound", "about 13 more"],
        ),
        (
            state_of("text-to-video", usd(10, 680_000, 2)),
            [
                "Balance $9.32\u00a0· $0.68 held\u00a0· about 27 more",
                "$0.68 is held for 2 jobs in progress",
            ],
        ),
        (
            state_of("text-to-video", replace(usd(100), budget=budget(300_000))),
            ["Budget $0.70\u00a0· about 2 more", "warn"],
        ),
        (  # the balance has less than the budget
            state_of(
                "text-to-video", replace(usd(100, 99_500_000, 2), budget=budget(0))
            ),
            ["Balance $0.50\u00a0· $99.50 held\u00a0· about 1 more"],
        ),
        (  # of a budget, only what its own jobs hold is said
            state_of(
                "text-to-video",
                replace(usd(100, 50_000_000, 7), budget=budget(0, 340_000)),
            ),
            [
                "Budget $0.66\u00a0· $0.34 held\u00a0· about 1 more",
                "$0.34 is held for jobs in progress",
            ],
        ),
        (state_of("r1", usd(5), **AUTO), ["Balance $5.00"]),
        (
            state_of("keyframes", usd(100)),
            ["Choose images to see the price.", "Balance $100.00"],
        ),
        (
            state_of("text-to-video", Funds(trouble="No answer <b>")),
            ["No answer <b>"],
        ),
        (
            state_of("video-upscale", usd(100), video_url="https://a.test/a.mp4"),
            ["no upper price known", " per s", "Balance $100.00"],
        ),
    ],
)
def test_a_price_is_shown_with_its_kind_beside_the_balance(
    state: FormState, parts: list[str]
) -> None:
    said = whole(state)

    assert [part for part in parts if part not in said] == []
    # Without a count, no number of runs is made up; without a balance, no amount.
    assert ("about" in said) is ("about" in "".join(parts))
    assert ("$0.00" in said) is ("$0.00" in "".join(parts))


def test_a_balance_is_shown_with_its_time() -> None:
    state = state_of("text-to-video", usd(100))
    read = replace(state.funds, read_at=datetime(2026, 3, 1, 12, 0).astimezone())

    assert "294 more\u00a0· 12:00" in whole(state.with_balance(read))


@pytest.mark.parametrize(
    ("needed", "left", "tone"),
    [
        (100, 1_000, "plain"),
        (100, 500, "warn"),
        (100, 199, "bad"),
        (100, 99, "bad"),
        (100, None, "plain"),
        (None, 100, "plain"),
        (0, 0, "plain"),
        (0, -1, "bad"),
    ],
)
def test_the_price_warns_while_few_fit_and_is_red_from_the_last_one_on(
    needed: int | None, left: int | None, tone: Tone
) -> None:
    assert tone_of(Affordability(needed, left)) == tone


def test_the_lines_of_a_price_are_quantity_rate_and_amount() -> None:
    price = price_payload(state_of("text-to-video", usd(1)))
    row = ["video output, 720p, no audio", "5 s", "$0.068 per s", "$0.34"]
    assert price["lines"] == [row]
    assert (price["ends"], price["share"]) == ([340_000, 340_000], 0.34)

    unknown = state_of("video-upscale", usd(1), video_url="https://a.test/a.mp4")
    assert price_payload(unknown)["lines"][0][-1] == "price not known yet"


Ends = tuple[int | None, int | None]
FROM_CHEAP_TO_DEAR: list[Ends] = [
    (0, 0),
    (5, 5),
    (1, 7),  # its upper end counts
    (7, 7),
    (2, None),
    (3, None),
    (None, None),
]


@pytest.mark.parametrize(("before", "now"), list(combinations(FROM_CHEAP_TO_DEAR, 2)))
def test_prices_are_compared_by_upper_end_and_without_one_are_the_highest(
    before: Ends, now: Ends
) -> None:
    cheap, dear = price_seen(before), price_seen(now)
    assert cheap is not None
    assert dear is not None
    check_price_limit(cheap, dear)
    check_price_limit(dear, dear)
    with pytest.raises(PriceError) as caught:
        check_price_limit(dear, cheap)
    assert caught.value.price_micro_usd == now[1]
    assert caught.value.expected_micro_usd == before[1]
