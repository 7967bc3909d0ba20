"""Film the main job for the README, frame by frame, in JupyterLab and a Chromium.

Run `make pictures`, which puts the frames together afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import (  # noqa: E402 - the tests' harness
    FloatRect,
    Locator,
    sync_playwright,
)

from tests.browser.harness import SCREENSHOTS, Lab, serve_lab  # noqa: E402

CONNECTS = "import mediakit as mk\n\nclient = mk.connect()"
SHOWS = 'client.form("text-to-video", duration=5)'
PROMPT = "a red balloon over a mountain lake at dawn"
WIDTH_PX, HEIGHT_PX = 1090, 860
TALL_PX = 660
SHORT_MS, LONG_MS, LAST_MS = 110, 900, 2_500
CLIP_FRAMES, CLIP_FRAME_S, CLIP_FRAME_MS = 12, 0.25, 220
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--autoplay-policy=no-user-gesture-required",
)
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


def film_main_job(lab: Lab) -> None:
    """Film from the prompt to the playing video."""
    lab.open(lab.server.add_notebook("film.ipynb", [CONNECTS, SHOWS]))
    lab.theme("light")
    lab.resize(WIDTH_PX, HEIGHT_PX)
    lab.hide_sidebar()
    lab.run_cell(0)
    lab.run_cell(1)
    form = lab.cell(1)
    lab.see(1, "$0.34")
    form.evaluate("cell => cell.scrollIntoView({ block: 'start' })")
    film = Film(lab, form)

    film.take(LONG_MS)
    prompt = form.get_by_label("prompt").first
    for word in PROMPT.split():
        prompt.press_sequentially(f"{word} ")
        film.take(SHORT_MS)
    handle = form.get_by_role("slider").first
    handle.focus()
    for price in ("$0.27", "$0.20"):
        film.take(LONG_MS // 2)
        handle.press("ArrowLeft")
        lab.see(1, price)
    film.take(LONG_MS)

    button = form.get_by_role("button", name="Generate")
    button.hover()
    film.take(LONG_MS)
    button.click()
    video = form.locator("video:visible").first
    while not video.is_visible():
        film.take(SHORT_MS * 2)
    lab.see(1, "as estimated")
    video.evaluate("video => { video.playbackRate = 0.0625; return video.play(); }")
    for number in range(CLIP_FRAMES):
        video.evaluate(SEEK, number * CLIP_FRAME_S)
        film.take(LAST_MS if number == CLIP_FRAMES - 1 else CLIP_FRAME_MS)


def main() -> None:
    """Write the frames."""
    finder = [sys.executable, str(ROOT / "tools" / "find_chromium.py")]
    path = subprocess.run(finder, capture_output=True, check=True, text=True).stdout
    with (
        tempfile.TemporaryDirectory(prefix="mediakit-film-") as folder,
        serve_lab(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=path.strip(), args=ARGUMENTS
        )
        page = browser.new_page(device_scale_factor=1)
        film_main_job(Lab(page, server))
        browser.close()
        server.shut_down_kernels()


if __name__ == "__main__":
    main()
