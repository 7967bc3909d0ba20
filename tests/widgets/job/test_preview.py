import errno
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import av
import numpy as np
import pytest
from PIL import Image

from mediakit import Client
from mediakit.client.preview_cache import PreviewCache
from mediakit.widgets.job import preview as preview_module
from mediakit.widgets.job.preview import (
    CLIP_NOTE,
    MAKING,
    POSTER_MAX_BYTES,
    Preview,
    embedded_of,
    look_at,
    picture_codec,
    preview_of,
)
from tests.support.job_states import NOON, state_of
from tests.support.samples.media_samples import make_mp3, make_mp4, make_png


def in_memory(path: Path) -> BytesIO:
    return BytesIO(path.read_bytes())


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("libx264", "h264"),
        pytest.param("libx265", "hevc", marks=pytest.mark.soak),
    ],
)
def test_a_video_gives_a_poster_of_its_shape_and_its_codec(
    codec: str, name: str, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "a.mp4", (640, 360), duration_s=0.5, codec=codec)
    preview = preview_of(in_memory(clip), "video")
    assert preview.codec == name
    assert preview.trouble is None
    assert preview.poster is not None
    with Image.open(BytesIO(preview.poster)) as poster:
        assert (poster.format, poster.size) == ("JPEG", (320, 180))


def test_a_mov_is_looked_at_like_an_mp4(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "a.mov", (320, 240), 0.5, container="mov")
    assert preview_of(in_memory(clip), "video").codec == "h264"


def test_a_picture_gives_a_poster_and_no_codec(tmp_path: Path) -> None:
    preview = preview_of(in_memory(make_png(tmp_path / "a.png")), "image")
    assert preview.codec is None
    assert preview.poster is not None


def test_a_busy_picture_gets_a_smaller_poster_rather_than_a_heavy_notebook() -> None:
    noise = np.random.default_rng(4).integers(0, 256, (600, 800, 3), np.uint8)
    out = BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    poster = preview_of(out, "image").poster
    assert poster is not None
    assert len(poster) <= POSTER_MAX_BYTES
    with Image.open(BytesIO(poster)) as picture:
        assert max(picture.size) < 320


def test_a_video_without_a_picture_is_a_sentence(tmp_path: Path) -> None:
    data = make_mp3(tmp_path / "a.mp3").read_bytes()
    assert picture_codec(BytesIO(data)) is None
    preview = preview_of(BytesIO(data), "video")
    assert preview.poster is None
    assert preview.trouble is not None


@pytest.mark.parametrize("media_type", ["video", "image"])
@pytest.mark.parametrize("data", [b"", b"not a video", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_cannot_be_read_is_a_sentence(data: bytes, media_type: str) -> None:
    preview = preview_of(BytesIO(data), media_type)
    assert preview.poster is None
    assert (preview.trouble or "").startswith("There is no poster of the result: ")


def test_a_picture_of_too_many_pixels_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    preview = preview_of(in_memory(make_png(tmp_path / "a.png")), "image")
    assert preview.poster is None
    assert "DecompressionBombError" in (preview.trouble or "")


# -- what does not play, and what is kept --------------------------------------------


class Output:
    """A job with an output in memory, as far as a look at it needs one."""

    def __init__(self, data: bytes, folder: Path | None) -> None:
        self.id = "media_1"
        self.state = state_of("completed")
        self.preview_cache = PreviewCache(folder)
        self.data = data
        self.fetched = self.read = 0

    async def fetch_output(self, max_bytes: int) -> bytes:
        self.fetched += 1
        return self.data

    async def read_output(self, read: Callable[[BytesIO], Preview]) -> Preview | None:
        self.read += 1
        return read(BytesIO(self.data)) if self.data else None

    def seen(self) -> list[Preview]:
        shown: list[Preview] = []
        job: Any = self
        anyio.run(look_at, job, shown.append)
        return shown


@pytest.fixture(scope="module")
def hevc(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("hevc") / "a.mp4"
    return make_mp4(path, (160, 90), 0.2, codec="libx265", audio=True).read_bytes()


@pytest.fixture(scope="module")
def h264(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("h264") / "a.mp4"
    return make_mp4(path, (320, 180), 0.5).read_bytes()


def test_what_does_not_play_is_shown_at_once_and_then_as_a_copy_made_once(
    hevc: bytes, tmp_path: Path
) -> None:
    first, then = Output(hevc, tmp_path / "looks").seen()
    assert (first.codec, first.clip, first.clip_note) == ("hevc", None, MAKING)
    assert first.poster is not None
    assert then.clip is not None
    assert then.clip_note == CLIP_NOTE
    with av.open(BytesIO(then.clip)) as copy:
        assert copy.streams.video[0].codec_context.name == "h264"

    again = Output(b"", tmp_path / "looks")
    assert again.seen() == [then]
    assert again.fetched == again.read == 0


def test_what_plays_is_not_fetched_twice_and_not_copied(
    h264: bytes, tmp_path: Path
) -> None:
    job = Output(h264, tmp_path / "looks")
    (seen,) = job.seen()
    assert (seen.codec, seen.clip) == ("h264", None)
    assert (job.read, job.fetched) == (1, 0)  # its first bytes, and never all of it
    again = Output(b"", tmp_path / "looks")
    assert again.seen() == [seen]
    assert again.fetched == again.read == 0


def test_a_clip_that_cannot_be_read_is_a_sentence() -> None:
    (seen,) = Output(b"", None).seen()
    assert (seen.poster, seen.codec) == (None, None)
    assert (seen.trouble or "").startswith("There is no poster of the result")


def test_of_a_sound_only_its_length_is_read(tmp_path: Path) -> None:
    data = make_mp3(tmp_path / "a.mp3").read_bytes()
    job = Output(data, None)
    job.state = state_of("completed", media_type="audio")
    (seen,) = job.seen()
    assert (seen.poster, seen.facts.size_bytes) == (None, len(data))
    assert seen.facts.length_s
    assert job.fetched == 0


def test_a_look_tells_size_length_and_bytes_and_keeps_them(
    h264: bytes, tmp_path: Path
) -> None:
    (seen,) = Output(h264, tmp_path / "looks").seen()
    assert (seen.facts.width, seen.facts.height) == (320, 180)
    assert seen.facts.length_s == pytest.approx(0.5, abs=0.05)
    assert seen.facts.size_bytes == len(h264)
    (again,) = Output(b"", tmp_path / "looks").seen()
    assert again.facts == seen.facts


def test_a_file_that_cannot_be_read_has_a_length_in_bytes() -> None:
    facts = preview_of(BytesIO(b"not a video"), "video").facts
    assert (facts.pixels_text, facts.length_text) == ("", "")
    assert facts.texts == ("11 bytes",)


@pytest.mark.parametrize("media_type", ["video", "image"])
def test_the_service_gives_a_look_at_its_results(
    client: Client, media_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "text-to-video" if media_type == "video" else "text-to-image"
    job = client.run(kind, prompt="a kite over dunes").core
    if media_type == "video":
        monkeypatch.setattr(job, "fetch_output", None)
    shown: list[Preview] = []
    client.io.call(look_at, job, shown.append)
    (seen,) = shown
    assert seen.poster is not None
    assert seen.codec == ("h264" if media_type == "video" else None)


def test_a_copy_that_cannot_be_made_is_said_and_tried_again_another_time(
    hevc: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(preview_module, "make_preview", refuse)
    job = Output(hevc, tmp_path / "looks")
    assert job.seen()[-1].clip_note == (
        "No copy that plays here could be made: the disk is full."
    )
    assert job.seen()[-1].clip is None
    assert job.fetched == 2


def test_a_full_disk_is_said_in_place_of_a_copy(
    hevc: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    note = Output(hevc, None).seen()[-1].clip_note
    assert note.startswith("No copy that plays here could be made: the disk is full. ")


def test_a_copy_that_is_too_large_is_not_sent_to_the_page(
    hevc: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_module, "CLIP_MAX_BYTES", 100)
    assert "the copy has" in Output(hevc, None).seen()[-1].clip_note


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"poster": 1, "codec": 2}'])
def test_a_cached_preview_that_cannot_be_read_is_made_again(
    text: bytes, h264: bytes, tmp_path: Path
) -> None:
    job = Output(h264, tmp_path / "looks")
    job.preview_cache.keep(job.id, ".json", text)
    assert job.seen()[0].codec == "h264"
    assert job.read == 1


def test_nothing_is_kept_of_what_was_erased_meanwhile(
    h264: bytes, tmp_path: Path
) -> None:
    job = Output(h264, tmp_path / "looks")
    job.state = state_of("completed", deleted_at=NOON)
    job.seen()
    assert job.preview_cache.read(job.id, ".json") is None


def test_a_copy_is_embedded_in_place_of_what_does_not_play() -> None:
    job: Any = Output(b"the original", None)
    copy = anyio.run(embedded_of, job, Preview(codec="hevc", clip=b"copy"))
    assert (copy.data, copy.is_copy) == (b"copy", True)
    whole = anyio.run(embedded_of, job, Preview(codec="h264"))
    assert (whole.data, whole.medium, whole.is_copy) == (
        b"the original",
        "video",
        False,
    )
