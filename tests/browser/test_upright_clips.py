"""Clips as Chromium shows them, compared with mediakit's facts, copies and renders."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from mediakit.media.previews import write_preview
from tests.browser.harness.wait import WAITS_S
from tests.media.test_assorted_files import TABLE, check_looks
from tests.sandbox.render.studio import Studio
from tests.support.samples.assorted_files import CLIPS, write_file

pytestmark = pytest.mark.browser

# Chromium enlarges chroma in its own way, and small clips have blurred edges.
LEVELS = 20
# Draws a frame as the page shows it; returns its size and its pixels.
SHOWN = """async (url) => {
    const video = document.createElement("video");
    video.muted = true;
    video.src = url;
    document.body.replaceChildren(video);
    const isPainted = new Promise((done) => video.requestVideoFrameCallback(done));
    await video.play();
    await isPainted;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0);
    const { width, height } = canvas;
    const { data } = context.getImageData(0, 0, width, height);
    let text = "";
    for (const level of data) text += String.fromCharCode(level);
    return [width, height, btoa(text)];
}"""


def shown(page: Page, clip: Path, content_type: str = "video/mp4") -> Any:
    """Return the pixels of a clip as Chromium shows it."""
    url = f"data:{content_type};base64,{b64encode(clip.read_bytes()).decode()}"
    width, height, data = page.evaluate(SHOWN, url)
    pixels = np.frombuffer(b64decode(data), np.uint8)
    return pixels.reshape(height, width, 4)[..., :3].astype(int)


@pytest.mark.parametrize("name", CLIPS)
def test_a_browser_shows_a_clip_its_copy_and_its_upscale_alike(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    facts, clip = TABLE["clips"][name], write_file(tmp_path, name)
    copy, studio = tmp_path / "copy.mp4", Studio(tmp_path)
    write_preview(clip, copy)
    url = studio.url(clip)
    studio.film("video-upscale", {"video_url": url, "h264_output": True}, clip)

    with browser.new_context() as context:
        context.set_default_timeout(WAITS_S * 1000)
        page = context.new_page()
        if facts["plays"]:
            pixels = shown(page, clip, facts["content_type"])
            assert pixels.shape[1::-1] == tuple(facts["size"])
            check_looks(name, pixels, LEVELS)
        for path in (copy, studio.output):
            check_looks(name, shown(page, path), LEVELS)
