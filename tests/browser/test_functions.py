"""Functions with other shapes than the quickstart's, in real JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from mediakit.catalog import Catalog
from tests.browser.harness import Lab, LabServer, video_facts

pytestmark = pytest.mark.browser

JOB_S = 240.0
COMPOSE = """
from PIL import Image
import mediakit as mk
Image.radial_gradient("L").convert("RGB").resize((300, 200)).save("cat.png")
Image.linear_gradient("L").convert("RGB").resize((300, 200)).save("dog.png")
client = mk.connect()
client.form("compose-video")
"""


@pytest.mark.soak
def test_a_timeline_is_put_together_by_hand_and_priced_while_it_grows(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("compose.ipynb", [COMPOSE]))
    lab.resize(1280, 1600)
    lab.hide_sidebar()
    lab.run_cell(0)
    form = lab.cell(0)
    starts, lengths = form.get_by_label("timestamp (ms) *"), form.get_by_label("dur")
    urls = form.get_by_label("url *")

    form.get_by_role("button", name="Image", exact=True).click()
    # The boxes of another kind of track take the place of those that were there.
    expect(form.locator(".mk-tl-kind")).to_have_text("image")
    form.get_by_label("id *").first.fill("stills")
    starts.first.fill("0")
    lengths.first.fill("2000")
    urls.first.fill("cat.png")
    lab.see(0, "$0.0004")
    form.get_by_role("button", name="Add keyframe").click()
    starts.nth(1).fill("1500")
    lengths.nth(1).fill("1000")
    urls.nth(1).fill("dog.png")
    lab.see(0, "at least 2000 ms")
    expect(form.get_by_role("button", name="Generate")).to_be_disabled()
    starts.nth(1).fill("2000")
    lab.see(0, "$0.0006")

    lab.page.wait_for_timeout(1_000)  # a person reads it
    form.get_by_role("button", name="Generate").click()
    lab.see(0, "as estimated", timeout_s=JOB_S)
    facts = video_facts(lab.page, ".jp-Notebook video:visible")
    assert facts.shows_a_picture
    lab.screenshot("compose-done", form)


EVERY_FORM = """
import mediakit as mk
client = mk.connect()
for function in client.catalog:
    display(client.form(function.kind))
"""


@pytest.mark.soak
def test_every_function_shows_its_form_without_an_error_in_the_console(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("forms.ipynb", [EVERY_FORM]))
    lab.resize(1280, 1200)
    lab.run_cell(0, timeout_s=JOB_S)
    buttons = lab.cell(0).get_by_role("button", name="Generate")

    expect(buttons).to_have_count(len(Catalog.default()), timeout=90_000)
    assert lab.console_errors() == []
