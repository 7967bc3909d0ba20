"""The wall in real JupyterLab: by keys alone, in step, saved, exported and in Voilà."""

from __future__ import annotations

import ast
import json
import re
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import VIEWPORT
from tests.browser.geometry import layout_faults, nameless
from tests.browser.harness import Lab, LabServer, video_facts
from tests.browser.harness.lab import THEMES
from tests.browser.harness.wait import screenshot, within
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.servers.file_server import FileServer

pytestmark = pytest.mark.browser

COLOURS = ("teal", "orange", "purple", "olive", "navy", "brown")
CLIP_S = 4.0
FRAME_S = 1 / 24
MAX_NOTEBOOK_BYTES = 300_000
OPEN_S, STEP_S = 90.0, 30.0
CANARY = "<img src=x onerror='window.canary=1'><b class=bird>bird</b>"

CELLS = """
from base64 import b64encode
from dataclasses import replace
from io import BytesIO
from PIL import Image
from mediakit.widgets.gallery import Gallery, WallActions, WallCell, WallSummary
base = {base!r}
def poster(n):
    out = BytesIO()
    Image.new("RGB", (320, 180), (40 * n % 256, 90, 150)).save(out, "JPEG")
    return "data:image/jpeg;base64," + b64encode(out.getvalue()).decode()
posters = [poster(n) for n in range(48)]
animals, lights = ("kite", "hot air balloon", "gull"), ("dawn", "storm light")
def cell(n, **more):
    animal, light = animals[n % 3], lights[n // 3 % 2]
    fields = dict(
        job_id=f"media_{{n}}", labels=dict(animal=animal, light=light),
        prompt=f"a {{animal}} over dunes, {{light}}", status="completed",
        media_type="video", url=f"{{base}}/{{n % 6}}.mp4", poster=posters[n % 48],
        charge_micro_usd=200_000)
    return WallCell(n, **{{**fields, **more}})
calls = []
def judge(job_id, **changes):
    calls.append((job_id, changes))
def prefer(winner, loser, *, tie):
    calls.append((winner, loser, tie))
def rank(preferences):
    won = [each.winner for each in preferences if not each.tie]
    jobs = sorted({{job for each in preferences for job in each[:2]}})
    return [(job, won.count(job), won.count(job) - 0.5, won.count(job) + 0.5, 0)
            for job in jobs]
"""
WALL = """
wall = Gallery(
    [cell(n) for n in range(6)], rows="light", cols="animal",
    title="Sweep · a {animal} over dunes, {light}",
    summary=WallSummary(owned=2, new="$0.80", new_note="new, exact", spent="$1.20",
                        spent_note="spent of $3.00", next_label="Upscale the 2 kept"),
    judge=judge, prefer=prefer, rank=rank,
    actions=WallActions(retry=lambda index: calls.append(index),
                        export=lambda: "Saved 6 files.", next=lambda: None))
wall
"""
CALLS = "print(calls)"
THOUSAND = """
many = [cell(n, labels=dict(animal=f"animal {n // 10}", light=f"light {n % 10}"),
             prompt=f"a animal {n // 10} over dunes, light {n % 10}")
        for n in range(1000)]
wall = Gallery(many, rows="animal", cols="light", title="A thousand", judge=judge)
wall
"""
HOSTILE = f"""
mark, script = {CANARY!r}, "javascript:window.canary=1"
wall = Gallery(
    [cell(n, labels=dict(animal=mark, light=f"{{mark}} {{n}}"),
          prompt=f"{{n}} {{mark}}",
          tags=(mark,), note=mark, problem=mark,
          status=("completed", "failed", "running")[n % 3],
          url=script if n == 3 else f"{{base}}/{{n}}.mp4", poster=script)
     for n in range(6)],
    rows="animal", title=mark, summary=WallSummary(left=mark, next_label=mark),
    judge=judge, actions=WallActions(next=lambda: mark))
wall
"""
RUNNING = """
import threading, time
cells = [cell(n, status="running", url=None, poster=None, runtime_s=3.0)
         for n in range(6)]
wall = Gallery(cells, rows="light", cols="animal", title="Running")
def run():
    time.sleep(2)
    for n in range(3):
        cells[n] = cell(n)
        wall.update(cells, summary=WallSummary(spent=f"${(n + 1) * 0.2:.2f}"))
threading.Thread(target=run).start()
wall
"""
MEDIA = """
pictures = [cell(0, media_type="image", url=f"{base}/0.png", poster=None),
            cell(1, media_type="image", url=f"{base}/1.png", poster=None),
            cell(2, media_type="audio", url=f"{base}/0.wav", poster=None),
            cell(3, status="unsent", problem="The budget is used up.", url=None),
            cell(4, status="invalid", problem="5 s is too long.", url=None),
            cell(5, url=f"{base}/gone.mp4")]
wall = Gallery(pictures, title="Of all kinds")
wall
"""
# All positions at one instant, again and again from when all play after the seek.
POSITIONS = """async ([goal, samples]) => {
    const players = [...document.querySelectorAll("dialog video")];
    const slider = document.querySelector("dialog input[type=range]");
    slider.value = goal;
    slider.dispatchEvent(new Event("input"));
    const there = player => !player.seeking && !player.paused
        && Math.abs(player.currentTime - goal) < 0.6;
    const end = performance.now() + 20_000;
    while (!players.every(there)) {
        if (performance.now() > end) return [];
        await new Promise(requestAnimationFrame);
    }
    const positions = [];
    for (let n = 0; n < samples; n += 1) {
        positions.push(players.map(player => player.currentTime));
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    return positions;
}"""
FOUND = """root => {
    const found = window.canary ? ["it was executed"] : [];
    const safe = /^(https?:|data:image\\/jpeg|$)/;
    for (const each of root.querySelectorAll("*")) {
        if (each.matches("script, .bird")) found.push(each.outerHTML);
        for (const { name, value } of each.attributes) {
            if (name.startsWith("on")) found.push(each.outerHTML);
            if (["href", "src", "poster"].includes(name) && !safe.test(value))
                found.push(each.outerHTML);
        }
    }
    return found;
}"""
POSTER = re.compile("^data:image/jpeg")
FOCUSED = "() => document.activeElement.className"


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve six clips, two pictures and a sound; give their address."""
    folder = tmp_path_factory.mktemp("media")
    for n, colour in enumerate(COLOURS):
        make_mp4(folder / f"{n}.mp4", (640, 360), CLIP_S, 24, colour=colour)
    for n in range(2):
        make_png(folder / f"{n}.png", (640, 360), COLOURS[n])
    make_wav(folder / "0.wav")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with FileServer(files) as server:
        yield server.url("").rstrip("/")


def show(lab: Lab, lab_server: LabServer, media: str, code: str) -> Locator:
    """Open a notebook with a wall, run it, and return the wall."""
    cells = [CELLS.format(base=media), code, CALLS]
    lab.open(lab_server.add_notebook("wall.ipynb", cells))
    lab.resize(1280, 1100)
    lab.hide_sidebar()
    lab.run_cell(0)
    lab.run_cell(1)
    wall = lab.cell(1).locator(".mk-wall")
    expect(wall).to_be_visible()
    return wall


def tile(wall: Locator, index: int) -> Locator:
    return wall.locator(f".mk-wall-tile[data-index='{index}']")


def calls(lab: Lab) -> Any:
    """Return what reached Python."""
    lab.run_cell(2)
    return ast.literal_eval(lab.outputs(2).inner_text().strip())


def tab_to_tiles(lab: Lab, wall: Locator) -> None:
    """Reach the cells of a wall from its first button with the tabulator alone."""
    wall.get_by_role("button", name="Play all").focus()
    for _ in range(12):
        lab.page.keyboard.press("Tab")
        if "mk-wall-tile" in lab.page.evaluate(FOCUSED):
            return
    raise AssertionError("The tabulator key does not lead to the cells.")


def test_ratings_keeping_tags_and_notes_by_keyboard_alone_reach_python(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    press = lab.page.keyboard.press
    tab_to_tiles(lab, wall)
    expect(tile(wall, 0)).to_be_focused()

    for key in ("4", "k", "ArrowRight", "2", "3", "ArrowDown", "5", "0", "ArrowLeft"):
        press(key)
    expect(tile(wall, 3)).to_be_focused()
    press("t")
    lab.page.keyboard.type("sharp, red")
    press("Enter")
    expect(tile(wall, 3)).to_be_focused()
    press("n")
    lab.page.keyboard.type("The 2nd hand is odd.")
    press("Enter")
    press("n")
    lab.page.keyboard.type("not this")
    press("Escape")
    lab.screenshot("wall-rated", wall)

    expect(tile(wall, 0)).to_have_accessible_name(
        "kite, dawn, video, 4 of 5 stars, kept, $0.20"
    )
    expect(wall.get_by_role("grid")).to_have_accessible_name(
        "Sweep · a {animal} over dunes, {light}"
    )
    expect(wall.locator("[aria-live=polite]")).to_contain_text("note saved")
    expect(tile(wall, 3)).to_contain_text("The 2nd hand is odd.")
    assert calls(lab) == [
        ("media_0", {"rating": 4}),
        ("media_0", {"keep": True}),
        ("media_1", {"rating": 2}),
        ("media_1", {"rating": 3}),
        ("media_4", {"rating": 5}),
        ("media_4", {"rating": None}),
        ("media_3", {"tags": ("sharp", "red")}),
        ("media_3", {"note": "The 2nd hand is odd."}),
    ]
    assert lab.page.locator(".jp-Notebook .jp-Cell").count() == 3
    assert lab.console_errors() == []


def test_the_focus_is_seen_and_space_plays(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    tab_to_tiles(lab, wall)
    outline = "root => getComputedStyle(root.querySelector('.mk-wall-media')).outline"

    assert "solid 2px" in tile(wall, 0).evaluate(outline)
    assert "none" in tile(wall, 1).evaluate(outline)
    lab.page.keyboard.press(" ")
    playing = "root => !root.querySelector('video').paused"
    lab.page.wait_for_function(
        f"root => ({playing})(root)", arg=tile(wall, 0).element_handle()
    )
    video = tile(wall, 0).locator("video")
    assert video.get_attribute("src") == f"{media}/0.mp4"
    assert video.get_attribute("preload") == "none"
    assert video.evaluate("v => [v.muted, v.loop, v.playsInline]") == [True] * 3
    lab.page.keyboard.press(" ")
    assert not tile(wall, 0).evaluate(playing)


@pytest.mark.soak
def test_after_a_seek_six_videos_play_within_a_frame_of_each_other(
    lab: Lab, lab_server: LabServer, media: str, tell: Callable[[str], None]
) -> None:
    wall = show(lab, lab_server, media, WALL)
    tab_to_tiles(lab, wall)
    for _ in range(6):
        lab.page.keyboard.press("s")
        lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("c")
    dialog = wall.get_by_role("dialog")
    expect(dialog.locator("video")).to_have_count(6)
    expect(dialog.get_by_role("button", name="Play")).to_be_enabled(timeout=90_000)
    lab.page.keyboard.press(" ")
    expect(dialog.get_by_role("button", name="Pause")).to_be_visible()

    spreads = []
    for goal_s in (2.0, 0.5, 1.5):
        positions = lab.page.evaluate(POSITIONS, [goal_s, 20])
        assert len(positions) == 20, "the players did not all go on after the seek"
        assert positions[-1][0] > positions[0][0], "they stand still"
        spreads.append(max(max(each) - min(each) for each in positions))
    lab.screenshot("wall-six-in-step")
    tell(f"6 videos after a seek: within {1000 * max(spreads):.1f} ms of each other")

    assert max(spreads) < FRAME_S, spreads
    lab.page.keyboard.press("Escape")
    expect(wall.get_by_role("dialog")).to_have_count(0)
    assert "mk-wall-tile" in lab.page.evaluate(FOCUSED)


@pytest.mark.soak
def test_two_videos_or_pictures_are_wiped_over_each_other(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, MEDIA)
    tile(wall, 0).focus()
    for key in ("s", "ArrowRight", "s", "c"):
        lab.page.keyboard.press(key)
    dialog = wall.get_by_role("dialog")
    wipe = dialog.get_by_role("slider")
    expect(wipe).to_have_accessible_name(
        "How much of the first one is shown, in percent"
    )
    second = "document.querySelectorAll('.mk-wall-stage')[1]"
    clip = f"() => getComputedStyle({second}).clipPath"

    assert lab.page.evaluate(clip) == "inset(0px 0px 0px 50%)"
    wipe.focus()
    lab.page.keyboard.press("Home")
    assert lab.page.evaluate(clip) == "inset(0px 0px 0px 0%)"
    box = dialog.locator(".mk-wall-stage").first.bounding_box()
    assert box is not None
    lab.page.mouse.move(box["x"] + 20, box["y"] + 40)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 40, steps=4)
    lab.page.mouse.up()
    assert lab.page.evaluate(clip).startswith("inset(0px 0px 0px 7")
    lab.screenshot("wall-wipe")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert lab.console_errors() == []


def test_a_blind_comparison_hides_names_and_ends_in_a_ranking(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    tile(wall, 0).focus()
    lab.page.keyboard.press("b")
    dialog = wall.get_by_role("dialog")
    expect(dialog).to_contain_text("Pair 1 of 15")
    lab.screenshot("wall-blind")
    shown = dialog.inner_text()
    assert not [word for word in ("kite", "gull", "dawn", "media_") if word in shown]

    sources = "() => [...document.querySelectorAll('dialog video')].map(v => v.src)"
    answered = []
    for key in ("1", "2", "0"):
        left, right = (f"media_{url[-5]}" for url in lab.page.evaluate(sources))
        lab.page.keyboard.press(key)
        answered.append(
            (right, left, False) if key == "2" else (left, right, key == "0")
        )
        expect(dialog).to_contain_text(f"Pair {len(answered) + 1} of 15")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_contain_text("3 preferences saved.")
    rows = dialog.get_by_role("listitem")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text("1.00 (0.50 to 1.50)")
    lab.screenshot("wall-ranking")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert calls(lab) == answered


def test_a_preference_that_is_not_saved_is_said_in_front_and_not_counted(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    full = "def prefer(*args, **more):\n    raise OSError(28, 'No space left')\n"
    wall = show(lab, lab_server, media, full + WALL)
    tile(wall, 0).focus()
    lab.page.keyboard.press("b")
    dialog = wall.get_by_role("dialog")
    expect(dialog).to_contain_text("Pair 1 of 15")
    lab.page.keyboard.press("1")
    said = dialog.get_by_role("alert")
    expect(said).to_have_text("A preference was not saved: No space left.")
    lab.screenshot("wall-preference-unsaved")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(wall.get_by_role("alert")).to_have_text("No space left.")


def test_no_letter_or_digit_on_a_tile_reaches_the_notebook(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    sources = [cell["source"] for cell in lab.save()["cells"]]
    editor = wall.locator(".mk-wall-editor")
    dialog = wall.get_by_role("dialog")
    for key in string.ascii_lowercase + string.ascii_uppercase + string.digits:
        tile(wall, 1).focus()
        lab.page.keyboard.press(key)
        lab.page.keyboard.press(key)
        if editor.count() or dialog.count() or lab.page.evaluate(FOCUSED) == "":
            lab.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)

    assert [cell["source"] for cell in lab.save()["cells"]] == sources
    expect(wall).to_be_visible()


def test_cells_without_a_result_say_why_and_are_tried_again(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    failed = WALL.replace(
        "[cell(n) for n in range(6)]",
        "[cell(n, status='failed', problem='Rejected: content', url=None)"
        " for n in range(6)]",
    )
    wall = show(lab, lab_server, media, failed)
    expect(tile(wall, 1)).to_contain_text("Rejected: content")
    tile(wall, 1).get_by_role("button", name="Retry").click()
    tile(wall, 2).focus()
    lab.page.keyboard.press("r")
    wall.get_by_role("button", name="Export").click()
    expect(wall.locator("[aria-live=polite]")).to_have_text("Saved 6 files.")

    assert calls(lab) == [1, 2]


@pytest.mark.soak
def test_media_of_all_kinds_and_those_that_are_gone_have_their_place(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, MEDIA)

    expect(tile(wall, 0).locator("img[loading=lazy]")).to_be_visible()
    expect(tile(wall, 2).locator("audio[preload=none]")).to_be_visible()
    expect(tile(wall, 3)).to_contain_text("The budget is used up.")
    expect(tile(wall, 4)).to_contain_text("5 s is too long.")
    tile(wall, 5).focus()
    lab.page.keyboard.press(" ")
    expect(tile(wall, 5)).to_contain_text("cannot show this file, or it has been del")
    lab.screenshot("wall-of-all-kinds", wall)


def test_filters_leave_the_cells_that_are_asked_for(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    tile(wall, 1).focus()
    lab.page.keyboard.press("5")
    lab.page.keyboard.press("/")
    lab.page.keyboard.type("balloon")
    tiles = wall.get_by_role("gridcell")
    expect(tiles).to_have_count(2)
    wall.get_by_label("Rating").select_option("4")
    expect(tiles).to_have_count(1)
    wall.get_by_label("Status").select_option("failed")
    expect(tiles).to_have_count(0)
    expect(wall).to_contain_text("No cell matches the filters.")
    wall.get_by_role("button", name="Clear all filters").click()
    expect(tiles).to_have_count(6)
    wall.get_by_label("Kept", exact=True).check()
    expect(tiles).to_have_count(0)


def test_a_running_sweep_moves_the_wall_while_nobody_runs_a_cell(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, RUNNING)
    # Not the first three tiles: they end after 2 s, perhaps before a look at them.
    expect(tile(wall, 5)).to_contain_text(re.compile(r"running · ([5-9]|\d\d+) s"))

    expect(wall.locator("video")).to_have_count(3)
    expect(wall).to_contain_text("3 of 6 done · 3 running")
    expect(wall).to_contain_text("$0.60")
    lab.save()
    lab.reload()
    expect(lab.cell(1).locator(".mk-wall video")).to_have_count(3)


@pytest.mark.soak
def test_a_wall_without_its_kernel_says_so_and_takes_nothing(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    lab.shutdown_kernel()
    tile(wall, 0).focus()
    lab.page.keyboard.press("5")

    expect(wall.get_by_role("alert")).to_contain_text("The kernel is gone")
    expect(tile(wall, 0)).to_have_accessible_name("kite, dawn, video, $0.20")
    lab.screenshot("wall-without-its-kernel", wall)


@pytest.mark.soak
def test_a_wall_fits_narrow_and_wide_pages_in_both_themes(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, WALL)
    tile(wall, 1).focus()
    lab.page.keyboard.press("k")
    wall.get_by_role("button", name="Filter").click()
    for theme in THEMES:
        lab.theme(theme)
        for width_px in (360, 800, 1600):
            lab.resize(width_px, 1100)
            lab.screenshot(f"wall-{theme}-{width_px}", wall)
            faults = layout_faults(wall)
            assert faults == [], (theme, width_px)
    assert nameless(wall) == []


@pytest.mark.soak
def test_words_of_others_stay_words_in_a_wall(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, HOSTILE)
    tile(wall, 0).focus()
    for key in ("t", "Enter", "n", "Enter"):
        lab.page.keyboard.press(key)
    lab.page.keyboard.press("Enter")
    expect(wall.get_by_role("dialog")).to_contain_text("onerror")
    wall.get_by_role("button", name="Close (Escape)").click()
    wall.locator(".mk-wall-primary").click()
    expect(wall.locator("[aria-live=polite]")).to_contain_text("onerror")
    lab.screenshot("wall-canary", wall)

    assert wall.evaluate(FOUND) == []
    assert not lab.page.evaluate("window.canary")


@pytest.mark.soak
def test_a_wall_of_1000_cells_pages_scrolls_and_stays_small(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, THOUSAND)
    tiles = wall.get_by_role("gridcell")
    expect(tiles).to_have_count(40)
    expect(wall).to_contain_text("Page 1 of 25")
    grid = wall.locator(".mk-wall-scroll")
    before = wall.get_by_role("columnheader").first.bounding_box()
    grid.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    after = wall.get_by_role("columnheader").first.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 12, "the header does not stay"

    tile(wall, 0).focus()
    lab.page.keyboard.press("PageDown")
    lab.page.keyboard.press("3")
    expect(tile(wall, 40)).to_be_focused()
    poster = tile(wall, 40).locator("video")
    expect(poster).to_have_attribute("poster", POSTER)
    assert calls(lab) == [("media_40", {"rating": 3})]
    lab.page.wait_for_timeout(2_500)
    lab.save()
    size = (lab_server.root / lab.notebook).stat().st_size
    assert size < MAX_NOTEBOOK_BYTES
    lab.screenshot("wall-thousand", wall)

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    twin = lab.outputs(1)
    expect(twin.locator("table").first).to_be_visible()
    expect(twin.get_by_text("960 more cells")).to_be_visible()
    lab.screenshot("wall-thousand-saved")

    # A copy that was changed elsewhere is not trusted, and is sanitised.
    copy = lab_server.read_notebook(lab.notebook)
    copy["cells"][1]["source"] = "# changed"
    (lab_server.root / "untrusted.ipynb").write_text(json.dumps(copy))
    lab.open("untrusted.ipynb", kernel=False)
    players = lab.outputs(1).locator("video[controls][poster^='data:image/jpeg']")
    expect(players).to_have_count(40)
    expect(lab.outputs(1).get_by_text("Open the video")).to_have_count(40)
    lab.screenshot("wall-thousand-untrusted")

    exported = export(lab_server, "wall.ipynb")
    page = lab.page.context.new_page()
    page.goto(exported.as_uri(), wait_until="domcontentloaded")
    expect(page.locator("video[poster][preload=none]")).to_have_count(40)
    screenshot(page, "wall-thousand-as-html")
    facts = video_facts(page, "video[controls]")
    assert facts.shows_a_picture
    page.get_by_text("960 more cells").click()
    expect(page.get_by_role("link", name="animal 99, light 9")).to_be_visible()


def export(lab_server: LabServer, notebook: str) -> Path:
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", notebook]
    subprocess.run(command, cwd=lab_server.root, check=True, capture_output=True)
    return lab_server.root / Path(notebook).with_suffix(".html").name


@pytest.fixture
def page(browser: Browser, lab_server: LabServer) -> Iterator[Page]:
    with browser.new_context(viewport=VIEWPORT, device_scale_factor=1) as context:
        page = context.new_page()
        page.set_default_timeout(STEP_S * 1000)
        yield page
    lab_server.shut_down_kernels()


@pytest.mark.soak
def test_the_wall_in_voila(page: Page, lab_server: LabServer, media: str) -> None:
    cells = [CELLS.format(base=media), WALL]
    name = lab_server.add_notebook("voila-wall.ipynb", cells)
    page.goto(
        f"{lab_server.url}/voila/render/{name}?token={lab_server.token}",
        timeout=OPEN_S * 1000,
    )
    wall = page.locator(".mk-wall")
    with within(page, "the wall in Voilà", OPEN_S) as limit_ms:
        wall.wait_for(state="visible", timeout=limit_ms)

    expect(page.locator("table")).to_be_hidden()
    tile(wall, 0).focus()
    page.keyboard.press("4")
    page.keyboard.press("k")
    expect(wall.locator(".mk-wall-figures-row")).to_contain_text("1kept")
    screenshot(page, "wall-voila")
    page.keyboard.press(" ")
    assert video_facts(page, ".mk-wall video").shows_a_picture
