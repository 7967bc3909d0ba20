"""A form and code in one notebook: set values, copy the call, Tab, and magics."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import Lab, video_facts

pytestmark = pytest.mark.browser

SHOW = """
import mediakit as mk
%load_ext mediakit
client = mk.connect()
form = client.form("text-to-video", prompt="a kite over dunes", duration=5)
form
"""
SET = """form.values.update(duration=3, prompt='"kite" & <b>sea</b>')"""
READ = "print(form.values.duration, form.values.resolution)"
GENERATE = "%%generate text-to-video --duration 3\na red balloon over a lake"
TABLE = "%jobs"
WRONG = "%%generate text-to-video --duration 99\na red balloon over a lake"
REGION = 'client.form("region-replace", video="https://127.0.0.1/v.mp4")'
TYPE = 'client.submit("text-to-video", prompt="a", '
COPIED = """client.submit(
    "text-to-video",
    prompt='"kite" & <b>sea</b>',
    duration=3,
    max_price="$0.204",
)"""
CONNECT = "import mediakit as mk\nclient = mk.connect(home='several')"
ONE = 'client.form("text-to-video")'
TWO = """
from IPython.display import display
for resolution in ("720p", "1080p"):
    display(client.form("text-to-video", resolution=resolution))
"""


def clipboard(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return str(page.evaluate("() => navigator.clipboard.readText()"))


@pytest.mark.soak
def test_code_changes_the_form_and_the_form_shows_its_code_and_keeps_typed_text(
    lab: Lab,
) -> None:
    cells = [SHOW, SET, READ, TYPE, REGION]
    lab.open(lab.server.add_notebook("code.ipynb", cells))
    lab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lab.resize(1280, 1500)
    lab.hide_sidebar()
    lab.run_cell(0)
    lab.see(0, "$0.34")

    lab.run_cell(1)
    lab.see(0, "$0.20")
    form = lab.cell(0)
    prompt = form.get_by_label("prompt").first
    expect(prompt).to_have_value('"kite" & <b>sea</b>')
    form.get_by_role("button", name="1080p").click()
    lab.see(0, "$0.27")
    form.get_by_role("button", name="720p").click()
    lab.see(0, "$0.20")

    form.get_by_role("button", name="Copy as Python").click()
    expect(form.locator("pre.mk-code")).to_have_text(COPIED)
    assert form.locator("pre.mk-code b").count() == 0
    form.get_by_role("button", name="Copy", exact=True).click()
    form.get_by_role("button", name="Copied").wait_for()
    assert clipboard(lab.page) == COPIED
    lab.screenshot("copy-as-python", form)

    form.get_by_role("button", name="1080p").click()
    lab.see(0, "$0.27")
    expect(form.locator("pre.mk-code")).to_contain_text('resolution="1080p"')
    lab.run_cell(2)
    lab.see(2, "3 1080p")

    lab.cell(3).locator(".cm-content").click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.press("Tab")
    menu = lab.page.locator(".jp-Completer-item")
    menu.first.wait_for(state="visible")
    expect(menu.first).to_contain_text("duration=")
    expect(menu).to_have_count(5)
    lab.screenshot("tab-completion")
    lab.page.keyboard.press("Escape")

    # Typed text stays when a line appears below an earlier field.
    lab.run_cell(4)
    form = lab.cell(4)
    form.get_by_label("video").first.fill("gone.mp4")
    prompt = form.get_by_label("prompt").first
    prompt.press_sequentially("a red balloon over a lake", delay=80)
    lab.see(4, "gone.mp4")
    expect(form.locator(".mk-bad:visible").first).to_contain_text("gone.mp4")
    expect(prompt).to_have_value("a red balloon over a lake")
    expect(prompt).to_be_focused()
    lab.screenshot("typed-beside-a-new-line", form)


@pytest.mark.soak
def test_a_cell_of_text_becomes_a_video_and_a_row_of_a_table(lab: Lab) -> None:
    cells = [SHOW, GENERATE, TABLE, WRONG]
    lab.begin("magics.ipynb", *cells, height_px=1600)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "text-to-video: $0.204 (exact)")
    lab.cell(1).locator("video:visible").first.wait_for()
    facts = video_facts(lab.page, ".jp-Cell:nth-of-type(2) video:visible")
    assert facts.shows_a_picture
    lab.run_cell(2)
    lab.see(2, "a red balloon over a lake")
    lab.see(2, "completed")
    lab.run_cell(3)
    lab.see(3, "Nothing was sent.")
    lab.screenshot("magics")

    errors = lab.save()["cells"][3]["outputs"]
    assert "Traceback" not in json.dumps(errors)


@pytest.mark.soak
def test_each_cell_has_its_own_forms_and_finds_them_when_it_is_run_again(
    lab: Lab,
) -> None:
    lab.begin("several.ipynb", CONNECT, ONE, ONE, TWO, height_px=2600)
    lab.run_all()
    forms = lab.page.locator(".mk-form:visible")
    expect(forms).to_have_count(4)
    prompts = [forms.nth(n).get_by_label("prompt").first for n in range(4)]
    for number, prompt in enumerate(prompts):
        prompt.fill(f"no. {number}")
    bought = forms.nth(0).locator("button.mk-go")
    bought.click()
    forms.nth(0).locator(".mk-job").wait_for(state="visible")
    expect(forms.nth(1).locator("button.mk-go")).to_be_enabled()

    lab.run_all()
    expect(forms).to_have_count(4)
    for number, prompt in enumerate(prompts):
        expect(prompt).to_have_value(f"no. {number}")
    expect(forms.locator(".mk-job:visible")).to_have_count(1)
    forms.nth(0).locator(".mk-job").wait_for(state="visible")
    lab.screenshot("several-forms")
    assert lab.console_errors() == []

    lab.save()
    lab.reload()
    lab.run_cell(2)
    expect(lab.cell(2).get_by_label("prompt").first).to_have_value("no. 1")
    lab.restart_kernel()
    lab.run_all()
    expect(forms).to_have_count(4)
    for number, prompt in enumerate(prompts):
        expect(prompt).to_have_value(f"no. {number}")
    expect(forms.locator(".mk-job:visible")).to_have_count(1)
