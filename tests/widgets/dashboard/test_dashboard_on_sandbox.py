"""The dashboard and the report of a client, over a sandbox with a past."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mediakit import Client
from mediakit.errors import InputError
from mediakit.money import parse_usd
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.widgets.dashboard import panels
from mediakit.widgets.dashboard.figures import figures_of, verdict_of
from mediakit.widgets.dashboard.month_data import By
from tests.support.soak import trials
from tests.support.widgets import shown, until
from tests.widgets.dashboard.test_dashboard import leave_out_pixels, settle

# The seeded past is made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("past")
    running = start(Sandbox(folder / "sandbox", speed=20, sketch=True))
    with Client(running.base_url, running.api_key, home=folder / "home") as client:
        client.seed_past(days=trials(75, 120), jobs=trials(60, 400))
        yield client
    running.stop()


def test_a_seeded_month_is_explained_and_its_charges_are_the_bill(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pixels(monkeypatch)
    dashboard = client.spend.dashboard(budget="$200")
    settle(dashboard)
    dashboard.choose_month(dashboard.state.months[1])
    settle(dashboard)
    until(lambda: not dashboard._tasks._tasks)
    reading = dashboard.state.reading
    assert reading is not None
    assert dashboard.state.trouble == ""
    assert reading.troubles == ()
    verdict = verdict_of(reading)
    assert verdict is not None
    assert verdict.tone == "good"
    charged = int(reading.charges["charge_micro_usd"].sum())
    assert charged == reading.charged_micro_usd > 0
    assert "Against the budget" in shown(dashboard)
    assert all(not panel.trouble for panel in dashboard.state.panels)

    # The plots have been drawn once.
    monkeypatch.setattr(panels, "panel_of", lambda title, _: panels.Panel(title))
    parts = {}
    for by in By:
        dashboard._view.by.value = by.value
        settle(dashboard)
        until(lambda: not dashboard._tasks._tasks)
        assert dashboard.state.reading is not None
        values = dashboard.state.choices
        # Each part has a sum of its own, and together they are the bill.
        sums = [figures_of(dashboard.state.reading, each)[0].exact for each in values]
        parts[by] = sum(map(parse_usd, sums))
    assert set(parts.values()) == {charged}
    dashboard.close()
    until(lambda: not dashboard._tasks._tasks)


def test_the_report_of_a_client_is_written(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pixels(monkeypatch)
    path = client.spend.report(None, tmp_path / "month.html", budget="$200")
    assert path == tmp_path / "month.html"
    text = path.read_text("utf-8")
    assert "all of it is explained" in text
    assert "<h3>Against the budget</h3>" in text


def test_a_budget_that_is_no_amount_is_refused_before_anything_is_read(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="budget"):
        client.spend.dashboard(budget="much")
    with pytest.raises(InputError, match="budget"):
        client.spend.report(None, tmp_path / "month.html", budget="much")
    assert list(tmp_path.iterdir()) == []
