"""What a client remembers of media behind URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mediakit.client.http import HttpClient
from mediakit.client.loop import io_thread
from mediakit.client.media_inputs import RETRY_AFTER_S, MediaKey, RemoteMedia
from mediakit.clock import VirtualClock
from mediakit.media import MediaInfo
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5).read_bytes()
    with FileServer({"a.mp4": clip}) as server:
        yield server


def asked(server: FileServer, name: str) -> int:
    """Count the looks at a file; each begins with its first bytes."""
    return sum(
        n == name and sent["Range"].startswith("bytes=0-")
        for n, sent in server.requests
    )


async def look(remote: RemoteMedia, key: MediaKey) -> MediaInfo | None:
    return (await remote.probe([key]))[key]


def test_a_medium_is_looked_at_once_also_for_a_caller_beside_one_that_gives_up(
    server: FileServer,
) -> None:
    remote = RemoteMedia(HttpClient(), VirtualClock())
    key: MediaKey = ("video", server.url("a.mp4"))

    async def scenario() -> None:
        impatient = asyncio.create_task(look(remote, key))
        patient = asyncio.create_task(look(remote, key))
        await asyncio.sleep(0)
        impatient.cancel()
        first = await patient
        assert first is await look(remote, key)
        assert first is not None
        assert first.duration_s == 1.5

    io_thread().call(scenario)
    assert asked(server, "a.mp4") == 1


def test_a_failure_is_remembered_for_a_minute(server: FileServer) -> None:
    clock = VirtualClock()
    remote = RemoteMedia(HttpClient(), clock)
    key: MediaKey = ("video", server.url("late.mp4"))

    async def scenario() -> None:
        assert await look(remote, key) is None
        server.files["late.mp4"] = server.files["a.mp4"]
        await clock.advance(RETRY_AFTER_S - 1)
        assert await look(remote, key) is None
        assert asked(server, "late.mp4") == 1
        await clock.advance(1)
        assert await look(remote, key) is not None

    io_thread().call(scenario)
