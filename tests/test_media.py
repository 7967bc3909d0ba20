"""What a local file is, whether it will do, and a small picture of it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.media import (
    body_with_stand_ins,
    facts_of,
    is_url,
    poster_jpeg,
    probe,
    stand_in,
    thumbnail_jpeg,
)
from mediakit.schema import MediaName
from tests.media_samples import make_jpeg, make_mp3, make_mp4, make_png, make_wav

CATALOG = Catalog.default()


def test_a_picture_is_read_with_its_size_and_type(tmp_path: Path) -> None:
    info = probe(make_png(tmp_path / "a.png", (120, 80)), "image", "image_url")

    assert (info.content_type, info.width, info.height) == ("image/png", 120, 80)
    assert info.size_bytes == (tmp_path / "a.png").stat().st_size


def test_the_type_comes_from_the_bytes_and_not_from_the_name(tmp_path: Path) -> None:
    path = make_png(tmp_path / "a.png", (20, 10)).rename(tmp_path / "a.jpg")

    assert probe(path, "image", "image_url").content_type == "image/png"


def test_a_turned_picture_has_the_size_that_it_is_shown_at(tmp_path: Path) -> None:
    path = make_jpeg(tmp_path / "a.jpg", (120, 80), orientation=6)

    info = probe(path, "image", "image_url")
    assert (info.width, info.height) == (80, 120)


@pytest.mark.parametrize(
    ("container", "content_type"), [("mp4", "video/mp4"), ("mov", "video/quicktime")]
)
def test_a_clip_is_read_with_length_rate_codec_and_sound(
    tmp_path: Path, container: str, content_type: str
) -> None:
    path = tmp_path / f"clip.{container}"
    make_mp4(path, (320, 240), 2.0, 24, audio=True, container=container)  # type: ignore[arg-type]

    info = probe(path, "video", "video_urls[0]")
    assert info.content_type == content_type
    assert (info.width, info.height, info.codec) == (320, 240, "h264")
    assert info.duration_s == pytest.approx(2.0, abs=0.1)
    assert info.fps == pytest.approx(24)
    assert info.has_audio


def test_a_sound_is_read_with_its_length(tmp_path: Path) -> None:
    wav = probe(make_wav(tmp_path / "a.wav", 2.0), "audio", "audio_urls[0]")
    mp3 = probe(make_mp3(tmp_path / "a.mp3", 2.0), "audio", "audio_urls[0]")

    assert (wav.content_type, mp3.content_type) == ("audio/wav", "audio/mpeg")
    assert wav.duration_s == pytest.approx(2.0, abs=0.05)
    assert mp3.duration_s == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("kind", ["image", "video", "audio"])
def test_what_is_no_such_medium_is_refused_in_words(
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
        probe(make_mp4(tmp_path / "a.mp4"), "audio", "audio_urls[0]")


def test_posters_and_thumbnails_are_small_jpegs(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (640, 360))
    picture = make_png(tmp_path / "a.png", (900, 600))

    for content, size in [
        (poster_jpeg(clip), (320, 180)),
        (poster_jpeg(BytesIO(clip.read_bytes())), (320, 180)),
        (poster_jpeg(picture), (320, 213)),
        (thumbnail_jpeg(picture), (160, 107)),
    ]:
        with Image.open(BytesIO(content)) as image:
            assert image.format == "JPEG"
            assert image.size == size
        assert len(content) < 25_000


def test_local_paths_are_stood_in_for_until_they_are_uploaded(tmp_path: Path) -> None:
    function = CATALOG.function("r1")
    clip = str(make_mp4(tmp_path / "my clip.mp4", duration_s=2.5))
    body = {
        "prompt": "a",
        "duration": "auto",
        "video_urls": [clip],
        "omni_reference_task_type": "edit",
    }
    checked, paths = body_with_stand_ins(function, body)
    facts = facts_of(function, body, {clip: probe(Path(clip), "video", "v")})

    assert function.check(checked) == []
    assert paths == {clip: stand_in(clip)}
    assert is_url(stand_in(clip))
    assert not is_url(clip)
    assert function.estimate(checked, facts).kind == "nominal"
    assert function.estimate(checked, facts).high == 725_760
