"""Forms and jobs are whole and readable at every width, theme and size of text."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.geometry import layout_faults, nameless, unreachable
from tests.browser.harness import Lab, LabServer
from tests.browser.harness.lab import THEMES

pytestmark = pytest.mark.browser

START = """
from PIL import Image
import mediakit as mk
Image.radial_gradient("L").convert("RGB").resize((300, 200)).save("cat.png")
client = mk.connect()
"""
UPSCALE = """
form = client.form("image-upscale", image_url="gone.png", model="wonder", detail=True,
    creativity=7, face_enhancement=True)
form
"""
R1 = """
client.form("r1", prompt="a kite, as @Image3", duration=5, ratio="16:9",
    omni_reference_task_type="edit",
    image_urls=["cat.png", "a/rather/long/path/that/leads/nowhere/picture-of-kite.png"],
    video_urls=["https://a.test/a-clip-with-a-rather-long-name-of-its-own.mp4"])
"""
COMPOSE = """
def key(start, length, url):
    return dict(timestamp=start, duration=length, url=url)
client.form("compose-video", tracks=[
    dict(id="stills", type="image", keyframes=[
        key(0, 2000, "cat.png"), key(1500, 1500, "gone.png")]),
    dict(id="stills", type="audio", keyframes=[
        key(1000, 8000, "https://a.test/v.mp3")])])
"""
KEYFRAMES = """
client.form("keyframes", images=["cat.png", "cat.png", "gone.png"], seed=7,
    transition_durations_s=[1], prompt="slowly, and then all at once")
"""
JOBS = """
client.run("text-to-image", prompt="a kite over dunes")
display(client.submit("text-to-image", prompt="a kite over dunes"))
client.submit("text-to-image", prompt="a kite, sandbox:fail=content_moderation")
"""
CELLS = (UPSCALE, R1, COMPOSE, KEYFRAMES)
NAMES = ("upscale", "r1", "compose", "keyframes")
LOOKED_AT = (("light", "1280"), ("dark", "800"), ("dark", "125"))
SIZES = {"1280": 1280, "800": 800, "125": 1024}


@pytest.mark.soak
def test_nothing_is_cut_overlaps_or_is_faint_and_all_has_a_name(
    lab: Lab, lab_server: LabServer
) -> None:
    cells = [START, *CELLS, JOBS]
    lab.open(lab_server.add_notebook("layout.ipynb", cells))
    lab.resize(1280, 2600)
    lab.hide_sidebar()
    for index in range(len(cells)):
        lab.run_cell(index)
    shown = {
        name: lab.cell(at + 1).locator(".mk-form") for at, name in enumerate(NAMES)
    }
    for form in shown.values():
        unfold(form)
        expect(form.locator(".mk-bad").filter(visible=True).first).to_be_visible()
    shown["jobs"] = lab.cell(len(CELLS) + 1).locator(".jp-Cell-outputWrapper")
    lab.see(len(CELLS) + 1, "Failed")
    lab.see(len(CELLS) + 1, "Download")

    faults = []
    for theme, (size, width) in product(THEMES, SIZES.items()):
        lab.theme(theme)
        lab.resize(width, 2600)
        lab.page.evaluate(
            "z => document.body.style.zoom = z", 1.25 if size == "125" else 1
        )
        for name, part in shown.items():
            part.scroll_into_view_if_needed()
            found = layout_faults(part)
            faults += [f"{name} {theme} {size}: {fault}" for fault in found]
            if (theme, size) in LOOKED_AT:
                lab.screenshot(f"layout-{name}-{theme}-{size}", part)
    passed_by = tab_through(lab, shown["upscale"])
    assert not passed_by, "\n".join(passed_by)
    for part in shown.values():
        faults += [f"nameless: {each}" for each in nameless(part)]
        faults += [f"unreachable: {each}" for each in unreachable(part)]
    assert not faults, "\n".join(faults)
    assert [e for e in lab.console_errors() if "a.test" not in e] == []


STOPS = """root => [...root.querySelectorAll(
    "button, input:not([type=file]), select, textarea, summary, [tabindex='0']")]
    .filter(e => e.checkVisibility() && !e.disabled)"""


def tab_through(lab: Lab, form: Locator) -> list[str]:
    """Go through a form by the tabulator key; return what it passes by."""
    form.evaluate(f"root => {{ window.stops = ({STOPS})(root); stops[0].focus(); }}")
    lab.page.evaluate("() => { window.stops = new Set(stops); }")
    for _ in range(int(lab.page.evaluate("() => stops.size"))):
        lab.page.evaluate("() => stops.delete(document.activeElement)")
        lab.page.keyboard.press("Tab")
    passed: list[str] = lab.page.evaluate("() => [...stops].map(e => e.outerHTML)")
    return passed


def unfold(form: Locator) -> None:
    """Open all that can be opened."""
    for name in ("More settings", "Price breakdown", "Copy as Python"):
        for button in form.get_by_role("button", name=name).all():
            button.click()
    form.get_by_text("What the fields mean").click()
