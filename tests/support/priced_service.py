"""An in-memory service whose prices change between kernels, or with a remote clip."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import mediakit as mk
from tests.support.samples.media_samples import make_mp4
from tests.sweep.service import BASE_URL, KEY, Service

FUNCTIONS = """
[functions]
text-to-video = "sandbox/text-to-video/text-to-video"
video-upscale = "sandbox/video-upscale/video-upscale"
"""
RATE = '[rates.text-to-video]\nusd_per_request = "{}"\n'
CLIP_URL = "https://clips.test/latest.mp4"
UPSCALE_MICRO_USD_PER_S = 76_000
SHORT_S, LONG_S = 2, 8


class PricedService(Service):
    """Runs jobs at a price that each connection sets, and serves a clip at a URL."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._home = home
        self._clip = make_mp4(home / "latest.mp4", duration_s=SHORT_S)
        self._clients: list[mk.Client] = []
        monkeypatch.chdir(home)

    def connect(self, usd: str) -> mk.Client:
        """Connect to the same history, with a price of text-to-video."""
        (self._home / "mediakit.toml").write_text(FUNCTIONS + RATE.format(usd))
        transport = httpx.MockTransport(self.handle)
        home = self._home / "home"
        client = mk.connect(BASE_URL, KEY, home=home, transport=transport)
        self._clients.append(client)
        return client

    def grow(self) -> None:
        """Put a longer clip at `CLIP_URL`."""
        make_mp4(self._clip, duration_s=LONG_S)

    def handle(self, request: httpx.Request) -> httpx.Response:
        if str(request.url) == CLIP_URL:
            return httpx.Response(200, content=self._clip.read_bytes())
        return super().handle(request)

    def close(self) -> None:
        for client in self._clients:
            client.close()
