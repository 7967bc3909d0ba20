"""Focus, emptied boxes and screen readers in forms, with real keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, LabServer

pytestmark = pytest.mark.browser

CELLS = ['import mediakit as mk\nclient = mk.connect()\nclient.form("keyframes")']
VIDEO = 'client.form("text-to-video", prompt="a kite")'


def test_add_moves_the_focus_into_what_it_added(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("focus.ipynb", CELLS))
    lab.run_cell(0)
    form = lab.cell(0).locator(".mk-form")
    boxes = form.get_by_placeholder("Path or URL")

    form.get_by_role("button", name="Add", exact=True).first.click()
    expect(boxes).to_have_count(2)
    expect(boxes.nth(1)).to_be_focused()
    form.get_by_role("button", name="Add", exact=True).nth(1).click()
    expect(form.locator(".mk-items input").first).to_be_focused()


def test_a_number_that_is_cleared_becomes_the_last_one_that_was_accepted(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("cleared.ipynb", [*CELLS, VIDEO]))
    lab.run_cell(0)
    lab.run_cell(1)
    form = lab.cell(1).locator(".mk-form")
    duration = form.get_by_label("Duration").first

    duration.fill("99")
    lab.see(1, "Must be a whole number from 3 to 15 seconds")
    duration.fill("")
    lab.page.keyboard.press("Tab")
    expect(duration).to_have_value("5")
    expect(form.locator(".mk-bad").filter(visible=True)).to_have_count(0)
    expect(form.locator("button.mk-go")).to_have_text("Generate · $0.34")

    duration.fill("8")
    lab.page.keyboard.press("Tab")
    duration.fill("45")
    lab.page.keyboard.press("Tab")
    lab.see(1, "Must be a whole number from 3 to 15 seconds")
    duration.click()
    for key in ("Control+a", "Delete", "Tab"):
        lab.page.keyboard.press(key)
    expect(duration).to_have_value("8")
    expect(form.locator("button.mk-go")).to_have_text("Generate · $0.54")


def test_the_price_and_what_is_missing_are_each_one_live_region(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("live.ipynb", [*CELLS, VIDEO]))
    lab.run_cell(0)
    lab.run_cell(1)
    form = lab.cell(1).locator(".mk-form")

    live = form.get_by_role("status")
    expect(live.filter(has_text="$0.34")).to_have_count(1)
    expect(form.locator(".mk-balance")).to_contain_text("Balance: $")
    expect(form.locator(".mk-balance[role=status]")).to_have_count(0)
    form.get_by_label("Prompt").first.fill("")
    expect(live.filter(has_text="Fill in prompt to continue.")).to_have_count(1)
