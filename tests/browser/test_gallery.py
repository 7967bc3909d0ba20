"""The wall in real JupyterLab: by keys alone, in step, saved, exported and in Voilà."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.geometry import layout_faults, nameless
from tests.browser.harness import VIEWPORT, Lab, LabServer, video_facts
from tests.browser.harness.lab import THEMES
from tests.browser.harness.wait import screenshot, within
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.servers.file_server import FileServer

pytestmark = [pytest.mark.browser, pytest.mark.soak]

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
RUNNING = """
import threading, time
cells = [cell(n, status="running", url=None, poster=None, runtime_s=3.0)
         for n in range(6)]
wall = Gallery(cells, rows="light", cols="animal", title="Running", judge=judge,
               prefer=prefer, rank=rank)
def run():
    for n in range(3):
        cells[n] = cell(n)
        wall.update(cells, summary=WallSummary(spent=f"${(n + 1) * 0.2:.2f}"))
threading.Thread(target=run).start()
wall
"""
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


def test_keys_on_a_wall_reach_python_and_the_saved_notebook_and_no_cell(
    lab: Lab, lab_server: LabServer, media: str
) -> None:
    wall = show(lab, lab_server, media, RUNNING)
    expect(wall.locator("video")).to_have_count(3)
    expect(wall).to_contain_text("3 of 6 done · 3 running")
    sources = [cell["source"] for cell in lab.save()["cells"]]
    tile(wall, 0).focus()
    # Plain keys of the notebook cut, delete and add cells.
    for key in ("4", "k", "x", "d", "d", "a", "b"):
        lab.page.keyboard.press(key)
        if wall.get_by_role("dialog").count():
            lab.page.keyboard.press("Escape")
            tile(wall, 0).focus()

    expect(tile(wall, 0)).to_have_accessible_name(
        "kite, dawn, video, 4 of 5 stars, kept, $0.20"
    )
    assert calls(lab)[:2] == [("media_0", {"rating": 4}), ("media_0", {"keep": True})]
    assert [cell["source"] for cell in lab.save()["cells"]] == sources
    lab.screenshot("wall-rated", wall)
    lab.reload()
    expect(lab.cell(1).locator(".mk-wall video")).to_have_count(3)
    expect(tile(lab.cell(1).locator(".mk-wall"), 0)).to_contain_text("★★★★")
    assert lab.console_errors() == []


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
