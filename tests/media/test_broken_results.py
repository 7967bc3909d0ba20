"""Damaged, unusual or hostile results have no poster and do no other harm."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import av
import pytest

from mediakit import Client
from mediakit.media import poster_jpeg, probe
from mediakit.media.previews import write_preview
from mediakit.widgets.job.preview import preview_of
from tests.sandbox.render.studio import Studio
from tests.support.samples.assorted_files import CLIPS
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.file_server import FileServer


def of_an_unknown_codec(clip: bytes) -> bytes:
    return clip.replace(b"avc1", b"zzzz")


def without_its_end(clip: bytes) -> bytes:
    return clip[: len(clip) // 2]


def with_a_damaged_packet(clip: bytes) -> bytes:
    """Overwrite the pixels of one frame in the middle."""
    with av.open(BytesIO(clip), "r") as file:
        packets = [packet for packet in file.demux(video=0) if packet.size]
    middle = packets[len(packets) // 2]
    assert middle.pos is not None
    return clip[: middle.pos] + bytes(middle.size) + clip[middle.pos + middle.size :]


def test_a_clip_with_a_damaged_packet_is_copied_and_upscaled_whole(
    tmp_path: Path,
) -> None:
    clip, studio = tmp_path / "clip.mov", Studio(tmp_path)
    clip.write_bytes(with_a_damaged_packet(CLIPS["PNG in mov"]()))
    write_preview(clip, tmp_path / "copy.mp4")
    studio.film("video-upscale", {"video_url": studio.url(clip)}, clip)

    for path in (tmp_path / "copy.mp4", studio.output):
        assert probe(path, "video", "v").duration_s == pytest.approx(0.5, abs=0.05)


def mutated(content: bytes) -> Iterator[bytes]:
    """Yield damaged copies, always the same ones."""
    draw = random.Random(1)
    for _ in range(60):
        copy = bytearray(content)
        for _ in range(draw.choice([1, 2, 5, 20])):
            place = draw.randrange(min(len(copy), draw.choice([64, 600, len(copy)])))
            copy[place] = draw.randrange(256)
        yield bytes(copy)


@pytest.fixture
def clip(tmp_path: Path) -> bytes:
    return make_mp4(tmp_path / "clip.mp4", (128, 64), 0.3).read_bytes()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (of_an_unknown_codec, "its codec is unknown"),
        (without_its_end, "the file cannot be read here as a video"),
    ],
)
def test_a_broken_result_is_reported_without_an_internal_error(
    clip: bytes, damage: Callable[[bytes], bytes], reason: str
) -> None:
    preview = preview_of(BytesIO(damage(clip)), "video")

    assert preview.poster is None
    assert reason in (preview.trouble or "")


def test_no_damage_to_a_file_raises_anything_but_the_two_errors_of_a_broken_file(
    clip: bytes, tmp_path: Path
) -> None:
    png = make_png(tmp_path / "a.png", (96, 64)).read_bytes()
    unreadable = 0
    for content, media_type in ((clip, "video"), (png, "image")):
        for copy in mutated(content):
            unreadable += preview_of(BytesIO(copy), media_type).poster is None

    assert unreadable > 10


def test_one_broken_result_does_not_prevent_the_posters_of_others(
    client: Client, clip: bytes
) -> None:
    files = {"broken.mp4": of_an_unknown_codec(clip), "whole.mp4": clip}
    with FileServer(files) as server:
        posters = {
            name: client.io.call(
                client.components.remote_media.poster, server.url(name), 144
            )
            for name in files
        }

    assert posters["broken.mp4"] is None
    assert posters["whole.mp4"] is not None


PLAYLIST = b"ffconcat version 1.0\nfile secret.mp4\n"
SESSION = (
    b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
    b"m=video 50000 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
)


@pytest.mark.parametrize("content", [PLAYLIST, SESSION], ids=["playlist", "session"])
def test_a_result_makes_ffmpeg_open_no_other_file_and_no_socket(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mp4(tmp_path / "secret.mp4", (128, 64), 0.3)
    monkeypatch.chdir(tmp_path)

    with pytest.raises((OSError, ValueError), match="Invalid argument"):
        poster_jpeg(BytesIO(content))
    preview = preview_of(BytesIO(content), "video")
    assert (preview.poster, preview.codec) == (None, None)
