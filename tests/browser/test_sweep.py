"""A sweep in real JupyterLab: planned, run by a click, rated by keys, kept on disk."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, LabServer
from tests.browser.harness.lab import THEMES

pytestmark = pytest.mark.browser

RUN_MS = 240_000
CONNECT = "import mediakit as mk\nclient = mk.connect(home='sweep')"
PLAN = """
plan = client.sweep(
    "text-to-video",
    prompt="a {animal} over dunes",
    animal=["kite", "gull"],
    duration=[3, 4, 99],
)
plan
"""
RESULTS = "results = plan.refresh().run()\nresults.wait(60)\nresults"
RATED = "print(results.frame()['rating'].dropna().astype(int).tolist())"
AGAIN = "print(plan.refresh())"


def test_a_plan_is_run_by_a_click_and_its_results_are_rated_by_keys(
    lab: Lab, lab_server: LabServer
) -> None:
    cells = [CONNECT, PLAN, RESULTS, RATED, AGAIN]
    lab.open(lab_server.add_notebook("sweep.ipynb", cells))
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "4 new")
    plan = lab.cell(1)
    lab.see(1, "got 99")
    lab.screenshot("sweep-plan", plan)
    plan.get_by_role("button", name="Run 4 cells").click()
    expect(plan.locator(".mk-wall-soft", has_text="4 of 6 done")).to_be_visible(
        timeout=RUN_MS
    )
    for theme in THEMES:
        lab.theme(theme)
        lab.screenshot(f"sweep-wall-{theme}", plan)
    lab.theme("light")
    lab.run_cell(2)
    lab.see(2, "4 of 6 done")
    first = lab.cell(2).locator("[role=gridcell]").first
    first.focus()
    lab.page.keyboard.press("4")
    expect(first).to_contain_text("★★★★")
    lab.run_cell(3)
    lab.see(3, "[4]")
    lab.run_cell(4)
    lab.see(4, "4 owned, 0 new: $0.00")
    saved = str(lab.save()["cells"][2]["outputs"])
    assert "★★★★" in saved
    lab.reload()
    expect(lab.outputs(2)).to_contain_text("kite")
