"""The studio in real JupyterLab and real Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Lab, video_facts
from tests.browser.harness.lab import Theme
from tests.browser.harness.wait import becomes
from tests.support.sketches import WHOLE_FILMS

pytestmark = [pytest.mark.browser, pytest.mark.soak]

PROMPT = "a kite over dunes"
LONG_PROMPT = (
    "a balloon over a tower at the edge of an old harbour, seen from a boat that turns "
    "slowly; the basket carries two people who wave to the fishermen below, gulls "
    "cross the frame from left to right, the first lamps are lit in the windows, and "
    "mist "
    "rises from the water until only the top of the tower and the striped balloon are "
    "left above it, calm, warm light, wide lens"
)
CANARY = "<img src=x onerror='window.canary=1'>"
STUDIO = "import mediakit as mk\nclient = mk.connect(home='studio')\nclient.studio()"
GROUPS = [
    "Make a video from words",
    "Make a video from pictures",
    "Make a picture",
    "Make a video from references",
    "Change or combine clips",
    "Enlarge",
]
BEFORE = f"""
import mediakit as mk
client = mk.connect(home="studio", project="Dunes")
for place in "lake sea wood town farm hill moor cliff river port mill".split():
    client.submit("text-to-image", prompt=f"a balloon over a {{place}}")
client.submit("text-to-video", prompt={LONG_PROMPT!r}, duration=3).wait()
client.submit("text-to-image", prompt="a harbour in the morning").wait()
client.submit("image-upscale", image_url="https://example.com/portrait.png").id
"""
FROM_OUTSIDE = f"client.submit('text-to-image', prompt={CANARY!r}).wait()"
# Boxes that stand beside or below each other must not meet, nor be wider than they may.
FITS = """() => {
    const studio = document.querySelector(".mk-studio");
    const wide = [...studio.querySelectorAll("*")].filter(e => {
        const box = e.getBoundingClientRect();
        // A month's tables are moved sideways in a box of their own.
        return box.width && !e.parentElement.closest(".mk-sp-rows")
            && box.right > studio.getBoundingClientRect().right + 1;
    });
    return wide.map(e => e.className || e.tagName);
}"""


LOOKS: tuple[tuple[Theme, int], ...] = (("light", 1280), ("dark", 800))
MORE_LOOKS: tuple[tuple[Theme, int], ...] = (*LOOKS, ("dark", 360), ("light", 1600))


def pictures(
    lab: Lab, studio: Locator, name: str, looks: Sequence[tuple[Theme, int]] = LOOKS
) -> None:
    """Take screenshots in themes and widths; nothing is clipped in any."""
    for theme, width in looks:
        lab.theme(theme)
        lab.resize(width, 1300)
        zoom = 1.25 if width == 360 else 1
        lab.page.evaluate("zoom => document.body.style.zoom = zoom", zoom)
        expect(studio).to_be_visible()
        becomes(lab.page, lambda: lab.page.evaluate(FITS), [])
        lab.screenshot(f"studio-{name}-{theme}-{width}", studio)
    lab.theme("light")
    lab.resize(1280, 1300)
    lab.page.evaluate("document.body.style.zoom = 1")


def press(studio: Locator, name: str) -> None:
    studio.get_by_role("button", name=name, exact=True).first.click()


def press_first(studio: Locator, name: str) -> None:
    """Press a button of the first row of the history."""
    first = studio.locator(".mk-st-row").first
    first.get_by_role("button", name=re.compile(f"^{name}")).click()


def go(studio: Locator, tab: str) -> None:
    studio.get_by_role("tab", name=tab, exact=True).click()
    selected = studio.get_by_role("tab", name=tab, exact=True, selected=True)
    expect(selected).to_be_visible()


def test_a_clip_is_bought_from_the_catalog_and_its_form_opened_from_the_history(
    lab: Lab,
) -> None:
    lab.begin("studio.ipynb", BEFORE, STUDIO, FROM_OUTSIDE, height_px=1300)
    lab.run_cell(0)
    lab.restart_kernel()  # what follows is another process
    lab.run_cell(1)
    studio = lab.cell(1).locator(".mk-studio")
    expect(studio).to_contain_text(re.compile(r"\$\d+\.\d\d balance"))
    groups = studio.get_by_role("heading", level=4)
    expect(groups).to_have_text(GROUPS)
    pictures(lab, studio, "catalogue", MORE_LOOKS)

    studio.get_by_label("What do you want to make?").fill("words sound")
    expect(studio.locator(".mk-st-card")).to_contain_text("from $0.068 a second")
    press(studio, "Text to video")
    studio.get_by_label("prompt").first.fill(PROMPT)
    lab.see(1, "$0.34")
    pictures(lab, studio, "form")
    press(studio, "Generate · $0.34")
    studio.locator("video:visible").first.wait_for()
    lab.see(1, "as estimated")

    go(studio, "History")
    rows = studio.locator(".mk-st-row")
    expect(rows.first).to_contain_text(PROMPT)
    expect(rows.first).to_contain_text("Completed")
    expect(rows.first).to_contain_text("$0.34")
    expect(rows).to_have_count(15)
    expect(rows.locator("img")).to_have_count(14)
    expect(rows.nth(1)).to_contain_text("portrait.png")
    studio.get_by_text("More filters").click()
    studio.get_by_role("combobox", name="Project", exact=True).select_option("Dunes")
    expect(rows).to_have_count(14)
    press(studio, "Clear filters")
    expect(rows).to_have_count(15)
    pictures(lab, studio, "history", MORE_LOOKS)
    lab.run_cell(2)
    expect(rows.first).to_contain_text(CANARY)

    studio.get_by_label("Search history").fill("balloon tower")
    expect(rows.first).to_contain_text("tower")
    expect(rows).to_have_count(1)
    press_first(studio, "Open")
    opened = studio.locator(".mk-st-content")
    expect(opened.locator("video:visible")).to_have_count(1)
    expect(opened).to_contain_text("as estimated")
    pictures(lab, studio, "opened")
    assert "data:video" not in lab.save_outputs(1, "over a tower", PROMPT)

    press_first(studio, "Reuse settings")
    lab.see(1, "You already have this result")
    expect(studio.get_by_label("prompt").first).to_have_value(LONG_PROMPT)
    expect(studio.locator("button.mk-go")).to_be_enabled()
    assert not lab.page.evaluate("() => window.canary")
    assert lab.console_errors() == []

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(1, "Run the cell to use it.")
    lab.see(1, "Running jobs: 0")
    lab.see(1, "a balloon over a tower")
    expect(lab.cell(1).get_by_role("button", name="Refresh")).to_have_count(0)
    lab.screenshot("studio-without-a-kernel", lab.cell(1))


SUBMIT = 'client.submit("text-to-video", prompt="a kite for all", duration=3)'


@contextmanager
def told_in_place(lab: Lab, region: Locator, text: str) -> Iterator[None]:
    """Watch a live region change; a region created with its text is not read aloud."""
    region.evaluate("region => { window.region = region; }")
    yield
    expect(region).to_contain_text(text)
    assert region.evaluate("region => region === window.region")


def test_states_and_changes_are_exposed_to_screen_readers(lab: Lab) -> None:
    studio_of_its_own = STUDIO.replace("home='studio'", "home='spoken'")
    lab.begin("spoken.ipynb", WHOLE_FILMS + studio_of_its_own, SUBMIT)
    lab.run_cell(0)
    studio = lab.cell(0).locator(".mk-studio")
    # No key that is pressed in the studio reaches the notebook.
    cells = lab.page.locator(".jp-Notebook .jp-Cell").count()
    studio.get_by_role("tab", name="Make").focus()
    for key in "abcdefghijklmnopqrstuvwxyz0123456789":
        lab.page.keyboard.press(key)
    assert lab.page.locator(".jp-Notebook .jp-Cell").count() == cells

    press(studio, "Text to video")
    reason = studio.locator(".mk-reason[role=status]")
    expect(reason).to_contain_text("Enter a prompt.")
    studio.get_by_label("prompt").first.fill(PROMPT)
    expect(reason).to_have_text("")
    expect(reason).to_be_attached()
    price = studio.locator(".mk-price[role=status]")
    expect(price).to_contain_text("$0.34")
    handle = studio.get_by_role("slider").first
    with told_in_place(lab, price, "$0.27"):
        handle.focus()
        handle.press("ArrowLeft")

    lab.start_cell(1)
    status = lab.cell(1).locator(".mk-jobs .mk-job-title[role=status]")
    expect(status).to_contain_text("estimated")
    with told_in_place(lab, status, "Completed"):
        pass


CLIPS = """
import mediakit as mk
client = mk.connect(home="lighthouses")
clips = [
    client.submit("text-to-video", prompt=f"a lighthouse {when}", duration=3)
    for when in ("at dawn", "at noon", "at dusk", "at night")
]
for clip in clips:
    clip.wait().settle(timeout_s=60)
client.studio()
"""


def test_several_jobs_are_summed_compared_and_erased_and_the_spend_is_drawn(
    lab: Lab,
) -> None:
    lab.begin("lighthouses.ipynb", CLIPS, height_px=1300)
    lab.run_cell(0)
    studio = lab.cell(0).locator(".mk-studio")
    go(studio, "History")
    boxes = studio.get_by_role("checkbox", name="Select a lighthouse")
    expect(boxes).to_have_count(4)
    boxes.nth(0).click()
    boxes.nth(1).click(modifiers=["Shift"])
    lab.see(0, "2 selected · $0.408 charged")
    expect(studio.locator(".mk-st-row img")).to_have_count(4)
    pictures(lab, studio, "selected", MORE_LOOKS)

    press(studio, "Compare")
    wall = studio.locator(".mk-st-content")
    expect(wall).to_contain_text("at night")
    expect(wall).to_contain_text("at dusk")
    expect(wall).not_to_contain_text("at noon")
    expect(wall.locator(".mk-wall-tile")).to_have_count(2)
    sheet = lab.page.get_by_role("dialog", name="Compare 2")
    expect(sheet).to_contain_text("a lighthouse at night")
    assert video_facts(lab.page, "dialog video").shows_a_picture
    lab.screenshot("studio-side-by-side", sheet)
    lab.page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    pictures(lab, studio, "compared")
    press(studio, "← Back to the list")

    press(studio, "Save to folder…")
    studio.get_by_label("Folder", exact=True).fill("films")
    press(studio, "Save 2 results")
    lab.see(0, "Saved 2 results to")
    lab.see(0, "2 selected")
    press(studio, "Erase…")
    lab.see(0, "Erase 2 results for good?")
    pictures(lab, studio, "asked", [("light", 360)])
    press(studio, "Yes, erase 2 results")
    lab.see(0, "Erased 2 results.")
    expect(studio.locator(".mk-st-row").nth(0)).to_contain_text("Erased")
    expect(studio.locator(".mk-st-row").nth(1)).to_contain_text("Erased")
    expect(studio.locator(".mk-st-row").nth(2)).to_contain_text("Completed")

    studio.get_by_role("tab", name="History").press("ArrowRight")
    expect(studio.get_by_role("tab", name="Spend")).to_be_focused()
    expect(studio.get_by_role("tabpanel", name="Spend")).to_be_visible()
    dashboard = studio.locator(".mk-month")
    expect(dashboard).to_contain_text("$0.82charged")
    expect(dashboard.locator("svg").first).to_be_visible()
    pictures(lab, studio, "spend", MORE_LOOKS)
    assert lab.console_errors() == []
