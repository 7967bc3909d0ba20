"""A sweep in real JupyterLab: planned, run by a click, rated by keys, kept on disk."""

from __future__ import annotations

import ast

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab, video_facts
from tests.browser.harness.lab import THEMES
from tests.browser.harness.wait import becomes, rest
from tests.support.samples.media_samples import make_mp4

pytestmark = pytest.mark.browser

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
RESULTS = "results = plan.refresh().run()\nresults.wait()\nresults"
RATED = "print(results.frame()['rating'].dropna().astype(int).tolist())"
UPSCALED = """
large = client.sweep("video-upscale", video=["short-0.mp4", "short-1.mp4"]).run()
large.wait()
large
"""
ERASED = "for job_id in large.frame()['job_id']: client.job(job_id).erase()"
AGAIN = "print(plan.refresh())"
FOUR = """
four = client.sweep(
    "text-to-image", prompt=["a gull", "a kite", "a fox", "an owl"]
).run()
four.wait()
four
"""
JUDGED = """
frame = four.frame()
rated = frame["rating"].fillna(0).astype(int).tolist()
kept = frame["keep"].fillna(False).astype(bool).tolist()
print((rated, kept, len(client.history.frame())))
"""


def ratings(lab: Lab) -> str:
    """Return the ratings that Python received; the page shows the star earlier."""
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
    expect(plan.locator(".mk-quiet", has_text="2 of 4 done")).to_be_visible()
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
def test_upscaled_clips_play_on_the_wall_and_side_by_side_until_they_are_erased(
    lab: Lab,
) -> None:
    for n in range(2):
        make_mp4(lab.server.root / f"short-{n}.mp4", duration_s=n + 1)
    cells = [CONNECT, UPSCALED, ERASED]
    lab.begin("upscaled.ipynb", *cells)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "2 of 2 done")
    tiles = lab.cell(1).locator("[role=gridcell]")
    for at in range(2):
        tiles.nth(at).focus()
        lab.page.keyboard.press(" ")
        expect(tiles.nth(at).locator("video[src^=blob]")).to_be_visible()
        lab.page.keyboard.press("s")
    facts = video_facts(lab.page, "[role=gridcell] video")
    assert facts.shows_a_picture, facts
    lab.screenshot("upscaled-wall", lab.cell(1))
    lab.page.keyboard.press("c")
    dialog = lab.cell(1).get_by_role("dialog")
    expect(dialog.locator("video[src^=blob]")).to_have_count(2)
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
    expect(first).to_contain_text("erased")
    lab.screenshot("wall-gone", lab.cell(1))


@pytest.mark.soak
def test_selected_results_are_rated_kept_and_upscaled_in_one_go(lab: Lab) -> None:
    connect = CONNECT.replace("'sweep'", "'selected'")  # a history of its own
    lab.begin("selected.ipynb", connect, FOUR, JUDGED)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "4 of 4 done")
    wall = lab.cell(1).locator(".mk-wall")
    tiles = wall.get_by_role("gridcell")
    spoken = wall.locator(".mk-spoken")

    def judged() -> object:
        lab.run_cell(2)
        return ast.literal_eval(lab.printed(2).strip())

    tiles.nth(0).focus()
    lab.page.keyboard.press("Shift+ArrowRight")
    lab.page.keyboard.press("Shift+ArrowRight")
    expect(spoken).to_have_text("3 cells selected")
    expect(tiles.nth(2)).to_have_attribute("aria-selected", "true")
    lab.page.keyboard.press("4")
    expect(spoken).to_have_text("3 results: rated 4 of 5")
    becomes(lab.page, judged, ([4, 4, 4, 0], [False] * 4, 4))

    tiles.nth(0).locator("img").click()
    tiles.nth(3).locator("img").click(modifiers=["Shift"])
    expect(spoken).to_have_text("4 cells selected")
    tiles.nth(1).locator("img").click(modifiers=["Control"])
    expect(spoken).to_have_text("3 cells selected")
    tiles.nth(0).focus()
    lab.page.keyboard.press("k")
    becomes(lab.page, judged, ([4, 4, 4, 0], [True, False, True, True], 4))

    wall.get_by_role("button", name="Actions for 3…").click()
    menu = wall.get_by_role("group", name="Actions for 3 selected cells")
    expect(menu.get_by_role("button", name="Do not keep")).to_be_focused()
    take = menu.get_by_role("button", name="Another take of 3 results · price unknown")
    upscale = menu.get_by_role("button", name="Upscale 3 results · $")
    for theme in THEMES:
        lab.theme(theme)
        if not menu.is_visible():
            tiles.nth(0).focus()
            lab.page.keyboard.press("a")
        expect(take).to_be_visible()
        expect(upscale).to_be_visible()
        lab.screenshot(f"wall-selected-{theme}")
    lab.theme("light")
    if not menu.is_visible():
        tiles.nth(0).focus()
        lab.page.keyboard.press("a")
    upscale.hover()
    rest(lab.page)
    upscale.dblclick()
    expect(tiles).to_have_count(7)
    expect(wall).to_contain_text("Upscaling 3 results.")
    becomes(lab.page, judged, ([4, 4, 4, 0], [True, False, True, True], 7))
    tiles.nth(0).focus()
    lab.page.keyboard.press("Escape")
    expect(spoken).to_have_text("0 cells selected")
    expect(wall.get_by_role("button", name="Actions for")).to_be_hidden()
