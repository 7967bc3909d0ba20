"""A form continues after a kernel restart, and never buys twice unnoticed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Lab, video_facts
from tests.browser.harness.wait import rest, until
from tests.support.sketches import WHOLE_FILMS

pytestmark = [pytest.mark.browser, pytest.mark.soak]

BANNER = "e => getComputedStyle(e, '::before').content"
CONNECT = f"{WHOLE_FILMS}import mediakit as mk\nclient = mk.connect(home={{!r}})"
JOBS = 'print("jobs:", len(client.history.frame()), "shown:", len(form.jobs))'
TYPED = "a red balloon over a lake, typed and not sent"
AGAIN = "Your settings and results come back"
SLOW = """
form = client.form("text-to-video", prompt="a slow train", duration=10)
form
"""


def generate(form: Locator) -> Locator:
    return form.locator("button.mk-go")


def opened(lab: Lab, name: str, cells: list[str]) -> Locator:
    """Open a notebook, run all of it, and return its first form."""
    home = CONNECT.format(f"home-{name}")
    lab.begin(f"{name}.ipynb", home, *cells, height_px=1500)
    lab.run_all()
    return lab.cell(1).locator(".mk-form")


def test_typed_text_and_a_running_job_survive_restart_and_run_all(
    lab: Lab,
) -> None:
    form = opened(lab, "returned", [SLOW, JOBS])
    expect(generate(form)).to_have_text("Generate · $0.68")
    rest(lab.page)
    generate(form).dblclick()
    lab.cell(1).locator(".mk-job").first.wait_for(state="visible")
    form.get_by_label("prompt").first.fill(TYPED)
    expect(generate(form)).to_have_text("Generate · $0.68")  # it has arrived

    lab.restart_kernel()
    until(lab.page, lambda: AGAIN in form.evaluate(BANNER), form.inner_text)
    lab.screenshot("return-dead-form", form)
    lab.run_all()
    lab.see(2, "jobs: 1 shown: 1")
    form = lab.cell(1).locator(".mk-form")
    expect(form.locator(".mk-job")).to_have_count(1)
    expect(form.get_by_label("prompt").first).to_have_value(TYPED)
    expect(generate(form)).to_have_text("Generate · $0.68")
    expect(form.locator(".mk-results")).to_contain_text("a slow train")
    lab.see(1, "as estimated")
    facts = video_facts(lab.page, ".jp-Notebook .mk-form video:visible")
    assert (facts.width, facts.height) == (1280, 720)
    assert facts.shows_a_picture
    lab.screenshot("return-restarted", form)

    form.get_by_label("prompt").first.fill("a slow train")
    expect(generate(form)).to_have_text("Another take · $0.68")
    form.get_by_role("button", name="1080p").click()
    expect(generate(form)).to_have_text("Generate · $0.90")
    form.get_by_role("button", name="720p").click()
    expect(generate(form)).to_have_text("Another take · $0.68")
    lab.save_outputs(1, "media_", "data:image/jpeg;base64,")
    rest(lab.page)
    generate(form).click()
    expect(form.locator(".mk-job")).to_have_count(2)
    lab.run_cell(2)
    lab.see(2, "jobs: 2 shown: 2")
    assert lab.console_errors() == []
