"""Widgets are complete, readable and accessible, wide and narrow, light and dark."""

from __future__ import annotations

from importlib.resources import files

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.geometry import layout_faults, nameless, unreachable
from tests.browser.harness import Lab
from tests.browser.harness.lab import Theme
from tests.browser.test_gallery import WALL, wall_cells

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
client.submit("text-to-image", prompt="a gull, sandbox:fail=content_moderation")
"""
STUDIO = "client.studio()"
FORMS = {"upscale": UPSCALE, "r1": R1, "compose": COMPOSE, "keyframes": KEYFRAMES}
NOWHERE = "http://127.0.0.1:9"  # the wall loads no clip before it is played
OTHERS = {
    "jobs": JOBS,
    "studio": STUDIO,
    "wall": wall_cells(NOWHERE) + WALL,
}
LOOKS: tuple[tuple[Theme, str], ...] = (
    ("light", "1280"),
    ("dark", "800"),
    ("dark", "125"),
)
SIZES = {"1280": 1280, "800": 800, "125": 1024}
AXE = files("axe_playwright_python") / "axe.min.js"
# Axe checks only our widgets, not JupyterLab's page.
FINDINGS = """async (root) => {
    const found = await axe.run(root, { resultTypes: ["violations"] });
    return found.violations
        .filter(each => ["serious", "critical"].includes(each.impact))
        .flatMap(each => each.nodes.map(node => [
            each.id, node.html.slice(0, 160), (node.any[0] ?? node.all[0] ??
            node.none[0])?.message ?? "",
        ].join(" | ")));
}"""


@pytest.mark.soak
def test_nothing_is_clipped_overlapping_or_faint_and_everything_has_a_name(
    lab: Lab,
) -> None:
    cells = [START, *FORMS.values(), *OTHERS.values()]
    lab.begin("layout.ipynb", *cells, height_px=2600)
    lab.run_all()
    shown = {name: lab.cell(at).locator(".mk-form") for at, name in enumerate(FORMS, 1)}
    for form in shown.values():
        unfold(form)
        expect(form.locator(".mk-bad").filter(visible=True).first).to_be_visible()
    jobs, studio, wall = range(len(FORMS) + 1, len(cells))
    lab.see(jobs, "Failed")
    lab.see(jobs, "Download")
    shown["jobs"] = lab.outputs(jobs)
    shown["wall"] = lab.cell(wall).locator(".mk-wall")
    shown["wall"].locator(".mk-wall-tile").nth(1).focus()
    lab.page.keyboard.press("k")
    shown["wall"].get_by_role("button", name="Filter").click()
    expect(lab.cell(studio).locator(".mk-studio")).to_be_visible()

    lab.page.evaluate(AXE.read_text())
    faults = []
    for theme, size in LOOKS:
        lab.theme(theme)
        lab.resize(SIZES[size], 2600)
        lab.page.evaluate(
            "z => document.body.style.zoom = z", 1.25 if size == "125" else 1
        )
        for name, part in shown.items():
            part.scroll_into_view_if_needed()
            found = layout_faults(part)
            faults += [f"{name} {theme} {size}: {fault}" for fault in found]
            lab.screenshot(f"layout-{name}-{theme}-{size}", part)
        if size != "125":
            judged = [*shown.values(), lab.outputs(studio)]
            faults += [f"{theme}: {each}" for part in judged for each in findings(part)]
    passed_by = tab_through(lab, shown["upscale"])
    assert not passed_by, "\n".join(passed_by)
    for name, part in shown.items():
        faults += [f"nameless: {each}" for each in nameless(part)]
        if name != "wall":  # its arrow keys lead from cell to cell
            faults += [f"unreachable: {each}" for each in unreachable(part)]
    assert not faults, "\n".join(faults)
    assert [e for e in lab.console_errors() if "a.test" not in e] == []

    # Proof that it reports problems, such as a button without a name.
    lab.outputs(1).evaluate("root => root.append(document.createElement('button'))")
    assert any("button-name" in each for each in findings(lab.outputs(1)))


def findings(part: Locator) -> list[str]:
    """Return the serious and critical findings of axe-core."""
    found: list[str] = part.evaluate(FINDINGS)
    return found


STOPS = """root => [...root.querySelectorAll(
    "button, input:not([type=file]), select, textarea, summary, [tabindex='0']")]
    .filter(e => e.checkVisibility() && !e.disabled && !e.closest("[inert]"))"""


def tab_through(lab: Lab, form: Locator) -> list[str]:
    """Tab through a form; return the controls that Tab skips."""
    form.evaluate(f"root => {{ window.stops = ({STOPS})(root); stops[0].focus(); }}")
    lab.page.evaluate("() => { window.stops = new Set(stops); }")
    for _ in range(int(lab.page.evaluate("() => stops.size"))):
        lab.page.evaluate("() => stops.delete(document.activeElement)")
        lab.page.keyboard.press("Tab")
    passed: list[str] = lab.page.evaluate("() => [...stops].map(e => e.outerHTML)")
    return passed


def unfold(form: Locator) -> None:
    """Open all collapsed elements."""
    for name in ("More settings", "Price breakdown", "Copy as Python"):
        for button in form.get_by_role("button", name=name).all():
            button.click()
