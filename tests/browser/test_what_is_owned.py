"""A form says before the click that its request was bought already, and shows it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, connected

pytestmark = [pytest.mark.browser, pytest.mark.soak]

JOB_MS = 120_000.0
TWIN = 'client.form("text-to-video", prompt="a kite over twin dunes", duration=3)'
CODED = 'client.submit("text-to-video", prompt="a kite over coded dunes", duration=3)'
COUNT = 'print(len(client.history.frame()), "jobs of this history")'


def opened(lab: Lab, name: str, *cells: str) -> None:
    lab.begin(f"{name}.ipynb", *cells, height_px=1000)
    for index in range(len(cells) - 1):
        lab.run_cell(index)


def form_of(lab: Lab, index: int) -> Locator:
    return lab.cell(index).locator(".mk-form")


def go(form: Locator) -> Locator:
    return form.locator("button.mk-go")


def jobs(lab: Lab, index: int) -> int:
    lab.run_cell(index)
    return int(lab.outputs(index).inner_text().split("jobs of this")[0].split()[-1])


def test_a_form_says_what_another_form_or_code_bought_and_shows_it_for_nothing(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "twins")
    opened(lab, "twins", first, TWIN, TWIN, COUNT, CODED)
    one, other = form_of(lab, 1), form_of(lab, 2)
    expect(go(other)).to_have_text("Generate · $0.204")
    go(one).click()
    erase = one.get_by_role("button", name="Erase…")
    expect(erase).to_have_count(1, timeout=JOB_MS)

    expect(go(other)).to_have_text("Another take · $0.204")
    expect(other.get_by_text("You have this clip.")).to_be_visible()
    expect(other.locator(".mk-job")).to_have_count(0)
    other.get_by_role("button", name="Show it").click()
    expect(other.locator(".mk-job")).to_have_count(1)
    expect(other.locator(".mk-job video").first).to_be_visible()
    expect(other.get_by_role("button", name="Show it")).to_have_count(0)
    assert jobs(lab, 3) == 1

    other.get_by_label("Prompt").first.fill("a kite over other dunes")
    expect(go(other)).to_have_text("Generate · $0.204")

    lab.run_cell(4)
    other.get_by_label("Prompt").first.fill("a kite over coded dunes")
    expect(other.get_by_text("You have this clip.")).to_be_visible(timeout=JOB_MS)
    expect(go(other)).to_have_text("Another take · $0.204")
    assert jobs(lab, 3) == 2
