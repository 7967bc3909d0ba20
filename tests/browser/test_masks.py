"""A mask painted on a frame of a clip in real JupyterLab, and the region replaced."""

from __future__ import annotations

import re
from pathlib import Path

import av
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.geometry import box_of
from tests.browser.harness import Lab, connected
from tests.browser.harness.lab import THEMES

pytestmark = pytest.mark.browser

MAKE = "clip = client.run('text-to-video', prompt='a quiet lake', duration=3)"
FORM = "form = client.form('region-replace', video=clip, resolution='720p')\nform"
MASK = "print('mask at', form.values.modify_region_mask)"
URLS = "print('urls', clip.url, form.jobs[0].state.record.output.file.url)"
SIZE = (1280, 720)


def press(within: Locator, name: str) -> None:
    within.get_by_role("button", name=name, exact=True).filter(visible=True).click()


def printed(lab: Lab, index: int, words: str) -> str:
    """Run a cell and return its output after the given words."""
    lab.run_cell(index)
    return lab.printed(index).split(words)[1].strip()


def mask_at(lab: Lab) -> NDArray[np.uint8]:
    with Image.open(Path(printed(lab, 3, "mask at"))) as image:
        assert image.format == "PNG"
        assert image.size == SIZE
        return np.asarray(image.convert("L"))


def frame_of(url: str, folder: Path) -> NDArray[np.int16]:
    path = folder / url.rsplit("/", 1)[1]
    path.write_bytes(httpx.get(url, timeout=60).raise_for_status().content)
    with av.open(path) as container:
        frame = next(container.decode(video=0))
        return frame.to_ndarray(format="rgb24").astype(np.int16)


def below_the_note(places: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Leave out the upper part, in which the sandbox writes the request.

    The clip is encoded again, so unchanged regions are not identical bit by bit.
    """
    below = places.copy()
    below[: len(places) * 2 // 5] = False
    return below


def open_canvas(lab: Lab) -> Locator:
    press(lab.cell(2), "Paint…")
    canvas = lab.cell(2).locator(".mk-mask-canvas")
    expect(canvas).to_be_visible()
    expect(lab.cell(2).locator(".mk-mask-says[role=status]")).not_to_be_empty()
    canvas.scroll_into_view_if_needed()
    # While one paints, the fields have more room than the results.
    assert box_of(canvas)["width"] > 450
    return canvas


def drag(lab: Lab, canvas: Locator, *shares: tuple[float, float]) -> None:
    """Drag on the canvas from the first point to the last."""
    box = box_of(canvas)
    places = [
        (box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in shares
    ]
    lab.page.mouse.move(*places[0])
    lab.page.mouse.down()
    for place in places[1:]:
        lab.page.mouse.move(*place, steps=8)
    lab.page.mouse.up()


@pytest.mark.soak
def test_only_the_painted_region_is_replaced_and_it_survives_a_restart(
    lab: Lab, filming: RunningSandbox, tmp_path: Path
) -> None:
    cells = [connected(filming, "masks"), MAKE, FORM, MASK, URLS]
    lab.begin("masks.ipynb", *cells, height_px=1500)
    for index in range(3):
        lab.run_cell(index)
    form = lab.cell(2)
    # The picture of the clip moves what is below it when it arrives.
    expect(form.get_by_text("a quiet lake · Text to video")).to_be_visible()
    form.locator("textarea").first.fill("a red tent")
    canvas = open_canvas(lab)
    status = form.locator(".mk-mask-says[role=status]")
    expect(status).to_have_text("Nothing is painted yet.")
    expect(form.get_by_role("button", name="Use this mask")).to_be_disabled()

    drag(lab, canvas, (0.1, 0.2), (0.4, 0.6))
    expect(status).to_have_text("12% of the frame is painted.")
    press(form, "Brush")
    drag(lab, canvas, (0.6, 0.3), (0.8, 0.3), (0.8, 0.5))
    for theme in THEMES:
        lab.theme(theme)
        lab.screenshot(f"mask-{theme}", form)
    press(form, "Undo")
    expect(status).to_have_text("12% of the frame is painted.")
    press(form, "Use this mask")
    expect(canvas).to_have_count(0)
    expect(form.get_by_role("button", name="Paint…")).to_be_focused()
    mask = mask_at(lab)
    assert abs(float((mask == 255).mean()) - 0.12) < 0.005
    assert mask[300, 300] == 255

    form.get_by_role("button", name=re.compile("^Generate")).click()
    form.locator(".mk-job video:visible").first.wait_for()
    before, after = (frame_of(url, tmp_path) for url in printed(lab, 4, "urls").split())
    changed = np.abs(after - before).max(axis=2)
    assert changed[mask == 255].mean() > 30
    assert changed[below_the_note(mask == 0)].mean() < 2
    lab.screenshot("mask-replaced", form)
    assert lab.console_errors() == []

    lab.save()
    lab.restart_kernel()
    for index in range(3):
        lab.run_cell(index)
    assert (mask_at(lab) == mask).all()
    open_canvas(lab)
    expect(status).to_have_text("12% of the frame is painted.")
