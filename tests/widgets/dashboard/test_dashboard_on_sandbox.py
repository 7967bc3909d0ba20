"""A seeded month in the dashboard, the report, the files and the frames."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client
from mediakit.errors import InputError
from mediakit.money import format_cents, format_usd, parse_usd
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.widgets.dashboard.dashboard import Dashboard
from mediakit.widgets.dashboard.exports import Format
from mediakit.widgets.dashboard.figures import figures_of, values_of, verdict_of
from mediakit.widgets.dashboard.month import By
from tests.support.soak import trials
from tests.support.widgets import shown
from tests.widgets.dashboard.test_dashboard import (
    leave_out_pictures,
    prepared,
    settle,
)

# The seeded past is made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")

CHARGE = "charge_micro_usd"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("past")
    running = start(Sandbox(folder / "sandbox", speed=20, sketch=True))
    with Client(running.base_url, running.api_key, home=folder / "home") as client:
        client.seed_past(days=trials(75, 120), jobs=trials(60, 400))
        yield client
    running.stop()


@pytest.fixture
def dashboard(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dashboard]:
    leave_out_pictures(monkeypatch)
    dashboard = client.spend.dashboard(budget="$200")
    settle(dashboard)
    dashboard.choose_month(dashboard.month_box.options[1][1])
    settle(dashboard)
    yield dashboard
    dashboard.close()


def total(frame: pd.DataFrame) -> int:
    return int(frame[CHARGE].sum())


def test_one_month_has_one_amount_and_one_count_of_jobs_wherever_it_is_shown(
    client: Client, dashboard: Dashboard, tmp_path: Path
) -> None:
    month, reading = dashboard.month, dashboard.reading
    assert reading is not None
    assert reading.troubles == ()
    verdict = verdict_of(reading)
    assert verdict is not None
    assert verdict.tone == "good"
    first, last = f"{month}-01", f"{month}-{pd.Period(month).days_in_month}"
    spend = client.spend
    frames = {
        "daily": spend.daily(first, last),
        "monthly": spend.monthly(month),
        "CSV of the month": spend.monthly_csv(month),
        "charges": spend.charges(first, last),
        "exported CSV": pd.read_csv(io.BytesIO(prepared(dashboard, Format.CSV))),
        "exported Excel": pd.read_excel(io.BytesIO(prepared(dashboard, Format.EXCEL))),
    }
    amounts = {name: total(frame) for name, frame in frames.items()}
    forecast = spend.forecast(month)
    amounts["forecast"] = forecast.expected_micro_usd
    amounts["dashboard"] = reading.charged_micro_usd
    assert len(set(amounts.values())) == 1, amounts
    (charged,) = set(amounts.values())
    assert charged > 0
    assert format_usd(charged) in forecast.text

    # A job that failed is settled at no charge: the service does not count it.
    charges = frames["charges"]
    jobs = {name: int(frames[name]["jobs"].sum()) for name in list(frames)[:3]}
    jobs["charges"] = int((charges[CHARGE] != 0).sum())
    (figure,) = (f for f in figures_of(reading, None) if f.label.startswith("job"))
    jobs["dashboard"] = int(figure.text.replace(",", ""))
    assert len(set(jobs.values())) == 1, jobs

    page = spend.report(month, tmp_path / "month.html").read_text("utf-8")
    assert f"{jobs['charges']:,} charged job" in page
    assert f"{jobs['charges']:,}" in shown(dashboard)
    for text in (shown(dashboard), page):
        assert format_cents(charged).lstrip("$") in text
    assert format_usd(charged).lstrip("$") in page
    free = len(charges) - jobs["charges"]
    said = f"{free:,} more at no charge ({free:,} failed)" if free else ""
    assert figure.exact == said


def test_a_budget_with_a_name_counts_its_own_requests_in_both_of_its_answers(
    client: Client,
) -> None:
    team = mk.Budget("team", "$200", period="month")
    status, forecast = client.spend.budget(team), client.spend.forecast(budget=team)
    assert status.spent_micro_usd == forecast.so_far_micro_usd == 0
    assert "under the budget 'team'" in forecast.text


@pytest.mark.parametrize("by", By)
def test_the_parts_of_a_seeded_month_are_its_bill(dashboard: Dashboard, by: By) -> None:
    dashboard.by_box.value = by.value
    settle(dashboard)
    reading = dashboard.reading
    assert reading is not None
    sums = [figures_of(reading, each)[0].exact for each in values_of(reading)]
    assert sum(map(parse_usd, sums)) == reading.charged_micro_usd


def test_a_budget_that_is_no_amount_is_refused_before_anything_is_read(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="budget"):
        client.spend.dashboard(budget="much")
    with pytest.raises(InputError, match="budget"):
        client.spend.report(None, tmp_path / "month.html", budget="much")
    assert list(tmp_path.iterdir()) == []
