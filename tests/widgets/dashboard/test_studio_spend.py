"""The spend of the last days in the studio."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.errors import ServiceError
from mediakit.spend import AsyncSpend
from mediakit.widgets.studio import Studio
from mediakit.widgets.studio.spending.days import DAYS, spend_days
from mediakit.widgets.studio.spending.html import CHART_PX, days_html, scale
from mediakit.widgets.studio.state import Place
from tests.support.widgets import shown, until
from tests.widgets.studio.test_studio import bought, go, make_studio

__all__ = ["make_studio"]

TODAY = date(2026, 5, 31)
FIRST = date(2026, 5, 2)
charges = st.lists(
    st.tuples(
        st.dates(FIRST - timedelta(days=3), TODAY),
        st.sampled_from([f"Function {n}" for n in range(9)]),
        st.integers(0, 10**9),
    )
)


@given(charges)
def test_the_sums_of_days_and_functions_are_that_of_the_charges(
    made: list[tuple[date, str, int]],
) -> None:
    days = spend_days(made, TODAY)
    inside = [charge for day, _, charge in made if day >= FIRST]

    assert days.first == FIRST
    assert days.total_micro_usd == sum(days.by_day_micro_usd) == sum(inside)
    assert days.jobs == len(inside)
    assert len(days.parts) <= 6
    assert len(days.by_day_micro_usd) == DAYS


@given(st.integers(1, 10**12))
def test_a_scale_ends_above_the_highest_day_with_few_marks(highest: int) -> None:
    top, marks = scale(highest)

    assert marks[0] == 0
    assert marks[-1] == top >= highest
    assert 2 <= len(marks) <= 5


def test_each_day_with_a_charge_is_a_bar_that_says_its_day_and_sum() -> None:
    days = spend_days([(TODAY, "Text to video", 204_000), (FIRST, "R1", 1)], TODAY)
    html = days_html(days)

    heights = re.findall(r'<rect class="mk-st-c(\d)".*?height="([\d.]+)"', html)
    assert heights == [("1", "0.0"), ("0", f"{CHART_PX * 204 / 300:.1f}")]
    assert "<title>May 31: $0.204\nText to video: $0.204</title>" in html
    assert "for 2 jobs, at most $0.204 a day" in html
    assert "<td>$0.204001</td>" in html
    assert "client.spend.dashboard()" in html


def test_the_studio_shows_the_last_days_and_the_totals_that_explain_them(
    make_studio: Callable[..., Studio],
    own_client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bought(own_client, "a kite")
    studio = make_studio(own_client)
    assert "<svg" not in shown(studio)
    go(studio, Place.SPEND)
    until(lambda: "<svg" in shown(studio), studio)
    assert studio.state.days is not None
    assert studio.state.days.total_micro_usd == 204_000
    assert "Charges of the last 30 days: $0.204 for 1 job" in shown(studio)
    assert "Text to video" in shown(studio)
    assert '<div title="$0.204"><b>$0.20</b><span>last 30 days</span>' in shown(studio)
    until(lambda: "month&#39;s end" in shown(studio), studio)

    async def fails(*_: object) -> object:
        raise ServiceError("The service does not answer.")

    monkeypatch.setattr(AsyncSpend, "forecast", fails)
    studio._view.refresh.click()
    until(lambda: "month&#39;s end" not in shown(studio), studio)
    assert "this month" in shown(studio)
    assert studio.state.said == ""
