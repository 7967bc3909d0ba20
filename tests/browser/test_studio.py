"""The studio as a person uses it, in real JupyterLab and real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Lab, LabServer
from tests.browser.harness.lab import THEMES

pytestmark = pytest.mark.browser

JOB_S = 240.0
PROMPT = "a kite over dunes"
LONG_PROMPT = "a balloon over a tower" + ", farther away than before" * 20
CANARY = "<img src=x onerror='window.canary=1'>"
STUDIO = "import mediakit as mk\nclient = mk.connect(home='studio')\nclient.studio()"
BEFORE = f"""
import mediakit as mk
client = mk.connect(home="studio", project="Dunes")
for place in "lake sea wood town farm hill moor cliff river port mill".split():
    client.submit("text-to-video", prompt=f"a balloon over a {{place}}", duration=3)
client.submit("text-to-video", prompt={LONG_PROMPT!r}, duration=3)
client.submit("text-to-image", prompt={CANARY!r}).wait(timeout_s=60)
client.submit("image-upscale", image_url="https://example.com/none.png").id
"""
# Boxes that stand beside or below each other must not meet, nor be wider than they may.
FITS = """() => {
    const studio = document.querySelector(".mk-studio");
    const wide = [...studio.querySelectorAll("*")].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > studio.getBoundingClientRect().right + 1;
    });
    const met = [...studio.querySelectorAll(".mk-st-row")].filter(row => {
        const words = row.querySelector(".mk-st-line").getBoundingClientRect();
        const button = row.querySelector(".jupyter-button").getBoundingClientRect();
        return words.right > button.left + 1;
    });
    return [...wide, ...met].map(e => e.className || e.tagName);
}"""


def pictures(lab: Lab, studio: Locator, name: str) -> None:
    """Take a picture in both themes and at both widths; nothing is cut in any."""
    for theme, width in product(THEMES, (1280, 800)):
        lab.theme(theme)
        lab.resize(width, 1300)
        expect(studio).to_be_visible()
        assert lab.page.evaluate(FITS) == [], f"{name}, {theme}, {width} px"
        lab.screenshot(f"studio-{name}-{theme}-{width}", studio)
    lab.theme("light")
    lab.resize(1280, 1300)


def press(studio: Locator, name: str) -> None:
    studio.get_by_role("button", name=name, exact=True).first.click()


def test_from_the_catalogue_to_a_paid_clip_and_from_the_history_back_to_its_form(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("studio.ipynb", [BEFORE, STUDIO]))
    lab.resize(1280, 1300)
    lab.hide_sidebar()
    lab.run_cell(0, timeout_s=JOB_S)
    lab.restart_kernel()  # what follows is another process
    lab.run_cell(1)
    studio = lab.cell(1).locator(".mk-studio")
    lab.see(1, "Left to spend")
    pictures(lab, studio, "catalogue")

    studio.get_by_label("Search functions").fill("prompt native audio")
    expect(studio.locator(".mk-st-card")).to_have_count(1)
    press(studio, "Text to video")
    studio.get_by_label("prompt").first.fill(PROMPT)
    lab.see(1, "$0.34")
    pictures(lab, studio, "form")
    press(studio, "Generate · $0.34")
    studio.locator("video:visible").first.wait_for(timeout=JOB_S * 1000)
    lab.see(1, "as estimated")

    press(studio, "History")
    rows = studio.locator(".mk-st-row")
    expect(rows.first).to_contain_text(PROMPT)
    expect(rows.first).to_contain_text("Completed")
    expect(rows.first).to_contain_text("$0.34")
    expect(rows).to_have_count(12)
    shown = studio.locator("select").evaluate_all(
        "all => all.map(box => box.selectedOptions[0]?.text.replaceAll('\u00a0', ' '))"
    )
    assert shown == ["All functions", "All states", "All projects", "Newest first"]
    studio.get_by_label("State", exact=True).select_option("Failed")
    expect(rows).to_have_count(1)
    studio.get_by_label("State", exact=True).select_option(index=0)
    expect(rows).to_have_count(12)
    expect(rows.locator("img")).to_have_count(11, timeout=JOB_S * 1000)
    pictures(lab, studio, "history")
    press(studio, "Next")
    expect(rows).to_have_count(3)

    studio.get_by_label("Search history").fill("KITE")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(PROMPT)
    studio.get_by_label("Search history").fill("balloon tower")
    expect(rows.first).to_contain_text("tower")
    expect(rows).to_have_count(1)
    press(studio, "Open")
    opened = studio.locator(".mk-st-opened")
    expect(opened.locator("video:visible")).to_have_count(1, timeout=JOB_S * 1000)
    expect(opened).to_contain_text("as estimated")
    pictures(lab, studio, "opened")
    kept = json.dumps(lab.save()["cells"][1]["outputs"])
    assert "over a tower" in kept
    assert PROMPT in kept
    assert "data:video" not in kept

    press(studio, "Reuse settings")
    expect(studio.get_by_label("prompt").first).to_have_value(LONG_PROMPT)
    expect(studio.get_by_role("button", name="Generate")).to_be_enabled()
    assert not lab.page.evaluate("() => window.canary")
    assert lab.console_errors() == []

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(1, "Run the cell to use it.")
    lab.see(1, "In flight: nothing")
    lab.see(1, "a balloon over a tower")
    expect(lab.cell(1).get_by_role("button", name="Refresh")).to_have_count(0)
    lab.screenshot("studio-without-a-kernel", lab.cell(1))


SUBMIT = 'client.submit("text-to-video", prompt="a kite for all", duration=3)'


@contextmanager
def told_in_place(lab: Lab, region: Locator, text: str) -> Iterator[None]:
    """See a live region change; what is made anew with its text is not read aloud."""
    region.evaluate("region => { window.region = region; }")
    yield
    expect(region).to_contain_text(text, timeout=JOB_S * 1000)
    assert region.evaluate("region => region === window.region")


def test_states_and_changes_are_there_for_those_who_do_not_see_them(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("spoken.ipynb", [STUDIO, SUBMIT]))
    lab.run_cell(0)
    studio = lab.cell(0).locator(".mk-studio")
    places = studio.get_by_role("group", name="Section", exact=True)
    for place, pressed in (("Functions", "true"), ("History", "false")):
        button = places.get_by_role("button", name=place, exact=True)
        expect(button).to_have_attribute("aria-pressed", pressed)
    spend = studio.get_by_role("status").filter(has_text="Left to spend")
    expect(spend).to_contain_text("nothing")

    press(studio, "Text to video")
    more = studio.get_by_role("button", name="More settings")
    lines = studio.get_by_role("button", name="Price breakdown")
    for fold in (more, lines):
        expect(fold).to_have_attribute("aria-expanded", "false")
        fold.click()
        expect(fold).to_have_attribute("aria-expanded", "true")
        expect(fold).not_to_have_attribute("aria-pressed", "true")

    reason = studio.locator(".mk-reason[role=status]")
    expect(reason).to_contain_text("Prompt is required.")
    studio.get_by_label("prompt").first.fill(PROMPT)
    expect(reason).to_have_text("")
    expect(reason).to_be_attached()
    price = studio.locator("[role=status]:has(.mk-price)")
    expect(price).to_contain_text("$0.34")
    handle = studio.get_by_role("slider").first
    with told_in_place(lab, price, "$0.27"):
        handle.focus()
        handle.press("ArrowLeft")

    lab.start_cell(1)
    status = lab.cell(1).locator(".mk-jobs [role=status]")
    expect(status).to_contain_text("text-to-video")
    with told_in_place(lab, status, "Completed"):
        pass
