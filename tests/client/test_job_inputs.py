"""A job is an input wherever a medium is accepted, and the chain is recorded."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client, InputError, Job
from mediakit.api_models import JobRecord as Record
from mediakit.client.async_job import AsyncJob
from mediakit.client.media_inputs import JobOutput
from mediakit.history import lineage
from mediakit.sandbox.server.running import Sandbox, start
from tests.support.job_states import state_of

UPSCALED_MICRO_USD_PER_S = 76_000
CLIP_URL = "http://127.0.0.1:8000/files/out.mp4"
CLIP = {"media_type": "video", "video": {"url": CLIP_URL, "content_type": "video/mp4"}}
PICTURE = {
    "media_type": "image",
    "image": {"url": "https://a.example/1.png", "content_type": "image/png"},
}


def a_job(record: dict[str, Any], body: dict[str, Any] | None = None) -> AsyncJob:
    """Return a job that is not polled."""
    keeper: Any = None
    whole = {"id": "media_1", "status": "completed", **record}
    record_ = Record.model_validate(whole)
    return AsyncJob(keeper, replace(state_of(body=body or {}), record=record_))


FAILED = {"status": "failed", "error": {"code": "content_moderation"}}


@pytest.mark.parametrize(
    ("record", "accepted", "which"),
    [
        ({"status": "running"}, "that has completed; wait for it", "is running"),
        (FAILED, "that has completed", "failed (content_moderation)"),
        ({"deleted_at": "2026-10-01T09:30:00Z"}, "with its output", "was erased"),
        ({}, "with its output", "has no output"),
        ({"output": PICTURE}, "clip", "made a picture"),
    ],
)
def test_a_job_without_a_suitable_output_is_rejected_with_a_readable_message(
    client: Client, record: dict[str, Any], accepted: str, which: str
) -> None:
    for call in (client.submit, client.estimate, client.form):
        with pytest.raises(InputError, match=r"^video_url must be a ") as caught:
            call("video-upscale", video_url=a_job(record))
        said = str(caught.value)
        assert accepted in said
        assert said.endswith(f"(got the job media_1, which {which}). Nothing was sent.")


@pytest.mark.parametrize(
    ("record", "body", "seconds"),
    [
        ({"usage": {"output_seconds": 7.5}}, {"duration": 7}, 7.5),
        ({}, {"duration": 3}, 3),
        ({"usage": {"output_seconds": True}}, {"duration": 3}, 3),
        ({}, {}, None),
        ({}, {"duration": "auto"}, None),
        ({}, {"duration": 0}, None),
        ({}, {"duration": 4, "video_urls": ["x"]}, None),
    ],
)
def test_a_known_length_sets_the_price_and_an_unknown_one_is_not_guessed(
    client: Client, record: dict[str, Any], body: dict[str, Any], seconds: float | None
) -> None:
    job = a_job({"output": CLIP, **record}, body=body)
    estimate = client.estimate("video-upscale", video_url=job)
    if seconds is None:
        assert estimate.kind == "upper_bound"
    else:
        assert estimate.kind == "exact"
        assert estimate.high == seconds * UPSCALED_MICRO_USD_PER_S


def test_a_job_or_its_output_may_be_given_under_a_short_name_and_with_a_length(
    client: Client,
) -> None:
    job = a_job({"output": CLIP}, body={"duration": 3})
    made = JobOutput("media_1", CLIP_URL, "video", "video/mp4", 3.0)
    for video in (job, made):
        estimate = client.estimate("video-upscale", video=video)
        assert estimate.high == 3 * UPSCALED_MICRO_USD_PER_S
    with pytest.raises(InputError, match="video is not a known field"):
        client.submit("video-upscale", video=job, video_url=job)
    given = client.estimate("video-upscale", video=job, seconds={CLIP_URL: 4})
    assert given.high == 4 * UPSCALED_MICRO_USD_PER_S
    form = client.form("video-upscale", video=job)
    assert form.values["video_url"] == CLIP_URL


def test_a_chain_of_jobs_is_submitted_and_recorded(client: Client) -> None:
    clip = client.run("text-to-video", prompt="a chained kite", duration=3)
    estimate = client.estimate("video-upscale", video=clip)
    large = client.run("video-upscale", video=clip).settle()
    assert large.charge_micro_usd == estimate.high == 3 * UPSCALED_MICRO_USD_PER_S

    again = client.submit("video-upscale", video_url=clip.core)
    assert (again.id, again.reused) == (large.id, True)
    store = client.components.store
    assert lineage.parents(store, [large.id, clip.id]) == {
        large.id: (("video_url", clip.id),),
    }
    draw = large.next_take()
    assert lineage.parents(store, [draw.id]) == {draw.id: (("video_url", clip.id),)}
    assert isinstance(clip, Job)


def test_a_function_without_known_fields_takes_jobs_and_sends_no_local_path(
    client: Client, tmp_path: Path
) -> None:
    picture = client.run("text-to-image", prompt="a chained picture")
    changed = client.run("image-to-image", prompt="in autumn", image_urls=[picture])
    assert changed.state.body["image_urls"] == [picture.url]
    store = client.components.store
    parents = lineage.parents(store, [changed.id])
    assert parents == {changed.id: (("image_urls[0]", picture.id),)}

    file = picture.download(tmp_path / "cat.png")
    for given in (file, str(file)):
        with pytest.raises(InputError, match="the path would be sent as text"):
            client.submit("image-to-image", prompt="in autumn", image_urls=[given])
    name = f"{'long ' * 99}.png"
    named = client.submit("image-to-image", prompt="in autumn", title=name)
    assert named.state.body["title"] == name


def test_the_same_chain_costs_nothing_after_a_restart_on_another_port(
    tmp_path: Path,
) -> None:
    settings = Sandbox(
        tmp_path / "sandbox", speed=20, sketch=True, allow_loopback_callbacks=True
    )

    def chain() -> tuple[str, str, str]:
        with Client(home=tmp_path) as client:
            clip = client.run("text-to-video", prompt="restarted", duration=3)
            large = client.run("video-upscale", video=clip)
            assert len(client.history.frame()) == 2
            return client.service.base_url, clip.id, large.id

    running = start(settings)
    first = chain()
    running.stop()
    port = int(first[0].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        running = start(settings)
        second = chain()
        running.stop()
    assert second[0] != first[0]
    assert second[1:] == first[1:]
