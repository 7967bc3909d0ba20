"""Jobs and their results in real JupyterLab: live, saved, and without a kernel."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, connected, video_facts
from tests.browser.harness.wait import WAITS_S, screenshot
from tests.support.samples.media_samples import make_mp4

pytestmark = pytest.mark.browser

RESULTS = 4
OF_FORM, SHOWN = 14, 12
MAX_SAVED_BYTES = 40_000  # of a result
POSTERS = "[src^='data:image/jpeg'],[poster^='data:image/jpeg']"


CLIP = """
clip = client.run("r1", prompt="a slow wave", duration=4, resolution="480p",
                  output_format="mov", take="next")
clip
"""
UPSCALE = """
tall = client.run("video-upscale", video_url="short.mp4")
tall
"""
EMBED = "tall.show(embed=True)"


@pytest.mark.soak
def test_an_unplayable_clip_plays_as_a_copy_and_a_mov_plays_directly(
    lab: Lab, filming: RunningSandbox
) -> None:
    first = connected(filming, "playback")
    make_mp4(lab.server.root / "short.mp4", duration_s=1)
    lab.begin("playback.ipynb", first, CLIP, UPSCALE, EMBED, height_px=1500)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.cell(1).locator("video:visible").first.wait_for(state="visible")
    mov = video_facts(lab.page, ".jp-Notebook video:visible")
    assert mov.source.startswith("http")
    assert mov.shows_a_picture

    lab.run_cell(2)
    cell = lab.cell(2)
    lab.see(2, "H.265 (HEVC)")
    lab.see(2, "small H.264 copy")
    copy = video_facts(lab.page, ".jp-Notebook .mk-job video[src^='blob:']")
    assert copy.source.startswith("blob:")
    assert copy.error is None
    assert copy.width == 1280
    assert copy.shows_a_picture
    link = cell.get_by_role("link", name="Open the original video")
    assert (link.get_attribute("href") or "").startswith(filming.base_url)
    lab.look_at("playback", 2, height_px=1500)

    assert "data:video" not in json.dumps(lab.save())
    lab.run_cell(3)
    lab.see(3, "Embedded in this notebook: ")
    saved = json.dumps(lab.save())
    assert saved.count("data:video/mp4;base64,") == 1
    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    lab.see(2, "Open the original video")
    expect(lab.cell(2).locator("video")).to_have_count(0)
    poster = lab.cell(2).locator("img[src^='data:image/jpeg']:visible")
    expect(poster).to_have_count(1)
    lab.see(3, "1.33 times the small copy's ")
    kept = video_facts(lab.page, ".jp-Notebook video[src^='data:video/mp4']")
    assert kept.shows_a_picture
    lab.screenshot("playback-embedded-without-a-kernel")


VARIED = """
job = client.submit("image-upscale", image_url="still.png")
job
"""
PICTURE = """
from PIL import Image
Image.radial_gradient("L").convert("RGB").resize((300, 200)).save("still.png")
"""
FAILED = """
bad = client.submit("text-to-video", prompt="a kite sandbox:fail=provider_error")
bad
"""
WAITING = """
slow = client.submit("text-to-video", prompt="a slow kite", duration=12, take="next")
slow.wait()
"""
PICK_UP = """
frame = client.history.frame()
client.job(frame[frame["prompt"] == "a slow kite"]["job_id"].iloc[0])
"""


@pytest.mark.soak
def test_a_job_gets_another_take_a_variation_a_retry_and_an_interrupted_wait(
    lab: Lab, filming: RunningSandbox
) -> None:
    first = connected(filming, "actions") + PICTURE
    cells = [first, VARIED, FAILED, WAITING, PICK_UP]
    lab.begin("actions.ipynb", *cells, height_px=1500)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.see(1, "as estimated")
    cell = lab.cell(1)
    cell.get_by_role("button", name="Another take").click()
    expect(cell.locator(".mk-job")).to_have_count(2)
    expect(cell.get_by_text("as estimated").filter(visible=True)).to_have_count(2)
    cell.get_by_role("button", name="Edit and rerun").last.click()
    lab.see(1, "Nothing has been sent.")
    expect(cell.locator("button.mk-go")).to_be_visible()
    lab.look_at("job-actions", 1, height_px=1500)

    lab.run_cell(2)
    lab.see(2, "The generation failed at the model's provider.")
    lab.look_at("job-failed", 2, height_px=1500)
    cell = lab.cell(2)
    cell.get_by_role("button", name="Try again").first.click()
    expect(cell.locator(".mk-job")).to_have_count(2)

    lab.start_cell(3)
    lab.see(3, "Running")
    lab.screenshot("job-running", lab.cell(3))
    lab.interrupt_kernel()
    lab.see(3, "stopped waiting; the job continues")
    lab.wait_idle()
    assert "Traceback" not in lab.printed(3)
    lab.see(3, "as estimated")
    lab.restart_kernel()
    lab.run_cell(0)
    lab.run_cell(4)
    lab.see(4, "a slow kite")
    lab.see(4, "as estimated")
    lab.cell(4).locator("video:visible").wait_for(state="visible")


PICTURES = f"""
from pathlib import Path
for n in range({RESULTS + OF_FORM}):
    if not Path(f"p{{n}}.png").exists():
        noise = Image.effect_noise((300, 200), 30 + n).convert("RGB")
        noise.paste((5 * n, 90, 200), (40, 40, 260, 160))
        noise.save(f"p{{n}}.png")
"""
SHOWN_CELLS = [
    *(f'client.submit("image-upscale", image_url="p{n}.png")' for n in range(3)),
    'client.submit("text-to-video", prompt="a wave", duration=3)',
]
PICTURE_FORM = 'form = client.form("image-upscale")\nform'
BUY = f"""
for n in range(len(form.jobs), {OF_FORM}):
    form.values.image_url = f"p{{{RESULTS} + n}}.png"
    done = len(form.jobs)
    client.io.call(form._actions.look_at_files, form.state)
    form._accept(client.io.call(form._actions.submit, form.request(), None))
"""
SETTLED = """
ids = client.history.frame()["job_id"]
spent = sum(client.job(i).settle().charge_micro_usd for i in ids)
print(f"{len(ids)} jobs, {mk.format_usd(spent)} spent, {client.balance()}")
"""
FORM, SUM = RESULTS + 1, RESULTS + 3


# A cell that is not in view may not be on the page: each is brought there.
LOOKED_AT = """async ([first, count, timeout_ms]) => {
    const notebook = window.jupyterapp?.shell.currentWidget.content;
    const cards = [...document.querySelectorAll("[class^=mediakit-cards-]")];
    const place = index => notebook ? notebook.widgets[first + index].node
        : cards[index].closest(".jp-Cell");
    const shown = node => node.checkVisibility() && node.offsetHeight > 40;
    const isLive = node => node.querySelector(".mk-job img, .mk-job video")
        && node.innerText.includes("as estimated");
    const stands = node => {
        if (isLive(node)) return true;
        const pictures = [...node.querySelectorAll("img, video")].filter(shown);
        return pictures.length === 1
            && (pictures[0].poster ?? pictures[0].src).startsWith("data:image/jpeg")
            && node.innerText.includes("as estimated")
            && node.textContent.includes("media_")
            && !/loading|not found|error/i.test(node.innerText);
    };
    const missing = [], began = performance.now();
    for (let index = 0; index < count; index++) {
        if (notebook) await notebook.scrollToItem(first + index, "center");
        while (!stands(place(index))) {
            if (performance.now() - began > timeout_ms) {
                missing.push(place(index).innerText);
                break;
            }
            await new Promise(resolve => setTimeout(resolve, 50));
        }
    }
    return missing;
}"""


# The cards of a form, on a page without a kernel.
CARDS = """async ([index, count, timeout_ms]) => {
    const stands = picture => {
        const card = picture.closest("div[style*='flex-wrap']");
        return card && (picture.poster ?? picture.src).startsWith("data:image/jpeg")
            && picture.checkVisibility()
            && card.innerText.includes("as estimated")
            && card.textContent.includes("media_");
    };
    const began = performance.now();
    let found = 0;
    while (performance.now() - began < timeout_ms && found < count) {
        const cell = document.querySelectorAll(".jp-Cell")[index];
        const pictures = "[class^=mediakit-cards-] :is(img, video)";
        found = [...cell.querySelectorAll(pictures)].filter(stands).length;
        await new Promise(resolve => setTimeout(resolve, 100));
    }
    return found;
}"""


@pytest.mark.soak
def test_results_of_cells_and_of_a_form_stay_small_and_are_neither_lost_nor_paid_twice(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    first = connected(sandbox, "many") + PICTURE + PICTURES
    cells = [first, *SHOWN_CELLS, PICTURE_FORM, BUY, SETTLED]
    lab.open(lab.server.add_notebook("many.ipynb", cells))
    lab.resize(1280, 1500)
    lab.run_all()
    lab.see(SUM, f"{RESULTS + OF_FORM} jobs, $2.34")
    once = lab.printed(SUM).strip()

    lab.restart_kernel()
    lab.run_all()
    expect(lab.outputs(SUM)).to_have_text(once)
    lab.see(1, "no new charge")
    assert lab.page.evaluate(LOOKED_AT, [1, RESULTS, WAITS_S * 1000]) == []
    pictures = lab.cell(FORM).locator(".mk-form .mk-job img[src]")
    expect(pictures).to_have_count(SHOWN)
    earlier = f"Show {OF_FORM - SHOWN} earlier results"
    lab.cell(FORM).get_by_role("button", name=earlier).click()
    expect(pictures).to_have_count(OF_FORM)
    settled = lab.cell(FORM).locator(".mk-form .mk-job", has_text="as estimated")
    expect(settled).to_have_count(OF_FORM)
    lab.screenshot("many-of-a-form")

    def posters(notebook: object) -> int:
        return json.dumps(notebook).count("data:image/jpeg;base64,")

    saved = json.dumps(
        lab.save_until(lambda notebook: posters(notebook) >= RESULTS + OF_FORM)
    )
    size_bytes = (lab.server.root / "many.ipynb").stat().st_size
    assert size_bytes < MAX_SAVED_BYTES * (RESULTS + OF_FORM)
    assert "data:video" not in saved

    lab.shutdown_kernel()
    lab.open(lab.notebook, kernel=False)
    assert lab.page.evaluate(LOOKED_AT, [1, RESULTS, WAITS_S * 1000]) == []
    lab.screenshot("many-without-a-kernel")

    page = lab.exported()
    assert page.evaluate(LOOKED_AT, [1, RESULTS, WAITS_S * 1000]) == []
    assert page.evaluate(CARDS, [FORM, OF_FORM, WAITS_S * 1000]) == OF_FORM
    screenshot(page, "many-as-html")
