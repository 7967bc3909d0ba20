"""A form's fields turned into lists: planned, priced, run and looked at."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab

pytestmark = pytest.mark.browser

RUN_S = 120.0
STATIC_MS = 3_000
FORM = """
import mediakit as mk
client = mk.connect(home="swept")
form = client.form("text-to-video", prompt="a kite over dunes", duration=3)
form
"""
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
    lab.see(0, "Select what varies")
    varies = panel.get_by_role("group", name="what varies")
    varies.get_by_label("Prompt", exact=True).check()
    varies.get_by_label("Resolution", exact=True).check()
    prompts = panel.get_by_label("Values of prompt")
    expect(prompts).to_have_value("a kite over dunes")
    prompts.press("Control+End")
    lab.page.keyboard.type("\na {animal} in snow")
    expect(prompts).to_have_value("a kite over dunes\na {animal} in snow")
    lab.see(0, "Enter at least one value, one per line.")
    animals = panel.get_by_label("Values of {animal}")
    lab.screenshot("sweep-slot", form)
    expect(animals).to_have_value("")
    prompts.fill("a kite over dunes\na red fox in snow")
    expect(animals).to_have_count(0)
    resolutions = panel.get_by_role("group", name="Values of resolution")
    expect(resolutions.get_by_label("720p")).to_be_checked()
    resolutions.get_by_label("1080p").check()
    run = panel.get_by_role("button", name="Run 4 cells · $0.948")
    expect(run).to_be_enabled()
    lab.screenshot("sweep-plan", form)

    panel.get_by_role("button", name="Copy sweep as Python").click()
    expect(panel.locator("pre.mk-code")).to_contain_text('resolution=["720p", "1080p"]')
    panel.get_by_role("button", name="Copy sweep as Python").click()

    run.click()
    wall = form.locator(".mk-below .mk-wall")
    expect(wall).to_be_in_viewport()
    assert wall.evaluate(TOP) < 600
    words = form.locator(".mk-results").evaluate(PLACEHOLDER)
    assert words == '"The results of the sweep are below."'
    lab.see(0, "4 of 4 done", timeout_s=RUN_S)
    lab.see(0, "Show 4 cells · $0.00", timeout_s=RUN_S)
    lab.run_cell(1)
    lab.see(1, "['completed', 'completed', 'completed', 'completed']")
    lab.screenshot("sweep-done", form)
    lab.page.wait_for_timeout(STATIC_MS)
    kept = json.dumps(lab.save()["cells"][0]["outputs"])
    assert "text-to-video by prompt and resolution" in kept
    assert lab.console_errors() == []
