"""Budgets are compared with the charges that count against them, in all views."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit import Budget, Client, InputError, plots
from tests.spend.budget_desk import CLIP_MICRO_USD, DECEMBER, NOVEMBER, Calendar
from tests.spend.test_forecast_of_a_bill import Bill
from tests.sweep.service import BASE_URL, CATALOG, KEY, Service

TEAM = Budget("team", "$200", period="month")


class Organization(Bill):
    """Sells clips, and bills $2 a day for what others of the organization do."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.now = NOVEMBER
        self.calendar = Calendar(NOVEMBER)
        self.service = Service()

    def handle(self, request: httpx.Request) -> httpx.Response:
        if "start_date" in request.url.params:
            return super().handle(request)
        return self.service.handle(request)

    def client(
        self, budget: Budget | None = None, project: str | None = None
    ) -> Client:
        return Client(
            BASE_URL,
            KEY,
            home=self.home,
            catalog=CATALOG,
            clock=self.calendar,
            transport=httpx.MockTransport(self.handle),
            budget=budget,
            project=project,
        )


@pytest.fixture
def organization(tmp_path: Path) -> Organization:
    return Organization(tmp_path)


@pytest.fixture
def client(organization: Organization) -> Iterator[Client]:
    with organization.client(TEAM) as client:
        yield client


def generate(client: Client, prompt: str) -> None:
    client.run("text-to-video", prompt=prompt, duration=5).settle()


def test_the_forecast_of_a_budget_counts_what_the_budget_counts(client: Client) -> None:
    generate(client, "a kite")
    forecast = client.spend.forecast(budget=TEAM)
    status = client.spend.budget(TEAM)
    assert forecast.so_far_micro_usd == status.spent_micro_usd == CLIP_MICRO_USD
    assert int(forecast.frame()["spent_micro_usd"].max()) == CLIP_MICRO_USD
    assert "team" in forecast.text


def test_the_forecast_of_a_project_counts_its_charges_in_this_history(
    organization: Organization,
) -> None:
    with organization.client(project="spring") as client:
        generate(client, "a kite")
    with organization.client(project="autumn") as client:
        generate(client, "a gull")
        generate(client, "a boat")
        said = client.spend.forecast(project="spring", budget="$9")
    assert said.so_far_micro_usd == CLIP_MICRO_USD
    assert "in November 2026 for the project 'spring'" in said.text
    assert said.text.endswith("The charges so far are within the budget of $9.00.")


def test_an_unused_budget_is_not_forecast_to_be_exceeded(
    organization: Organization,
) -> None:
    with organization.client() as client:
        forecast = client.spend.forecast(budget=Budget("team", "$10", period="month"))
    assert forecast.so_far_micro_usd == forecast.high_micro_usd == 0
    assert "within the budget" in forecast.text


def test_a_month_that_is_over_has_the_budget_s_own_sum(
    organization: Organization,
) -> None:
    with organization.client(TEAM) as client:
        generate(client, "a kite")
        organization.now = organization.calendar.today = DECEMBER
        generate(client, "a gull")
        over = client.spend.forecast("2026-11", budget=TEAM)
        status = client.spend.budget(TEAM, "2026-11")
    assert over.so_far_micro_usd == status.spent_micro_usd == CLIP_MICRO_USD
    assert "was not exceeded" in over.text


def test_a_budget_that_never_resets_is_compared_with_what_is_left_of_it(
    organization: Organization,
) -> None:
    total = Budget("launch", "$0.70")
    with organization.client(total) as client:
        generate(client, "a kite")
        organization.now = organization.calendar.today = DECEMBER
        forecast = client.spend.forecast(budget=total)
    assert forecast.so_far_micro_usd == 0
    assert "$0.36" in forecast.text


def test_an_amount_is_compared_with_the_spend_of_all_keys(client: Client) -> None:
    generate(client, "a kite")
    forecast = client.spend.forecast(budget="$10")
    assert forecast.so_far_micro_usd == 44_000_000
    assert "over the budget of $10.00" in forecast.text


def drawn_frame(*args: Any) -> Any:
    """Return what is drawn of the days of a month."""
    axes: Any = plots.cumulative(*args)
    return axes.frame


def test_the_burn_down_of_a_budget_is_drawn_with_its_forecast(client: Client) -> None:
    generate(client, "a kite")
    days = client.spend.budget(TEAM).frame()
    forecast = client.spend.forecast(budget=TEAM)
    drawn = drawn_frame(days, TEAM, forecast)
    assert drawn.attrs["title"] == "November 2026: $0.34 of $200.00 spent"
    assert int(drawn["spent_micro_usd"].max()) == CLIP_MICRO_USD


def test_the_organization_s_days_are_not_drawn_against_a_named_budget(
    client: Client,
) -> None:
    days = client.spend.daily("2026-11-01", by=[])
    with pytest.raises(InputError, match=r"client\.spend\.budget") as caught:
        plots.cumulative(days, TEAM)
    assert caught.value.field == "frame"
    assert drawn_frame(days, "$200")["budget_micro_usd"].max() == 2e8


def test_a_forecast_of_something_else_is_not_drawn_beside_a_budget(
    client: Client,
) -> None:
    days = client.spend.budget(TEAM).frame()
    with pytest.raises(InputError) as caught:
        plots.cumulative(days, TEAM, client.spend.forecast())
    assert caught.value.field == "forecast"
    organization_s = client.spend.daily("2026-11-01", by=[])
    with pytest.raises(InputError) as caught:
        plots.cumulative(organization_s, forecast=client.spend.forecast(budget=TEAM))
    assert caught.value.field == "forecast"


def test_a_charge_that_settles_after_its_month_is_on_the_last_day_of_it(
    organization: Organization,
) -> None:
    with organization.client(TEAM) as client:
        organization.service.gate = gate = threading.Event()
        job = client.submit("text-to-video", prompt="late", duration=5)
        organization.now = organization.calendar.today = DECEMBER
        gate.set()
        job.settle()
        days = client.spend.budget(TEAM, "2026-11").frame()
        assert f"{days['day'].max():%Y-%m-%d}" == "2026-11-30"
        forecast = client.spend.forecast("2026-11", budget=TEAM)
        drawn = drawn_frame(days, TEAM, forecast)
    assert int(drawn["spent_micro_usd"].max()) == CLIP_MICRO_USD
    assert mk.format_usd(forecast.so_far_micro_usd) == "$0.34"
