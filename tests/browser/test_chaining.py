"""Results as inputs in real JupyterLab: a picture enlarged, and then on a timeline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, connected
from tests.browser.harness.lab import THEMES

pytestmark = pytest.mark.browser

PRICE = re.compile(r"\$0\.1(26|3)")
MADE = "img[src^='http']:visible"
PROMPT = "a lighthouse in the evening"


MAKE = f"""
for prompt in ("a kite over dunes", {PROMPT!r}):
    client.run("text-to-image", prompt=prompt)
client.run("text-to-video", prompt="a red boat", duration=3)
"""


def press(within: Locator, name: str) -> None:
    within.get_by_role("button", name=name, exact=True).filter(visible=True).click()


def generate(within: Locator) -> None:
    """Press the form's own button, not one of a nested form."""
    within.get_by_role("button", name=re.compile("^Generate")).first.click()


@pytest.mark.soak
def test_a_picture_is_upscaled_from_its_card_and_the_result_is_put_on_a_timeline(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "chaining")
    form = "client.form('text-to-image')"
    lab.begin("chaining.ipynb", first, form, height_px=1500)
    lab.run_all()
    cell = lab.cell(1)
    cell.get_by_label("prompt").first.fill(PROMPT)
    generate(cell)
    picture = cell.locator(".mk-job").first
    picture.locator(MADE).first.wait_for()

    press(picture, "Use as…")
    expect(picture.get_by_role("button", name="Image upscale")).to_be_focused()
    lab.page.keyboard.press("Tab")
    expect(picture.get_by_role("button", name="Compose video")).to_be_focused()
    lab.screenshot("chaining-menu", cell)
    lab.page.keyboard.press("Shift+Tab")
    lab.page.keyboard.press("Enter")
    upscale = picture.locator(".mk-form").first
    expect(upscale).to_contain_text(PROMPT)
    expect(upscale).to_contain_text(PRICE)
    expect(upscale.locator("input").first).to_be_focused()
    for theme in THEMES:
        lab.theme(theme)
        lab.screenshot(f"chaining-form-{theme}", cell)
    generate(upscale)
    tall = upscale.locator(".mk-job").first
    tall.locator(MADE).first.wait_for()

    press(tall, "Use as…")
    press(tall, "Compose video")
    compose = tall.locator(".mk-form").first
    expect(compose).to_contain_text("1 track · 1 clip · ends at 2 s")
    generate(compose)
    film = compose.locator(".mk-job").first
    film.locator("video:visible").first.wait_for()
    lab.screenshot("chaining-three", cell)
    assert lab.console_errors() == []

    # The derived result appears among the form's own results.
    lab.save()
    lab.restart_kernel()
    lab.run_all()
    jobs = lab.cell(1).locator(".mk-job")
    expect(jobs).to_have_count(3)
    expect(jobs.first).to_contain_text("compose-video")


@pytest.mark.soak
def test_results_are_found_by_search_and_chosen_by_mouse_and_by_keys(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "picker")
    forms = ["client.form('image-upscale')", "client.form('r1')"]
    lab.begin("picker.ipynb", first, MAKE, *forms, height_px=1500)
    lab.run_all()
    upscale = lab.cell(2)

    press(upscale, "From history")
    rows = upscale.locator(".mk-pick-row")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(PROMPT)
    expect(rows.locator("img")).to_have_count(2)
    for theme in THEMES:
        lab.theme(theme)
        lab.screenshot(f"picker-{theme}", upscale)
    upscale.get_by_label("Search results").press_sequentially("KITE")
    expect(rows).to_have_count(1)
    rows.first.click(position={"x": 30, "y": 20})
    expect(rows).to_have_count(0)
    lab.see(2, "a kite over dunes · ")
    expect(upscale).to_contain_text(PRICE)
    lab.screenshot("picker-chosen", upscale)

    references = lab.cell(3)
    button = references.get_by_role("button", name="From history").first
    button.focus()
    lab.page.keyboard.press("Enter")
    expect(references.locator(".mk-pick-row")).to_have_count(2)
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Enter")
    expect(references.locator(".mk-pick-row")).to_have_count(0)
    expect(button).to_be_focused()
    expect(references.get_by_label("@Image1").first).to_have_value(_is_url())
    assert lab.console_errors() == []


def _is_url() -> re.Pattern[str]:
    return re.compile("^https?://")
