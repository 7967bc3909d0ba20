"""Grants and erasures are retried while the service or its gateway is busy."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import mediakit as mk
from tests.support.samples.media_samples import make_png
from tests.support.service_in_memory import COMPLETED, ServiceInMemory


class BusyService(ServiceInMemory):
    """Refuses the first grants and the first requests to erase."""

    def __init__(self, status: int, refusals: int) -> None:
        super().__init__()
        self.status = status
        self.left = {"/v1/media/uploads": refusals, "/v1/media/jobs/media_1": refusals}

    async def handle(self, request: httpx.Request) -> httpx.Response:
        path, is_read = request.url.path, request.method == "GET"
        if not is_read and self.left.get(path, 0) > 0:
            self.left[path] -= 1
            return httpx.Response(self.status, text="busy")
        if request.method == "DELETE":
            body = {"id": "media_1", **COMPLETED, "deleted_at": "2026-11-29T12:00:00Z"}
            return httpx.Response(200, json={**body, "output": None})
        return await super().handle(request)


def client_of(service: ServiceInMemory, home: Path) -> mk.Client:
    return service.client(home)


@pytest.mark.parametrize("status", [425, 429, 500, 502, 503, 504])
def test_temporarily_refused_grants_and_erasures_are_retried(
    tmp_path: Path, status: int
) -> None:
    service = BusyService(status, refusals=2)
    picture = make_png(tmp_path / "cat.png")
    with client_of(service, tmp_path / "home") as client:
        job = client.submit("image-upscale", image_url=picture).wait(timeout_s=120)
        job.erase()

    assert set(service.left.values()) == {0}
    assert len(service.posts) == 1


def test_a_service_that_stays_busy_fails_the_upload_with_a_readable_message(
    tmp_path: Path,
) -> None:
    service = BusyService(503, refusals=1_000)
    picture = make_png(tmp_path / "cat.png")
    with (
        client_of(service, tmp_path / "home") as client,
        pytest.raises(mk.MediakitError, match="503"),
    ):
        client.submit("image-upscale", image_url=picture)

    assert service.posts == []
