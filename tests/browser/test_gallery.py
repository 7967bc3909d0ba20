"""The wall in real JupyterLab: by keys alone, saved, without a kernel and exported."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Lab, video_facts
from tests.browser.harness.wait import becomes, screenshot
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer

pytestmark = [pytest.mark.browser, pytest.mark.soak]

ROOT = Path(__file__).parents[2]
MAX_NOTEBOOK_BYTES = 300_000

CELLS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from mediakit.widgets.gallery import Gallery, WallSummary
from tests.support.samples.walls import make_cell, make_poster
posters = [make_poster((40 * n % 256, 90, 150)) for n in range(48)]
def cell(n, **more):
    media = dict(url=f"{{base}}/{{n % 6}}.mp4", poster=posters[n % 48])
    return make_cell(n, **{{**media, **more}})
calls = []
async def judge(job_id, **changes):
    calls.append((job_id, changes))
async def prefer(**chosen):
    raise OSError("nobody answers here")
"""
WALL = """
from mediakit.widgets.gallery import WallActions
async def retry(index, text):
    return "It is sent again."
async def export():
    return "Saved 6 files."
wall = Gallery(
    [cell(n) for n in range(6)], rows="light", cols="animal",
    title="Sweep · a {animal} over dunes, {light}",
    summary=WallSummary(owned=2, new="$0.80", new_note="new, exact", spent="$1.20",
                        spent_note="of $3.00 spent"),
    judge=judge, prefer=prefer, actions=WallActions(retry=retry, export=export))
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
               prefer=prefer)
def run():
    for n in range(3):
        cells[n] = cell(n)
        wall.update(cells, summary=WallSummary(spent=f"${(n + 1) * 0.2:.2f}"))
threading.Thread(target=run).start()
wall
"""


def wall_cells(base: str) -> str:
    """Return the setup code of cells with walls, whose media are at this base URL."""
    return f"base = {base!r}\n{CELLS}"


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a clip under six names; return their base URL."""
    clip = make_mp4(tmp_path_factory.mktemp("media") / "clip.mp4", (320, 180), 1)
    files = {f"{n}.mp4": clip.read_bytes() for n in range(6)}
    with FileServer(files) as server:
        yield server.url("").rstrip("/")


def shown(lab: Lab, index: int) -> Locator:
    """Run a cell with a wall, and return the wall."""
    lab.run_cell(index)
    wall = lab.cell(index).locator(".mk-wall")
    expect(wall).to_be_visible()
    return wall


def tile(wall: Locator, index: int) -> Locator:
    return wall.locator(f".mk-wall-tile[data-index='{index}']")


def calls(lab: Lab) -> Any:
    """Return what reached Python."""
    lab.run_cell(2)
    return ast.literal_eval(lab.printed(2).strip())


def test_keys_on_a_wall_reach_python_and_no_cell_and_a_wall_of_1000_stays_small(
    lab: Lab, media: str
) -> None:
    cells = [wall_cells(media), RUNNING, CALLS, THOUSAND]
    lab.begin("wall.ipynb", *cells, height_px=1100)
    lab.run_cell(0)
    wall = shown(lab, 1)
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
    rated = [("media_0", {"rating": 4}), ("media_0", {"keep": True})]
    becomes(lab.page, lambda: calls(lab)[:2], rated)
    assert [cell["source"] for cell in lab.save()["cells"]] == sources
    lab.screenshot("wall-rated", wall)
    wall = shown(lab, 3)
    expect(wall.get_by_role("gridcell")).to_have_count(40)
    expect(wall).to_contain_text("Page 1 of 25")
    tile(wall, 0).focus()
    lab.page.keyboard.press("PageDown")
    expect(tile(wall, 40)).to_be_focused()
    lab.page.keyboard.press("3")
    expect(tile(wall, 40)).to_have_accessible_name(re.compile("3 of 5 stars"))
    # The star appears on the page before Python gets the rating.
    becomes(lab.page, lambda: calls(lab)[-1], ("media_40", {"rating": 3}))
    lab.save_outputs(1, "★★★★")
    lab.save_outputs(3, "960 more cells")
    size = (lab.server.root / lab.notebook).stat().st_size
    assert size < MAX_NOTEBOOK_BYTES
    lab.screenshot("wall-thousand", wall)

    lab.reload()
    expect(lab.cell(1).locator(".mk-wall video")).to_have_count(3)
    expect(tile(lab.cell(1).locator(".mk-wall"), 0)).to_contain_text("★★★★")
    assert lab.console_errors() == []
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    twin = lab.outputs(3)
    expect(twin.locator("table").first).to_be_visible()
    expect(twin.get_by_text("960 more cells")).to_be_visible()
    lab.screenshot("wall-thousand-saved")

    # A copy that was changed elsewhere is untrusted, so it is sanitised.
    copy = lab.server.read_notebook(lab.notebook)
    copy["cells"][3]["source"] = "# changed"
    (lab.server.root / "untrusted.ipynb").write_text(json.dumps(copy))
    lab.open("untrusted.ipynb", kernel=False)
    players = lab.outputs(3).locator("video[controls][poster^='data:image/jpeg']")
    expect(players).to_have_count(40)
    expect(lab.outputs(3).get_by_text("Open the video")).to_have_count(40)
    lab.screenshot("wall-thousand-untrusted")

    page = lab.exported()
    players = page.locator("video[poster][preload=none]")
    expect(players).to_have_count(3 + 40)
    screenshot(page, "wall-thousand-as-html")
    facts = video_facts(page, "video[controls]")
    assert facts.shows_a_picture
    page.get_by_text("960 more cells").click()
    expect(page.get_by_role("link", name="animal 99, light 9")).to_be_visible()
