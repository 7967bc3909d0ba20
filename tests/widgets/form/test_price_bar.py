"""What it costs beside what can be spent, in HTML."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.client import BudgetState
from mediakit.records import Balance
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.form.price.funds import Affordability, Funds
from mediakit.widgets.form.price.price_bar import (
    PriceBar,
    balance_html,
    lines_html,
    price_html,
    tone_of,
)
from mediakit.widgets.form.state import FormState
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.styles import Tone
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

CATALOG = Catalog.default()


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


def state_of(kind: str, funds: Funds, **values: object) -> FormState:
    return FormState.start(CATALOG.function(kind), values).with_balance(funds)


def usd(amount: int, held_micro_usd: int = 0, jobs: int | None = None) -> Funds:
    return Funds(Balance(balance_micro_usd=amount * 1_000_000), held_micro_usd, jobs)


def whole(state: FormState) -> str:
    return price_html(state) + balance_html(state)


def test_an_exact_price_stands_with_its_share_and_its_count() -> None:
    html = whole(state_of("text-to-video", usd(100)))

    assert "<b>$0.34</b>" in html
    assert ">exact<" in html
    assert "Balance: $100.00 · enough for about 294 runs" in html
    assert "width:0.34%" in html


def test_a_range_stands_with_its_kind() -> None:
    html = whole(state_of("r1", usd(100), prompt="a", duration="auto"))

    assert "<b>$0.97\u2013$7.28</b>" in html
    assert ">upper bound<" in html
    assert "enough for about 13 runs" in html


def test_a_price_of_which_the_rate_alone_is_known_takes_no_share() -> None:
    source = "https://clips.example/a.mp4"
    state = state_of("video-upscale", usd(100), video_url=source)
    html = whole(state)

    assert ">no upper price known<" in html
    assert " per s</b>" in html
    assert ">Balance: $100.00<" in html
    assert "%" not in html.split("width:")[1].split("</i>")[1]
    assert "<td class=mk-num>price not known yet</td>" in lines_html(state.estimate)


def test_held_amounts_are_shown_and_are_not_left() -> None:
    html = whole(state_of("text-to-video", usd(10, 680_000, 2)))

    assert "Balance: $9.32" in html
    assert "$0.68 is held by 2 running jobs" in html


def test_a_budget_is_named_where_less_is_left_of_it_than_of_the_balance() -> None:
    budget = BudgetState(1_000_000, spent_micro_usd=300_000, reserved_micro_usd=0)
    state = state_of("text-to-video", replace(usd(100), budget=budget))

    assert "Budget: $0.70 · enough for about 2 runs" in whole(state)
    assert 'class="mk-price mk-warn"' in whole(state)
    poor = replace(usd(100, 99_500_000, 2), budget=budget)
    assert "Balance: $0.50 · enough for about 1 run " in whole(
        state_of("text-to-video", poor)
    )
    assert "Budget: $0.70<" in whole(
        state_of("keyframes", replace(usd(100), budget=budget))
    )


def test_of_a_budget_only_what_its_own_jobs_hold_is_said() -> None:
    budget = BudgetState(1_000_000, spent_micro_usd=0, reserved_micro_usd=340_000)
    funds = replace(usd(100, 50_000_000, 7), budget=budget)

    html = whole(state_of("text-to-video", funds))
    assert "Budget: $0.66" in html
    assert "$0.34 is held by running jobs" in html


def test_what_is_not_enough_for_one_is_not_counted() -> None:
    html = whole(state_of("r1", usd(5), prompt="a", duration="auto"))

    assert "Exceeds your $5.00 balance" in html
    assert "enough for" not in html


def test_a_price_that_is_not_there_yet_says_what_it_needs() -> None:
    html = whole(state_of("keyframes", usd(100)))

    assert "Add pictures to see the price." in html
    assert "Balance: $100.00" in html
    assert "runs" not in html


def test_a_balance_that_is_not_known_is_said_and_escaped() -> None:
    html = whole(state_of("text-to-video", Funds(trouble="No answer <b>")))

    assert "No answer &lt;b&gt;" in html
    assert "$0.00" not in html


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
    html = lines_html(state_of("text-to-video", usd(1)).estimate)

    row = (
        "<td>video output, 720p, no audio</td><td>5 s</td><td>$0.068 per s</td>"
        "<td class=mk-num>$0.34</td>"
    )
    assert row in html
    assert "There is no price yet." in lines_html(None)


def test_the_lines_are_shown_on_demand_and_follow_the_price() -> None:
    placed: list[Any] = []
    bar = PriceBar(
        WidgetContext(WidgetFactory(), guarded(fail), lambda *_: None),
        lambda: None,
        placed.append,
    )
    toggle, _ = bar.buttons

    bar.show(state_of("text-to-video", usd(1)))
    assert placed == []
    toggle.value = True
    [lines] = placed
    assert "$0.34" in lines.value
    bar.show(state_of("text-to-video", usd(1), duration=10))
    assert "$0.68" in lines.value
    toggle.value = False
    assert lines.value == ""


def test_the_balance_is_read_again_on_demand() -> None:
    asked: list[str] = []
    bar = PriceBar(
        WidgetContext(WidgetFactory(), guarded(fail), lambda *_: None),
        lambda: asked.append("balance"),
        fail,
    )

    bar.buttons[1].click()
    assert asked == ["balance"]
