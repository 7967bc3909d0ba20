"""The dashboard's widgets, on invented reports and without a browser."""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pandas as pd
import pytest

from mediakit.client.io_thread import io_thread
from mediakit.money import format_cents
from mediakit.widgets.dashboard import exports, plots
from mediakit.widgets.dashboard.dashboard import Dashboard
from mediakit.widgets.dashboard.exports import Format
from mediakit.widgets.dashboard.plots import Plot
from mediakit.widgets.toolkit.cell_outputs import NotebookCell
from tests.spend.fake_spend import TODAY, FakeSpend, charges_frame
from tests.support.widgets import in_use, shown, until

# Pictures and files of a module are made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")

Make = Callable[..., Dashboard]
EXPLAINED = "all of it is explained"
VOILA = {"VOILA_REQUEST_URL": "http://127.0.0.1/"}


@pytest.fixture
def make_drawn() -> Iterator[Make]:
    """Make dashboards that have read their month, and close them in the end."""
    made: list[Dashboard] = []

    def one(spend: Any = None, **more: Any) -> Dashboard:
        given = {"environment": {}, **more}
        spend = spend or FakeSpend()
        made.append(Dashboard(spend, io_thread(), lambda: spend.today, **given))
        settle(made[-1])
        return made[-1]

    yield one
    for dashboard in made:
        dashboard.close()
        settle(dashboard)


@pytest.fixture
def make(make_drawn: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make the same with empty pictures, which take no time."""
    leave_out_pictures(monkeypatch)
    return make_drawn


def leave_out_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    from markupsafe import Markup

    monkeypatch.setattr(
        plots, "drawn", lambda title, _: Plot(title, "words", Markup("<svg></svg>"))
    )


def settle(dashboard: Dashboard) -> None:
    """Wait until all requested data are read and drawn."""
    done = f"after turn {dashboard._turn}"
    ended = list[str]()

    async def note() -> None:
        ended.append(done)

    dashboard._tasks.run(note)
    until(lambda: ended and not dashboard._tasks._tasks)


def test_it_shows_figures_the_sentence_and_two_plots_and_a_notebook_keeps_them_small(
    make_drawn: Make,
) -> None:
    dashboard = make_drawn()
    html = shown(dashboard)
    assert ">Spend · October 2026</h3>" in html
    assert ">$</span>53.40" in html
    assert EXPLAINED in html
    assert ">By day</div>" in html
    assert ">Month so far</div>" in html
    # Each plot is drawn once, and its colours are the page's.
    pictures = re.findall(r'<svg role="img" aria-label="([^"]+)"', html)
    assert len(pictures) == 2
    assert "Text to video $7.82" in pictures[0]
    assert "var(--mk-c-44aa99,#44aa99)" in html
    assert "--mk-c-44aa99:#4cc4b0" in html
    # The frame behind each plot is a table.
    assert "<summary>Data (80 rows)</summary>" in html
    assert "and 65 more" in html

    kept = dashboard._repr_mimebundle_()["text/html"]
    assert ">$</span>53.40" in kept
    assert EXPLAINED in kept
    assert kept.count('<img src="data:image/png') == 2
    assert len(kept) < 200_000


class BusySpend(FakeSpend):
    """A job is charged while the month is read for the first time."""

    async def reconcile(self, month: str | None = None) -> Any:
        if "reconcile" not in self.asked:
            late = self.charged.iloc[[0]].assign(job_id="media_late")
            self.charged = pd.concat([self.charged, late], ignore_index=True)
        return await super().reconcile(month)


def test_figures_and_the_sentence_below_agree_when_a_job_is_charged_meanwhile(
    make: Make,
) -> None:
    spend = BusySpend()
    html = shown(make(spend))
    [total] = re.findall(r">([\d.]+) charged in October 2026; all of it", html)
    figure, note = f">$</span>{total}</b>", "charged in October"
    assert figure in html
    assert html.index(figure) < html.index(note)
    assert spend.asked.count("reconcile") == 2
    assert spend.asked.count("daily") == 4


def test_another_month_is_read_and_an_empty_one_says_so_and_draws_nothing(
    make: Make,
) -> None:
    dashboard = make()
    dashboard.more_box.value = True
    settle(dashboard)
    month = dashboard.month_box
    assert [d for d, _ in month.options][:2] == ["October 2026", "September 2026"]
    month.value = "2026-08"
    month.value = "2026-09"  # what comes late is not shown
    settle(dashboard)
    assert "Spend · September 2026" in shown(dashboard)
    assert "forecast, 80%" not in shown(dashboard)
    month.value = "2026-05"
    settle(dashboard)
    assert "Nothing was charged in May 2026." in shown(dashboard)
    assert "Drawing" not in shown(dashboard)
    assert "<svg" not in shown(dashboard)


def test_a_month_that_has_just_begun_says_what_is_expected(make: Make) -> None:
    until_september = charges_frame(date(2026, 8, 1), date(2026, 9, 30))
    html = shown(make(FakeSpend(until_september, today=date(2026, 10, 1))))
    assert "$0.00 has been charged so far in October 2026; about $" in html
    assert "<svg" not in html
    nothing = FakeSpend(until_september.iloc[:0])
    assert "Nothing has been charged in October 2026 so far." in shown(make(nothing))


def test_the_month_is_divided_narrowed_and_compared_once(make: Make) -> None:
    spend = FakeSpend()
    dashboard = make(spend)
    dashboard.more_box.value = True
    settle(dashboard)
    for title in ("Share by function", "Charge against estimate", "Change from"):
        assert f">{title}" in shown(dashboard)
    dashboard.more_box.value = False
    assert "Charge against estimate" not in shown(dashboard)
    dashboard.by_box.value = "Project"
    settle(dashboard)
    labels = [label for label, _ in dashboard.only_box.options]
    assert labels == ["All projects", "no project", "Harbour", "Dunes"]
    assert spend.asked.count("reconcile") == 1
    assert EXPLAINED in shown(dashboard)
    dashboard.only_box.value = "Dunes"
    settle(dashboard)
    assert "charged, of" in shown(dashboard)
    frame = pd.read_csv(io.BytesIO(prepared(dashboard, Format.CSV)))
    assert set(frame["project"]) == {"Dunes"}
    dashboard.refresh_button.click()
    settle(dashboard)
    assert spend.asked.count("reconcile") == 2


def test_a_month_that_cannot_be_read_is_a_sentence_until_it_is_read_again(
    make: Make,
) -> None:
    spend = FakeSpend(failing=["monthly"])
    dashboard = make(spend)
    assert "The service does not answer." in shown(dashboard)
    spend.failing = ()
    dashboard.refresh_button.click()
    settle(dashboard)
    assert EXPLAINED in shown(dashboard)


def test_a_failed_export_leaves_the_month_on_the_page(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashboard = make()

    def fail(*_: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr("mediakit.widgets.dashboard.dashboard.prepare", fail)
    dashboard.export_box.value = True
    dashboard.format_buttons[Format.CSV].click()
    until(lambda: "RuntimeError: no room" in shown(dashboard), dashboard)
    assert "53.40" in shown(dashboard)
    assert EXPLAINED in shown(dashboard)


# -- files ----------------------------------------------------------------------------


def prepared(dashboard: Dashboard, form: Format) -> bytes:
    """Press a format's button and return what its link downloads."""
    dashboard.export_box.value = True
    dashboard.format_buttons[form].click()
    settle(dashboard)
    (data,) = re.findall(r'href="data:[^;]+;base64,([^"]+)"', shown(dashboard))
    return base64.b64decode(data)


READS: dict[Format, Callable[[Any], pd.DataFrame]] = {
    Format.CSV: pd.read_csv,
    Format.PARQUET: pd.read_parquet,
    Format.EXCEL: pd.read_excel,
}


@pytest.mark.parametrize(
    "form", [Format.CSV, pytest.param(Format.PARQUET, marks=pytest.mark.soak)]
)
def test_a_download_has_the_exact_sum(make: Make, form: Format) -> None:
    dashboard = make()
    frame = READS[form](io.BytesIO(prepared(dashboard, form)))
    assert int(frame["charge_micro_usd"].sum()) == 53_399_146
    assert f'download="spend-2026-10.{form.lower()}"' in shown(dashboard)
    assert "45 charged jobs, $53.399146" in shown(dashboard)


def test_focus_is_a_download_of_its_own(make: Make) -> None:
    frame = pd.read_csv(io.BytesIO(prepared(make(), Format.FOCUS)))
    assert {"BilledCost", "ChargePeriodEnd", "SkuId"} <= set(frame.columns)


def test_a_page_of_voila_is_complete_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_out_pictures(monkeypatch)
    spend: Any = FakeSpend()
    dashboard = Dashboard(spend, io_thread(), lambda: TODAY, environment=VOILA)
    assert EXPLAINED in shown(dashboard)
    assert "Comparing" not in shown(dashboard)
    dashboard.close()


def test_a_failed_download_is_reported(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_LINK_BYTES", 1_000)
    dashboard = make()
    dashboard.export_box.value = True
    dashboard.format_buttons[Format.CSV].click()
    settle(dashboard)
    assert "is too large for a download link" in shown(dashboard)
    assert "href=" not in shown(dashboard)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    dashboard.format_buttons[Format.EXCEL].click()
    until(lambda: "pip install openpyxl" in shown(dashboard), dashboard)
    assert "53.40" in shown(dashboard)


def test_a_budget_is_typed_on_the_page_compared_and_kept_when_the_cell_runs_again(
    make: Make,
) -> None:
    dashboard = make(cell=NotebookCell("c", "run 1"))
    assert "charged in October, of" not in shown(dashboard)
    dashboard.budget_box.value = "60"
    settle(dashboard)
    assert "charged in October, of <span>$</span>60.00" in shown(dashboard)
    assert dashboard.budget_box.value == "$60.00"
    dashboard.budget_box.value = "sixty"
    until(lambda: "must be US dollars" in shown(dashboard), dashboard)
    assert "charged in October, of" in shown(dashboard)

    again = make(cell=NotebookCell("c", "run 2"))
    assert again.budget_box.value == "$60.00"
    again.budget_box.value = ""
    settle(again)
    assert "charged in October, of" not in shown(again)
    assert make(budget=None, cell=NotebookCell("d", "run 3")).budget_box.value == ""


def test_each_day_and_each_bar_of_a_plot_says_its_amounts(make_drawn: Make) -> None:
    dashboard = make_drawn()
    dashboard.more_box.value = True
    settle(dashboard)
    by_day, so_far, share, *_ = [
        re.findall(r"<title>([^<]+)</title>", str(plot.svg))
        for plot in (*dashboard.plots, *dashboard.further)
    ]
    assert len(by_day) == TODAY.day
    widths = re.findall(r'width="([^"]+)"[^>]*><title>', str(dashboard.plots[0].svg))
    assert len(set(widths)) == 1  # none begins or ends beside its bar
    daily = dashboard.plots[0].frame
    assert daily is not None
    first = daily[daily["day"] == daily["day"].min()]["charge_micro_usd"].sum()
    assert by_day[0].startswith(f"{TODAY:1 %B %Y}: {format_cents(int(first))}")
    assert "spent" in so_far[0]
    bars = dashboard.further[0].frame
    assert bars is not None
    amounts = [format_cents(amount) for amount in bars["charge_micro_usd"]]
    assert [text.split(": ")[1] for text in share] == [f"{a} charge" for a in amounts]


def test_a_rerun_replaces_its_dashboard_and_keeps_what_was_chosen(make: Make) -> None:
    first = make(cell=NotebookCell("a", "run 1"))
    first.by_box.value = "Project"
    first.month_box.value = "2026-09"
    settle(first)
    other = make(cell=NotebookCell("b", "run 2"))
    again = make(cell=NotebookCell("a", "run 3"))
    assert (first._is_closed, other._is_closed) == (True, False)
    assert (again.month, again.by.value) == ("2026-09", "Project")
    before = in_use()
    asked = make(month="2026-08", cell=NotebookCell("a", "run 4"))
    assert asked.month == "2026-08"
    assert in_use() == before
