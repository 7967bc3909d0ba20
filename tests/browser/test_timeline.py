"""The timeline of compose-video in real JupyterLab: by mouse and by keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from mediakit.widgets.toolkit.styles import KERNEL_GONE
from tests.browser.geometry import box_of, middle
from tests.browser.harness import Lab
from tests.browser.harness.wait import becomes, until

pytestmark = pytest.mark.browser

MEDIA = """
from PIL import Image
import mediakit as mk
Image.radial_gradient("L").convert("RGB").resize((300, 200)).save("cat.png")
Image.linear_gradient("L").convert("RGB").resize((300, 200)).save("dog.png")
client = mk.connect()
def key(start, length, url):
    return dict(timestamp=start, duration=length, url=url)
"""
EMPTY = "form = client.form('compose-video')\nform"
PAIR = f"""{MEDIA}
form = client.form("compose-video", tracks=[
    dict(id="stills", type="image", keyframes=[
        key(0, 2000, "cat.png"), key(3000, 2000, "dog.png")])])
form
"""
MANY = f"""{MEDIA}
form = client.form("compose-video", tracks=[
    dict(id="stills", type="image", keyframes=[
        key(0, 2000, "cat.png"), key(2000, 1500, "dog.png"),
        key(5000, 3000, "cat.png")]),
    dict(id="clips of the harbour, the second draft", type="video", keyframes=[
        key(500, 2500, "https://a.test/a-rather-long-name-of-a-clip.mp4"),
        key(2600, 1400, "https://a.test/b.mp4?token=1")]),
    dict(id="a voice", type="audio", keyframes=[
        key(1000, 8000, "https://a.test/v.mp3")]),
    dict(id="later", type="image", keyframes=[{{}}])])
form
"""
DASH = "\N{EN DASH}"
FITS = """() => [".mk-timeline", ".mk-tl-scroll", ".mk-tl-facts"].every(name =>
    [...document.querySelectorAll(name)].every(e => e.scrollWidth <= e.clientWidth))"""
MARKS = """() => [...document.querySelectorAll(".mk-gone")]
    .map(e => getComputedStyle(e, "::before").content)
    .filter(text => text !== "none")"""
COMES_BACK = " Your settings and results come back, and running jobs continue."
LAST = f'"{KERNEL_GONE}{COMES_BACK}"'
VALUES = "form.values['tracks']"


def show(lab: Lab, *cells: str) -> Locator:
    """Open a notebook with forms, run the first cell, and return its timeline."""
    lab.begin("timeline.ipynb", *cells, height_px=1300)
    lab.run_cell(0)
    timeline = lab.cell(0).locator(".mk-timeline")
    expect(timeline).to_be_visible()
    return timeline


def block(timeline: Locator, row: int, at: int) -> Locator:
    return timeline.locator(f".mk-tl-block[data-row='{row}'][data-at='{at}']")


def drag(lab: Lab, what: Locator, by_px: float) -> None:
    """Drag a block by its middle."""
    x, y = middle(what)
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    lab.page.mouse.move(x + by_px / 2, y, steps=5)
    lab.page.mouse.move(x + by_px, y, steps=5)
    lab.page.mouse.up()


@pytest.mark.soak
def test_a_composition_is_readable_in_both_themes_and_at_any_width(
    lab: Lab,
) -> None:
    timeline = show(lab, MANY, EMPTY)
    block(timeline, 1, 1).click()
    expect(block(timeline, 1, 1)).to_have_attribute("aria-pressed", "true")
    for theme, width in (("dark", 800), ("light", 1024), ("light", 1280)):
        lab.theme("dark" if theme == "dark" else "light")
        lab.resize(width, 1300)
        expect(timeline).to_be_visible()
        lab.page.wait_for_function(FITS)
        lab.screenshot(f"timeline-{theme}-{width}")

    lab.run_cell(1)
    form = lab.cell(1)
    timeline = form.locator(".mk-timeline")
    expect(timeline).to_contain_text("Double-click a row to add its first clip")
    lab.screenshot("timeline-empty", form)
    assert lab.console_errors() == []


def values(lab: Lab) -> str:
    lab.run_cell(1)
    return lab.printed(1)


@pytest.mark.soak
def test_keys_typed_right_after_the_type_of_a_track_was_changed_arrive(
    lab: Lab,
) -> None:
    show(lab, MEDIA + EMPTY, VALUES)
    form = lab.cell(0)
    form.get_by_role("button", name="Track 1").click()
    start = form.get_by_label("Start (s) *")

    for kind in ("image", "audio", "video", "image"):
        form.get_by_role("button", name=kind.capitalize(), exact=True).click()
        start.press_sequentially("12")
        form.get_by_label("url *").press_sequentially("x")
    expect(form.locator(".mk-tl-facts > span")).to_have_text("image")
    wanted = "'timestamp': 12121212000, 'url': 'xxxx'"
    # The last key may still be on its way to the kernel.
    until(lab.page, lambda: wanted in values(lab), lambda: values(lab))
    expect(start).to_have_value("12121212")


@pytest.mark.soak
def test_a_timeline_survives_a_reload_and_is_read_only_without_its_kernel(
    lab: Lab,
) -> None:
    timeline = show(lab, PAIR)
    block(timeline, 0, 1).click()
    lab.page.keyboard.press("Shift+ArrowRight")
    expect(block(timeline, 0, 1)).to_contain_text(f"4 {DASH} 6 s")
    lab.see(0, "$0.0012")
    lab.save()
    lab.reload()
    timeline = lab.cell(0).locator(".mk-timeline")
    second = block(timeline, 0, 1)
    expect(second).to_contain_text(f"4 {DASH} 6 s")
    second.click()
    lab.page.keyboard.press("ArrowRight")
    lab.see(0, "$0.00122")

    lab.run_cell(0)
    expect(second).to_contain_text(f"4.1 {DASH} 6.1 s")
    lab.restart_kernel()
    stands_still(lab, timeline)
    # One sentence for the whole form, in place of a broken chain at each widget.
    becomes(lab.page, lambda: lab.page.evaluate(MARKS), [LAST])
    lab.screenshot("timeline-restarted", lab.cell(0))

    lab.run_cell(0)
    lab.save()
    lab.shutdown_kernel()
    stands_still(lab, lab.cell(0).locator(".mk-timeline"))
    lab.open(lab.notebook, kernel=False)
    lab.see(0, "4.1 to 6.1 s")
    loading = lab.cell(0).get_by_text("Loading widget").filter(visible=True)
    expect(loading).to_have_count(0)
    lab.screenshot("timeline-saved", lab.cell(0))


@pytest.mark.soak
def test_after_a_reload_a_restarted_kernel_is_gone_for_the_timeline_too(
    lab: Lab,
) -> None:
    timeline = show(lab, PAIR)
    expect(block(timeline, 0, 1)).to_be_visible()
    lab.save()
    lab.reload()
    timeline = lab.cell(0).locator(".mk-timeline")
    expect(block(timeline, 0, 1)).to_be_visible()
    lab.restart_kernel()
    lab.screenshot("timeline-reloaded-restarted", lab.cell(0))
    drag(lab, block(timeline, 0, 1), 100)
    expect(timeline).to_contain_text("The kernel was restarted")


def stands_still(lab: Lab, timeline: Locator) -> None:
    """Try to move a block of a form whose kernel is gone, by mouse and by keys."""
    second = block(timeline, 0, 1)
    before = box_of(second)["width"]
    drag(lab, second, 100)
    expect(timeline).to_contain_text("The kernel was restarted")
    second.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(second).to_contain_text(f"4.1 {DASH} 6.1 s")
    assert box_of(second)["width"] == before
