"""Inputs of jobs: own files from disk, others through the guard (spec 1)."""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from threading import Event

import av
import numpy as np
import pytest

from tests.sandbox.conftest import Api, StartSandbox, png
from tests.support.servers.file_server import FileServer
from tests.support.servers.loopback import Asked, LoopbackServer, Said

KIND = "image-upscale"


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Serve one picture from a plain web server on this machine."""
    with FileServer({"picture.png": png()}) as server:
        yield server.base_url


def error_of(api: Api, url: str) -> str:
    job = api.ended(api.submit(KIND, {"image_url": url})["id"])
    assert job["error"]["code"] == "invalid_input"
    message: str = job["error"]["message"]
    return message


def test_loopback_inputs_fail_the_job_unless_allowed(api: Api, origin: str) -> None:
    message = error_of(api, f"{origin}/picture.png")

    assert message.startswith("image_url: ")
    assert "public" in message


def test_allowed_loopback_inputs_are_fetched(
    sandboxes: StartSandbox, origin: str
) -> None:
    api = sandboxes(allow_loopback_callbacks=True)
    job = api.submit(KIND, {"image_url": f"{origin}/picture.png"})

    assert api.ended(job["id"])["status"] == "completed"
    assert "404" in error_of(api, f"{origin}/nothing.png")


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[fd00::1]/a.png",
        "https://user:secret@example.com/a.png",
        "http://no-such-host.invalid/a.png",
        "http://[/a.png",
    ],
)
def test_unusable_urls_fail_the_job(api: Api, url: str) -> None:
    assert error_of(api, url).startswith("image_url: ")


def test_an_upload_is_read_from_disk_whatever_port_its_url_names(api: Api) -> None:
    url = api.upload("image/png", png())
    other = url.replace(api.running.base_url, "http://localhost:1")
    job = api.submit(KIND, {"image_url": other})

    assert other != url
    assert api.ended(job["id"])["status"] == "completed"


def test_an_upload_is_an_input_under_whatever_name_the_sandbox_is_reached(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(host="0.0.0.0")
    api.http.headers["Host"] = "sandbox.example:8080"
    granted = api.grant("image/png", len(png()))
    assert granted["url"].startswith("http://sandbox.example:8080/files/")
    put = granted["upload_url"].replace(
        "http://sandbox.example:8080", api.running.base_url
    )
    assert api.http.put(put, content=png(), headers=granted["headers"]).is_success

    first = api.ended(api.submit(KIND, {"image_url": granted["url"]})["id"])
    output = first["output"]["image"]["url"]
    assert output.startswith("http://sandbox.example:8080/files/")
    assert api.ended(api.submit(KIND, {"image_url": output})["id"])["output"]


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/files/{}", "http://127.0.0.1:1/files/{}"]
)
def test_a_file_name_that_is_not_known_opens_no_way_past_the_guard(
    api: Api, url: str
) -> None:
    assert "public" in error_of(api, url.format("x" * 32))
    name = api.upload("image/png", png()).rsplit("/", 1)[1]
    assert "public" in error_of(api, f"http://10.0.0.1/other/{name}")


def test_an_output_can_be_the_next_jobs_input(api: Api) -> None:
    first = api.submit(KIND, {"image_url": api.upload("image/png", png())})
    url = api.ended(first["id"])["output"]["image"]["url"]
    second = api.submit(KIND, {"image_url": url})
    assert api.ended(second["id"])["status"] == "completed"

    api.http.delete(f"/v1/media/jobs/{first['id']}")

    assert "erased" in error_of(api, url)


def test_a_job_that_waits_for_a_worker_is_queued(sandboxes: StartSandbox) -> None:
    asked, released = Event(), Event()

    def hold(_: Asked) -> Said:
        asked.set()
        released.wait()
        return Said(status=404)

    api = sandboxes(concurrency=1, allow_loopback_callbacks=True)
    limits = {"concurrency": 3}
    api.http.patch("/sandbox/orgs/org_sandbox", json=limits).raise_for_status()
    with LoopbackServer(hold) as server:
        body = {"image_url": f"{server.base_url}/picture.png"}
        jobs = [api.submit(KIND, body) for _ in range(3)]
        asked.wait()
        status = api.http.get("/sandbox/status").json()
        released.set()
        ended = [api.ended(job["id"]) for job in jobs]

    assert (status["running"], status["queued"]) == (1, 2)
    assert {job["error"]["code"] for job in ended} == {"invalid_input"}


def test_a_clip_whose_pictures_begin_late_has_all_of_them(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    fps, frames_n = 24, 12
    path = tmp_path / "late.mp4"
    with av.open(str(path), "w") as file:
        video = file.add_stream("libx264", rate=fps)
        assert isinstance(video, av.VideoStream)
        video.width, video.height, video.pix_fmt = 160, 120, "yuv420p"
        for n in range(frames_n):
            grey = np.full((120, 160, 3), 30 + 8 * n, np.uint8)
            frame = av.VideoFrame.from_ndarray(grey, "rgb24")
            frame.pts = n + fps  # one second later than the file
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
    api = sandboxes(sketch=False)
    clip = api.upload("video/mp4", path.read_bytes())

    job = api.ended(api.submit("video-upscale", {"video_url": clip})["id"])

    assert job["status"] == "completed", job
    shown = api.http.get(job["output"]["video"]["url"]).content
    with av.open(BytesIO(shown), "r") as file:
        greys = [frame.to_ndarray(format="gray").mean() for frame in file.decode()]
    assert len(greys) == frames_n
    assert all(later > earlier for earlier, later in pairwise(greys))
