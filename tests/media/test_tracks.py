"""Tracks with different start times, and cover pictures, which are not videos."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from mediakit import Client
from mediakit.errors import InputError
from mediakit.media import poster_jpeg, probe
from tests.sandbox.render.studio import Studio, look
from tests.support.samples.odd_clips import FPS


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


def late_clip(folder: Path, *, picture_s: float, sound_s: float) -> Path:
    """Write a clip whose picture flashes, and whose sound beeps, at 2 s."""
    path = folder / "late.mp4"
    with av.open(str(path), "w", format="mp4") as file:
        video = file.add_stream("libx264", rate=FPS)
        assert isinstance(video, av.VideoStream)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        video.options = {"preset": "ultrafast", "tune": "zerolatency"}
        sound = file.add_stream("aac", rate=48_000, layout="stereo")
        assert isinstance(sound, av.AudioStream)
        for index in range(round(picture_s * FPS), 3 * FPS):
            level = 255 if index >= 2 * FPS else 0
            frame = av.VideoFrame.from_ndarray(
                np.full((48, 64, 3), level, np.uint8), "rgb24"
            )
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        for start in range(round(sound_s * 48_000), 3 * 48_000, 1024):
            tone = np.sin(np.arange(start, start + 1024) * 0.06) * (start >= 96_000)
            piece = av.AudioFrame.from_ndarray(
                np.stack([tone, tone]).astype(np.float32), "fltp", "stereo"
            )
            piece.sample_rate, piece.pts = 48_000, start
            piece.time_base = Fraction(1, 48_000)
            file.mux(sound.encode(piece))
        file.mux(sound.encode(None))
    return path


@pytest.mark.parametrize(("picture_s", "sound_s"), [(0, 0), (1.5, 0), (0, 1.5)])
def test_picture_and_sound_that_begin_apart_stay_together(
    studio: Studio, tmp_path: Path, picture_s: float, sound_s: float
) -> None:
    clip = late_clip(tmp_path, picture_s=picture_s, sound_s=sound_s)
    url = studio.url(clip)
    keyframe = {"timestamp": 0, "duration": 3000, "url": url}
    track = {"id": "a", "type": "video", "keyframes": [keyframe]}
    for kind, body in (
        ("video-upscale", {"video_url": url}),
        ("compose-video", {"tracks": [track]}),
        ("region-replace", {"video": url, "prompt": "a", "modify_region_roi": "sky"}),
    ):
        studio.film(kind, body, clip)
        result = look(studio.output)
        lights = [frame[-4:].mean() for frame in result.frames]
        flash_s = next(n for n, light in enumerate(lights) if light > 128) / result.fps
        assert result.sound is not None
        loud = np.abs(result.sound[0]) > 0.2
        assert float(flash_s) == pytest.approx(2 - picture_s, abs=0.06)
        assert np.argmax(loud) / 48_000 == pytest.approx(2 - picture_s, abs=0.06)


def with_cover(path: Path, container: str, codec: str) -> Path:
    """Write a sound of two seconds with a cover, as music shops do."""
    cover = BytesIO()
    Image.new("RGB", (64, 64), "red").save(cover, "PNG")
    with av.open(str(path), "w", format=container) as file:
        sound = file.add_stream(codec, rate=48_000, layout="stereo")
        assert isinstance(sound, av.AudioStream)
        picture = file.add_stream("png", rate=1)
        assert isinstance(picture, av.VideoStream)
        picture.width = picture.height = 64
        picture.pix_fmt = "rgb24"
        picture.disposition = av.stream.Disposition.attached_pic
        samples = np.zeros((2, 96_000), np.float32)
        frame = av.AudioFrame.from_ndarray(samples, "fltp", "stereo")
        frame.sample_rate = 48_000
        resampler = av.AudioResampler(sound.format, "stereo", 48_000)
        packet = av.Packet(cover.getvalue())
        packet.stream, packet.pts, packet.dts = picture, 0, 0
        packet.is_keyframe = True
        file.mux(packet)
        for part in resampler.resample(frame):
            file.mux(sound.encode(part))
        file.mux(sound.encode(None))
    return path


@pytest.mark.parametrize(
    ("container", "codec"),
    [("mp4", "aac"), ("mp3", "libmp3lame"), ("flac", "flac")],
)
def test_a_sound_with_a_cover_is_a_sound_and_no_clip(
    client: Client, tmp_path: Path, container: str, codec: str
) -> None:
    path = with_cover(tmp_path / "sound", container, codec)

    assert probe(path, "audio", "a").duration_s == pytest.approx(2, abs=0.1)
    with pytest.raises(InputError, match=r"no video|not a clip"):
        client.estimate("video-upscale", video_url=path)
    with pytest.raises((OSError, ValueError)):
        poster_jpeg(path)
