"""What it costs beside what can be spent, in HTML."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediakit.catalog import Catalog
from mediakit.client import BudgetState
from mediakit.records import Balance
from mediakit.widgets.form_state import FormState
from mediakit.widgets.funds import Affordability, Funds
from mediakit.widgets.guard import guarded
from mediakit.widgets.look import Kit, Look
from mediakit.widgets.price_bar import (
    PriceBar,
    lines_html,
    price_html,
    share_text,
    tone_of,
)
from mediakit.widgets.theme import Tone

CATALOG = Catalog.default()


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


def state_of(kind: str, funds: Funds, **values: object) -> FormState:
    return FormState.start(CATALOG.function(kind), values).with_balance(funds)


def usd(amount: int, held_micro_usd: int = 0, jobs: int | None = None) -> Funds:
    return Funds(Balance(balance_micro_usd=amount * 1_000_000), held_micro_usd, jobs)


def test_an_exact_price_stands_with_its_share_and_its_count() -> None:
    html = price_html(state_of("text-to-video", usd(100)))

    assert "<b>$0.34</b>" in html
    assert ">exact<" in html
    assert "0.3 % of $100.00 left · enough for 294 like this" in html
    assert "width:0.34%" in html


def test_a_range_stands_with_its_kind() -> None:
    html = price_html(state_of("r1", usd(100), prompt="a", duration="auto"))

    assert "<b>$0.970704 to $7.28028</b>" in html
    assert ">upper bound<" in html
    assert "enough for 13 like this" in html


def test_a_price_of_which_the_rate_alone_is_known_takes_no_share() -> None:
    source = "https://clips.example/a.mp4"
    state = state_of("video-upscale", usd(100), video_url=source)
    html = price_html(state)

    assert ">no upper price known<" in html
    assert " per s</b>" in html
    assert ">$100.00 left<" in html
    assert "%" not in html.split("width:")[1].split("</i>")[1]
    assert "<td class=mk-num>price not known yet</td>" in lines_html(state.estimate)


def test_held_amounts_are_shown_and_are_not_left() -> None:
    html = price_html(state_of("text-to-video", usd(10, 680_000, 2)))

    assert "of $9.32 left" in html
    assert "$0.68 is held by 2 running jobs" in html


def test_a_budget_is_named_where_less_is_left_of_it_than_of_the_balance() -> None:
    budget = BudgetState(1_000_000, spent_micro_usd=300_000, reserved_micro_usd=0)
    state = state_of("text-to-video", replace(usd(100), budget=budget))

    assert "49 % of $0.70 of your budget left · enough for 2 like this" in price_html(
        state
    )
    assert 'class="mk-price mk-warn"' in price_html(state)
    poor = replace(usd(100, 99_500_000, 2), budget=budget)
    assert "68 % of $0.50 left" in price_html(state_of("text-to-video", poor))
    assert "$0.70 of your budget left" in price_html(
        state_of("keyframes", replace(usd(100), budget=budget))
    )


def test_of_a_budget_only_what_its_own_jobs_hold_is_said() -> None:
    budget = BudgetState(1_000_000, spent_micro_usd=0, reserved_micro_usd=340_000)
    funds = replace(usd(100, 50_000_000, 7), budget=budget)

    html = price_html(state_of("text-to-video", funds))
    assert "of $0.66 of your budget left" in html
    assert "$0.34 is held by running jobs" in html


def test_what_is_not_enough_for_one_is_not_counted() -> None:
    html = price_html(state_of("r1", usd(5), prompt="a", duration="auto"))

    assert "more than all of $5.00 left" in html
    assert "enough for" not in html


def test_a_price_that_is_not_there_yet_says_what_it_needs() -> None:
    html = price_html(state_of("keyframes", usd(100)))

    assert "Add pictures to see the price." in html
    assert "$100.00 left" in html
    assert "like this" not in html


def test_a_balance_that_is_not_known_is_said_and_escaped() -> None:
    html = price_html(state_of("text-to-video", Funds(trouble="No answer <b>")))

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
    ],
)
def test_the_price_warns_while_few_fit_and_is_red_from_the_last_one_on(
    needed: int | None, left: int | None, tone: Tone
) -> None:
    assert tone_of(Affordability(needed, left)) == tone


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0 %"),
        (0.0001, "less than 0.1 %"),
        (0.0034, "0.3 %"),
        (0.5, "50 %"),
        (1.0, "100 %"),
        (1.01, "more than all"),
        (float("inf"), "more than all"),
    ],
)
def test_a_share_is_written_for_people(share: float, text: str) -> None:
    assert share_text(share) == text


def test_the_lines_of_a_price_are_quantity_rate_and_amount() -> None:
    html = lines_html(state_of("text-to-video", usd(1)).estimate)

    row = (
        "<td>video output, 720p, no audio</td><td>5 s</td><td>$0.068 per s</td>"
        "<td class=mk-num>$0.34</td>"
    )
    assert row in html
    assert "There is no price yet." in lines_html(None)


def test_the_lines_are_shown_on_demand_and_follow_the_price() -> None:
    bar = PriceBar(Kit(Look(), guarded(fail), lambda *_: None), lambda: None)
    toggle, _ = bar.buttons
    _, lines = bar.widget.children

    bar.show(state_of("text-to-video", usd(1)))
    assert lines.value == ""
    toggle.value = True
    assert "$0.34" in lines.value
    bar.show(state_of("text-to-video", usd(1), duration=10))
    assert "$0.68" in lines.value
    toggle.value = False
    assert lines.value == ""


def test_the_balance_is_read_again_on_demand() -> None:
    asked: list[str] = []
    bar = PriceBar(
        Kit(Look(), guarded(fail), lambda *_: None), lambda: asked.append("balance")
    )

    bar.buttons[1].click()
    assert asked == ["balance"]
