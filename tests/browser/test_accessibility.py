"""Forms, jobs and the studio as axe-core finds them: nothing serious, in each theme."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, LabServer
from tests.browser.harness.lab import THEMES

pytestmark = [pytest.mark.browser, pytest.mark.soak]

AXE = files("axe_playwright_python") / "axe.min.js"
START = """
from PIL import Image
import mediakit as mk
Image.radial_gradient("L").convert("RGB").resize((300, 200)).save("cat.png")
client = mk.connect()
"""
FORM = """
display(client.form("image-upscale", image_url="cat.png", model="wonder"))
display(client.form("keyframes", images=["cat.png"], transition_durations_s=[1]))
client.form("compose-video")
"""
JOB = """
client.run("text-to-image", prompt="a kite over dunes")
display(client.submit("text-to-image", prompt="a kite over dunes"))
client.submit("text-to-image", prompt="a kite, sandbox:fail=content_moderation")
"""
STUDIO = "client.studio()"
# JupyterLab's own page is not ours to judge, so axe sees our widgets alone.
FINDINGS = """async (root) => {
    const found = await axe.run(root, { resultTypes: ["violations"] });
    return found.violations
        .filter(each => ["serious", "critical"].includes(each.impact))
        .flatMap(each => each.nodes.map(node => [
            each.id, node.html.slice(0, 160), (node.any[0] ?? node.all[0] ??
            node.none[0])?.message ?? "",
        ].join(" | ")));
}"""


def findings(lab: Lab, index: int) -> list[str]:
    """Return what axe-core finds serious or critical in a cell's output."""
    if not lab.page.evaluate("() => Boolean(window.axe)"):
        lab.page.evaluate(AXE.read_text())
    root: Any = lab.outputs(index)
    found: list[str] = root.evaluate(FINDINGS)
    return found


def test_axe_finds_nothing_serious_in_forms_jobs_and_the_studio(
    lab: Lab, lab_server: LabServer
) -> None:
    cells = [START, FORM, JOB, STUDIO]
    lab.open(lab_server.add_notebook("accessible.ipynb", cells))
    lab.resize(1280, 2000)
    lab.hide_sidebar()
    for index in range(len(cells)):
        lab.run_cell(index)
    for button in lab.cell(1).get_by_role("button", name="More settings").all():
        button.click()
    lab.cell(1).get_by_role("button", name="Price breakdown").first.click()
    lab.see(2, "Failed")
    expect(lab.cell(3).locator(".mk-studio")).to_be_visible()

    faults = []
    for theme in THEMES:
        lab.theme(theme)
        for index, name in ((1, "form"), (2, "job"), (3, "studio")):
            faults += [f"{name} {theme}: {each}" for each in findings(lab, index)]
    assert not faults, "\n".join(faults)

    # It would find something: a button without a name is one.
    lab.outputs(1).evaluate("root => root.append(document.createElement('button'))")
    assert any("button-name" in each for each in findings(lab, 1))
