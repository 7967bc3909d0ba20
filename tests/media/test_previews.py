"""Small copies of clips that browsers cannot play, made in a separate process."""

from __future__ import annotations

import errno
from pathlib import Path

import av
import pytest

from mediakit.decoding import decoder_environment
from mediakit.media import previews
from mediakit.media.previews import make_preview, write_preview
from tests.support.samples.media_samples import make_mp3, make_mp4


@pytest.mark.parametrize(
    "codec", ["libx265", pytest.param("mpeg4", marks=pytest.mark.soak)]
)
def test_a_copy_is_small_plays_everywhere_and_keeps_its_sound(
    codec: str, tmp_path: Path
) -> None:
    source = make_mp4(tmp_path / "a.mp4", (1344, 756), 0.25, codec=codec, audio=True)
    make_preview(source, tmp_path / "copy.mp4")
    with av.open(str(tmp_path / "copy.mp4")) as copy:
        picture, sound = copy.streams.video[0], copy.streams.audio[0]
        assert picture.codec_context.name == "h264"
        assert picture.codec_context.pix_fmt == "yuv420p"
        assert (picture.width, picture.height) == (1280, 720)
        assert picture.frames == 6
        assert sound.codec_context.name == "aac"
        assert copy.duration == pytest.approx(250_000, abs=100_000)


def test_a_copy_ends_after_its_longest_time_and_drops_frames_that_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "CLIP_MAX_S", 1.0)
    source = make_mp4(tmp_path / "a.mp4", (64, 48), 3.0, fps=60, audio=True)
    write_preview(source, tmp_path / "copy.mp4")
    with av.open(str(tmp_path / "copy.mp4")) as copy:
        assert copy.duration == pytest.approx(1_000_000, abs=100_000)
        assert 25 <= copy.streams.video[0].frames <= 31


@pytest.mark.parametrize(
    "content",
    [
        b"#EXTM3U\nfile:///etc/passwd\n",
        pytest.param(b"", marks=pytest.mark.soak),
    ],
)
def test_a_file_that_is_not_a_clip_is_an_error_with_a_reason(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "a.mp4").write_bytes(content)
    with pytest.raises(OSError, match="Invalid"):
        make_preview(tmp_path / "a.mp4", tmp_path / "copy.mp4")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
def test_a_full_disk_is_not_reported_as_a_broken_clip(tmp_path: Path) -> None:
    source = make_mp4(tmp_path / "a.mp4", (320, 180), 0.5)
    with pytest.raises(OSError, match="No space left") as caught:
        make_preview(source, Path("/dev/full"))
    assert caught.value.errno == errno.ENOSPC


def test_a_clip_that_takes_too_long_is_abandoned(tmp_path: Path) -> None:
    source = make_mp4(tmp_path / "a.mp4", (640, 360), 1.0)
    with pytest.raises(OSError, match=r"it takes longer than 0\.01 s"):
        make_preview(source, tmp_path / "copy.mp4", timeout_s=0.01)


def test_a_sound_has_no_copy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="it has no picture"):
        write_preview(make_mp3(tmp_path / "sound.mp4"), tmp_path / "copy.mp4")


def test_the_process_that_reads_hostile_files_gets_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEDIAKIT_API_KEY", "a secret")
    assert "a secret" not in decoder_environment().values()
