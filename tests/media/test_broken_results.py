"""Results that are damaged, unusual or hostile: no picture, and no other harm."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from mediakit import Client
from mediakit.media import poster_jpeg
from mediakit.widgets.job.preview import preview_of
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.file_server import FileServer


def of_an_unknown_codec(clip: bytes) -> bytes:
    return clip.replace(b"avc1", b"zzzz")


def without_its_end(clip: bytes) -> bytes:
    return clip[: len(clip) // 2]


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


@pytest.mark.parametrize("damage", [of_an_unknown_codec, without_its_end])
def test_a_broken_result_is_a_sentence_and_not_a_defect(
    clip: bytes, damage: Callable[[bytes], bytes]
) -> None:
    preview = preview_of(BytesIO(damage(clip)), "video")

    assert preview.poster is None
    assert "the file cannot be read here" in (preview.trouble or "")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_damage_to_a_file_raises_anything_but_the_two_errors_of_a_broken_file(
    clip: bytes, tmp_path: Path
) -> None:
    png = make_png(tmp_path / "a.png", (96, 64)).read_bytes()
    unreadable = 0
    for content, media_type in ((clip, "video"), (png, "image")):
        for copy in mutated(content):
            unreadable += preview_of(BytesIO(copy), media_type).poster is None

    assert unreadable > 10


def test_one_broken_result_does_not_keep_the_pictures_of_others_away(
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
