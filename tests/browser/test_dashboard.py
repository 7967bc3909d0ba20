"""The spend dashboard in JupyterLab."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import Lab
from tests.browser.harness.lab import THEMES
from tests.browser.harness.wait import becomes, screenshot, until

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
TOTAL = "$53.40"
TOTAL_MICRO_USD = 53_399_146
# The reports of a made-up year: the dashboard is the same over any service.
MAKES = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from mediakit.client.io_thread import io_thread
from mediakit.widgets.toolkit.cell_outputs import current_cell
from mediakit.widgets.dashboard.dashboard import Dashboard
from tests.spend.fake_spend import TODAY, FakeSpend
spend = FakeSpend()
def dashboard(**more):
    return Dashboard(
        spend, io_thread(), lambda: TODAY, cell=current_cell(), **more)
"""
SHOWS = "dashboard()"
FAILS = """
spend.failing = ["monthly"]
dashboard()
"""
WORKS = "spend.failing = []"
# Boxes that stand beside or below each other must not be wider than they may.
FITS = """() => {
    const root = document.querySelector(".mk-month");
    const right = root.getBoundingClientRect().right + 1;
    const scrolls = e => e.closest(".mk-sp-rows") && !e.matches(".mk-sp-rows");
    return [...root.querySelectorAll("*")].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > right && !scrolls(e);
    }).map(e => e.className || e.tagName);
}"""
# Boxes and buttons in one row, with or without a label above each.
CONTROLS = """root => [
    ...root.querySelectorAll(".mk-sp-controls :is(select, button, input[type=text])"),
].map(e => Math.round(e.getBoundingClientRect().bottom))"""
NAMES = """root => [...root.querySelectorAll(".mk-sp-controls label")]
    .map(e => `${e.getBoundingClientRect().top} ${getComputedStyle(e).fontWeight}`)"""
# The height of the type in a plot follows its width; it is never tiny.
TYPE_PX = """root => [...root.querySelectorAll(".mk-sp-plots svg")]
    .filter(svg => svg.getBoundingClientRect().width)
    .map(svg => 12 * svg.getBoundingClientRect().width / 436)"""

# The number of figures in each row, out of six.
ROWS_OF_SIX = """root => {
    const figures = [...root.querySelectorAll(".mk-sp-figures > div")];
    if (figures.length !== 6) return [6];
    const tops = figures.map(e => Math.round(e.getBoundingClientRect().top));
    return [...new Set(tops)].map(top => tops.filter(each => each === top).length);
}"""


def see(where: Locator, text: str | re.Pattern[str]) -> None:
    expect(where.get_by_text(text).first).to_be_visible()


def drawn(dashboard: Locator, count: int = 2) -> None:
    """Wait for a number of plots and for the sentence."""
    expect(dashboard.locator(".mk-sp-verdict")).to_contain_text(
        "all of it is explained"
    )
    plots = dashboard.locator(".mk-sp-plots svg:visible")
    expect(plots).to_have_count(count)


def names(dashboard: Locator, plot: int, text: str) -> None:
    """Wait until the text alternative of a plot has a text."""
    label = re.compile(re.escape(text))
    shown = dashboard.locator(".mk-sp-plots svg").nth(plot)
    expect(shown).to_have_attribute("aria-label", label)


def in_one_row(dashboard: Locator) -> None:
    """The controls are aligned at the bottom, and their labels look alike."""
    assert len(set(dashboard.evaluate(CONTROLS))) == 1
    assert len(set(dashboard.evaluate(NAMES))) == 1


def pictures(lab: Lab, dashboard: Locator, name: str) -> None:
    """Take a screenshot in each theme, wide or narrow; nothing is clipped in either."""
    for theme, width in zip(THEMES, (1300, 600), strict=True):
        lab.theme(theme)
        lab.resize(width, 1400)
        until(
            lab.page,
            lambda: all(9.5 <= px <= 12 for px in dashboard.evaluate(TYPE_PX) or [0]),
            lambda: dashboard.evaluate(TYPE_PX),
        )
        becomes(lab.page, lambda: lab.page.evaluate(FITS), [])
        until(
            lab.page,
            lambda: dashboard.evaluate(ROWS_OF_SIX) in ([6], [3, 3]),
            lambda: dashboard.evaluate(ROWS_OF_SIX),
        )
        lab.screenshot(f"dashboard-{name}-{theme}-{width}", dashboard)
    lab.theme("light")
    lab.resize(1280, 1400)


def downloaded(page: Page, dashboard: Locator) -> list[dict[str, str]]:
    """Press Export and CSV, and follow the link; return the file's rows."""
    dashboard.get_by_role("button", name="Export").click()
    dashboard.get_by_role("button", name="CSV", exact=True).click()
    link = dashboard.get_by_role("link", name="Download spend-2026-10.csv")
    expect(link).to_be_visible()
    with page.expect_download() as waiting:
        link.click()
    assert waiting.value.suggested_filename == "spend-2026-10.csv"
    text = Path(waiting.value.path()).read_text()
    return list(csv.DictReader(io.StringIO(text)))


def total_of(rows: list[dict[str, str]]) -> int:
    return sum(int(row["charge_micro_usd"]) for row in rows)


@pytest.mark.soak
def test_a_month_is_shown_and_exported_and_an_unreadable_month_is_read_again(
    lab: Lab,
) -> None:
    cells = [MAKES, SHOWS, FAILS, WORKS]
    lab.begin("dashboard.ipynb", *cells, height_px=1400)
    lab.run_cell(0)
    lab.run_cell(1)
    dashboard = lab.cell(1).locator(".mk-month")
    see(dashboard, "charged")
    drawn(dashboard)
    expect(dashboard.locator(".mk-sp-figures b").nth(1)).to_have_text(TOTAL)
    in_one_row(dashboard)
    pictures(lab, dashboard, "month")

    by = dashboard.get_by_role("group", name="Group by", exact=True)
    by.get_by_role("button", name="Project").click()
    names(dashboard, 0, "Harbour")
    drawn(dashboard)
    dashboard.get_by_role("button", name="More plots").click()
    drawn(dashboard, 6)
    dashboard.get_by_text("Data (").first.click()
    pictures(lab, dashboard, "further")
    dashboard.get_by_role("button", name="More plots").click()

    rows = downloaded(lab.page, dashboard)
    assert total_of(rows) == TOTAL_MICRO_USD
    pictures(lab, dashboard, "export")

    dashboard.get_by_label("Month", exact=True).select_option("May 2026")
    see(dashboard, "Nothing was charged in May 2026.")
    dashboard.get_by_label("Month", exact=True).select_option("October 2026")
    drawn(dashboard)
    budget = dashboard.get_by_label("Budget", exact=True)
    budget.fill("300")
    budget.press("Enter")
    expect(dashboard.locator(".mk-sp-figures")).to_contain_text("of $300.00")
    expect(budget).to_have_value("$300.00")
    drawn(dashboard)
    lab.screenshot("dashboard-budget", dashboard)
    assert not lab.page.evaluate("() => window.canary")

    lab.run_cell(2)
    failing = lab.cell(2).locator(".mk-month")
    alert = failing.get_by_role("alert")
    expect(alert).to_contain_text("The service does not answer.")
    lab.screenshot("dashboard-failed", failing)
    lab.run_cell(3)
    failing.get_by_role("button", name="Refresh").click()
    drawn(failing)
    expect(alert).to_have_count(0)
    assert lab.console_errors() == []

    assert len(lab.save_outputs(1, "all of it is explained")) < 200_000
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(1, "Run the cell to use it.")
    lab.see(1, "all of it is explained")
    expect(lab.cell(1).locator("img:visible")).to_have_count(2)
    lab.screenshot("dashboard-without-a-kernel", lab.cell(1))
    lab.theme("dark")
    lab.screenshot("dashboard-without-a-kernel-dark", lab.cell(1))


PAST = """
import mediakit as mk
client = mk.connect(home="past")
past = client.seed_past(days=100, jobs=300)
month = f"{past.last_day:%Y-%m}"  # on the first day of a month, the one before
"""
OF_CLIENT = 'client.spend.dashboard(month, budget="$150")'
REPORT = 'client.spend.report(month, "month.html", budget="$150").name'


@pytest.mark.soak
def test_a_sample_history_is_shown_and_exported_as_a_page(lab: Lab) -> None:
    cells = [PAST, OF_CLIENT, REPORT]
    lab.begin("past.ipynb", *cells, height_px=1400)
    lab.run_cell(0)
    lab.run_cell(1)
    dashboard = lab.cell(1).locator(".mk-month")
    drawn(dashboard)
    see(dashboard, "Against the budget")
    names(dashboard, 1, "of $150.00 spent")
    pictures(lab, dashboard, "past")
    dashboard.get_by_label("Show only", exact=True).select_option("Text to video")
    see(dashboard, "charged, of")
    see(dashboard, re.compile("^(Month so far|Over the month)$"))
    lab.screenshot("dashboard-past-only", dashboard)

    lab.run_cell(2)
    lab.see(2, "month.html")
    page = lab.page.context.new_page()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto((lab.server.root / "month.html").as_uri())
        expect(page.get_by_text("all of it is explained")).to_be_visible()
        expect(page.locator("figure svg")).to_have_count(6)
        page.wait_for_function(
            "() => document.documentElement.scrollWidth <= innerWidth"
        )
        screenshot(page, f"dashboard-report-{scheme}")
