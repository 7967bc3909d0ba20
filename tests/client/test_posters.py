"""Posters of results: made once, shared by all views, and cached."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from mediakit import Client
from mediakit.client.posters import AGAIN_AFTER_S, Posters, PreviewCache
from tests.support.samples.media_samples import make_picture
from tests.support.virtual_clock import VirtualClock

URL = "https://media.test/a.mp4"


class Media:
    """Makes a poster of any file; fails while `fails` is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    async def poster(self, url: str, max_px: int) -> bytes | None:
        self.asked.append(url)
        await asyncio.sleep(0)
        out = BytesIO()
        make_picture((320, 180), "teal").save(out, "JPEG")
        return None if self.fails else out.getvalue()


def posters_in(folder: Path, media: Any, clock: VirtualClock | None = None) -> Posters:
    return Posters(media, PreviewCache(folder), clock or VirtualClock())


def with_runner(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner() as runner:
        runner.run(test)


def width_px(jpeg: bytes | None) -> int:
    return Image.open(BytesIO(jpeg or b"")).width


def test_a_picture_is_made_once_for_all_sizes_and_after_a_restart(
    tmp_path: Path,
) -> None:
    with_runner(made_once(tmp_path))


async def made_once(tmp_path: Path) -> None:
    media = Media()
    posters = posters_in(tmp_path, media)

    wall, row = await asyncio.gather(
        posters.find("media_1", URL, 240), posters.find("media_1", URL, 240)
    )
    assert wall == row == posters.known("media_1", 240)
    assert width_px(wall) == 240
    assert width_px(await posters.find("media_1", URL, 144)) == 144
    later = posters_in(tmp_path, media)
    assert later.known("media_1", 144) is None
    assert width_px(await later.find("media_1", URL, 144)) == 144

    assert media.asked == [URL]


def test_a_failed_poster_is_tried_again_after_a_while(tmp_path: Path) -> None:
    with_runner(tried_again(tmp_path))


async def tried_again(tmp_path: Path) -> None:
    media, clock = Media(), VirtualClock()
    media.fails = True
    posters = posters_in(tmp_path, media, clock)

    for _ in range(2):
        assert await posters.find("media_1", URL, 240) is None
    assert media.asked == [URL]
    media.fails = False
    await clock.advance(AGAIN_AFTER_S)
    assert width_px(await posters.find("media_1", URL, 240)) == 240


def test_an_unreadable_result_has_no_poster(client: Client) -> None:
    balance = f"{client.service.base_url}/v1/balance"

    for url in (balance, "http://127.0.0.1:9/a.mp4", "nonsense", "http://[/a.mp4"):
        assert client.io.call(client.components.posters.find, url, url, 144) is None
