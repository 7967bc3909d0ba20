"""Client and sandbox accept the same containers of clips, sounds and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from mediakit import Client
from mediakit.errors import InputError
from mediakit.media import probe
from tests.support.samples.media_samples import make_picture, make_png
from tests.support.samples.odd_clips import film

# The media types that IANA and browsers use.
CLIPS = {
    "webm": ("libvpx-vp9", "video/webm"),
    "matroska": ("libx264", "video/x-matroska"),
    "avi": ("libx264", "video/x-msvideo"),
    "mpegts": ("libx264", "video/mp2t"),
    "mov": ("libx264", "video/quicktime"),
    "mp4": ("libx264", "video/mp4"),
}
SOUNDS = {
    "ogg": ("libopus", "audio/ogg"),
    "flac": ("flac", "audio/flac"),
    "adts": ("aac", "audio/aac"),
    "webm": ("libopus", "audio/webm"),
    "wav": ("pcm_s16le", "audio/wav"),
    "mp3": ("libmp3lame", "audio/mpeg"),
}


def clip_in(folder: Path, container: str) -> Path:
    path = folder / "clip"
    path.write_bytes(film(1, container, codec=CLIPS[container][0], size=(128, 96)))
    return path


def sound_in(folder: Path, container: str) -> Path:
    path = folder / "sound"
    with av.open(str(path), "w", format=container) as file:
        stream = file.add_stream(SOUNDS[container][0], rate=48_000, layout="stereo")
        assert isinstance(stream, av.AudioStream)
        silence = np.zeros((2, 48_000), np.float32)
        frame = av.AudioFrame.from_ndarray(silence, "fltp", "stereo")
        frame.sample_rate = 48_000
        resampler = av.AudioResampler(
            stream.format, "stereo", 48_000, stream.codec_context.frame_size or None
        )
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            file.mux(stream.encode(part))
        file.mux(stream.encode(None))
    return path


def composed(clip: Path, sound: Path) -> dict[str, Any]:
    keyframe = {"timestamp": 0, "duration": 500}
    return {
        "tracks": [
            {"id": "a", "type": "image", "keyframes": [{**keyframe, "url": clip}]},
            {"id": "b", "type": "audio", "keyframes": [{**keyframe, "url": sound}]},
        ]
    }


@pytest.mark.parametrize("container", CLIPS)
def test_a_clip_is_taken_by_client_and_sandbox_where_no_format_is_named(
    client: Client, tmp_path: Path, container: str
) -> None:
    clip = clip_in(tmp_path, container)

    assert probe(clip, "video", "v").content_type == CLIPS[container][1]
    estimate = client.estimate("video-upscale", video_url=clip)
    job = client.run("video-upscale", video_url=clip).settle(timeout_s=60)
    assert job.charge_micro_usd == estimate.high == 76_000


@pytest.mark.parametrize("container", ["webm", "matroska", "avi", "mpegts"])
def test_a_clip_is_refused_before_the_upload_where_another_format_is_named(
    client: Client, tmp_path: Path, container: str
) -> None:
    clip = clip_in(tmp_path, container)

    with pytest.raises(InputError, match="mp4 or mov") as refusal:
        client.submit("r1", prompt="@Video1", duration=4, video_urls=[clip])
    assert CLIPS[container][1] in str(refusal.value)
    assert client.history.frame().empty


@pytest.mark.parametrize("container", SOUNDS)
def test_a_sound_is_taken_by_client_and_sandbox_where_no_format_is_named(
    client: Client, tmp_path: Path, container: str
) -> None:
    sound = sound_in(tmp_path, container)

    info = probe(sound, "audio", "a")
    assert info.content_type == SOUNDS[container][1]
    assert info.duration_s == pytest.approx(1, abs=0.06)
    picture = make_png(tmp_path / "a.png")
    job = client.run("compose-video", **composed(picture, sound))
    assert job.status == "completed"


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("MPO", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("AVIF", "image/avif"),
        ("TIFF", "image/tiff"),
    ],
)
def test_a_picture_is_taken_by_client_and_sandbox(
    client: Client, tmp_path: Path, kind: str, content_type: str
) -> None:
    path = tmp_path / "picture"
    make_picture((96, 64)).save(path, kind)

    assert probe(path, "image", "a").content_type == content_type
    job = client.run("image-upscale", image_url=path)
    assert job.status == "completed"


@pytest.mark.parametrize("kind", ["DDS", "PPM", "ICO", "EPS"])
def test_a_picture_that_the_sandbox_cannot_read_is_refused_before_the_upload(
    client: Client, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "picture.png"
    make_picture((64, 64)).save(path, kind)

    with pytest.raises(InputError, match="png, jpeg, webp"):
        client.submit("image-upscale", image_url=path)
    assert client.history.frame().empty
