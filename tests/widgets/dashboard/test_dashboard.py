"""The dashboard's widgets, on made-up reports and without a browser."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mediakit.client.loop import io_thread
from mediakit.spend import exporting as files
from mediakit.widgets.dashboard import exports, panels
from mediakit.widgets.dashboard.controller import Dashboard
from mediakit.widgets.dashboard.exports import Format
from mediakit.widgets.dashboard.html import kept_html
from mediakit.widgets.dashboard.panels import Panel
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.spend.fake_spend import TODAY, FakeSpend
from tests.support.soak import IS_SOAK
from tests.support.widgets import every, in_use, shown, until

# Pictures and files of a module are made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")

Make = Callable[..., Dashboard]


def idle(dashboard: Dashboard) -> bool:
    return not dashboard._tasks._tasks and not dashboard.state.is_loading


@pytest.fixture
def make_drawn() -> Iterator[Make]:
    """Make dashboards that have read their month, and close them in the end."""
    made: list[Dashboard] = []

    def one(spend: Any = None, **more: Any) -> Dashboard:
        given = {"environment": {}, **more}
        spend = spend or FakeSpend()
        dashboard = Dashboard(spend, io_thread(), lambda: TODAY, **given)
        made.append(dashboard)
        settle(dashboard)
        return dashboard

    yield one
    for dashboard in made:
        dashboard.close()
    until(lambda: not any(dashboard._tasks._tasks for dashboard in made))


def leave_out_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave to the soak what takes most of the time of a plot."""
    if not IS_SOAK:
        monkeypatch.setattr(panels, "_png", lambda figure: b"no pixels")


@pytest.fixture
def make(make_drawn: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make the same with empty pictures, which take no time."""
    monkeypatch.setattr(panels, "panel_of", lambda title, _: Panel(title, "words"))
    return make_drawn


def settle(dashboard: Dashboard) -> None:
    until(lambda: dashboard._tasks._tasks or not dashboard.state.is_loading)
    until(lambda: idle(dashboard), dashboard)


def test_it_shows_figures_the_sentence_and_two_plots_and_a_notebook_keeps_them_small(
    make_drawn: Make,
) -> None:
    dashboard = make_drawn()
    html = shown(dashboard)
    assert "<h3>Spend · October 2026</h3>" in html
    assert ">$</span>53.40" in html
    assert "all of it is explained" in html
    assert "<h4>By day</h4>" in html
    assert "<h4>Month so far</h4>" in html
    assert "Text to video <span>$</span>7.82" in html
    assert html.count('class="mk-sp-dark"') == html.count('class="mk-sp-light"') == 2
    assert all(re.findall(r'<img [^>]*alt="([^"]+)"', html))
    # The frame behind each plot is a table.
    assert "<summary>Data (80 rows)</summary>" in html
    assert "and 65 more" in html

    kept = kept_html(dashboard.state)
    assert ">$</span>53.40" in kept
    assert "all of it is explained" in kept
    assert kept.count("<img src=") == 2
    assert "class=" not in kept
    assert len(kept) < 200_000
    assert dashboard._repr_mimebundle_()["text/html"] == kept


def test_another_month_is_read_and_an_empty_one_says_so(make: Make) -> None:
    dashboard = make()
    view = dashboard._view
    assert [d for d, _ in view.month.options][:2] == ["October 2026", "September 2026"]
    view.month.value = "2026-08"
    view.month.value = "2026-09"  # what comes late is not shown
    settle(dashboard)
    assert "Spend · September 2026" in shown(dashboard)
    assert "month's end" not in shown(dashboard)
    view.month.value = "2026-05"
    settle(dashboard)
    assert "Nothing was charged in May 2026." in shown(dashboard)
    assert "<img" not in shown(dashboard)


def test_the_month_is_divided_narrowed_and_compared_once(make: Make) -> None:
    spend = FakeSpend()
    dashboard = make(spend)
    view = dashboard._view
    view.more.value = True
    until(lambda: dashboard.state.further, dashboard)
    for title in (
        "Share by function",
        "Charge against estimate",
        "Change from September",
    ):
        assert f"<h4>{title}" in shown(dashboard)
    view.more.value = False
    assert "Charge against estimate" not in shown(dashboard)
    view.by.value = "Project"
    settle(dashboard)
    labels = [label for label, _ in view.only.options]
    assert labels == ["All projects", "no project", "Harbour", "Dunes"]
    assert spend.asked.count("reconcile") == 1
    assert "all of it is explained" in shown(dashboard)
    view.only.value = "Dunes"
    until(lambda: "charged, of" in shown(dashboard), dashboard)
    frame = pd.read_csv(io.BytesIO(prepared(dashboard, Format.CSV)))
    assert set(frame["project"]) == {"Dunes"}
    view.refresh.click()
    settle(dashboard)
    assert spend.asked.count("reconcile") == 2


def test_a_failure_is_a_sentence_with_a_retry_that_works(make: Make) -> None:
    spend = FakeSpend(failing=["monthly"])
    dashboard = make(spend)
    assert "The service does not answer." in shown(dashboard)
    assert dashboard._view.retry in dashboard.widget.children
    spend.failing = ()
    dashboard._view.retry.click()
    settle(dashboard)
    assert "all of it is explained" in shown(dashboard)
    assert dashboard._view.retry not in dashboard.widget.children


# -- files ----------------------------------------------------------------------------


def prepared(dashboard: Dashboard, form: Format) -> bytes:
    """Press a format's button and return what its link downloads."""
    dashboard._view.exports.value = True
    dashboard._view.formats[form].click()
    until(lambda: dashboard.state.export is not None, dashboard)
    (data,) = re.findall(r'href="data:[^;]+;base64,([^"]+)"', shown(dashboard))
    return base64.b64decode(data)


@pytest.mark.parametrize(
    "form",
    [
        Format.CSV,
        pytest.param(Format.PARQUET, marks=pytest.mark.soak),
        Format.EXCEL,
    ],
)
def test_a_download_has_the_exact_sum(make: Make, form: Format) -> None:
    dashboard = make()
    content = io.BytesIO(prepared(dashboard, form))
    read: dict[Format, Callable[[Any], pd.DataFrame]] = {
        Format.CSV: pd.read_csv,
        Format.PARQUET: pd.read_parquet,
        Format.EXCEL: pd.read_excel,
    }
    frame = read[form](content)
    assert dashboard.state.reading is not None
    assert int(frame["charge_micro_usd"].sum()) == 53_399_146
    assert f'download="spend-2026-10{Path(dashboard.state.export.name).suffix}"' in (  # type: ignore[union-attr]
        shown(dashboard)
    )
    assert "45 charges, $53.399146" in shown(dashboard)


def test_focus_is_a_download_of_its_own(make: Make) -> None:
    frame = pd.read_csv(io.BytesIO(prepared(make(), Format.FOCUS)))
    assert {"BilledCost", "ChargePeriodEnd", "SkuId"} <= set(frame.columns)


def test_a_file_is_saved_and_its_place_is_said(make: Make, tmp_path: Path) -> None:
    dashboard = make()
    prepared(dashboard, Format.CSV)
    view = dashboard._view
    view.folder.value = str(tmp_path)
    view.save.click()
    path = tmp_path / "spend-2026-10.csv"
    until(lambda: "Saved as" in shown(dashboard), dashboard)
    assert str(path) in shown(dashboard)
    assert path.exists()
    view.folder.value = str(tmp_path / "none")
    view.save.click()
    until(lambda: "a folder that exists" in shown(dashboard), dashboard)


def test_a_page_of_voila_is_complete_as_soon_as_it_is_there() -> None:
    dashboard = Dashboard(
        FakeSpend(),
        io_thread(),
        lambda: TODAY,
        environment={"VOILA_REQUEST_URL": "http://127.0.0.1/"},
    )

    assert "all of it is explained" in shown(dashboard)
    assert "Comparing" not in shown(dashboard)
    dashboard.close()


def test_what_cannot_be_downloaded_or_saved_is_said_or_not_offered(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = make(environment={"VOILA_REQUEST_URL": "http://127.0.0.1/"})
    prepared(visited, Format.CSV)
    assert visited._view.save not in list(every(visited.widget))

    monkeypatch.setattr(exports, "MOST_LINK_BYTES", 1_000)
    dashboard = make()
    dashboard._view.exports.value = True
    dashboard._view.formats[Format.CSV].click()
    until(lambda: dashboard.state.export is not None, dashboard)
    assert "is too large for a download link" in shown(dashboard)
    assert "href=" not in shown(dashboard)
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    dashboard._view.formats[Format.EXCEL].click()
    until(lambda: "mediakit[excel]" in shown(dashboard), dashboard)
    assert "53.40" in shown(dashboard)


# -- what a cell leaves behind --------------------------------------------------------


def test_a_rerun_replaces_its_dashboard_and_keeps_what_was_chosen(make: Make) -> None:
    first = make(cell=Cell("a", "run 1"))
    first._view.by.value = "Project"
    settle(first)
    first._view.month.value = "2026-09"
    settle(first)
    other = make(cell=Cell("b", "run 2"))
    again = make(cell=Cell("a", "run 3"))
    assert first._closed
    assert not other._closed
    assert (again.state.month, again.state.by.value) == ("2026-09", "Project")
    before = in_use()
    asked = make(month="2026-08", cell=Cell("a", "run 4"))
    assert asked.state.month == "2026-08"
    assert in_use() == before
