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
from mediakit.client.posters import PreviewCache
from mediakit.errors import ServiceError
from mediakit.widgets.job.preview import (
    POSTER_MAX_BYTES,
    Preview,
    embedded_of,
    look_at,
    picture_codec,
    playable_copy,
    preview_of,
)
from tests.support.job_states import NOON, state_of
from tests.support.samples.media_samples import make_mp3, make_mp4, make_png


def in_memory(path: Path) -> BytesIO:
    return BytesIO(path.read_bytes())


@pytest.mark.parametrize(
    ("name", "make", "medium", "codec"),
    [
        ("a.mp4", lambda path: make_mp4(path, (640, 360), 0.2), "video", "h264"),
        (
            "a.mov",
            lambda path: make_mp4(path, (640, 360), 0.2, container="mov"),
            "video",
            "h264",
        ),
        ("a.png", lambda path: make_png(path, (640, 360)), "image", None),
    ],
)
def test_a_result_gives_a_poster_of_its_shape_and_its_codec(
    name: str,
    make: Callable[[Path], Path],
    medium: str,
    codec: str | None,
    tmp_path: Path,
) -> None:
    preview = preview_of(in_memory(make(tmp_path / name)), medium)
    assert (preview.codec, preview.trouble) == (codec, None)
    assert preview.poster is not None
    with Image.open(BytesIO(preview.poster)) as poster:
        assert (poster.format, poster.size) == ("JPEG", (320, 180))


def test_a_busy_picture_gets_a_smaller_poster_rather_than_a_heavy_notebook() -> None:
    noise = np.random.default_rng(4).integers(0, 256, (600, 800, 3), np.uint8)
    out = BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    poster = preview_of(out, "image").poster
    assert poster is not None
    assert len(poster) <= POSTER_MAX_BYTES
    with Image.open(BytesIO(poster)) as picture:
        assert max(picture.size) < 320


@pytest.mark.parametrize("media_type", ["video", "image"])
@pytest.mark.parametrize("data", [b"", b"not a video", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_cannot_be_read_is_a_sentence(data: bytes, media_type: str) -> None:
    preview = preview_of(BytesIO(data), media_type)
    assert preview.poster is None
    assert (preview.trouble or "").startswith("There is no preview of the result: ")
    assert preview.info is not None
    assert (preview.info.width, preview.info.duration_s) == (None, None)


def test_a_video_without_a_picture_and_a_picture_of_too_many_pixels_are_sentences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sound = in_memory(make_mp3(tmp_path / "a.mp3"))
    assert picture_codec(sound) is None
    assert "it has no picture" in (preview_of(sound, "video").trouble or "")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    preview = preview_of(in_memory(make_png(tmp_path / "a.png")), "image")
    assert preview.poster is None
    assert "it has more than 50 megapixels" in (preview.trouble or "")


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

    def seen(self) -> Preview:
        job: Any = self
        return anyio.run(look_at, job)

    def copy(self) -> bytes:
        job: Any = self
        return anyio.run(playable_copy, job)


@pytest.fixture(scope="module")
def hevc(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("hevc") / "a.mp4"
    return make_mp4(path, (160, 90), 0.2, codec="libx265", audio=True).read_bytes()


@pytest.fixture(scope="module")
def h264(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("h264") / "a.mp4"
    return make_mp4(path, (320, 180), 0.5).read_bytes()


def test_a_copy_of_what_does_not_play_is_made_once_when_it_is_asked_for(
    hevc: bytes, tmp_path: Path
) -> None:
    job = Output(hevc, tmp_path / "looks")
    seen = job.seen()
    assert (seen.codec, seen.needs_copy, job.fetched) == ("hevc", True, 0)
    assert seen.poster is not None
    clip = job.copy()
    with av.open(BytesIO(clip)) as copy:
        assert copy.streams.video[0].codec_context.name == "h264"

    again = Output(b"", tmp_path / "looks")
    assert (again.seen(), again.copy()) == (seen, clip)
    assert again.fetched == again.read == 0


def test_the_first_bytes_of_a_playable_result_are_read_once_and_cached(
    h264: bytes, tmp_path: Path
) -> None:
    job = Output(h264, tmp_path / "looks")
    seen = job.seen()
    assert (seen.codec, seen.needs_copy) == ("h264", False)
    assert seen.info is not None
    assert (seen.info.width, seen.info.height) == (320, 180)
    assert seen.info.duration_s == pytest.approx(0.5, abs=0.05)
    assert seen.info.size_bytes == len(h264)
    assert (job.read, job.fetched) == (1, 0)
    again = Output(b"", tmp_path / "looks")
    assert again.seen() == seen
    assert again.fetched == again.read == 0


def test_a_video_of_the_service_is_seen_without_fetching_all_of_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.run("text-to-video", prompt="a kite over dunes").core
    monkeypatch.setattr(job, "fetch_output", None)
    seen = client.io.call(look_at, job)
    assert seen.poster is not None
    assert seen.codec == "h264"


def test_a_full_disk_is_reported_instead_of_a_copy(
    hevc: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    job = Output(hevc, None)
    for _ in range(2):  # it is tried another time
        with pytest.raises(ServiceError, match=r"copy .* be made: the disk is full\. "):
            job.copy()
    assert job.fetched == 2


def test_nothing_is_kept_of_a_job_erased_in_the_meantime(
    h264: bytes, tmp_path: Path
) -> None:
    job = Output(h264, tmp_path / "looks")
    job.state = state_of("completed", deleted_at=NOON)
    job.seen()
    assert job.preview_cache.read(job.id, ".json") is None


def test_a_copy_is_embedded_in_place_of_what_does_not_play(hevc: bytes) -> None:
    job: Any = Output(hevc, None)
    copy = anyio.run(embedded_of, job, job.seen())
    assert copy.is_copy
    assert copy.data[4:8] == b"ftyp"
    whole = anyio.run(embedded_of, job, Preview(codec="h264"))
    assert (whole.data, whole.medium, whole.is_copy) == (hevc, "video", False)
