"""A clip at a URL has grown since its price was shown: no button pays the new price."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import COUNT, Lab, connected
from tests.browser.harness.wait import rest
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer

pytestmark = pytest.mark.browser

SHORT_S, LONG_S = 2, 8
WAS, NOW = "$0.152", "$0.608"
CARD = "client.run('video-upscale', video_url={url!r})"
WALL = """
run = client.sweep("video-upscale", video_url=[{url!r}], takes=1).run()
run.wait()
run
"""
FORM = "client.form('video-upscale', video_url={url!r})"


@pytest.fixture
def clips(tmp_path: Path) -> Iterator[FileServer]:
    """Serve a short clip as latest.mp4, and a long one for later."""
    files = {
        "latest.mp4": make_mp4(tmp_path / "short.mp4", duration_s=SHORT_S),
        "long.mp4": make_mp4(tmp_path / "long.mp4", duration_s=LONG_S),
    }
    with FileServer({name: path.read_bytes() for name, path in files.items()}) as made:
        yield made


def press(lab: Lab, button: Locator) -> None:
    button.scroll_into_view_if_needed()
    button.hover()
    rest(lab.page)
    button.click()


def test_a_card_a_wall_and_a_form_pay_no_more_than_the_price_on_the_button(
    lab: Lab, sandbox: RunningSandbox, clips: FileServer
) -> None:
    url = clips.url("latest.mp4")
    cells = [each.format(url=url) for each in (CARD, WALL, FORM)]
    lab.begin("grown.ipynb", connected(sandbox, "grown"), *cells, COUNT)
    lab.run_all()
    card = lab.cell(1)
    another = card.get_by_role("button", name=f"Another take · {WAS}")
    expect(another).to_be_visible()
    wall = lab.cell(2).locator(".mk-wall")
    expect(wall.locator("video")).to_have_count(1)
    form = lab.cell(3).locator(".mk-form")
    go = form.locator("button.mk-go").first
    expect(go).to_have_text(f"Another take · {WAS}")
    assert lab.jobs(4) == 1

    clips.files["latest.mp4"] = clips.files["long.mp4"]
    sentence = f"{NOW} instead of {WAS}"
    wall.locator(".mk-wall-tile").first.focus()
    lab.page.keyboard.press("a")
    press(lab, wall.get_by_role("button", name=f"Another take · {WAS}"))
    expect(wall.get_by_text(sentence).first).to_be_visible()
    lab.screenshot("grown-wall", wall)
    press(lab, another)
    expect(card.get_by_text(sentence).first).to_be_visible()
    expect(card.get_by_role("button", name=f"Another take · {NOW}")).to_be_visible()
    lab.screenshot("grown-card", card)
    expect(go).to_have_text(f"Another take · {WAS}")
    press(lab, go)
    expect(go).to_have_text(f"Another take · {NOW}")
    lab.screenshot("grown-form", form)
    rest(lab.page)
    assert lab.jobs(4) == 1

    press(lab, card.get_by_role("button", name=f"Another take · {NOW}"))
    expect(card.locator(".mk-job")).to_have_count(2)
    assert lab.jobs(4) == 2
