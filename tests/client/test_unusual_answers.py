"""Services whose responses differ from the specification, as users see them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from tests.support.samples.media_samples import make_png
from tests.support.service_in_memory import (
    CHARGE_MICRO_USD,
    COMPLETED,
    SETTLED,
    ServiceInMemory,
    says,
    tells,
)

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}


@pytest.fixture
def client(service: ServiceInMemory, tmp_path: Path) -> Iterator[mk.Client]:
    with service.client(tmp_path) as client:
        yield client


@pytest.mark.parametrize("status", ["succeeded", "COMPLETED", "expired", "done"])
def test_a_job_of_another_status_with_its_output_has_completed(
    service: ServiceInMemory, client: mk.Client, status: str, tmp_path: Path
) -> None:
    service.on_read = tells(**{**COMPLETED, "status": status})
    job = client.run("text-to-video", **CLIP)
    assert job.status == "completed"
    assert job.settle().charge_micro_usd == CHARGE_MICRO_USD
    assert job.download(tmp_path).exists()


@pytest.mark.parametrize("status", ["canceled", "expired", "FAILED"])
def test_a_job_of_another_status_that_is_charged_and_has_no_output_has_failed(
    service: ServiceInMemory, client: mk.Client, status: str
) -> None:
    service.on_read = tells(status=status, output=None, billing=SETTLED)
    with pytest.raises(mk.JobFailedError, match=r"It was charged \$0\.34"):
        client.run("text-to-video", **CLIP)
    assert client.reserved_micro_usd() == 0


def test_a_failed_job_whose_error_is_a_string_shows_it(
    service: ServiceInMemory, client: mk.Client
) -> None:
    service.on_read = tells(status="failed", error="the GPU is gone", billing=None)
    with pytest.raises(mk.JobFailedError, match="the GPU is gone") as caught:
        client.run("text-to-video", **CLIP)
    assert caught.value.code == "provider_error"


@pytest.mark.parametrize("status", [201, 202, 203])
def test_a_job_is_read_from_any_2xx_response(
    service: ServiceInMemory, client: mk.Client, status: int
) -> None:
    service.on_read = tells(status, **COMPLETED)
    job = client.run("text-to-video", **CLIP)
    assert job.settle().charge_micro_usd == CHARGE_MICRO_USD


def test_an_unknown_status_is_reported_at_once(
    service: ServiceInMemory, client: mk.Client, caplog: pytest.LogCaptureFixture
) -> None:
    unknown = tells(status="archiving", billing=None)
    service.on_read = service.in_turn(unknown, unknown, service.completes)
    with caplog.at_level(logging.WARNING, "mediakit.client"):
        client.run("text-to-video", **CLIP)
    [text] = [each for each in caplog.messages if "archiving" in each]
    assert "does not know" in text


@pytest.mark.parametrize("status", [400, 422, 403])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"title": "Bad Request", "detail": "prompt is too long"}, "too long"),
        (
            {"detail": [{"loc": ["body", "prompt"], "msg": "is too long"}]},
            "prompt: is too long",
        ),
        ({"errors": ["prompt is too long"]}, "too long"),
        ({"errors": [{"field": "prompt", "message": "is too long"}]}, "too long"),
        ({"errors": {"prompt": ["is too long"]}}, "too long"),
        ({"error": {"message": "prompt is too long"}}, "too long"),
        ({"error": "prompt is too long"}, "too long"),
        ({"message": ["prompt is too long", "no"]}, "too long; no"),
        ({"Message": "prompt is too long"}, "too long"),
        ({"reason": "prompt is too long"}, "too long"),
        ({"error": "bad", "error_description": "prompt is too long"}, "too long"),
        ({"fault": {"faultstring": "prompt is too long"}}, "too long"),
        ({"detail": {"detail": {"errorMessage": "prompt is too long"}}}, "too long"),
    ],
)
def test_the_reason_of_a_refusal_is_read_from_any_usual_place(
    service: ServiceInMemory,
    client: mk.Client,
    status: int,
    body: dict[str, Any],
    words: str,
) -> None:
    service.on_submit = says(httpx.Response(status, json=body))
    with pytest.raises(mk.MediakitError, match=words) as caught:
        client.submit("text-to-video", **CLIP)
    assert "webhook_url" not in str(caught.value)
    assert "does not say why" not in str(caught.value)


def test_a_refusal_of_unknown_shape_is_quoted_and_a_web_page_is_not(
    service: ServiceInMemory, client: mk.Client
) -> None:
    service.on_submit = says(httpx.Response(422, json={"code": 17}))
    with pytest.raises(mk.InputError, match="17"):
        client.submit("text-to-video", **CLIP)
    service.on_submit = says(httpx.Response(413, html="<html>Too large</html>"))
    with pytest.raises(mk.MediakitError) as caught:
        client.submit("text-to-video", **CLIP)
    assert "<html>" not in str(caught.value)


@pytest.mark.parametrize("words", ["slow down", "slow down.", "slow down!"])
@pytest.mark.parametrize("status", [401, 403, 409, 429])
def test_the_message_of_a_service_is_a_separate_sentence(
    service: ServiceInMemory, client: mk.Client, status: int, words: str
) -> None:
    service.on_submit = says(httpx.Response(status, json={"message": words}))
    with pytest.raises(mk.MediakitError) as caught:
        client.submit("text-to-video", **CLIP)
    sentence = words if words[-1] in ".!" else f"{words}."
    assert f" The service says: {sentence} " in str(caught.value)


def test_a_refused_webhook_is_still_named(
    service: ServiceInMemory, client: mk.Client
) -> None:
    service.on_submit = says(httpx.Response(400, json={"message": "is private"}))
    with pytest.raises(mk.InputError) as caught:
        client.submit("text-to-video", **CLIP, webhook_url="https://10.0.0.1/")
    assert caught.value.field == "webhook_url"


# -- a service that is busy ------------------------------------------------------------


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


@pytest.mark.parametrize("status", [425, 429, 500, 502, 503, 504])
def test_temporarily_refused_grants_and_erasures_are_retried(
    tmp_path: Path, status: int
) -> None:
    service = BusyService(status, refusals=2)
    picture = make_png(tmp_path / "cat.png")
    with service.client(tmp_path / "home") as client:
        job = client.submit("image-upscale", image_url=picture).wait()
        job.erase()

    assert set(service.left.values()) == {0}
    assert len(service.posts) == 1


def test_a_service_that_stays_busy_fails_the_upload_with_a_readable_message(
    tmp_path: Path,
) -> None:
    service = BusyService(503, refusals=1_000)
    picture = make_png(tmp_path / "cat.png")
    with (
        service.client(tmp_path / "home") as client,
        pytest.raises(mk.MediakitError, match="503"),
    ):
        client.submit("image-upscale", image_url=picture)

    assert service.posts == []
