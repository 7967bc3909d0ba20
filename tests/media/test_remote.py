"""Properties of media at URLs, on correct and faulty servers."""

from __future__ import annotations

import logging
import sys
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Literal

import av
import pytest
from PIL import Image

from mediakit import Client
from mediakit.client.http import HttpClient
from mediakit.client.io_thread import io_thread
from mediakit.media import probe
from mediakit.media.remote import MAX_BYTES, probe_url
from mediakit.media_limits import MediaInfo, MediaName
from tests.support.samples.media_samples import make_mp3, make_mp4, make_png, make_wav
from tests.support.servers.file_server import PIECE_BYTES, FileServer
from tests.support.waiting import until

FAR_BYTES = 8_000_000


def look(
    url: str, expected: MediaName = "video", limit_s: float = 60.0
) -> MediaInfo | None:
    async def scenario() -> MediaInfo | None:
        http = HttpClient()
        try:
            return await probe_url(url, expected, http, limit_s=limit_s)
        finally:
            await http.aclose()

    return io_thread().call(scenario)


def with_far_end(clip: bytes) -> bytes:
    """Insert padding between the frames of a clip and its index."""
    at = clip.index(b"moov") - 4
    box = (FAR_BYTES + 8).to_bytes(4, "big") + b"free" + bytes(FAR_BYTES)
    return clip[:at] + box + clip[at:]


def with_far_tail(folder: Path, clip: bytes) -> bytes:
    """Move the index to the beginning of a clip, and add padding at its end."""
    path = folder / "front.mp4"
    front = {"movflags": "faststart"}
    with (
        av.open(BytesIO(clip), "r") as source,
        av.open(str(path), "w", options=front) as target,
    ):
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    return content + (FAR_BYTES + 8).to_bytes(4, "big") + b"free" + bytes(FAR_BYTES)


@pytest.fixture
def clip(tmp_path: Path) -> bytes:
    return make_mp4(tmp_path / "clip.mp4", (320, 180), 2.5, audio=True).read_bytes()


@pytest.mark.parametrize("container", ["mp4", "mov"])
def test_a_clip_at_a_url_has_the_same_properties_as_on_disk(
    tmp_path: Path, container: Literal["mp4", "mov"]
) -> None:
    path = tmp_path / f"clip.{container}"
    make_mp4(path, (320, 180), 2.5, container=container, audio=True)

    for ranges in (True, False):
        with FileServer({"a": path.read_bytes()}, ranges=ranges) as server:
            assert look(server.url("a")) == probe(path, "video", "v")


@pytest.mark.parametrize("make", [make_wav, make_mp3])
def test_a_sound_at_a_url_has_the_same_properties_as_on_disk(
    tmp_path: Path, make: object
) -> None:
    path: Path = make(tmp_path / "sound", 2.5)  # type: ignore[operator]

    with FileServer({"a": path.read_bytes()}) as server:
        assert look(server.url("a"), "audio") == probe(path, "audio", "a")
        assert look(server.url("a"), "video") is None


def test_the_end_of_a_long_file_is_read_without_its_middle(clip: bytes) -> None:
    with FileServer({"a": with_far_end(clip)}) as server:
        info = look(server.url("a"))

    assert info is not None
    assert info.duration_s == 2.5
    assert info.size_bytes > FAR_BYTES
    assert server.sent_bytes < 1_000_000


def test_the_start_of_a_long_file_is_enough_if_it_has_all_facts(
    clip: bytes, tmp_path: Path
) -> None:
    files = {"a": with_far_tail(tmp_path, clip)}
    with FileServer(files, ranges=False) as server:
        info = look(server.url("a"))

    assert info is not None
    assert info.duration_s == 2.5
    assert info.size_bytes > FAR_BYTES


def test_a_server_without_ranges_is_abandoned_if_the_start_is_not_enough(
    clip: bytes,
) -> None:
    with FileServer({"a": with_far_end(clip)}, ranges=False) as server:
        assert look(server.url("a")) is None
        assert len(server.requests) == 1


def test_no_more_bytes_are_read_than_announced(clip: bytes) -> None:
    # Every block of such a file must be read before anything is known of it.
    noise = bytes(range(256)) * 40_000
    with FileServer({"a": clip[:32] + noise}) as server:
        assert look(server.url("a")) is None

    assert server.sent_bytes <= MAX_BYTES + PIECE_BYTES


def test_five_redirects_are_followed_and_not_a_sixth(clip: bytes) -> None:
    leads = {f"{n}": f"/{n + 1}" for n in range(5)}
    leads |= {"5": "/a", "home": "file:///etc/hosts"}
    with FileServer({"a": clip}, redirects=leads) as server:
        assert look(server.url("1")) is not None
        assert look(server.url("0")) is None
        assert look(server.url("home")) is None


def test_no_cookie_and_no_key_is_sent(clip: bytes) -> None:
    headers = {"Set-Cookie": "a=b; Path=/"}
    leads = {"1": "/a"}
    with FileServer({"a": with_far_end(clip)}, redirects=leads, headers=headers) as s:
        assert look(s.url("1")) is not None

    assert len(s.requests) > 2
    for _, sent in s.requests:
        assert not {name.lower() for name in sent} & {"cookie", "x-api-key"}


def test_a_file_of_another_medium_has_unknown_properties(
    tmp_path: Path, clip: bytes
) -> None:
    files = {
        "empty": b"",
        "page": b"<html>Please sign in</html>" * 100,
        "picture": make_png(tmp_path / "a.png").read_bytes(),
        "half": clip[: len(clip) // 2],
    }
    for ranges in (True, False):
        with FileServer(files, ranges=ranges) as server:
            assert [look(server.url(name)) for name in (*files, "gone")] == [None] * 5


def test_files_in_a_playlist_are_not_read(clip: bytes) -> None:
    with FileServer({"clip.mp4": clip}) as server:
        server.files["a"] = (
            "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9.0,\n"
            f"{server.url('clip.mp4')}\n#EXT-X-ENDLIST\n"
        ).encode()

        assert look(server.url("a")) is None
        assert {name for name, _ in server.requests} == {"a"}


@pytest.mark.parametrize(
    "part", ["bytes 5-9/20", "bytes 0-9/*", "all of it", "bytes 0-0/0", ""]
)
def test_a_wrong_range_is_rejected(clip: bytes, part: str) -> None:
    with FileServer({"a": clip}, headers={"Content-Range": part}) as server:
        assert look(server.url("a")) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://[",
        "http://127.0.0.1:1/a.mp4",
        "http://127.0.0.1:99999/a.mp4",
        "http://a b/c",
        "https://127.0.0.1:1/\u00e4",
        "ftp://127.0.0.1/a.mp4",
        "x" * 70_000,
    ],
)
def test_an_unreachable_file_has_unknown_properties(url: str) -> None:
    assert look(url) is None


def test_a_server_that_falls_silent_in_the_middle_of_a_read_is_abandoned_in_silence(
    clip: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    files = {"a": with_far_end(clip)}
    with FileServer(files, silent=True, silent_after=1) as server:
        assert look(server.url("a"), limit_s=5) is None
        wait_for_readers()

    assert len(server.requests) > 1
    assert unraisable == []


def wait_for_readers() -> None:
    """Wait until the reader threads have nothing left to do."""
    until(
        lambda: (
            not any(
                "readinto" in frame_names(frame)
                for frame in sys._current_frames().values()
            )
        )
    )


def frame_names(frame: FrameType | None) -> set[str]:
    """Return the names of the functions that a thread is in."""
    names = set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names


def test_a_url_and_its_signature_reach_no_log(
    clip: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mediakit")
    with FileServer({"a": clip}) as server:
        assert look(server.url("b?signature=secret")) is None

    assert "is not known" in caplog.text
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("mediakit")]
    assert not any("secret" in line for line in ours)


def test_a_turned_clip_at_a_url_is_checked_at_the_size_that_is_shown(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "a.mp4", (128, 64), 2.0, rotation_degrees=-90)
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        key: tuple[MediaName, str] = ("video", server.url("a.mp4"))
        remote = client.components.remote_media
        info = client.io.call(remote.probe, [key])[key]
        jpeg = client.io.call(remote.poster, key[1], 320)

    assert info is not None
    assert jpeg is not None
    assert (info.width, info.height) == (64, 128)
    with Image.open(BytesIO(jpeg)) as poster:
        assert poster.size == (64, 128)
