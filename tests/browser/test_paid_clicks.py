"""One click buys one job, and a form shows beforehand if the job exists already."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.geometry import box_of, middle
from tests.browser.hands import click_at
from tests.browser.harness import COUNT, Lab, connected
from tests.browser.harness.wait import rest

pytestmark = [pytest.mark.browser, pytest.mark.soak]

# Widths with the result beside and below, the time between the clicks, and how much
# later a busy page hears of them; a page of its own tries every gap.
WIDTHS_GAPS_AND_DELAYS = ((1900, 150, 0), (1300, 500, 1_200))


def opened(lab: Lab, sandbox: RunningSandbox, name: str) -> None:
    """Open a notebook with a form, connected to a sandbox with a short queue."""
    first = connected(sandbox, name)
    # The service recognises a repeated request, even from another history.
    form = f'client.form("text-to-video", prompt="a kite, {name}", duration=3)'
    lab.begin(f"{name}.ipynb", first, form, COUNT)
    lab.run_cell(0)


def click_twice(lab: Lab, button: Locator, gap_ms: float, late_ms: float = 0.0) -> None:
    """Click a point twice, as a user does who does not look between the clicks.

    The clicks carry their real times, even if a busy page gets them late.
    """
    button.scroll_into_view_if_needed()
    x, y = middle(button)
    lab.page.mouse.move(x, y)
    rest(lab.page)  # the button has been here for a while
    first_s = time.time()
    for after_ms, right_px in ((0.0, 0), (gap_ms, 1)):
        clicked_s = first_s + after_ms / 1000
        lab.page.wait_for_timeout(max(0.0, (clicked_s - time.time()) * 1000) + late_ms)
        click_at(lab.page, x + right_px, y, clicked_s)


def distance(top: Locator, low: Locator) -> float:
    """Return the vertical distance between two cards, in pixels."""
    return box_of(low)["y"] - box_of(top)["y"]


def test_a_slow_double_click_on_generate_pays_for_one_clip(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    opened(lab, sandbox, "twice")
    lab.run_cell(1)
    form = lab.cell(1).locator(".mk-form")
    for bought, (width_px, gap_ms, late_ms) in enumerate(WIDTHS_GAPS_AND_DELAYS):
        lab.resize(width_px, 1000)
        form.get_by_label("Prompt").first.fill(f"a kite, twice, {gap_ms}")
        generate = form.locator("button.mk-go")
        expect(generate).to_have_text("Generate · $0.204")
        click_twice(lab, generate, gap_ms, late_ms)
        expect(form.locator(".mk-job")).to_have_count(bought + 1)
        expect(generate).to_be_enabled()
        rest(lab.page)
        assert lab.jobs(2) == bought + 1


def test_a_double_click_on_erase_moves_no_card_and_pays_for_nothing(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    opened(lab, sandbox, "erase")
    lab.resize(1300, 1000)
    lab.run_cell(1)
    form = lab.cell(1).locator(".mk-form")
    for count, name in enumerate(("low", "top"), 1):
        form.get_by_label("Prompt").first.fill(f"a {name} kite, erased")
        expect(form.locator("button.mk-go")).to_have_text("Generate · $0.204")
        rest(lab.page)
        form.locator("button.mk-go").click()
        expect(form.locator(".mk-job video")).to_have_count(count)
        expect(form.get_by_role("button", name="Erase…")).to_have_count(count)

    top, low = form.locator(".mk-job").all()
    before = distance(top, low)
    top.get_by_role("button", name="Erase…").click()
    click_twice(lab, top.get_by_role("button", name="Erase", exact=True), 300)
    expect(top).to_contain_text("Erased")
    expect(top.locator("video")).to_have_count(0)
    rest(lab.page)
    assert abs(distance(top, low) - before) < 1
    expect(low.locator("video")).to_have_count(1)
    assert lab.jobs(2) == 2


TWIN = 'client.form("text-to-video", prompt="a kite over twin dunes", duration=3)'
CODED = 'client.submit("text-to-video", prompt="a kite over coded dunes", duration=3)'


def go(form: Locator) -> Locator:
    return form.locator("button.mk-go")


def test_a_form_shows_a_job_bought_by_another_form_or_by_code_at_no_cost(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "twins")
    lab.begin("twins.ipynb", first, TWIN, TWIN, COUNT, CODED, height_px=1000)
    for index in range(4):
        lab.run_cell(index)
    one, other = (lab.cell(index).locator(".mk-form") for index in (1, 2))
    expect(go(other)).to_have_text("Generate · $0.204")
    go(one).click()
    erase = one.get_by_role("button", name="Erase…")
    expect(erase).to_have_count(1)

    expect(go(other)).to_have_text("Another take · $0.204")
    expect(other.get_by_text("You have this clip.")).to_be_visible()
    expect(other.locator(".mk-job")).to_have_count(0)
    other.get_by_role("button", name="Show it").click()
    expect(other.locator(".mk-job")).to_have_count(1)
    expect(other.locator(".mk-job video").first).to_be_visible()
    expect(other.get_by_role("button", name="Show it")).to_have_count(0)
    assert lab.jobs(3) == 1

    other.get_by_label("Prompt").first.fill("a kite over other dunes")
    expect(go(other)).to_have_text("Generate · $0.204")

    lab.run_cell(4)
    other.get_by_label("Prompt").first.fill("a kite over coded dunes")
    expect(other.get_by_text("You have this clip.")).to_be_visible()
    expect(go(other)).to_have_text("Another take · $0.204")
    assert lab.jobs(3) == 2
