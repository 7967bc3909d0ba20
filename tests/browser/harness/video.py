"""Facts that a browser reports about a video that it plays."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

from tests.browser.harness.wait import WAITS_S, within

# A file without a decodable picture plays its sound, advances its time and raises no
# error, so only a width and decoded frames prove a picture.
PLAY = """async ([video, timeout_ms]) => {
    const started = performance.now();
    let refused = null;
    video.play().catch(error => { refused = String(error); });
    const frames = () => video.getVideoPlaybackQuality().totalVideoFrames;
    const enough = () => video.currentTime > 0 && (frames() > 1 || video.ended);
    while (!enough() && !refused && !video.error) {
        if (performance.now() - started > timeout_ms) break;
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    return {
        width: video.videoWidth,
        height: video.videoHeight,
        ready_state: video.readyState,
        decoded_frames: frames(),
        current_time_s: video.currentTime,
        duration_s: Number.isFinite(video.duration) ? video.duration : null,
        error: refused ?? video.error?.message ?? null,
        source: video.currentSrc,
    };
}"""


@dataclass(frozen=True)
class VideoFacts:
    """A video element after play(): its size, its progress and its error."""

    width: int
    height: int
    ready_state: int
    decoded_frames: int
    current_time_s: float
    duration_s: float | None
    error: str | None
    source: str

    @property
    def shows_a_picture(self) -> bool:
        """Return whether frames with a width were decoded."""
        return self.width > 0 and self.height > 0 and self.decoded_frames > 0


def video_facts(page: Page, selector: str) -> VideoFacts:
    """Play the first video that matches `selector`, and return the facts.

    Waits until frames are decoded, the browser reports an error, or it takes too long.
    """
    with within(page, f"a video element {selector}"):
        video = page.locator(selector).first
        video.scroll_into_view_if_needed()
        video.wait_for(state="visible")
    handle = video.element_handle()
    return VideoFacts(**page.evaluate(PLAY, [handle, WAITS_S * 1000]))
