"""A form goes on after a restart of its kernel, and never buys twice unseen."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab, LabServer, video_facts
from tests.browser.harness.wait import screenshot

pytestmark = [pytest.mark.browser, pytest.mark.soak]

JOB_S = 240.0
READ_MS = 1_000  # a person reads what the button says
MANY, SHOWN = 50, 12
MAX_SAVED_BYTES = 2_000_000
CONNECT = "import mediakit as mk\nclient = mk.connect(home={!r})"
KITE = (
    'form = client.form("text-to-video", prompt="a kite over dunes", duration=3)\nform'
)
JOBS = 'print("jobs:", len(client.history.frame()), "shown:", len(form.jobs))'
TYPED = "a red balloon over a lake, typed and not sent"
AGAIN = "Run this cell again: your settings and results come back"
SLOW = """
form = client.form("text-to-video", prompt="a slow train", duration=15,
                   resolution="1080p")
form
"""


def generate(form: Locator) -> Locator:
    return form.locator("button.mk-go")


def opened(lab: Lab, lab_server: LabServer, name: str, cells: list[str]) -> Locator:
    """Open a notebook, run all of it, and return its first form."""
    home = CONNECT.format(f"home-{name}")
    lab.open(lab_server.add_notebook(f"{name}.ipynb", [home, *cells]))
    lab.resize(1280, 1500)
    lab.hide_sidebar()
    lab.run_all()
    return lab.cell(1).locator(".mk-form")


def test_results_and_typed_words_are_there_after_restart_and_run_all(
    lab: Lab, lab_server: LabServer
) -> None:
    form = opened(lab, lab_server, "returned", [KITE, JOBS])
    expect(generate(form)).to_have_text("Generate · $0.20")
    lab.page.wait_for_timeout(READ_MS)
    generate(form).click()
    lab.see(1, "as estimated", timeout_s=JOB_S)
    form.get_by_label("prompt").first.fill(TYPED)
    expect(generate(form)).to_have_text("Generate · $0.20")  # it has arrived
    lab.page.wait_for_timeout(READ_MS)

    lab.restart_kernel()
    banner = form.evaluate("e => getComputedStyle(e, '::before').content")
    assert AGAIN in banner
    lab.screenshot("return-dead-form", form)
    lab.run_all()
    form = lab.cell(1).locator(".mk-form")
    expect(form.get_by_label("prompt").first).to_have_value(TYPED)
    expect(generate(form)).to_have_text("Generate · $0.20")
    expect(form.locator(".mk-results")).to_contain_text("a kite over dunes")
    lab.see(1, "as estimated")
    facts = video_facts(lab.page, ".jp-Notebook .mk-form video:visible")
    assert facts.shows_a_picture
    lab.see(2, "jobs: 1 shown: 1")
    lab.screenshot("return-restarted", form)

    form.get_by_label("prompt").first.fill("a kite over dunes")
    expect(generate(form)).to_have_text("Another take · $0.20")
    kept = json.dumps(lab.save()["cells"][1]["outputs"])
    assert "media_" in kept
    assert "data:image/jpeg;base64," in kept
    assert lab.console_errors() == []


def test_a_restart_in_the_middle_of_a_job_keeps_it_in_its_form(
    lab: Lab, lab_server: LabServer
) -> None:
    form = opened(lab, lab_server, "midway", [SLOW, JOBS])
    expect(generate(form)).to_have_text("Generate · $1.35")
    lab.page.wait_for_timeout(READ_MS)
    generate(form).click()
    lab.cell(1).locator(".mk-job").first.wait_for(state="visible")
    lab.restart_kernel()
    lab.run_all()

    lab.see(2, "jobs: 1 shown: 1")
    form = lab.cell(1).locator(".mk-form")
    expect(form.locator(".mk-job")).to_have_count(1)
    lab.screenshot("return-midway", form)
    lab.see(1, "as estimated", timeout_s=JOB_S)
    facts = video_facts(lab.page, ".jp-Notebook .mk-form video:visible")
    assert (facts.width, facts.height) == (1920, 1080)
    assert facts.shows_a_picture
    expect(generate(form)).to_have_text("Another take · $1.35")
    lab.run_cell(2)
    lab.see(2, "jobs: 1 shown: 1")


def test_generate_pressed_twice_pays_twice_only_as_another_take(
    lab: Lab, lab_server: LabServer
) -> None:
    form = opened(lab, lab_server, "twice", [KITE, JOBS])
    expect(generate(form)).to_have_text("Generate · $0.20")
    lab.page.wait_for_timeout(READ_MS)
    generate(form).dblclick()
    lab.cell(1).locator(".mk-job").first.wait_for(state="visible")
    expect(generate(form)).to_have_text("Another take · $0.20")
    lab.page.wait_for_timeout(READ_MS)
    lab.run_cell(2)
    lab.see(2, "jobs: 1 shown: 1")
    lab.screenshot("return-another-take", form)

    form.get_by_role("button", name="1080p").click()
    expect(generate(form)).to_have_text("Generate · $0.27")
    form.get_by_role("button", name="720p").click()
    another = generate(form)
    expect(another).to_have_text("Another take · $0.20")
    expect(another).to_be_enabled()
    lab.page.wait_for_timeout(READ_MS)
    another.click()
    expect(form.locator(".mk-job")).to_have_count(2)
    lab.run_cell(2)
    lab.see(2, "jobs: 2 shown: 2")


def test_a_copied_notebook_begins_with_nothing_of_the_first_one(
    lab: Lab, lab_server: LabServer
) -> None:
    form = opened(lab, lab_server, "first", [KITE, JOBS])
    lab.page.wait_for_timeout(READ_MS)
    generate(form).click()
    lab.see(1, "as estimated", timeout_s=JOB_S)
    lab.save()
    root = lab_server.root
    shutil.copy(root / "first.ipynb", root / "first-Copy1.ipynb")

    lab.open("first-Copy1.ipynb")
    lab.run_all()
    lab.see(2, "jobs: 1 shown: 0")
    form = lab.cell(1).locator(".mk-form")
    expect(form.locator(".mk-job")).to_have_count(0)
    form.get_by_label("prompt").first.fill(TYPED)
    lab.page.wait_for_timeout(2 * READ_MS)

    lab.open("first.ipynb")
    lab.restart_kernel()
    lab.run_all()
    form = lab.cell(1).locator(".mk-form")
    expect(form.locator(".mk-job")).to_have_count(1)
    expect(form.get_by_label("prompt").first).to_have_value("a kite over dunes")


PICTURE_FORM = """
from PIL import Image
for n in range(50):
    noise = Image.effect_noise((300, 200), 30 + n).convert("RGB")
    noise.paste((5 * n, 90, 200), (40, 40, 260, 160))
    noise.save(f"r{n}.png")
form = client.form("image-upscale")
form
"""
BUY = """
for n in range(len(form.jobs), 50):
    form.values.image_url = f"r{n}.png"
    done = len(form.jobs)
    client.io.call(form._look_at_files)
    form._accept(client.io.call(form._submit, form.request()))
for view in form.jobs:
    client.job(view.state.record.id).settle(120)
print("bought", len(form.jobs))
"""
# A cell that is not in view may not be on the page.
CARDS = """async timeout_ms => {
    const stands = picture => {
        const card = picture.closest("div[style*='flex-wrap']");
        return (picture.poster ?? picture.src).startsWith("data:image/jpeg")
            && picture.checkVisibility()
            && card.innerText.includes("as estimated")
            && card.textContent.includes("media_");
    };
    const began = performance.now();
    let count = 0;
    while (performance.now() - began < timeout_ms && count < 50) {
        const cards = "[class^=mediakit-cards-]";
        const pictures = [...document.querySelectorAll(`${cards} :is(img, video)`)];
        count = pictures.filter(stands).length;
        await new Promise(resolve => setTimeout(resolve, 100));
    }
    return count;
}"""


def test_fifty_results_of_one_form_stay_small_and_are_all_exported(
    lab: Lab, lab_server: LabServer, sandbox: RunningSandbox
) -> None:
    connect = (
        "import mediakit as mk\n"
        f"client = mk.connect({sandbox.base_url!r}, {sandbox.api_key!r}, "
        "home='home-fifty')"
    )
    cells = [connect, PICTURE_FORM, BUY]
    lab.open(lab_server.add_notebook("fifty.ipynb", cells))
    lab.resize(1280, 1500)
    lab.run_all(timeout_s=400)
    lab.see(2, "bought 50")

    lab.restart_kernel()
    lab.run_all(timeout_s=400)
    lab.see(2, "bought 50")
    form = lab.cell(1).locator(".mk-form")
    expect(form.locator(".mk-job img[src]")).to_have_count(SHOWN, timeout=120_000)
    earlier = form.get_by_role("button", name=f"Show {MANY - SHOWN} earlier results")
    earlier.scroll_into_view_if_needed()
    lab.screenshot("return-fifty")
    earlier.click()
    expect(form.locator(".mk-job img[src]")).to_have_count(MANY, timeout=120_000)
    expect(earlier).to_have_count(0)
    lab.page.wait_for_timeout(READ_MS)
    saved = json.dumps(lab.save())
    assert saved.count("data:image/jpeg;base64,") >= MANY
    assert (lab_server.root / "fifty.ipynb").stat().st_size < MAX_SAVED_BYTES

    export = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html"]
    subprocess.run(
        [*export, "fifty.ipynb"], cwd=lab_server.root, check=True, capture_output=True
    )
    page = lab.page.context.new_page()
    page.goto((lab_server.root / "fifty.html").as_uri(), wait_until="domcontentloaded")
    assert page.evaluate(CARDS, 60_000) == MANY
    screenshot(page, "return-fifty-as-html")
