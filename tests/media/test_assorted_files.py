"""Forty assorted files, compared with facts from FFmpeg and Chromium.

All readers of a file agree on length, size, price, rotation, shape and colours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from mediakit import Client
from mediakit.media import poster_jpeg, probe
from mediakit.media.previews import write_preview
from mediakit.media.samples import sampled_colours
from mediakit.widgets.inputs.frames import frame_of
from tests.sandbox.render.studio import Studio, listen, look, pitch_hz
from tests.support.samples.assorted_files import (
    CLIPS,
    COLOURS,
    PITCH_HZ,
    SOUNDS,
    write_file,
)
from tests.support.samples.media_samples import make_png

Rgb = NDArray[Any]

TABLE_FILE = Path(__file__).with_name("assorted_files.toml")
TABLE = tomllib.loads(TABLE_FILE.read_text("utf-8"))
# Limits of what may differ: a packet of sound, a frame of a picture that is scaled to
# even sides, and levels after 8 bits, half the chroma, H.264 and JPEG.
SOUND_S = 0.06
SHAPE = 0.03
LEVELS = 14
HIGH_RANGE_LEVELS = 24


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


def test_each_file_has_its_facts() -> None:
    assert TABLE["clips"].keys() == CLIPS.keys()
    assert TABLE["sounds"].keys() == SOUNDS.keys()
    assert len(CLIPS) + len(SOUNDS) == 40


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_has_its_length_size_and_price(
    client: Client, tmp_path: Path, name: str
) -> None:
    facts, clip = TABLE["clips"][name], write_file(tmp_path, name)

    info = probe(clip, "video", "video_url")
    assert info.duration_s == pytest.approx(facts["seconds"], abs=0.0005)
    assert (info.width, info.height) == tuple(facts["size"])
    assert (info.content_type, info.codec) == (facts["content_type"], facts["codec"])
    assert info.has_audio is facts.get("has_sound", False)
    estimate = client.estimate("video-upscale", video_url=clip)
    assert estimate.low == estimate.high == facts["price_micro_usd"]


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_looks_the_same_in_poster_mask_score_and_copy(
    client: Client, tmp_path: Path, name: str
) -> None:
    clip, copy = write_file(tmp_path, name), tmp_path / "copy.mp4"
    mask = client.io.call(frame_of, str(clip), client.components.remote_media)
    write_preview(clip, copy)

    assert mask is not None
    assert mask.size == tuple(TABLE["clips"][name]["size"])
    for picture in (
        jpeg_pixels(poster_jpeg(clip)),
        jpeg_pixels(mask.jpeg),
        sampled_colours(clip, 1)[0].astype(int),
        first_frame(copy),
    ):
        check_looks(name, picture)
    assert is_tagged(copy)


@pytest.mark.parametrize("name", CLIPS)
def test_a_mask_can_be_painted_on_any_frame(
    client: Client, tmp_path: Path, name: str
) -> None:
    clip, seconds = write_file(tmp_path, name), TABLE["clips"][name]["seconds"]
    for at_s in (0.0, seconds / 2, seconds):
        frame = client.io.call(
            frame_of, str(clip), client.components.remote_media, at_s
        )
        assert frame is not None
        check_looks(name, jpeg_pixels(frame.jpeg))


@pytest.mark.parametrize("suffix", ["ts", "mp4", "mkv", "avi"])
def test_a_chosen_frame_is_the_one_that_is_shown_at_its_time(
    tmp_path: Path, suffix: str
) -> None:
    clip = tmp_path / f"clip.{suffix}"
    with av.open(str(clip), "w") as container:
        stream = container.add_stream("mpeg4", rate=12, width=64, height=48)
        stream.gop_size = 5
        for number in range(24):
            level = np.full((48, 64, 3), 10 * number, "uint8")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(level)))
        container.mux(stream.encode(None))
    for number in range(24):
        shown = jpeg_pixels(poster_jpeg(clip, at_s=(number + 0.5) / 12))
        assert shown.mean() == pytest.approx(10 * number, abs=6), number


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_looks_the_same_upscaled_changed_and_composed(
    studio: Studio, tmp_path: Path, name: str
) -> None:
    clip, mask = write_file(tmp_path, name), tmp_path / "mask.png"
    spot = Image.new("L", (33, 33))
    spot.putpixel((16, 16), 255)  # in the middle, between the corners
    spot.save(mask)

    for kind, body in bodies(studio.url(clip), studio.url(mask)):
        studio.film(kind, body, clip, mask)
        check_looks(name, look(studio.output).frames[0])
        assert is_tagged(studio.output)


@pytest.mark.parametrize("name", SOUNDS)
def test_a_sound_has_its_length_and_is_heard_for_as_long(
    studio: Studio, tmp_path: Path, name: str
) -> None:
    facts, sound = TABLE["sounds"][name], write_file(tmp_path, name)
    info = probe(sound, "audio", "audio_url")
    picture = make_png(tmp_path / "picture.png", (64, 48))
    keyframe = {"timestamp": 0, "duration": 4_000}
    still = {**keyframe, "url": studio.url(picture)}
    heard = {**keyframe, "url": studio.url(sound)}
    tracks = [
        {"id": "a", "type": "image", "keyframes": [still]},
        {"id": "b", "type": "audio", "keyframes": [heard]},
    ]
    studio.make("compose-video", {"tracks": tracks}, picture, sound)

    assert info.duration_s == pytest.approx(facts["seconds"], abs=SOUND_S)
    assert (info.content_type, info.codec) == (facts["content_type"], facts["codec"])
    samples = listen(studio.output)
    assert samples is not None
    loud = np.flatnonzero(np.abs(samples[0]) > 0.1)
    assert loud[-1] / 48_000 == pytest.approx(facts["seconds"], abs=SOUND_S)
    tone = samples[0, loud[-1] - 24_000 : loud[-1]]
    assert pitch_hz(tone) == pytest.approx(PITCH_HZ, abs=3)


# -- what is seen ------------------------------------------------------------------


def bodies(clip: str, mask: str) -> Iterator[tuple[str, dict[str, object]]]:
    keyframe = {"timestamp": 0, "duration": 250, "url": clip}
    track = {"id": "a", "type": "video", "keyframes": [keyframe]}
    region = {"prompt": "a", "modify_region_mask": mask, "resolution": "720p"}
    yield "video-upscale", {"video_url": clip, "h264_output": True}
    yield "region-replace", {"video": clip, **region}
    yield "compose-video", {"tracks": [track]}


def check_looks(name: str, picture: Rgb, most: int = LEVELS) -> None:
    """Compare a picture with the facts of a clip: upright, in shape and in colours."""
    facts = TABLE["clips"][name]
    width, height = facts["size"]
    assert picture.shape[1] / picture.shape[0] == pytest.approx(
        width / height, rel=SHAPE
    )
    assert corners(picture) == facts["corners"]
    most = HIGH_RANGE_LEVELS if name in ("PQ", "HLG") else most
    for corner, pixel in zip(facts["corners"], pixels_of(picture), strict=True):
        assert np.abs(pixel - COLOURS[corner]).max() <= most, (corner, pixel)


def corners(picture: Rgb) -> str:
    """Name the colours of the four corners."""
    return "".join(
        min(COLOURS, key=lambda name: np.abs(pixel - COLOURS[name]).sum())
        for pixel in pixels_of(picture)
    )


def pixels_of(picture: Rgb) -> Iterator[Rgb]:
    """Yield a colour of each corner, between notes at the edge and a blurred middle."""
    height, width = picture.shape[:2]
    for down, across in np.ndindex(2, 2):
        at = round((0.38 + 0.24 * down) * height), round((0.33 + 0.34 * across) * width)
        yield picture[at].astype(int)


def jpeg_pixels(jpeg: bytes) -> Rgb:
    with Image.open(BytesIO(jpeg)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def first_frame(path: Path) -> Rgb:
    with av.open(str(path)) as clip:
        frame = next(clip.decode(video=0))
        return frame.to_ndarray(format="rgb24").astype(int)


def is_tagged(path: Path) -> bool:
    """Tell whether a clip names BT.709 and a limited range as its colours."""
    with av.open(str(path)) as clip:
        track = clip.streams.video[0]
        names = track.colorspace, track.color_primaries, track.color_trc
        return (*names, track.color_range) == (1, 1, 1, 1)
