"""What plays or is downloaded goes on while further results arrive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Route, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, LabServer

pytestmark = [pytest.mark.browser, pytest.mark.soak]

JOB_MS = 120_000.0
FORM = 'client.form("text-to-video", prompt="a kite that stays", duration=3)'
JOB = 'client.run("text-to-video", prompt="a kite that stays in a cell", duration=3)'
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


def opened(
    lab: Lab, server: LabServer, sandbox: RunningSandbox, name: str, cell: str
) -> Locator:
    """Open a notebook with this cell, run it, and return what it shows."""
    first = (
        "import mediakit as mk\n"
        f"client = mk.connect({sandbox.base_url!r}, {sandbox.api_key!r}, "
        f"home='home-{name}')"
    )
    lab.open(server.add_notebook(f"{name}.ipynb", [first, cell]))
    lab.resize(1280, 1000)
    lab.hide_sidebar()
    lab.run_cell(0)
    lab.run_cell(1)
    return lab.cell(1)


def ended(cell: Locator, count: int) -> None:
    expect(cell.locator(".mk-job")).to_have_count(count, timeout=JOB_MS)
    erase = cell.get_by_role("button", name="Erase…")
    expect(erase).to_have_count(count, timeout=JOB_MS)


def first_video(cell: Locator) -> Locator:
    return cell.locator(".mk-job video").first


def test_a_clip_of_a_form_plays_on_and_its_details_stay_open_while_another_arrives(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    cell = opened(lab, lab_server, sandbox, "plays-on", FORM)
    cell.locator("button.mk-go").click()
    ended(cell, 1)
    # Nothing more is written into the details from now on.
    expect(cell.get_by_text("1280 \u00d7 720").first).to_be_visible()
    expect(cell.get_by_text("as estimated").first).to_be_visible()
    details = cell.locator(".mk-job details").first
    details.locator("summary").first.click()
    first_video(cell).evaluate(PLAY)

    cell.get_by_label("Prompt").first.fill("a kite in snow")
    cell.locator("button.mk-go").click()
    ended(cell, 2)
    assert lab.page.evaluate(PLAYS_ON)
    assert lab.page.evaluate("() => window.stopped") == []
    expect(cell.locator(".mk-job details[open]")).to_have_count(1)
    # The newest is above, for the eye and for the keyboard.
    newest = cell.locator(".mk-job").filter(has_text="a kite in snow")
    oldest = cell.locator(".mk-job").filter(has_not_text="a kite in snow")
    above, below = newest.bounding_box(), oldest.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]


def test_a_clip_of_a_cell_plays_on_while_another_take_arrives(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    cell = opened(lab, lab_server, sandbox, "plays-on-in-a-cell", JOB)
    ended(cell, 1)
    first_video(cell).evaluate(PLAY)
    cell.get_by_role("button", name="Another take").filter(visible=True).click()
    ended(cell, 2)
    assert lab.page.evaluate(PLAYS_ON)
    assert lab.page.evaluate("() => window.stopped") == []


def test_a_download_continues_while_another_result_arrives(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    cell = opened(lab, lab_server, sandbox, "downloads-on", FORM)
    cell.locator("button.mk-go").click()
    ended(cell, 1)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    source = first_video(cell).evaluate("video => video.currentSrc || video.src")
    lab.page.route(source, hold)
    cell.get_by_role("button", name="Download").filter(visible=True).click()
    expect(cell.get_by_role("button", name="Cancel")).to_be_visible()

    cell.get_by_label("Prompt").first.fill("a kite in snow")
    cell.locator("button.mk-go").click()
    ended(cell, 2)
    with lab.page.expect_download(timeout=JOB_MS) as waiting:
        assert held
        for route in held:
            route.continue_()

    assert waiting.value.suggested_filename.endswith(".mp4")
