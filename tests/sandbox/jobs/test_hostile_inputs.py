"""Hostile inputs: each gets a clear 4xx or a failed job; the sandbox keeps running."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit.catalog import MediaItem
from mediakit.sandbox.data_dir import DataDir
from mediakit.sandbox.files import Files
from mediakit.sandbox.jobs.inputs import JobInputs
from mediakit.sandbox.render.protocol import RenderError, RenderRequest
from mediakit.sandbox.store.database import SandboxDatabase
from tests.sandbox.conftest import KITE, Api, StartSandbox, png
from tests.sandbox.jobs.hostile import (
    HostileServer,
    bomb_mp4,
    bomb_png,
    bomb_text_png,
)
from tests.support.sandbox.workers import asked, running_worker
from tests.support.waiting import until

GIB = 1024**3
VIDEO, UPSCALE, VIDEO_UPSCALE = "text-to-video", "image-upscale", "video-upscale"


@pytest.fixture(scope="module")
def open_api(sandboxes: StartSandbox) -> Api:
    """A sandbox that may fetch from this machine."""
    return sandboxes(allow_loopback_callbacks=True, settle_after_s=0)


@pytest.fixture(scope="module")
def origin() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture(autouse=True)
def keeps_running(open_api: Api) -> Iterator[None]:
    """After each test, the next request is served and no scratch files remain."""
    yield
    assert open_api.http.get("/billing/balance").status_code == 200
    # What was cut off may still be being removed.
    until(lambda: half_done(open_api) == [])


def half_done(api: Api) -> list[Path]:
    folder = data_dir(api)
    return [*(folder / "scratch").iterdir(), *(folder / "files").glob("*.part")]


def data_dir(api: Api) -> Path:
    return api.running.data_dir


def refusal(api: Api, kind: str, body: dict[str, Any]) -> str:
    """Submit, expect `invalid_input`, and return the message."""
    job = api.ended(api.submit(kind, body)["id"])
    assert job["status"] == "failed"
    assert job["error"]["code"] == "invalid_input"
    message: str = job["error"]["message"]
    return message


def connected(api: Api) -> socket.socket:
    url = httpx.URL(api.running.base_url)
    return socket.create_connection((url.host, url.port or 80), timeout=120)


def said(client: socket.socket) -> bytes:
    """Read until the server closes."""
    parts = []
    while part := client.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def raw_answer(api: Api, request: bytes) -> bytes:
    with closing(connected(api)) as client:
        client.sendall(request)
        return said(client)


# Files.


def test_a_picture_that_unpacks_to_a_billion_pixels_fails(open_api: Api) -> None:
    bomb = bomb_png(35_000)  # 1.2 billion of them
    assert len(bomb) < 1_000_000
    url = open_api.upload("image/png", bomb)

    assert refusal(open_api, UPSCALE, {"image_url": url}).startswith("image_url: ")


def test_a_picture_with_a_comment_of_128_megabytes_fails(
    open_api: Api,
) -> None:
    url = open_api.upload("image/png", bomb_text_png(GIB // 8))

    assert refusal(open_api, UPSCALE, {"image_url": url}).startswith("image_url: ")


@pytest.mark.parametrize(("samples", "tracks"), [(80_000_000, 8), (2**32 - 1, 1)])
def test_a_clip_that_promises_millions_of_frames_fails(
    open_api: Api, samples: int, tracks: int
) -> None:
    bomb = bomb_mp4(samples, tracks)
    assert len(bomb) < 6_000
    url = open_api.upload("video/mp4", bomb)

    assert "video_url: " in refusal(open_api, VIDEO_UPSCALE, {"video_url": url})


def test_the_workers_memory_is_bounded_whatever_a_clip_promises(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bomb.mp4"
    path.write_bytes(bomb_mp4(80_000_000, 8))  # 15 GB, when all of it is unpacked
    order = RenderRequest("probe", {"u": "video"}, {"u": path}, Path())
    with running_worker() as (worker, server):
        assert asked(server, order)
        # Of the worker alone: getrusage also counts the peak of its parent.
        status = Path(f"/proc/{worker.pid}/status").read_text()
        server.close()

    assert worker.returncode == 0
    peak_kib = int(status.split("VmHWM:")[1].split()[0])
    assert peak_kib * 1024 < 2.2 * GIB


# Uploads.


def test_more_bytes_than_declared_are_not_stored(open_api: Api) -> None:
    granted = open_api.grant("image/png", 3)
    url = httpx.URL(granted["upload_url"])
    head = f"PUT {url.raw_path.decode()} HTTP/1.1\r\nHost: localhost\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in granted["headers"].items()
    )

    answer = raw_answer(open_api, head.encode() + b"\r\nabcdefghi\r\n\r\n")

    assert answer.split(b" ")[1] in (b"200", b"400")
    stored = open_api.http.get(granted["url"])
    assert stored.status_code == 404 or stored.content == b"abc"


# URLs.


@pytest.mark.parametrize(
    ("path", "limits", "words"),
    [
        ("fast", {"max_bytes": 3_000_000}, "larger than 3,000,000 bytes"),
        ("slow", {"max_seconds": 0.3}, "longer than 0.3 s"),
        ("silent", {"max_seconds": 0.3}, "longer than 0.3 s"),
        ("away", {"max_bytes": 1_000}, "redirects are not followed"),
    ],
)
def test_an_endless_or_redirected_input_is_aborted(
    open_api: Api,
    origin: HostileServer,
    tmp_path: Path,
    path: str,
    limits: dict[str, Any],
    words: str,
) -> None:
    files = Files(data_dir(open_api))
    # Own files are not fetched, so that they do not count.
    urls = [open_api.upload("image/png", png()), f"{origin.base_url}/{path}"]
    media = [MediaItem(f"pictures[{n}]", "image", url) for n, url in enumerate(urls)]
    with closing(SandboxDatabase(DataDir(data_dir(open_api)).database)) as db:
        inputs = JobInputs(db, files, allow_loopback=True, **limits)
        with pytest.raises(RenderError, match=words) as refused:
            asyncio.run(inputs.gather(media, tmp_path))

    assert refused.value.code == "invalid_input"
    assert refused.value.message.startswith("pictures[1]: ")


# Paths.


@pytest.mark.parametrize(
    "path",
    [
        "/files/../account.json",
        "/files/%2e%2e/account.json",
        "/files/..%2faccount.json",
        "/files/..%5caccount.json",
        "/files/%00",
        "/files/a%00b.png",
        "/../../etc/passwd",
        "/uploads/../account.json",
    ],
)
def test_a_path_with_parent_segments_is_rejected(open_api: Api, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    answer = raw_answer(open_api, request.encode())

    assert answer.split(b" ")[1] in (b"400", b"404", b"405")
    assert b"api_key" not in answer
    assert b"root:" not in answer


@pytest.mark.parametrize("path", ["../x", "%2e%2e%2fx", "..%2f..%2fx"])
def test_a_put_with_parent_segments_is_rejected(open_api: Api, path: str) -> None:
    request = (
        f"PUT /uploads/{path} HTTP/1.1\r\nHost: localhost\r\n"
        "Connection: close\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\nabc"
    )

    answer = raw_answer(open_api, request.encode())

    assert answer.split(b" ")[1] in (b"403", b"404", b"405")
    assert not (data_dir(open_api) / "x").exists()


# Bodies.


def test_an_array_of_ten_thousand_is_refused_by_its_function(open_api: Api) -> None:
    body = {"prompt": "x", "duration": 4, "image_urls": ["http://a.example/"] * 10_000}

    answer = open_api.post("r1", body)

    assert answer.status_code == 422
    assert answer.json()["message"].startswith("image_urls: ")
    assert len(answer.text) < 2_000


def test_ten_thousand_urls_in_an_open_function_fail_its_job(open_api: Api) -> None:
    picture = open_api.upload("image/png", png())
    urls = [f"{picture}#{n}" for n in range(10_000)]

    message = refusal(open_api, "text-to-image", {"prompt": "x", "more": urls})

    assert "at most 64 inputs" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 500_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b'{"prompt":"' + b"a" * 10_000_000 + b'"}', "larger than"),
        (b'{"duration":NaN}', "not valid JSON"),
        (b'{"duration":-Infinity}', "not valid JSON"),
        (b'{"duration":1e999}', "out of range"),
        (b'{"duration":9223372036854775808}', "out of range"),
        (b'{"duration":' + b"9" * 10_000 + b"}", "JSON"),
        (b'{"prompt":"\\ud800"}', "not valid JSON"),
        (b'{"\\udfff":1}', "not valid JSON"),
        (b'{"prompt":"\xff"}', "not valid JSON"),
        ("\ufeff{}".encode(), "not valid JSON"),
        (b'{"prompt":"a\0b"}', "not valid JSON"),
        (b"{} {}", "not valid JSON"),
        (b"null", "not a JSON object"),
        (b"", "not valid JSON"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_a_nonsensical_body_is_rejected(
    open_api: Api, content: bytes, words: str
) -> None:
    paths = (open_api.path(VIDEO), "/v1/media/uploads", "/sandbox/faults")
    for path in paths:
        answer = open_api.http.post(path, content=content)

        assert answer.status_code == 422
        assert list(answer.json()) == ["message"]
        assert words in answer.json()["message"]
        assert len(answer.text) < 1_000


def test_a_nul_character_in_a_text_is_accepted(open_api: Api) -> None:
    job = open_api.submit(VIDEO, {**KITE, "prompt": "a\0b"}, key="nul")

    assert open_api.ended(job["id"])["status"] == "completed"
    # Not cut at it on the way to the store: another rest is another body.
    other = open_api.post(VIDEO, {**KITE, "prompt": "a\0c"}, key="nul")
    assert other.status_code == 409


def test_no_descriptor_is_left_open(open_api: Api) -> None:
    folder = Path("/dev/fd")
    before = len(list(folder.iterdir()))
    for _ in range(20):
        raw_answer(open_api, b"BROKEN\r\n\r\n")

    assert len(list(folder.iterdir())) <= before + 5
