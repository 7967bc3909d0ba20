"""A form's fields as lists: planned, priced, run and reviewed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab
from tests.browser.harness.wait import becomes, rest, until

pytestmark = pytest.mark.browser

FORM = """
import mediakit as mk
client = mk.connect(home="swept")
form = client.form("text-to-video", prompt="a kite over dunes", duration=3)
form
"""
HIDDEN_PX = "e => e.scrollHeight - e.clientHeight"
PLACEHOLDER = "results => getComputedStyle(results, '::before').content"
TOP = "wall => wall.getBoundingClientRect().top"
WORDS = "print(client.history.frame()['status'].tolist())"


@pytest.mark.soak
def test_fields_of_a_form_become_lists_that_are_priced_and_run(lab: Lab) -> None:
    lab.begin("sweep.ipynb", FORM, WORDS, height_px=1700)
    lab.run_cell(0)
    lab.see(0, "$0.20")
    form = lab.cell(0).locator(".mk-form")

    form.get_by_role("button", name="Sweep…").click()
    panel = form.locator(".mk-sweep")
    lab.see(0, "Choose what to vary")
    varies = panel.get_by_role("group", name="what varies")
    for name in ("Prompt", "Resolution"):
        varies.get_by_label(name, exact=True).click()
        expect(varies.get_by_label(name, exact=True)).to_be_checked()
    prompts = panel.get_by_label("Prompts, one per line")
    expect(prompts).to_have_value("a kite over dunes")
    prompts.press("Control+End")
    lab.page.keyboard.type("\na {animal} in snow")
    expect(prompts).to_have_value("a kite over dunes\na {animal} in snow")
    lab.see(0, "Enter at least one value, one per line.")
    animals = panel.get_by_label("{animal}, one per line")
    lab.screenshot("sweep-slot", form)
    expect(animals).to_have_value("")
    prompts.fill("a kite over dunes" + "\na red fox in snow" * 6)
    becomes(lab.page, lambda: prompts.evaluate(HIDDEN_PX), 0)
    prompts.fill("a kite over dunes\na red fox in snow")
    expect(animals).to_have_count(0)
    resolutions = panel.get_by_role("group", name="Resolutions")
    expect(resolutions.get_by_label("720p")).to_be_checked()
    resolutions.get_by_label("1080p").click()
    run = panel.get_by_role("button", name="Run 4 cells · $0.948")
    expect(run).to_be_enabled()
    lab.screenshot("sweep-plan", form)

    panel.get_by_role("button", name="Copy sweep as Python").click()
    expect(panel.locator("pre.mk-code")).to_contain_text('resolution=["720p", "1080p"]')
    expect(panel.locator("pre.mk-code")).to_contain_text('.run(max_price="$0.948")')
    panel.get_by_role("button", name="Copy sweep as Python").click()

    run.click()
    wall = form.locator(".mk-below .mk-wall")
    expect(wall).to_be_in_viewport()
    until(lab.page, lambda: wall.evaluate(TOP) < 600)
    words, results = (
        '"The results of the sweep are below."',
        form.locator(".mk-results"),
    )
    becomes(lab.page, lambda: results.evaluate(PLACEHOLDER), words)
    lab.see(0, "4 of 4 done")
    lab.see(0, "Show 4 cells · $0.00")
    lab.run_cell(1)
    lab.see(1, "['completed', 'completed', 'completed', 'completed']")
    lab.screenshot("sweep-done", form)
    lab.save_outputs(0, "text-to-video by prompt and resolution")
    assert lab.console_errors() == []


@pytest.mark.soak
def test_a_cell_over_the_budget_is_sent_by_the_click_that_raises_it(lab: Lab) -> None:
    form_of_its_own = FORM.replace("swept", "budgeted")
    lab.begin("budget.ipynb", form_of_its_own, WORDS, height_px=1700)
    lab.run_cell(0)
    lab.see(0, "$0.20")
    form = lab.cell(0).locator(".mk-form")
    form.get_by_role("button", name="Sweep…").click()
    panel = form.locator(".mk-sweep")
    varies = panel.get_by_role("group", name="what varies")
    varies.get_by_label("Prompt", exact=True).check()
    panel.get_by_label("Prompts, one per line").fill("a kite\na gull")
    panel.get_by_label("Budget").fill("$0.30")
    panel.get_by_role("button", name="Copy sweep as Python").click()
    expect(panel.locator("pre.mk-code")).to_contain_text('.run(budget="$0.30")')
    run = panel.get_by_role("button", name="Run 1 of 2 · $0.204")
    expect(run).to_be_enabled()
    rest(lab.page)
    run.click()
    lab.see(0, "1 of 2 done")
    lab.see(0, "of $0.30 spent")
    wall = form.locator(".mk-below .mk-wall")
    words = "Raise the budget to $0.408 and send (R) · $0.204"
    again = wall.get_by_role("button", name=words)
    again.scroll_into_view_if_needed()
    lab.screenshot("sweep-over-budget", wall)
    rest(lab.page)
    again.click()
    lab.see(0, "2 of 2 done")
    expect(wall).to_contain_text("$0.408")
    expect(wall).to_contain_text("Sent again. It may cost $0.204.")
    lab.see(0, "Show 2 cells · $0.00")
    lab.screenshot("sweep-budget-raised", wall)
    lab.run_cell(1)
    lab.see(1, "['completed', 'completed']")
