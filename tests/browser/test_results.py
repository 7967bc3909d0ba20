"""What people do with results in real JupyterLab, by real clicks and keys."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Download, Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, LabServer

pytestmark = pytest.mark.browser

JOB_S = 240.0
STEP_MS = 90_000.0
MANY = 12
WAITS_MAX_PX = 120
OPEN_WAITS_MAX_PX = 420


def opened(
    lab: Lab, server: LabServer, sandbox: RunningSandbox, name: str, *cells: str
) -> None:
    """Open a notebook that is connected to a sandbox whose queue is quick."""
    first = (
        "import mediakit as mk\nfrom PIL import Image\n"
        f"client = mk.connect({sandbox.base_url!r}, {sandbox.api_key!r}, "
        f"home='home-{name}')"
    )
    lab.open(server.add_notebook(f"{name}.ipynb", [first, *cells]))
    lab.resize(1280, 1200)
    lab.hide_sidebar()
    lab.run_cell(0)


def look_at(lab: Lab, name: str, index: int) -> None:
    """Take pictures of a cell in both themes, wide and narrow."""
    for theme, width_px in (("light", 1280), ("dark", 1280), ("light", 800)):
        lab.theme("dark" if theme == "dark" else "light")
        lab.resize(width_px, 1200)
        lab.screenshot(f"{name}-{theme}-{width_px}", lab.cell(index))
    lab.theme("light")
    lab.resize(1280, 1200)


def button(where: Locator, name: str) -> Locator:
    return where.get_by_role("button", name=name).filter(visible=True).first


def saved(lab: Lab, where: Locator) -> Download:
    with lab.page.expect_download(timeout=STEP_MS) as waiting:
        button(where, "Download").click()
    return waiting.value


CLIP = """
clip = client.run("text-to-video", prompt="A red balloon over a mountain lake, at dawn",
                  duration=3, resolution="720p")
clip
"""


@pytest.mark.soak
def test_a_download_is_the_services_file_under_a_good_name(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    opened(lab, lab_server, sandbox, "downloads", CLIP, "print(clip.url)")
    lab.run_cell(1, timeout_s=JOB_S)
    cell = lab.cell(1)
    lab.see(1, "as estimated", timeout_s=JOB_S)
    cell.locator("video:visible").first.wait_for(state="visible")
    look_at(lab, "result-video", 1)
    lab.run_cell(2)
    url = lab.outputs(2).inner_text().strip()
    whole = httpx.get(url).content
    assert len(whole) > 100_000

    # The page is of another origin than the file, where links cannot name a download.
    assert not url.startswith(lab_server.url)
    download = saved(lab, lab.cell(1))
    assert download.suggested_filename.startswith("a-red-balloon-over-a-mountain-lake-")
    assert download.suggested_filename.endswith(".mp4")
    assert Path(download.path()).read_bytes() == whole
    lab.see(1, f"Your browser saved {download.suggested_filename}.")

    # Where the storage does not let the page read the file, the kernel passes it on.
    lab.page.route("**/files/**", lambda route: route.abort())
    assert Path(saved(lab, lab.cell(1)).path()).read_bytes() == whole
    lab.page.unroute("**/files/**")

    button(lab.cell(1), "Save to folder").click()
    lab.see(1, "beside it holds the prompt")
    (there,) = lab_server.root.glob("text-to-video-*.mp4")
    assert there.read_bytes() == whole
    assert there.with_name(f"{there.name}.json").is_file()


PICTURE = """
Image.radial_gradient("L").convert("RGB").resize((800, 500)).save("still.png")
large = client.run("image-upscale", image_url="still.png", upscale_factor="x2")
large
"""
TALL = """
small = client.run("text-to-video", prompt="a slow wave", duration=3)
tall = client.run("video-upscale", video_url=small)
tall
"""
SHOWN = "node => getComputedStyle(node.querySelector('.mk-compare-before')).clipPath"
TIMES = """node => [...node.querySelectorAll("video")].map(each => each.currentTime)"""
PLAY = """async (node) => {
    const [after, before] = node.querySelectorAll("video");
    const apart = [];
    while (!after.ended) {
        await new Promise(resolve => setTimeout(resolve, 200));
        if (!after.paused) apart.push(Math.abs(after.currentTime - before.currentTime));
    }
    return apart;
}"""


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
def test_twelve_waits_fold_into_one_progress_and_a_value_is_a_player(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    opened(lab, lab_server, sandbox, "waits", WAITS, TOGETHER, FEW, "jobs[0].wait()")
    lab.run_cell(1, timeout_s=JOB_S)
    cell = lab.cell(1)
    lab.see(1, "12 jobs: 12 completed")
    assert cell.locator("img:visible, video:visible").count() == 0
    outputs = cell.locator(".jp-Cell-outputArea")
    folded = outputs.bounding_box()
    assert folded is not None
    assert folded["height"] < WAITS_MAX_PX
    button(cell, "Show the 12 jobs").click()
    lines = lab.outputs(1).get_by_text("kite number").filter(visible=True)
    expect(lines).to_have_count(MANY)
    unfolded = outputs.bounding_box()
    assert unfolded is not None
    assert unfolded["height"] < OPEN_WAITS_MAX_PX
    look_at(lab, "waits", 1)

    lab.run_cell(2, timeout_s=JOB_S)
    lab.see(2, "6 jobs: 6 completed")
    lab.run_cell(3, timeout_s=JOB_S)
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


ERASED = """
client.run("text-to-image", prompt="a prompt nobody should see again")
"""
HISTORY = 'print("nobody should" in client.history.frame().to_csv())'


@pytest.mark.soak
def test_an_erased_job_is_forgotten_in_history_and_card(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    opened(lab, lab_server, sandbox, "erase", ERASED, HISTORY)
    lab.run_cell(1, timeout_s=JOB_S)
    lab.see(1, "Completed", timeout_s=JOB_S)
    lab.run_cell(2)
    assert lab.outputs(2).inner_text().strip() == "True"
    cell = lab.cell(1)
    button(cell, "Erase…").click()
    lab.see(1, "The service deletes the result and the request.")
    lab.see(1, "What stays: the row in your history with its charge")
    lab.cell(1).get_by_label("Also forget the prompt and settings").check()
    look_at(lab, "result-erase-question", 1)
    button(cell, "Yes, erase it").click()
    lab.see(1, "The prompt and the settings are forgotten here, too.")
    shown = "nobody should see again"
    expect(lab.outputs(1).get_by_text(shown)).to_have_count(0)
    look_at(lab, "result-erased", 1)
    lab.run_cell(2)
    assert lab.outputs(2).inner_text().strip() == "False"
    notebook = lab.save()
    assert shown not in str(notebook["cells"][1]["outputs"])


FORM = 'client.form("text-to-video", prompt="a balloon over a lake", duration=3)'
IN_VIEW = """node => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 0 && (bottom < innerHeight || top < 150);
}"""


@pytest.mark.soak
def test_the_form_stands_still_when_the_result_comes_and_below_it_is_scrolled_to(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    opened(lab, lab_server, sandbox, "place", FORM, FORM.replace("lake", "hill"))
    lab.resize(1600, 1000)
    lab.run_cell(1)
    form = lab.cell(1).locator(".mk-form")
    expect(button(form, "Generate")).to_be_enabled()
    lab.screenshot("place-empty", form)
    controls = form.locator(".mk-controls")
    before = controls.bounding_box()
    button(form, "Generate").click()
    form.locator(".mk-job").wait_for(state="visible")
    lab.screenshot("place-running", form)
    stage = form.locator(".mk-job-left")
    running = stage.bounding_box()
    form.locator("video:visible").wait_for(state="visible", timeout=STEP_MS)
    lab.see(1, "as estimated", timeout_s=JOB_S)
    after, done = controls.bounding_box(), stage.bounding_box()
    assert before is not None
    assert after is not None
    assert (before["x"], before["width"]) == (after["x"], after["width"])
    assert running is not None
    assert done is not None
    assert running["width"] == done["width"]
    assert abs(running["height"] - done["height"]) < 40
    lab.theme("dark")
    lab.screenshot("place-done-dark", form)
    lab.theme("light")
    lab.screenshot("place-done", form)

    lab.resize(800, 700)
    lab.run_cell(2)
    form = lab.cell(2).locator(".mk-form")
    generate = button(form, "Generate")
    expect(generate).to_be_enabled()
    lab.screenshot("place-narrow-empty", form)
    generate.scroll_into_view_if_needed()
    generate.click()
    job = form.locator(".mk-job")
    job.wait_for(state="visible")
    # It comes there smoothly.
    lab.page.wait_for_function(IN_VIEW, arg=job.element_handle())
    lab.screenshot("place-narrow-scrolled")
