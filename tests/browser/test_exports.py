"""An exported sweep in a real browser without a network: a folder, and one page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness.video import video_facts
from tests.browser.harness.wait import WAITS_S, screenshot
from tests.support.samples.media_samples import make_mp4, make_png
from tests.sweep.clips import tone, write_sound
from tests.sweep.exports import Source, exported, results

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=document.title=1>"
LOADED = "pictures => pictures.every(each => each.complete && each.naturalWidth > 0)"


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    context.set_default_timeout(WAITS_S * 1000)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ["kites", "kites.html"])
def test_an_export_plays_and_shows_everything_without_a_network(
    offline: Page, tmp_path: Path, name: str
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    make_mp4(made / "job0", duration_s=1, size=(320, 180))
    write_sound(made / "job1", tone(0.5))
    make_png(made / "job2", (320, 180))
    rows = results(
        media_type=["video", "audio", "image", "video"],
        output_url=["http://h/a.mp4", "http://h/b.wav", "http://h/c.png", None],
        note=[EVIL] * 4,
    )
    done = exported(tmp_path / "here" / name, Source(made), rows=rows)
    # The page is opened on its own, as a colleague would open it.
    there = copytree(tmp_path / "here", tmp_path / "there")
    report = there / Path(done.report).relative_to(tmp_path / "here")
    requests: list[str] = []
    offline.on("request", lambda request: requests.append(request.url))
    offline.goto(report.as_uri())

    facts = video_facts(offline, "video")
    assert facts.shows_a_picture, facts
    offline.locator("audio").evaluate("sound => sound.play()")
    expect(offline.locator("audio")).to_have_js_property("ended", True)
    picture = offline.get_by_role("img", name="a boat")
    picture.scroll_into_view_if_needed()
    offline.wait_for_function(f"({LOADED})([...document.images].slice(-1))")
    expect(picture).to_be_visible()
    expect(offline.get_by_text(EVIL).first).to_be_visible()
    beside = {path.as_uri() for path in there.rglob("*") if path.is_file()}
    loaded = {url for url in requests if not url.startswith("data:")}
    assert loaded <= beside
    if name.endswith(".html"):
        assert loaded == {report.as_uri()}
    assert offline.title() == "text-to-video: animal x resolution"
    screenshot(offline, f"export-{name}")
