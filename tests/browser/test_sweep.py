"""A sweep in real JupyterLab: planned, run by a click, rated by keys, kept on disk."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, video_facts
from tests.browser.harness.lab import THEMES
from tests.browser.harness.wait import becomes
from tests.support.samples.media_samples import make_mp4

pytestmark = pytest.mark.browser

RUN_MS = 600_000
CONNECT = "import mediakit as mk\nclient = mk.connect(home='sweep')"
PLAN = """
plan = client.sweep(
    "text-to-video",
    prompt="a {animal} over dunes",
    animal=["kite", "gull"],
    duration=[3, 99],
)
plan
"""
RESULTS = "results = plan.refresh().run()\nresults.wait(60)\nresults"
RATED = "print(results.frame()['rating'].dropna().astype(int).tolist())"
UPSCALED = """
large = client.sweep("video-upscale", video=["short-0.mp4", "short-1.mp4"]).run()
large.wait(300)
large
"""
ERASED = "for job_id in large.frame()['job_id']: client.job(job_id).erase()"
AGAIN = "print(plan.refresh())"


def ratings(lab: Lab) -> str:
    """Return what Python has heard: the star is on the page before."""
    lab.run_cell(3)
    return lab.printed(3).strip()


@pytest.mark.soak
def test_a_plan_is_run_by_a_click_and_its_results_are_rated_by_keys(lab: Lab) -> None:
    cells = [CONNECT, PLAN, RESULTS, RATED, AGAIN]
    lab.begin("sweep.ipynb", *cells)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "2 new")
    plan = lab.cell(1)
    lab.see(1, "got 99")
    lab.screenshot("sweep-plan", plan)
    plan.get_by_role("button", name="Run 2 cells").click()
    expect(plan.locator(".mk-quiet", has_text="2 of 4 done")).to_be_visible(
        timeout=RUN_MS
    )
    for theme in THEMES:
        lab.theme(theme)
        lab.screenshot(f"sweep-wall-{theme}", plan)
    lab.theme("light")
    lab.run_cell(2)
    lab.see(2, "2 of 4 done")
    first = lab.cell(2).locator("[role=gridcell]").first
    first.focus()
    lab.page.keyboard.press("4")
    expect(first).to_contain_text("★★★★")
    becomes(lab.page, lambda: ratings(lab), "[4]")
    lab.run_cell(4)
    lab.see(4, "2 owned, 0 new: $0.00")
    # The saved copy follows within two seconds.
    copy = lab.outputs(2).locator("[class^=mediakit-cards]")
    expect(copy).to_contain_text("★★★★")
    lab.save_outputs(2, "★★★★")
    lab.reload()
    expect(lab.outputs(2)).to_contain_text("kite")


@pytest.mark.soak
def test_upscaled_clips_play_on_the_wall_and_side_by_side_until_they_are_gone(
    lab: Lab,
) -> None:
    for n in range(2):
        make_mp4(lab.server.root / f"short-{n}.mp4", duration_s=n + 1)
    cells = [CONNECT, UPSCALED, ERASED]
    lab.begin("upscaled.ipynb", *cells)
    lab.run_cell(0)
    lab.run_cell(1, timeout_s=RUN_MS / 1000)
    lab.see(1, "2 of 2 done")
    tiles = lab.cell(1).locator("[role=gridcell]")
    for at in range(2):
        tiles.nth(at).focus()
        lab.page.keyboard.press(" ")
        expect(tiles.nth(at).locator("video[src^=blob]")).to_be_visible(timeout=60_000)
        lab.page.keyboard.press("s")
    facts = video_facts(lab.page, "[role=gridcell] video")
    assert facts.shows_a_picture, facts
    lab.screenshot("upscaled-wall", lab.cell(1))
    lab.page.keyboard.press("c")
    dialog = lab.cell(1).get_by_role("dialog")
    expect(dialog.locator("video[src^=blob]")).to_have_count(2, timeout=60_000)
    play = dialog.get_by_role("button", name="Play")
    expect(play).to_be_enabled()
    assert video_facts(lab.page, "dialog video").shows_a_picture
    lab.screenshot("upscaled-compare")
    lab.page.keyboard.press("Escape")

    lab.run_cell(1)  # a new wall, which has played nothing
    lab.see(1, "2 of 2 done")
    lab.run_cell(2)
    first = lab.cell(1).locator("[role=gridcell]").first
    first.focus()
    lab.page.keyboard.press(" ")
    expect(first).to_contain_text("erased", timeout=60_000)
    lab.screenshot("wall-gone", lab.cell(1))
