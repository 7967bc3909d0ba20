from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mediakit.widgets.preview import POSTER_MAX_BYTES, picture_codec, preview_of
from tests.media_samples import make_mp3, make_mp4, make_png


@pytest.mark.parametrize(("codec", "name"), [("libx264", "h264"), ("libx265", "hevc")])
def test_a_video_gives_a_poster_of_its_shape_and_its_codec(
    codec: str, name: str, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "a.mp4", (640, 360), duration_s=0.5, codec=codec)
    preview = preview_of(clip.read_bytes(), "video")
    assert preview.codec == name
    assert preview.trouble is None
    assert preview.poster is not None
    with Image.open(BytesIO(preview.poster)) as poster:
        assert (poster.format, poster.size) == ("JPEG", (320, 180))


def test_a_mov_is_looked_at_like_an_mp4(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "a.mov", (320, 240), 0.5, container="mov")
    assert preview_of(clip.read_bytes(), "video").codec == "h264"


def test_a_picture_gives_a_poster_and_no_codec(tmp_path: Path) -> None:
    preview = preview_of(make_png(tmp_path / "a.png").read_bytes(), "image")
    assert preview.codec is None
    assert preview.poster is not None


def test_a_busy_picture_gets_a_smaller_poster_rather_than_a_heavy_notebook() -> None:
    noise = np.random.default_rng(4).integers(0, 256, (600, 800, 3), np.uint8)
    out = BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    poster = preview_of(out.getvalue(), "image").poster
    assert poster is not None
    assert len(poster) <= POSTER_MAX_BYTES
    with Image.open(BytesIO(poster)) as picture:
        assert max(picture.size) < 320


def test_a_sound_has_no_poster_and_that_is_no_trouble(tmp_path: Path) -> None:
    preview = preview_of(make_mp3(tmp_path / "a.mp3").read_bytes(), "audio")
    assert (preview.poster, preview.codec, preview.trouble) == (None, None, None)


def test_a_video_without_a_picture_is_a_sentence(tmp_path: Path) -> None:
    data = make_mp3(tmp_path / "a.mp3").read_bytes()
    assert picture_codec(data) is None
    preview = preview_of(data, "video")
    assert preview.poster is None
    assert preview.trouble is not None


@pytest.mark.parametrize("media_type", ["video", "image"])
@pytest.mark.parametrize("data", [b"", b"not a video", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_cannot_be_read_is_a_sentence(data: bytes, media_type: str) -> None:
    preview = preview_of(data, media_type)
    assert preview.poster is None
    assert (preview.trouble or "").startswith("There is no poster of the result: ")


def test_a_picture_of_too_many_pixels_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    preview = preview_of(make_png(tmp_path / "a.png").read_bytes(), "image")
    assert preview.poster is None
    assert "DecompressionBombError" in (preview.trouble or "")
