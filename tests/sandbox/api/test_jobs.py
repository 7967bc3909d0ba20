"""A job from queued to erased, over HTTP (spec 2.1, 3.1, 4.18)."""

import os
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import av
import pytest

from mediakit.sandbox.render.protocol import RenderRequest
from mediakit.sandbox.render.renderers import render
from tests.sandbox.conftest import KITE, Api, StartSandbox, png


def test_a_job_runs_completes_and_settles(sandboxes: StartSandbox) -> None:
    api = sandboxes(settle_after_s=3_600)
    before = api.balance()
    submitted = api.submit("text-to-video", KITE)

    ended = api.ended(submitted["id"])
    url = ended["output"]["video"]["url"]
    assert ended == {
        "id": submitted["id"],
        "status": "completed",
        "output": {
            "media_type": "video",
            "video": {"url": url, "content_type": "video/mp4"},
        },
        "usage": {"output_seconds": 3},
        "billing": ended["billing"],
    }
    assert ended["billing"] == {"state": "pending"}
    api.running.advance(hours=2)
    settled = api.settled(submitted["id"])
    assert settled["billing"] == {"state": "settled", "charge_micro_usd": 204_000}
    assert settled == ended | {"billing": settled["billing"]}
    assert before - api.balance() == 204_000
    with av.open(BytesIO(api.http.get(url).content), "r") as video:
        stream = video.streams.video[0]
        assert (stream.width, stream.height) == (720, 720)
        assert video.duration == 3_000_000


def test_a_file_that_is_no_picture_fails_the_job_and_costs_nothing(api: Api) -> None:
    before = api.balance()
    body = {"image_url": api.upload("image/png", b"no picture at all")}
    job = api.settled(api.submit("image-upscale", body)["id"])

    assert job["status"] == "failed"
    assert job["error"]["code"] == "invalid_input"
    assert job["billing"] == {"state": "settled", "charge_micro_usd": 0}
    assert job["usage"] is None
    assert "output" not in job
    assert api.balance() == before


def test_an_output_is_synced_to_disk_once(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, synced, sync = api.upload("image/png", png()), list[str](), os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    job = api.ended(api.submit("image-upscale", {"image_url": url})["id"])
    # The same in this process, as the worker does it.
    picture = tmp_path / "picture.png"
    picture.write_bytes(png())
    body, inputs = {"image_url": url}, {url: picture}
    render(RenderRequest("image-upscale", body, inputs, tmp_path / "out"))

    name = job["output"]["image"]["url"].rpartition("/")[2].partition(".")[0]
    assert [file.partition(".")[0] for file in synced] == [name]


def test_content_is_409_until_completed_and_then_the_output_url(api: Api) -> None:
    url = api.upload("image/png", png())
    job_id = api.submit("image-upscale", {"image_url": url})["id"]
    job = api.ended(job_id)

    answer = api.http.get(f"/v1/media/jobs/{job_id}/content")

    assert answer.json() == {"url": job["output"]["image"]["url"]}


def test_a_job_that_has_not_ended_has_no_content_and_is_not_erased(idle: Api) -> None:
    job_id = idle.submit("text-to-video", KITE)["id"]

    for answer in (
        idle.http.get(f"/v1/media/jobs/{job_id}/content"),
        idle.http.delete(f"/v1/media/jobs/{job_id}"),
    ):
        assert answer.status_code == 409
        assert list(answer.json()) == ["message"]
    assert idle.job(job_id)["status"] == "queued"


def test_erasing_removes_output_file_and_request_for_good(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(settle_after_s=0)
    secret = "a prompt that only this test knows"
    body = {**KITE, "prompt": secret}
    job_id = api.submit("text-to-video", body, "k")["id"]
    job = api.settled(job_id)
    url = job["output"]["video"]["url"]

    erased = api.http.delete(f"/v1/media/jobs/{job_id}").json()

    assert "output" not in erased
    moment = datetime.fromisoformat(erased["deleted_at"])
    assert abs((moment - datetime.now(UTC)).total_seconds()) < 60
    assert erased["status"] == "completed"
    assert erased["billing"] == job["billing"]
    assert api.http.get(f"/v1/media/jobs/{job_id}/content").status_code == 410
    assert api.http.get(url).status_code == 410
    assert api.http.delete(f"/v1/media/jobs/{job_id}").json() == erased
    assert api.submit("text-to-video", body, "k") == erased
    data_dir = api.running.data_dir
    assert list((data_dir / "files").iterdir()) == []
    api.running.stop()
    assert secret.encode() not in (data_dir / "sandbox.sqlite3").read_bytes()


def test_the_error_of_a_failed_job_does_not_quote_what_it_was_asked_for(
    api: Api,
) -> None:
    url = "https://10.0.0.1/private/a.png?token=only-this-test-knows"
    job_id = api.submit("image-upscale", {"image_url": url})["id"]
    error = api.ended(job_id)["error"]
    assert error["message"].startswith("image_url: ")
    assert "private" not in error["message"]
    assert "token" not in error["message"]
    erased = api.http.delete(f"/v1/media/jobs/{job_id}").json()
    assert erased["error"] == error


def test_content_of_a_failed_job_stays_409_until_it_is_erased(api: Api) -> None:
    job_id = api.submit("image-upscale", {"image_url": "https://10.0.0.1/a.png"})["id"]
    api.ended(job_id)

    assert api.http.get(f"/v1/media/jobs/{job_id}/content").status_code == 409
    assert api.http.delete(f"/v1/media/jobs/{job_id}").status_code == 200
    assert api.http.get(f"/v1/media/jobs/{job_id}/content").status_code == 410
