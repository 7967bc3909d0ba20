"""Properties, validation and posters of local files."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.media import (
    THUMBNAIL_MAX_PX,
    body_with_placeholders,
    facts_of,
    is_url,
    placeholder,
    poster_jpeg,
    probe,
)
from mediakit.media_limits import MediaName
from tests.support.samples.media_samples import (
    make_jpeg,
    make_mp3,
    make_mp4,
    make_picture,
    make_png,
    make_wav,
)

CATALOG = Catalog.default()


def test_a_picture_is_read_with_its_size_and_type(tmp_path: Path) -> None:
    # The type is that of the bytes, whatever the name says.
    path = make_png(tmp_path / "a.png", (120, 80)).rename(tmp_path / "a.jpg")

    info = probe(path, "image", "image_url")
    assert (info.content_type, info.width, info.height) == ("image/png", 120, 80)
    assert info.size_bytes == path.stat().st_size


@pytest.mark.parametrize(
    ("container", "content_type"), [("mp4", "video/mp4"), ("mov", "video/quicktime")]
)
def test_a_clip_is_read_with_length_rate_codec_and_sound(
    tmp_path: Path, container: str, content_type: str
) -> None:
    path = tmp_path / f"clip.{container}"
    make_mp4(path, (320, 240), 1.0, 24, audio=True, container=container)  # type: ignore[arg-type]

    info = probe(path, "video", "video_urls[0]")
    assert info.content_type == content_type
    assert (info.width, info.height, info.codec) == (320, 240, "h264")
    assert info.duration_s == pytest.approx(1.0, abs=0.1)
    assert info.fps == pytest.approx(24)
    assert info.has_audio


@pytest.mark.parametrize("kind", ["image", "video", "audio"])
def test_a_file_of_another_medium_is_rejected_with_a_readable_message(
    tmp_path: Path, kind: MediaName
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing to see or hear here\n" * 50, "utf-8")
    empty = tmp_path / "empty.png"
    empty.touch()
    broken = tmp_path / "broken.png"
    broken.write_bytes(make_png(tmp_path / "a.png", (64, 64)).read_bytes()[:200])

    for path in (text, empty, broken, tmp_path, tmp_path / "gone.mp4"):
        with pytest.raises(InputError) as caught:
            probe(path, kind, "the_field")
        assert caught.value.field == "the_field"
        assert str(path) in str(caught.value)
        assert "Errno" not in str(caught.value)


def test_a_clip_without_a_picture_and_a_sound_without_sound_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="not a clip"):
        probe(make_wav(tmp_path / "a.wav"), "video", "video_urls[0]")
    with pytest.raises(InputError, match="not a clip"):
        probe(make_png(tmp_path / "a.png"), "video", "video_urls[0]")
    with pytest.raises(InputError, match="no sound"):
        probe(make_mp4(tmp_path / "a.mp4", (64, 64), 0.5), "audio", "audio_urls[0]")


@given(st.data(), st.sampled_from(["image", "video", "audio"]))
def test_a_damaged_file_is_read_or_rejected_with_a_readable_message(
    data: st.DataObject, kind: MediaName
) -> None:
    content = bytearray(data.draw(st.sampled_from(_samples()[kind])))
    for _ in range(data.draw(st.integers(0, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    del content[data.draw(st.integers(1, len(content))) :]

    with NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with suppress(InputError):
            assert probe(Path(file.name), kind, "a").kind == kind


@cache
def _samples() -> dict[MediaName, list[bytes]]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        pictures = [make_png(folder / "a.png"), make_jpeg(folder / "a.jpg")]
        webp = folder / "a.webp"
        make_picture().save(webp, "WEBP")
        clip = make_mp4(folder / "a.mp4", (64, 64), 0.5, audio=True)
        sounds = [make_wav(folder / "a.wav", 0.1), make_mp3(folder / "a.mp3", 0.1)]
        return {
            "image": [path.read_bytes() for path in (*pictures, webp)],
            "video": [clip.read_bytes()],
            "audio": [path.read_bytes() for path in (*sounds, clip)],
        }


def test_the_length_of_a_clip_is_that_of_its_picture(tmp_path: Path) -> None:
    path = make_mp4(tmp_path / "a.mp4", (64, 64), 1.0, audio=True, sound_s=3.0)

    assert probe(path, "video", "video_url").duration_s == 1.0
    assert probe(path, "audio", "audio_url").duration_s == pytest.approx(3, abs=0.1)


def test_posters_and_thumbnails_are_small_jpegs(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (640, 360), 0.25)
    picture = make_png(tmp_path / "a.png", (900, 600))

    for content, size in [
        (poster_jpeg(clip), (320, 180)),
        (poster_jpeg(BytesIO(clip.read_bytes())), (320, 180)),
        (poster_jpeg(picture), (320, 213)),
        (poster_jpeg(picture, THUMBNAIL_MAX_PX), (160, 107)),
    ]:
        with Image.open(BytesIO(content)) as image:
            assert image.format == "JPEG"
            assert image.size == size
        assert len(content) < 25_000


@pytest.mark.parametrize("rotation_degrees", [0, -90])
def test_a_frame_at_a_time_is_the_one_that_players_show_then(
    tmp_path: Path, rotation_degrees: int
) -> None:
    clip = make_mp4(
        tmp_path / "a.mp4", (640, 360), 2.0, rotation_degrees=rotation_degrees
    )
    with av.open(str(clip)) as container:
        frames = [
            np.rot90(each.to_ndarray(format="rgb24"), rotation_degrees // 90)
            for each in container.decode(video=0)
        ]
    for at_s, number in ((0.0, 0), (0.04, 0), (0.05, 1), (1.5, 36), (2.0, 47), (9, 47)):
        with Image.open(BytesIO(poster_jpeg(clip, 640, at_s))) as image:
            pixels = np.asarray(image.convert("RGB")).astype(int)
        distances = [float(np.abs(each - pixels).mean()) for each in frames]
        assert np.argmin(distances) == number, at_s


def test_local_paths_are_replaced_by_placeholders_until_they_are_uploaded(
    tmp_path: Path,
) -> None:
    function = CATALOG.function("r1")
    clip = str(make_mp4(tmp_path / "my clip.mp4", (64, 64), 2.5))
    body = {
        "prompt": "a",
        "duration": "auto",
        "video_urls": [clip],
        "omni_reference_task_type": "edit",
    }
    checked, paths = body_with_placeholders(function, body)
    facts = facts_of(function, body, {clip: probe(Path(clip), "video", "v")})

    assert function.check(checked) == []
    assert paths == {clip: placeholder(clip)}
    assert is_url(placeholder(clip))
    assert not is_url(clip)
    assert function.estimate(checked, facts).kind == "nominal"
    assert function.estimate(checked, facts).high == 725_760
