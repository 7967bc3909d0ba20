"""Uploads: streamed as they were hashed, each byte sent once, without the key."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, Client
from mediakit.client import Service
from mediakit.client.http import BLOCK_BYTES
from mediakit.client.progress import Transfer
from mediakit.errors import InputError, JobFailedError, RateLimitError, ServiceError
from mediakit.history import History
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_picture, make_png, make_wav
from tests.support.servers.storage import SIGNATURE, Storage

API_KEY = "key-0123456789abcdef"


def client_of(storage: Storage, home: Path, clock: AdvancingClock | None = None) -> Any:
    return async_client(
        Service(storage.base_url, API_KEY),
        history=History(home / "history.sqlite3"),
        clock=clock or AdvancingClock(),
    )


def run(client: AsyncClient, *works: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run all coroutines concurrently on one loop, and close the client there."""

    async def scenario() -> Any:
        try:
            return await asyncio.gather(*(work() for work in works))
        finally:
            await client.aclose()

    with asyncio.Runner() as runner:
        results = runner.run(scenario())
    return results[0] if len(results) == 1 else results


def sound(folder: Path, name: str = "a.wav", megabytes: float = 1.0) -> Path:
    """Write a sound of about this number of megabytes."""
    return make_wav(folder / name, megabytes * 5.5)


@pytest.mark.parametrize("name", ["Content-Length", "content-LENGTH", "X-Other"])
def test_the_grants_headers_are_sent_verbatim_with_a_length_and_without_the_key(
    tmp_path: Path, name: str
) -> None:
    file = sound(tmp_path, megabytes=2.5)
    seen: list[Transfer] = []
    size = file.stat().st_size
    with Storage() as storage:
        storage.granted_length = lambda size: {name: str(size)}
        client = client_of(storage, tmp_path)
        client.on_transfer(seen.append)
        url, again = run(client, *[lambda: client.upload(file)] * 2)

    assert url == again == f"{storage.base_url}/files/1"
    [headers] = storage.headers_of("PUT")
    assert headers["content-type"] == "audio/wav"
    assert headers.get_list("content-length") == [str(size)]
    assert headers["x-granted"] == "grant 1"
    assert "transfer-encoding" not in headers
    assert API_KEY not in str(headers)
    assert storage.taken["/put/1"] == file.read_bytes()
    done = [0, BLOCK_BYTES, 2 * BLOCK_BYTES, size]
    assert seen == [Transfer("upload", "a.wav", each, size) for each in done]


def test_the_url_of_a_grant_is_read_as_browsers_read_it(tmp_path: Path) -> None:
    file = make_png(tmp_path / "a.png")
    with Storage() as storage:
        storage.folder = "/für mich/%2F"
        client = client_of(storage, tmp_path)
        run(client, lambda: client.upload(file))

    assert storage.taken == {"/f%C3%BCr%20mich/%2F/1": file.read_bytes()}


def test_a_photo_with_several_pictures_is_uploaded_as_a_jpeg(tmp_path: Path) -> None:
    file = tmp_path / "phone.jpg"
    photo = make_picture((64, 48))
    photo.save(file, "MPO", save_all=True, append_images=[photo])
    with Storage() as storage:
        client = client_of(storage, tmp_path)
        run(client, lambda: client.upload(file))

    [headers] = storage.headers_of("PUT")
    assert headers["content-type"] == "image/jpeg"


@pytest.mark.parametrize(
    ("puts", "status", "words", "tries"),
    [
        ([403], None, None, 2),
        ([0, 503, 0], None, None, 4),
        ([0, 403, 403], 403, "the storage rejected a.wav (403)", 3),
        ([307], 307, "the storage rejected a.wav (307)", 1),
        ([0, 0, 0, 0], None, "a.wav could not be uploaded", 4),
    ],
    ids=count(),
)
def test_temporary_errors_are_retried_with_a_new_grant_and_others_reported(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    puts: list[int | None],
    status: int | None,
    words: str | None,
    tries: int,
) -> None:
    caplog.set_level(logging.DEBUG)
    file, clock = sound(tmp_path), AdvancingClock()
    said = []
    with Storage() as storage:
        storage.puts = puts
        client = client_of(storage, tmp_path, clock)
        if words is None:
            assert run(client, lambda: client.upload(file)).endswith(f"/files/{tries}")
        else:
            with pytest.raises(ServiceError, match=re.escape(words)) as caught:
                run(client, lambda: client.upload(file))
            assert caught.value.status == status
            assert "No job was submitted" in str(caught.value)
            said = [repr(caught.value), repr(caught.value.__context__)]

    paths = {path for _, path, _ in storage.asked}
    assert paths == {"/v1/media/uploads", *(f"/put/{n + 1}" for n in range(tries))}
    assert len(clock.slept_s) == tries - 1
    said += [record.getMessage() for record in caplog.records]
    assert not any(SIGNATURE in line or API_KEY in line for line in said)


def appended(file: Path) -> None:
    with file.open("ab") as more:
        more.write(b"more")


def rewritten(file: Path) -> None:
    with file.open("rb+") as same_length:
        same_length.seek(-2, os.SEEK_END)
        same_length.write(b"!!")
    os.utime(file, ns=(1, 1))  # a coarse clock might give both the same time


@pytest.mark.parametrize("change", [appended, rewritten])
def test_a_file_that_changes_during_the_upload_is_never_sent_completely(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    file = sound(tmp_path, megabytes=16)
    with Storage() as storage:
        client = client_of(storage, tmp_path)
        storage.halfway = lambda: change(file)
        with pytest.raises(InputError, match="changed during the upload") as caught:
            run(client, lambda: client.upload(file, field="audio_url"))

    assert caught.value.field == "audio_url"
    assert "No job was submitted" in str(caught.value)
    assert storage.taken == {}
    assert storage.grants == 1


def test_a_file_that_changes_after_it_was_priced_is_not_sent(tmp_path: Path) -> None:
    file = sound(tmp_path)
    with Storage() as storage:
        client = client_of(storage, tmp_path)
        fields = {"prompt": "a song", "audio_urls": [str(file)]}

        async def work() -> None:
            request = await client.components.preparer.validated("r5", fields)
            appended(file)
            await client.components.preparer.uploaded(request)

        with pytest.raises(InputError, match="after it was checked and priced") as no:
            run(client, work)

    assert no.value.field == "audio_urls[0]"
    assert storage.grants == 0


def test_the_files_of_a_request_are_uploaded_concurrently_and_equal_bytes_once(
    tmp_path: Path, client: Client
) -> None:
    pictures = [make_png(tmp_path / f"{n}.png", (64, 48 + n)) for n in (1, 2, 3)]
    copy = tmp_path / "copy.png"
    copy.write_bytes(pictures[0].read_bytes())
    sent: list[Transfer] = []
    stop = client.on_transfer(sent.append)

    fields: dict[str, Any] = {"transition_duration_s": 1, "resolution": "720p"}
    job = client.submit("keyframes", images=[*pictures, copy, pictures[1]], **fields)
    stop()
    client.upload(make_png(tmp_path / "later.png", (70, 70)))

    urls = job.state.body["images"]
    assert isinstance(urls, list)
    assert urls[0] == urls[3]
    assert urls[1] == urls[4]
    assert len(set(urls)) == 3
    whole = [each for each in sent if each.done_bytes == each.total_bytes]
    assert len(whole) == 3


@pytest.mark.parametrize("status", [200, 202, 206])
@pytest.mark.parametrize(
    "page", [b"<html>Sign in</html>", b"\n<!DOCTYPE html><title>Sign in</title>"]
)
def test_a_web_page_as_the_response_is_a_failed_upload(
    tmp_path: Path, status: int, page: bytes
) -> None:
    file = make_png(tmp_path / "a.png")
    with Storage() as storage:
        storage.puts, storage.put_page = [status], page
        client = client_of(storage, tmp_path)
        with pytest.raises(ServiceError, match="a web page was returned"):
            run(client, lambda: client.upload(file))
        storage.put_page = b""
        again = client_of(storage, tmp_path)
        url = run(again, lambda: again.upload(file))
    assert url == f"{storage.base_url}/files/2"
    assert storage.taken["/put/2"] == file.read_bytes()


def test_a_file_can_be_uploaded_again(tmp_path: Path) -> None:
    file = make_png(tmp_path / "a.png")
    with Storage() as storage:
        client = client_of(storage, tmp_path)

        async def thrice() -> list[str]:
            first = await client.upload(file)
            second = await client.upload(file, again=True)
            return [first, second, await client.upload(file)]

        urls = run(client, thrice)
    files = [f"{storage.base_url}/files/{number}" for number in (1, 2, 2)]
    assert urls == files


def test_after_a_reset_of_the_sandbox_a_picture_is_uploaded_again(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    file = make_png(tmp_path / "a.png")
    where = (sandbox.base_url, sandbox.api_key)
    with Client(*where, home=tmp_path) as client:
        before = client.upload(file)
        client.run("image-upscale", image_url=file)
        sandbox.reset()
        job = client.run("image-upscale", image_url=file, take="next")
        assert job.status == "completed"
        assert client.upload(file) != before


def test_a_job_that_fails_for_a_lost_upload_forgets_that_upload(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    file = make_png(tmp_path / "a.png")
    where = Service(sandbox.base_url, sandbox.api_key)
    history = History(tmp_path / "history.sqlite3")
    hosted = async_client(where, history=history)

    async def scenario() -> None:
        before = await hosted.upload(file)
        sandbox.reset()
        with pytest.raises((JobFailedError, InputError)):
            await hosted.run("image-upscale", image_url=file)
        job = await hosted.run("image-upscale", image_url=file, take="next")
        assert job.status == "completed"
        assert await hosted.upload(file) != before

    run(hosted, scenario)


@pytest.mark.parametrize("status", [429, 503])
def test_a_storage_that_requests_a_long_wait_ends_the_call_and_names_the_time(
    tmp_path: Path, status: int
) -> None:
    file = make_png(tmp_path / "a.png")
    clock = AdvancingClock()
    with Storage() as storage:
        storage.puts, storage.put_headers = [status], {"Retry-After": "86400"}
        client = client_of(storage, tmp_path, clock)
        with pytest.raises(RateLimitError, match=r"Try again in 86,400 s") as caught:
            run(client, lambda: client.upload(file))
    assert caught.value.retry_after_s == 86_400
    assert caught.value.retry_at is not None
    assert caught.value.sent is True
    assert max(clock.slept_s, default=0.0) < 120


def test_short_waits_requested_by_a_storage_are_respected(tmp_path: Path) -> None:
    file = make_png(tmp_path / "a.png")
    clock = AdvancingClock()
    with Storage() as storage:
        storage.puts, storage.put_headers = [503, 503], {"Retry-After": "7"}
        client = client_of(storage, tmp_path, clock)
        run(client, lambda: client.upload(file))
    assert sum(each == 7 for each in clock.slept_s) == 2


class Late(Storage):
    """Accepts all bytes at once, and responds later than other requests may."""

    late_s = 5.0


def test_a_storage_may_take_longer_to_respond_than_a_service(
    tmp_path: Path,
) -> None:
    file = sound(tmp_path, megabytes=1.0)
    with Late() as storage:
        where = Service(storage.base_url, API_KEY)
        history = History(tmp_path / "history.sqlite3")
        client = async_client(where, history=history, timeout_s=3)
        assert run(client, lambda: client.upload(file))
    assert len(storage.headers_of("PUT")) == 1


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_the_timeout_for_the_response_to_an_upload_must_be_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MEDIAKIT_UPLOAD_TIMEOUT_S", text)
    file = make_png(tmp_path / "a.png")
    with Storage() as storage:
        client = client_of(storage, tmp_path)
        with pytest.raises(InputError, match="MEDIAKIT_UPLOAD_TIMEOUT_S"):
            run(client, lambda: client.upload(file))


def test_the_timeout_for_the_response_to_an_upload_can_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDIAKIT_UPLOAD_TIMEOUT_S", "1")
    file = make_png(tmp_path / "a.png")
    with Late() as storage:
        where = Service(storage.base_url, API_KEY)
        history = History(tmp_path / "history.sqlite3")
        client = async_client(where, history=history, timeout_s=3)
        with pytest.raises(ServiceError, match="MEDIAKIT_UPLOAD_TIMEOUT_S"):
            run(client, lambda: client.upload(file))
