"""The quickstart in real JupyterLab and real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, video_facts
from tests.support.sketches import WHOLE_FILMS

pytestmark = pytest.mark.browser

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "01_quickstart.ipynb"
CONNECT, FORM = 1, 3
PROMPT = "a red balloon over a mountain lake at dawn"


def opened(lab: Lab) -> None:
    lab.open(lab.server.add_file(QUICKSTART))
    lab.resize(1280, 1500)
    lab.hide_sidebar()


def test_the_quickstart_works_to_the_charge_and_is_readable_without_a_kernel(
    lab: Lab,
) -> None:
    opened(lab)
    lab.run_cell(CONNECT)
    lab.see(CONNECT, "no real money")
    lab.run_cell(FORM)
    form = lab.cell(FORM)
    lab.see(FORM, "$0.34")

    prompt = form.get_by_label("prompt").first
    prompt.fill(PROMPT)
    # The focus is visible.
    assert prompt.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"
    handle = form.get_by_role("slider").first
    handle.focus()
    handle.press("ArrowLeft")
    handle.press("ArrowLeft")
    lab.see(FORM, "$0.20")
    lab.screenshot("quickstart-form", form)

    form.locator("button.mk-go").click()
    video = form.locator("video:visible").first
    video.wait_for(state="visible")
    lab.see(FORM, "as estimated")
    facts = video_facts(lab.page, ".jp-Notebook video:visible")
    assert (facts.width, facts.height) == (1280, 720)
    assert facts.shows_a_picture
    lab.screenshot("quickstart-done", form)

    kept = lab.save_outputs(FORM, PROMPT, "media_", "data:image/jpeg;base64,", "$0.204")
    assert "data:video" not in kept

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(FORM, PROMPT)
    lab.see(FORM, "$0.20")
    poster = "video[poster^='data:image/jpeg']:visible"
    expect(lab.cell(FORM).locator(poster).first).to_be_visible()
    expect(lab.cell(FORM).locator("button.mk-go")).to_have_count(0)
    lab.screenshot("quickstart-without-a-kernel", lab.cell(FORM))


SLOW = "a slow train through snow"
SUBMIT = f"""{WHOLE_FILMS}
import mediakit as mk
client = mk.connect(home="killed")  # books of its own: others spend elsewhere
client.form("text-to-video", prompt={SLOW!r}, duration=10)
"""
SPENT = """
charge = job.settle().charge_micro_usd
spent = 100_000_000 - client.balance().balance_micro_usd
agree = spent == client.history.settled_total_micro_usd()
once = client.spend.daily()["jobs"].sum() == len(client.history.frame())
print(f"charged {mk.format_usd(charge)}, books agree: {agree}, made once: {once}")
"""
PICK_UP = f"""
frame = client.history.frame()
mine = frame[frame["prompt"] == {SLOW!r}].reset_index()
job = client.job(mine.loc[0, "job_id"]).wait()
print("jobs:", len(mine), "status:", job.status, "prompt:", job.state.prompt)
job
"""


@pytest.mark.soak
def test_a_kernel_killed_before_the_result_loses_nothing_and_pays_once(
    lab: Lab,
) -> None:
    lab.open(lab.server.add_notebook("killed.ipynb", [SUBMIT, PICK_UP, SPENT]))
    lab.run_cell(0)
    lab.cell(0).locator("button.mk-go").click()
    lab.cell(0).locator(".mk-job").first.wait_for(state="visible")
    lab.kill_kernel()

    lab.page.get_by_role("dialog").get_by_role("button", name="Ok").click()
    lab.wait_idle()
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, f"jobs: 1 status: completed prompt: {SLOW}")
    facts = video_facts(lab.page, ".jp-Notebook video:visible")
    assert (facts.width, facts.height) == (1280, 720)
    assert facts.shows_a_picture
    lab.run_cell(2)
    lab.see(2, "charged $0.68, books agree: True, made once: True")
    lab.screenshot("killed-and-picked-up")
