"""The main job as the README shows it: frame by frame, in real JupyterLab.

`make pictures` puts the frames together.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from tests.browser.harness import SCREENSHOTS, Lab, LabServer

pytestmark = [pytest.mark.browser, pytest.mark.soak]

CONNECTS = "import mediakit as mk\n\nclient = mk.connect()"
SHOWS = 'client.form("text-to-video", duration=5)'
PROMPT = "a red balloon over a mountain lake at dawn"
WIDTH_PX, HEIGHT_PX = 1090, 860
TALL_PX = 660
JOB_S = 240.0
SHORT_MS, LONG_MS, LAST_MS = 110, 900, 2_500
CLIP_FRAMES, CLIP_FRAME_S = 24, 0.125
SEEK = """(video, time_s) => new Promise(resolve => {
    video.addEventListener("seeked", () => requestAnimationFrame(
        () => requestAnimationFrame(resolve)), { once: true });
    video.currentTime = time_s;
})"""


class Film:
    """Pictures of one cell, each with the time for which it is shown.

    Args:
        lab: The notebook.
        cell: The cell; its top left corner stays where it is.
    """

    def __init__(self, lab: Lab, cell: Locator) -> None:
        box = cell.bounding_box()
        assert box is not None
        self._page = lab.page
        self._clip = FloatRect(
            x=box["x"], y=box["y"], width=box["width"], height=TALL_PX
        )
        self._last = b""
        self.count = 0
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for old in SCREENSHOTS.glob("film-*.png"):
            old.unlink()

    def take(self, shown_ms: int) -> None:
        """Take a picture, to be shown for this time, unless nothing has changed."""
        picture = self._page.screenshot(clip=self._clip)
        if picture == self._last:
            return
        name = f"film-{self.count:03d}-{shown_ms}.png"
        (SCREENSHOTS / name).write_bytes(picture)
        self._last = picture
        self.count += 1


def test_the_main_job_is_filmed_from_the_prompt_to_the_playing_video(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("film.ipynb", [CONNECTS, SHOWS]))
    lab.theme("light")
    lab.resize(WIDTH_PX, HEIGHT_PX)
    lab.hide_sidebar()
    lab.run_cell(0)
    lab.run_cell(1)
    form = lab.cell(1)
    lab.see(1, "$0.34")
    button = form.get_by_role("button", name="Generate")
    form.evaluate("cell => cell.scrollIntoView({ block: 'start' })")
    film = Film(lab, form)

    film.take(LONG_MS)
    prompt = form.get_by_label("prompt").first
    for word in PROMPT.split():
        prompt.press_sequentially(f"{word} ")
        film.take(SHORT_MS)
    assert prompt.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"
    handle = form.get_by_role("slider").first
    handle.focus()
    for price in ("$0.27", "$0.20"):
        film.take(LONG_MS // 2)
        handle.press("ArrowLeft")
        lab.see(1, price)
    film.take(LONG_MS)

    expect(button).to_be_enabled()
    button.hover()
    film.take(LONG_MS)
    button.click()
    video = form.locator("video:visible").first
    before = film.count
    while not video.is_visible():
        film.take(SHORT_MS * 2)
    assert film.count > before
    video.wait_for(state="visible", timeout=JOB_S * 1000)
    lab.see(1, "as estimated", timeout_s=30)
    video.evaluate("video => { video.playbackRate = 0.0625; return video.play(); }")
    for number in range(CLIP_FRAMES):
        video.evaluate(SEEK, number * CLIP_FRAME_S)
        film.take(LAST_MS if number == CLIP_FRAMES - 1 else SHORT_MS)
    assert video.evaluate("video => video.videoWidth") == 1280
