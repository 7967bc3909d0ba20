"""Clips made larger, and clips changed in a region, held against their sources."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.edits import output_size
from mediakit.sandbox.render.protocol import Size
from tests.sandbox.render.studio import (
    Made,
    Rgb,
    Studio,
    difference,
    fitted,
    look,
    make_greys,
    pitch_hz,
    refusal,
)
from tests.support.samples.media_samples import make_mp4, make_png, make_wav

UPSCALE, REPLACE = "video-upscale", "region-replace"
RED = (220, 20, 30)


def upscaled(studio: Studio, clip: Path, **fields: object) -> Made:
    return studio.make(UPSCALE, {"video_url": studio.url(clip), **fields}, clip)


def refused_upscale(studio: Studio, clip: Path, **fields: object) -> str:
    asked = studio.order(UPSCALE, {"video_url": studio.url(clip), **fields}, clip)
    return refusal(asked)


# Upscaling


@pytest.mark.soak
@pytest.mark.spec("4.13")
@pytest.mark.parametrize("h264", [True, False])
@pytest.mark.parametrize(("factor", "size"), [("x2", (640, 360)), ("x4", (1280, 720))])
def test_every_frame_is_the_source_made_larger_by_the_factor(
    studio: Studio, factor: str, size: tuple[int, int], *, h264: bool
) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (320, 180), 1.5, audio=True)
    body = {"video_url": studio.url(clip), "upscale_factor": factor}
    rendered = studio.film(UPSCALE, {**body, "h264_output": h264}, clip)
    assert rendered == Made("video/mp4", *size, 1.5)
    seen, source = look(studio.output), look(clip)
    assert (seen.size, seen.seconds) == (size, 1.5)
    assert seen.fps == 24
    assert (seen.codec, seen.tag) == (("h264", "avc1") if h264 else ("hevc", "hvc1"))
    # Their light: the two codecs are told different matrices of colours.
    for large, small in zip(seen.frames, source.frames, strict=True):
        assert difference(fitted(large, source.size).mean(2), small.mean(2)) < 3
    assert difference(source.frames[0], source.frames[-1]) > 4


@pytest.mark.spec("4.13")
@pytest.mark.parametrize("fps", [12, 60, Fraction(24_000, 1001)])
def test_frame_rate_length_and_sound_are_those_of_the_source(
    studio: Studio, fps: Fraction
) -> None:
    clip = studio.folder / "clip.mp4"
    if fps.denominator == 1:
        make_mp4(clip, (160, 90), 0.75, int(fps), audio=True)
    else:
        make_greys(clip, Size(160, 90), 18, fps)
    upscaled(studio, clip, h264_output=fps == 60)
    seen, source = look(studio.output), look(clip)
    assert seen.fps == source.fps == fps
    assert seen.seconds == pytest.approx(source.seconds, abs=0.001)
    assert len(seen.frames) == len(source.frames)
    if fps.denominator == 1:
        assert pitch_hz(seen.heard(0, 0.75)) == pytest.approx(440, abs=3)
    else:
        assert seen.sound is None


@pytest.mark.spec("4.13")
@pytest.mark.parametrize(
    ("source", "factor", "model", "size"),
    [
        ((320, 180), 2, "starlight-mini", (1280, 720)),
        ((320, 180), 2, "starlight-precise-2.6", (640, 360)),
        ((1280, 720), 2, "starlight-hq", (2560, 1440)),
        ((1920, 1080), 4, "starlight-hq", (3840, 2160)),
        ((1080, 1920), 4, "starlight-sharp", (2160, 3840)),
        ((1440, 1080), 4, "starlight-fast-2", (3326, 2494)),
        ((180, 320), 2, "starlight-hq", (720, 1280)),
    ],
)
def test_a_starlight_model_makes_from_720p_to_4k_unless_it_is_exact(
    source: tuple[int, int], factor: int, model: str, size: tuple[int, int]
) -> None:
    assert output_size(Size(*source), factor, model) == size


@pytest.mark.spec("4.13")
def test_an_option_that_a_model_does_not_support_is_rejected(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (1280, 720), 0.5)
    fields = {"model": "starlight-precise-2.6", "upscale_factor": "x4"}
    assert refused_upscale(studio, clip, **fields) == (
        "video_url: 1280x720 pixels become 5120x2880 with x4; starlight-precise-2.6 "
        "makes at most 4K, 8,294,400 pixels."
    )
    fast = make_mp4(studio.folder / "f.mp4", (320, 180), 0.5, 60)
    body = {"video_url": studio.url(fast), "model": "starlight-hq"}
    asked = replace(
        studio.order(UPSCALE, body, fast), limits={"video_url": MediaLimits(max_fps=30)}
    )
    assert refusal(asked) == (
        "video_url: got 60 frames per second, accepted: at most 30 frames per second."
    )


@pytest.mark.parametrize(
    ("size", "frames", "h264", "words"),
    [
        ((1920, 1080), 2, False, "1920x1080 pixels become 7680x4320 in 2 frames"),
        ((2176, 64), 2, True, "at most 35.0 megapixels, 8192 pixels a side"),
        ((1472, 1472), 480, True, "432 such frames."),
        ((1920, 1080), 2, False, "Ask for a smaller factor or for H.264."),
    ],
)
def test_an_output_too_large_to_encode_in_time_is_rejected_with_advice(
    studio: Studio, size: tuple[int, int], frames: int, words: str, *, h264: bool
) -> None:
    clip = make_greys(studio.folder / "c.mp4", Size(*size), frames, Fraction(60))
    refused = refused_upscale(studio, clip, upscale_factor="x4", h264_output=h264)
    assert refused.startswith("video_url: ")
    assert words in refused


# Regions


def replaced(studio: Studio, clip: Path, **fields: Any) -> Rgb:
    """Replace a region at 720p; fields that are paths become URLs."""
    return frames_of(studio, clip, sketch=True, **fields)[0]


def frames_of(studio: Studio, clip: Path, *, sketch: bool, **fields: Any) -> list[Rgb]:
    files = [value for value in (clip, *fields.values()) if isinstance(value, Path)]
    body = {"prompt": "a lantern", "resolution": "720p", "video": clip, **fields}
    plain = {n: studio.url(v) if isinstance(v, Path) else v for n, v in body.items()}
    (studio.make if sketch else studio.film)(REPLACE, plain, *files)
    return look(studio.output, every=12).frames


def source_of(clip: Path) -> list[Rgb]:
    return [fitted(frame, Size(1280, 720)) for frame in look(clip, every=12).frames]


def mask_of(folder: Path, box: tuple[int, int, int, int]) -> Path:
    """Write a mask of half the frame's size; `box` is in the frame's pixels."""
    mask = Image.new("L", (640, 360), 0)
    left, top, right, bottom = (length // 2 for length in box)
    ImageDraw.Draw(mask).rectangle((left, top, right - 1, bottom - 1), fill=255)
    mask.save(folder / "mask.png")
    return folder / "mask.png"


@pytest.fixture
def clip(studio: Studio) -> Path:
    return make_mp4(studio.folder / "clip.mp4", (640, 360), 0.75, audio=True)


@pytest.mark.spec("4.16")
def test_only_the_masked_region_changes(studio: Studio, clip: Path) -> None:
    mask = mask_of(studio.folder, (320, 180, 640, 540))
    made = frames_of(studio, clip, sketch=False, modify_region_mask=mask)
    source = source_of(clip)
    assert len(made) == len(source) == 2
    rest = np.ones((720, 1280), bool)
    rest[172:548, 304:656] = False
    rest[140:300, :400] = False  # the note
    for after, before in zip(made, source, strict=True):
        assert difference(after[190:530, 335:625], before[190:530, 335:625]) > 25
        assert difference(after[rest], before[rest]) < 2
    assert difference(source[0][rest], source[-1][rest]) > 4


def test_a_mask_takes_precedence_over_words_and_transparent_parts_select_nothing(
    studio: Studio, clip: Path
) -> None:
    left_half = Image.new("RGBA", (100, 100), (255, 255, 255, 0))
    left_half.paste((255, 255, 255, 255), (0, 0, 50, 100))
    clear = studio.folder / "clear.png"
    left_half.save(clear)
    made = replaced(studio, clip, modify_region_mask=clear, modify_region_roi="right")
    source = source_of(clip)[0]
    assert difference(made[:, 60:570], source[:, 60:570]) > 20
    assert difference(made[:, 710:], source[:, 710:]) < 4


@pytest.mark.spec("4.16")
def test_a_reference_picture_fills_the_region_and_the_sound_stays(
    studio: Studio, clip: Path
) -> None:
    picture = make_png(studio.folder / "red.png", (300, 900), RED, "plain")
    made = replaced(studio, clip, modify_region_roi="the left", image=picture)
    assert made[300:700, 30:440].mean(axis=(0, 1)) == pytest.approx(RED, abs=6)
    heard = look(studio.output, every=99).heard(0, 0.75)
    assert pitch_hz(heard) == pytest.approx(440, abs=3)


@pytest.mark.spec("4.16")
@pytest.mark.parametrize(
    ("source_s", "duration_s", "frames"),
    [
        (6.5, 5, 120),
        pytest.param(6.5, 10, 156, marks=pytest.mark.soak),
        (1.3, 5, 31),
    ],
)
def test_the_length_is_that_of_the_source_up_to_the_requested_one(
    studio: Studio, source_s: float, duration_s: int, frames: int
) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (128, 128), source_s, 30, audio=True)
    replaced(studio, clip, modify_region_roi="sky", duration_s=duration_s)
    seen, length_s = look(studio.output, every=999), min(source_s, duration_s)
    assert seen.fps == 24
    assert round(seen.seconds * 24) == frames
    assert seen.sound is not None
    assert seen.sound.shape[1] / 48_000 == pytest.approx(length_s, abs=0.05)


@pytest.mark.spec("4.16")
def test_the_media_of_a_region_must_be_decodable(studio: Studio, clip: Path) -> None:
    black = make_png(studio.folder / "black.png", (64, 36), "black", "plain")
    wav = make_wav(studio.folder / "a.wav")
    roi = {"modify_region_roi": "sky"}
    decode = ": the file cannot be decoded as a "
    for fields, words in (
        (
            {"modify_region_mask": black},
            "modify_region_mask: the mask is entirely black",
        ),
        ({"modify_region_mask": wav}, f"modify_region_mask{decode}"),
        ({"image": wav, **roi}, f"image{decode}"),
        ({"video": wav, **roi}, f"video{decode}"),
    ):
        given = {"video": clip, "prompt": "a", **fields}
        files = [value for value in given.values() if isinstance(value, Path)]
        body = {
            name: studio.url(value) if isinstance(value, Path) else value
            for name, value in given.items()
        }
        assert refusal(studio.order(REPLACE, body, *files)).startswith(words)


def test_a_clip_whose_sound_cannot_be_decoded_is_refused_as_a_video(
    studio: Studio,
) -> None:
    clip = make_mp4(studio.folder / "a.mp4", (96, 64), 0.5, audio=True)
    unknown = clip.read_bytes().replace(b"mp4a", b"zzzz").replace(b"esds", b"zzzz")
    clip.write_bytes(unknown)

    body = {"video_url": studio.url(clip)}
    message = refusal(studio.order("video-upscale", body, clip))
    assert "decoded as a video (the codec of its sound is unknown)" in message
