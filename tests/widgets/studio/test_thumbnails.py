"""Small pictures of results in the studio: fetched once, in order, without a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mediakit import Client
from mediakit.widgets.studio.history.thumbnails import AGAIN_AFTER_S, Thumbs
from tests.support.virtual_clock import VirtualClock


def test_what_cannot_be_read_has_no_picture(client: Client) -> None:
    balance = f"{client.service.base_url}/v1/balance"

    for url in (balance, "http://127.0.0.1:9/a.mp4", "nonsense", "http://[/a.mp4"):
        assert client.io.call(client.components.remote_media.poster, url, 144) is None


def brought(thumbs: Thumbs, wanted: Callable[[], list[str]]) -> None:
    with asyncio.Runner() as runner:
        runner.run(thumbs.bring(wanted, lambda: None))


def test_pictures_are_fetched_once_and_those_that_are_not_shown_any_more_never() -> (
    None
):
    asked: list[str] = []
    shown = ["a", "b", "c"]

    async def fetch(url: str, max_px: int) -> bytes | None:
        asked.append(url)
        if url == "b":
            shown[:] = ["d", "a"]  # somebody turned the page
        return None if url == "d" else url.encode()

    thumbs = Thumbs(fetch, VirtualClock())
    brought(thumbs, lambda: shown)
    brought(thumbs, lambda: shown)
    assert asked == ["a", "b", "d"]
    assert [thumbs.get(url) for url in ("a", "d", "c", None)] == [
        b"a",
        None,
        None,
        None,
    ]


def test_what_could_not_be_fetched_is_tried_again_after_a_while() -> None:
    asked: list[str] = []
    clock = VirtualClock()

    async def fetch(url: str, max_px: int) -> bytes | None:
        asked.append(url)
        return b"jpeg" if len(asked) > 1 else None

    thumbs = Thumbs(fetch, clock)
    for _ in range(2):  # a page full of what fails is not fetched at every reading
        brought(thumbs, lambda: ["a"])
        assert (thumbs.get("a"), asked) == (None, ["a"])
    with asyncio.Runner() as runner:
        runner.run(clock.advance(AGAIN_AFTER_S))
    brought(thumbs, lambda: ["a"])
    assert thumbs.get("a") == b"jpeg"
