"""Forms do not move, and playing and downloads continue, while results arrive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Route, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.geometry import box_of
from tests.browser.harness import Lab, connected
from tests.browser.harness.wait import until

pytestmark = [pytest.mark.browser, pytest.mark.soak]

FORM = 'client.form("text-to-video", prompt="a kite that stays", duration=3)'
PLAY = """video => {
    video.muted = true;
    video.loop = true;
    window.played = video;
    window.stopped = [];
    for (const name of ["pause", "emptied", "abort"])
        video.addEventListener(name, () => window.stopped.push(name));
    return video.play();
}"""
PLAYS_ON = "() => window.played.isConnected && !window.played.paused"


def opened(lab: Lab, filming: RunningSandbox, name: str, cell: str) -> Locator:
    """Open a notebook with this cell, run it, and return its output."""
    first = connected(filming, name)
    lab.begin(f"{name}.ipynb", first, cell, height_px=1000)
    lab.run_cell(0)
    lab.run_cell(1)
    return lab.cell(1)


def ended(cell: Locator, count: int) -> None:
    expect(cell.locator(".mk-job")).to_have_count(count)
    erase = cell.get_by_role("button", name="Erase…")
    expect(erase).to_have_count(count)


def first_video(cell: Locator) -> Locator:
    return cell.locator(".mk-job video").first


IN_VIEW = """node => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 0 && (bottom < innerHeight || top < 150);
}"""


def test_a_form_does_not_move_and_a_clip_keeps_playing_while_others_arrive(
    lab: Lab, filming: RunningSandbox
) -> None:
    cell = opened(lab, filming, "plays-on", FORM)
    lab.resize(1600, 1000)
    form, go = cell.locator(".mk-form"), cell.locator("button.mk-go")
    expect(go).to_be_enabled()
    lab.screenshot("place-empty", form)
    controls, stage = form.locator(".mk-controls"), form.locator(".mk-job-left")
    before = box_of(controls)
    go.click()
    form.locator(".mk-job").wait_for(state="visible")
    lab.screenshot("place-running", form)
    running = box_of(stage)
    ended(cell, 1)
    # Nothing more is written into the details from now on.
    expect(cell.get_by_text("1280 \u00d7 720").first).to_be_visible()
    expect(cell.get_by_text("as estimated").first).to_be_visible()
    after, done = box_of(controls), box_of(stage)
    assert (before["x"], before["width"]) == (after["x"], after["width"])
    assert running["width"] == done["width"]
    assert abs(running["height"] - done["height"]) < 40
    lab.screenshot("place-done", form)

    details = cell.locator(".mk-job details").first
    details.locator("summary").first.click()
    first_video(cell).evaluate(PLAY)
    cell.get_by_label("Prompt").first.fill("a kite in snow")
    go.click()
    ended(cell, 2)
    assert lab.page.evaluate(PLAYS_ON)
    assert lab.page.evaluate("() => window.stopped") == []
    expect(cell.locator(".mk-job details[open]")).to_have_count(1)
    # The newest is above, for the eye and for the keyboard.
    newest = cell.locator(".mk-job").filter(has_text="a kite in snow")
    oldest = cell.locator(".mk-job").filter(has_not_text="a kite in snow")
    assert box_of(newest)["y"] < box_of(oldest)["y"]

    held = hold_download(lab, newest)
    lab.resize(800, 700)
    cell.get_by_label("Prompt").first.fill("a kite in rain")
    go.scroll_into_view_if_needed()
    go.click()
    latest = cell.locator(".mk-job").filter(has_text="a kite in rain")
    latest.wait_for(state="visible")
    # It comes there smoothly.
    lab.page.wait_for_function(IN_VIEW, arg=latest.element_handle())
    lab.screenshot("place-narrow-scrolled")
    ended(cell, 3)
    with lab.page.expect_download() as waiting:
        for route in held:
            route.continue_()
    assert waiting.value.suggested_filename.endswith(".mp4")


def hold_download(lab: Lab, job: Locator) -> list[Route]:
    """Begin a download without data yet; return the event that it waits for."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    source = job.locator("video").evaluate("video => video.currentSrc || video.src")
    lab.page.route(source, hold)
    job.get_by_role("button", name="Download").filter(visible=True).click()
    expect(job.get_by_role("button", name="Cancel")).to_be_visible()
    until(lab.page, lambda: bool(held))
    return held
