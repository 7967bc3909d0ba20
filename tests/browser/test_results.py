"""Actions on results in real JupyterLab, by real clicks and keys."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Download, Locator, expect

from mediakit.client.recipes import parse_recipe
from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.geometry import box_of
from tests.browser.harness import Lab, connected
from tests.browser.harness.wait import until
from tests.support.recipes import delivered

pytestmark = pytest.mark.browser

MANY = 12
WAITS_MAX_PX = 120
OPEN_WAITS_MAX_PX = 420


def opened(lab: Lab, sandbox: RunningSandbox, name: str, *cells: str) -> None:
    """Open a notebook that is connected to a sandbox with a short queue."""
    first = connected(sandbox, name)
    lab.begin(f"{name}.ipynb", first, *cells, height_px=1200)
    lab.run_cell(0)


def button(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=name).filter(visible=True).first


def saved(lab: Lab, where: Locator) -> Download:
    with lab.page.expect_download() as waiting:
        button(where, "Download").click()
    return waiting.value


CLIP = """
clip = client.run("text-to-video", prompt="A red balloon over a mountain lake, at dawn",
                  duration=3, resolution="720p")
clip
"""
HISTORY = 'print("A red balloon" in client.history.frame().to_csv())'


@pytest.mark.soak
def test_a_download_equals_the_services_file_and_an_erased_job_is_forgotten(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    opened(lab, sandbox, "downloads", CLIP, "print(clip.url)", HISTORY)
    lab.run_cell(1)
    cell = lab.cell(1)
    lab.see(1, "as estimated")
    cell.locator("video:visible").first.wait_for(state="visible")
    lab.look_at("result-video", 1)
    lab.run_cell(2)
    url = lab.printed(2).strip()
    whole = httpx.get(url, timeout=60).content
    assert len(whole) > 100_000

    # The page is of another origin than the file, where links cannot name a download.
    assert not url.startswith(lab.server.url)
    download = saved(lab, lab.cell(1))
    assert download.suggested_filename.startswith("a-red-balloon-over-a-mountain-lake-")
    assert download.suggested_filename.endswith(".mp4")
    content = Path(download.path()).read_bytes()
    assert delivered(content) == whole
    recipe = parse_recipe(content[-10_000:])
    assert recipe is not None
    assert recipe.fields["prompt"] == "A red balloon over a mountain lake, at dawn"
    assert recipe.charge_micro_usd == 204_000
    lab.see(1, f"Your browser saved {download.suggested_filename}.")

    # Where the storage does not let the page read the file, the kernel passes it on.
    lab.page.route("**/files/**", lambda route: route.abort())
    passed_on = Path(saved(lab, lab.cell(1)).path()).read_bytes()
    assert delivered(passed_on) == whole
    lab.page.unroute("**/files/**")

    button(lab.cell(1), "Save to folder").click()
    lab.see(1, "next to it, has the prompt")
    there = lab.server.root / download.suggested_filename
    assert delivered(there.read_bytes()) == whole
    assert there.with_name(f"{there.name}.json").is_file()

    lab.run_cell(3)
    assert lab.printed(3).strip() == "True"
    button(cell, "Erase…").click()
    lab.see(1, "The service deletes stored media and requests.")
    lab.see(1, "What stays: prompts and charges in your history")
    lab.cell(1).get_by_label("Also forget the prompt and settings").check()
    lab.screenshot("result-erase-question", cell)
    cell.get_by_role("button", name="Erase", exact=True).click()
    lab.see(1, "The prompt and the settings were forgotten here, too.")
    expect(lab.outputs(1).get_by_text("A red balloon")).to_have_count(0)
    lab.screenshot("result-erased", cell)
    lab.run_cell(3)
    assert lab.printed(3).strip() == "False"
    lab.save_until(
        lambda notebook: "A red balloon" not in str(notebook["cells"][1]["outputs"])
    )


WAITS = f"""
jobs = [client.submit("text-to-image", prompt=f"kite number {{n}}")
        for n in range({MANY})]
for job in jobs:
    job.wait()
"""
TOGETHER = """
import asyncio
async def done(job):
    return await job
more = [client.submit("text-to-image", prompt=f"boat number {n}") for n in range(6)]
_ = await asyncio.gather(*map(done, more))
"""
FEW = 'two = [client.run("text-to-image", prompt=f"hill {n}") for n in range(2)]'


@pytest.mark.soak
def test_twelve_waits_share_one_progress_bar_and_a_job_as_a_value_is_a_player(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    opened(lab, sandbox, "waits", WAITS, TOGETHER, FEW, "jobs[0].wait()")
    lab.run_cell(1)
    cell = lab.cell(1)
    lab.see(1, "12 jobs: 12 completed")
    assert cell.locator("img:visible, video:visible").count() == 0
    outputs = cell.locator(".jp-Cell-outputArea")
    until(lab.page, lambda: box_of(outputs)["height"] < WAITS_MAX_PX)
    cell.get_by_text("Show the 12 jobs").filter(visible=True).click()
    lines = lab.outputs(1).get_by_text("kite number").filter(visible=True)
    expect(lines).to_have_count(MANY)
    until(lab.page, lambda: box_of(outputs)["height"] < OPEN_WAITS_MAX_PX)
    lab.look_at("waits", 1)

    lab.run_cell(2)
    lab.see(2, "6 jobs: 6 completed")
    lab.run_cell(3)
    expect(lab.outputs(3).get_by_text("hill").filter(visible=True)).to_have_count(2)
    lab.run_cell(4)
    lab.cell(4).locator(".mk-job img:visible").first.wait_for(state="visible")
    assert lab.cell(4).locator(".mk-wait").get_by_text("kite").count() == 0

    lab.save()
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(1, "12 jobs: 12 completed")
    lab.cell(1).get_by_text("Show the 12 jobs").filter(visible=True).click()
    lab.see(1, "kite number 11")
    lab.screenshot("waits-without-a-kernel", lab.cell(1))
