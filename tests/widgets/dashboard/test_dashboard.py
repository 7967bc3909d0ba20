"""The dashboard's widgets, on made-up reports and without a browser."""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

from mediakit.client.loop import io_thread
from mediakit.errors import InputError
from mediakit.widgets.dashboard import controller as module
from mediakit.widgets.dashboard import exports, panels
from mediakit.widgets.dashboard.controller import Dashboard
from mediakit.widgets.dashboard.exports import Format
from mediakit.widgets.dashboard.html import kept_html
from mediakit.widgets.dashboard.panels import Panel
from mediakit.widgets.toolkit.cell_outputs import Cell
from tests.spend.fake_spend import HOSTILE, TODAY, FakeSpend, charges_frame
from tests.support.soak import IS_SOAK
from tests.widgets.studio.test_studio import every

# Pictures and files of a module are made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")

PATIENCE_S = 60.0
Make = Callable[..., Dashboard]


def until(holds: Callable[[], object], dashboard: Dashboard | None = None) -> None:
    """Wait until something holds and is shown."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.01)
    if dashboard is not None:
        with dashboard._lock:
            return


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


@pytest.fixture
def make_sketched(make_drawn: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make the same with plots whose words are there, but not their pixels."""
    leave_out_pixels(monkeypatch)
    return make_drawn


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


def shown(dashboard: Dashboard) -> str:
    htmls = (w for w in every(dashboard.widget) if isinstance(w, ipywidgets.HTML))
    return "\n".join(html.value for html in htmls)


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


def test_every_control_has_a_name(make: Make) -> None:
    dashboard = make()
    dashboard._view.exports.value = True
    for widget in every(dashboard.widget):
        if isinstance(widget, ipywidgets.Button | ipywidgets.ToggleButton):
            assert widget.description
        if isinstance(widget, ipywidgets.Dropdown | ipywidgets.ToggleButtons):
            assert widget.description
    names = [d for d, _ in dashboard._view.month.options][:2]
    assert names == ["October 2026", "September 2026"]


def test_another_month_is_read_and_an_empty_one_says_so(make: Make) -> None:
    dashboard = make()
    dashboard._view.month.value = "2026-09"
    settle(dashboard)
    assert "Spend · September 2026" in shown(dashboard)
    assert "month's end" not in shown(dashboard)
    dashboard._view.month.value = "2026-05"
    settle(dashboard)
    assert "Nothing was charged in May 2026." in shown(dashboard)
    assert "<img" not in shown(dashboard)


def test_the_toggle_divides_by_project_and_by_key(make_sketched: Make) -> None:
    dashboard = make_sketched()
    dashboard._view.by.value = "Project"
    settle(dashboard)
    assert "Dunes <span>$</span>" in shown(dashboard)
    labels = [label for label, _ in dashboard._view.only.options]
    assert labels == ["All projects", "no project", "Harbour", "Dunes"]
    dashboard._view.by.value = "Key"
    settle(dashboard)
    assert "key_1" in shown(dashboard)


def test_another_division_does_not_compare_the_month_again(make: Make) -> None:
    spend = FakeSpend()
    dashboard = make(spend)
    dashboard._view.by.value = "Project"
    settle(dashboard)
    assert spend.asked.count("reconcile") == 1
    assert "all of it is explained" in shown(dashboard)
    dashboard._view.refresh.click()
    settle(dashboard)
    assert spend.asked.count("reconcile") == 2


def test_one_function_can_be_shown_alone(make_sketched: Make) -> None:
    dashboard = make_sketched()
    assert ("R1", "R1") in dashboard._view.only.options
    dashboard._view.only.value = "R1"
    assert "charged, of" in shown(dashboard)
    other = "Text to video <span>$</span>"
    until(lambda: other not in shown(dashboard), dashboard)
    dashboard._view.only.value = ""
    until(lambda: other in shown(dashboard), dashboard)


def test_further_plots_are_drawn_when_they_are_asked_for(make: Make) -> None:
    dashboard = make()
    assert "Cost per kept result" not in shown(dashboard)
    dashboard._view.more.value = True
    until(lambda: dashboard.state.further, dashboard)
    html = shown(dashboard)
    for title in (
        "Share by function",
        "Charge against estimate",
        "Change from September",
    ):
        assert f"<h4>{title}" in html
    dashboard._view.more.value = False
    assert "Cost per kept result" not in shown(dashboard)


def test_outside_text_stays_text(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    charged = charges_frame(project=pd.Categorical([HOSTILE] * len(charges_frame())))
    dashboard = make(FakeSpend(charged))
    monkeypatch.undo()  # the text is in the plots that come from here on
    dashboard._view.by.value = "Project"
    settle(dashboard)
    dashboard._view.more.value = True
    until(lambda: dashboard.state.further, dashboard)
    assert "onerror" in shown(dashboard)
    assert "<img src=x" not in shown(dashboard)
    assert "<img src=x" not in kept_html(dashboard.state)


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


def test_a_defect_ends_the_loading_line_too(make: Make) -> None:
    class Broken(FakeSpend):
        async def monthly(self, month: str | None = None) -> pd.DataFrame:
            raise ZeroDivisionError("oh")

    assert "ZeroDivisionError: oh" in shown(make(Broken()))


def test_an_answer_that_comes_late_is_not_shown(make: Make) -> None:
    dashboard = make()
    view = dashboard._view
    view.month.value = "2026-09"
    view.month.value = "2026-08"
    settle(dashboard)
    assert dashboard.state.reading is not None
    assert dashboard.state.reading.month == "2026-08"


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
    content = prepared(make(), Format.FOCUS)
    frame = pd.read_csv(io.BytesIO(content))
    assert {"BilledCost", "ChargePeriodEnd", "SkuId"} <= set(frame.columns)


def test_only_what_is_shown_is_exported(make: Make) -> None:
    dashboard = make()
    dashboard._view.only.value = "Keyframes"
    until(lambda: idle(dashboard), dashboard)
    frame = pd.read_csv(io.BytesIO(prepared(dashboard, Format.CSV)))
    assert set(frame["kind"]) == {"keyframes"}


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


def test_in_voila_nothing_is_saved_where_the_kernel_runs(make: Make) -> None:
    dashboard = make(environment={"VOILA_REQUEST_URL": "http://127.0.0.1/"})
    prepared(dashboard, Format.CSV)
    assert dashboard._view.save not in list(every(dashboard.widget))


def test_a_file_that_is_too_large_for_a_link_says_so(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_LINK_BYTES", 1_000)
    dashboard = make()
    dashboard._view.exports.value = True
    dashboard._view.formats[Format.CSV].click()
    until(lambda: dashboard.state.export is not None, dashboard)
    assert "is too large for a download link" in shown(dashboard)
    assert "href=" not in shown(dashboard)


def test_a_missing_extra_is_said_beside_the_buttons(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mediakit.spend.exporting import files

    monkeypatch.setattr(files, "find_spec", lambda name: None)
    dashboard = make()
    dashboard._view.exports.value = True
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
    asked = make(month="2026-08", cell=Cell("a", "run 4"))
    assert asked.state.month == "2026-08"


def test_closing_frees_every_widget(make: Make) -> None:
    before = len(_widgets())
    dashboard = make()
    dashboard._view.exports.value = True
    dashboard.close()
    until(lambda: not dashboard._tasks._tasks)
    assert len(_widgets()) == before
    assert dashboard not in module._open.values()


def _widgets() -> dict[str, Any]:
    from ipywidgets.widgets import widget

    found: dict[str, Any] = widget._instances
    return found


def test_it_is_built_with_few_messages(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(_widgets())
    make()
    assert len(_widgets()) - before <= 40


def test_a_future_month_is_refused_before_anything_is_read() -> None:
    spend: Any = FakeSpend()
    with pytest.raises(InputError, match="a month that has begun"):
        Dashboard(spend, io_thread(), lambda: date(2026, 10, 20), month="2026-11")
    assert spend.asked == []
