"""The month's small chart in the studio."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from mediakit import Client
from mediakit.errors import ServiceError
from mediakit.spend import AsyncSpend
from mediakit.widgets.studio import Studio
from mediakit.widgets.studio.html import BARS_PX, bars_html
from tests.test_studio import bought, make_studio, shown, until

__all__ = ["make_studio"]


def test_each_day_with_a_charge_is_a_bar_and_the_highest_fills_the_chart() -> None:
    html = bars_html((0, 500_000, 1_000_000, 0))
    bars = re.findall(r'<rect x="(\d+)" y="([\d.]+)" width="4" height="([\d.]+)"', html)
    assert bars == [("5", "10.0", "10.0"), ("10", "0.0", f"{BARS_PX}.0")]
    assert 'aria-label="Charged by day this month: $1.50, at most $1.00 a day"' in html


def test_a_month_without_a_charge_has_no_chart() -> None:
    assert bars_html(()) == bars_html((0, 0)) == ""


def test_the_studio_shows_the_days_of_this_month(
    make_studio: Callable[..., Studio], own_client: Client
) -> None:
    bought(own_client, "a kite")
    studio = make_studio(own_client)
    until(lambda: studio.state.glance and sum(studio.state.glance.days_micro_usd))
    until(lambda: "<svg" in shown(studio), studio)
    assert studio.state.glance is not None
    assert sum(studio.state.glance.days_micro_usd) == 204_000
    assert "Charged by day this month: $0.204" in shown(studio)


def test_the_studio_tells_the_month_s_end_and_does_without_it(
    make_studio: Callable[..., Studio],
    own_client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bought(own_client, "a kite")
    studio = make_studio(own_client)
    until(lambda: "Month&#x27;s end, 80 %" in shown(studio), studio)

    async def fails(*_: object) -> object:
        raise ServiceError("The service does not answer.")

    monkeypatch.setattr(AsyncSpend, "forecast", fails)
    studio._view._refresh.click()
    until(lambda: "Month&#x27;s end" not in shown(studio), studio)
    assert "This month" in shown(studio)
    assert studio.state.said == ""
