"""Clips made larger: every output is opened and looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.film.film_file import Film, write_film
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.scene_selection import render
from mediakit.sandbox.render.scenes.video_upscale import output_size
from mediakit.sandbox.render.sizes import Size
from tests.support.samples.media_samples import make_mp4

URL = "https://media.test/clip.mp4"
PIXELS_4K = 3840 * 2160
FILM_FPS = Fraction(24)
CODECS = pytest.mark.parametrize("fields", [{}, {"h264_output": True}])
INEXACT = ("starlight-mini", "starlight-hq", "starlight-sharp", "starlight-fast-2")

Frame = NDArray[np.uint8]


@dataclass(frozen=True)
class Seen:
    """A file as a player would find it."""

    size: tuple[int, int]
    codec: str
    tag: str
    fps: Fraction
    frames: list[Frame]
    seconds: float
    sound: NDArray[np.float32] | None


def look(path: Path) -> Seen:
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        context = video.codec_context
        assert video.duration is not None
        assert video.time_base is not None
        return Seen(
            size=(context.width, context.height),
            codec=context.name,
            tag=context.codec_tag,
            fps=Fraction(video.average_rate or 0),
            frames=[lightness(frame) for frame in file.decode(video)],
            seconds=float(video.duration * video.time_base),
            sound=listen(path),
        )


def lightness(frame: av.VideoFrame) -> Frame:
    """The mean of red, green and blue, which both ways to code colours agree on."""
    light: Frame = frame.to_ndarray(format="rgb24").mean(axis=2).astype(np.uint8)
    return light


def listen(path: Path) -> NDArray[np.float32] | None:
    with av.open(str(path)) as file:
        if not file.streams.audio:
            return None
        parts = [frame.to_ndarray() for frame in file.decode(audio=0)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def pitch_hz(sound: NDArray[np.float32]) -> float:
    spectrum = np.abs(np.fft.rfft(sound[0]))
    return float(np.argmax(spectrum) * 48_000 / sound.shape[1])


def difference(one: Frame, other: Frame) -> float:
    """Mean absolute difference, from 0 to 255."""
    return float(np.abs(one.astype(float) - other.astype(float)).mean())


def halved(frame: Frame) -> Frame:
    """A frame at half its width and height."""
    height, width = frame.shape
    blocks = frame.reshape(height // 2, 2, width // 2, 2)
    small: Frame = blocks.mean(axis=(1, 3)).astype(np.uint8)
    return small


def order(
    clip: Path,
    fields: Mapping[str, object] = MappingProxyType({}),
    *,
    limits: MediaLimits | None = None,
    seed: int = 1,
) -> RenderRequest:
    return RenderRequest(
        job="media_1",
        kind="video-upscale",
        body={"video_url": URL, **fields},
        inputs={URL: clip},
        output=clip.with_name("out.part"),
        seed=seed,
        limits={} if limits is None else {"video_url": limits},
        sketch=True,
    )


def made(clip: Path, seed: int = 1, /, **fields: object) -> Seen:
    asked = order(clip, fields, seed=seed)
    render(asked)
    return look(asked.output)


def refusal(asked: RenderRequest) -> str:
    with pytest.raises(RenderError) as refused:
        render(asked)
    assert refused.value.code == "invalid_input"
    return refused.value.message


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A small clip of a second and a half, with sound."""
    return make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5, audio=True)


@pytest.mark.soak
@pytest.mark.spec("4.13")
@pytest.mark.parametrize(("factor", "size"), [("x2", (640, 360)), ("x4", (1280, 720))])
def test_a_clip_grows_by_its_factor_and_is_coded_as_hevc(
    clip: Path, factor: str, size: tuple[int, int]
) -> None:
    asked = order(clip, {"upscale_factor": factor})
    assert render(asked) == Rendered("video/mp4", *size, 1500, 36, 1.5)
    seen = look(asked.output)
    assert (seen.size, seen.codec, seen.tag) == (size, "hevc", "hvc1")
    assert (len(seen.frames), seen.seconds, seen.fps) == (36, 1.5, FILM_FPS)


@pytest.mark.soak
@pytest.mark.spec("4.13")
@CODECS
def test_every_frame_is_the_source_made_larger(
    clip: Path, fields: dict[str, object]
) -> None:
    asked = replace(order(clip, fields), sketch=False)
    render(asked)
    seen, source = look(asked.output), look(clip)
    assert len(seen.frames) == len(source.frames)
    for large, small in zip(seen.frames, source.frames, strict=True):
        assert difference(halved(large), small) < 2
    assert difference(source.frames[0], source.frames[-1]) > 4


@pytest.mark.spec("4.13")
def test_the_sound_of_the_source_is_kept(clip: Path) -> None:
    sound = made(clip).sound
    assert sound is not None
    assert sound.shape[1] == pytest.approx(72_000, abs=2_048)
    assert pitch_hz(sound) == pytest.approx(440, abs=2)


def test_a_silent_source_stays_silent(tmp_path: Path) -> None:
    silent = make_mp4(tmp_path / "clip.mp4", (160, 90), 0.25)
    assert made(silent).sound is None


@pytest.mark.parametrize(
    ("fps", "fields"),
    [
        (12, {}),
        (60, {"h264_output": True}),
        pytest.param(12, {"h264_output": True}, marks=pytest.mark.soak),
        pytest.param(60, {}, marks=pytest.mark.soak),
    ],
)
def test_frame_rate_and_length_are_those_of_the_source(
    tmp_path: Path, fps: int, fields: dict[str, object]
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (160, 90), 0.75, fps, audio=True)
    seen = made(clip, **fields)
    assert seen.fps == fps
    assert seen.seconds == pytest.approx(0.75, abs=1 / fps)
    assert len(seen.frames) == round(0.75 * fps)
    assert seen.sound is not None


@dataclass(frozen=True)
class Grey:
    """A shot whose frames are even greys, lighter from frame to frame."""

    frames: int
    unit: int

    def draw(self, planes: Planes, index: int) -> None:
        planes.y[:], planes.u[:], planes.v[:] = 16 + 8 * index, 128, 128


@pytest.mark.parametrize(
    "fps",
    [
        Fraction(24_000, 1001),
        pytest.param(Fraction(30_000, 1001), marks=pytest.mark.soak),
    ],
)
def test_a_frame_rate_that_is_no_whole_number_is_kept(
    tmp_path: Path, fps: Fraction
) -> None:
    clip = tmp_path / "clip.mp4"
    write_film(Film(Size(320, 180), [Grey(20, 20)], fps=fps), clip)
    seen = made(clip)
    assert seen.fps == fps
    assert len(seen.frames) == 20
    assert seen.seconds == pytest.approx(20 / fps, abs=0.001)


@pytest.mark.soak
def test_a_looped_hevc_shot_repeats_its_frames_and_decodes_clean(
    tmp_path: Path,
) -> None:
    film = Film(Size(320, 180), [Grey(50, 20), Grey(10, 10)], codec="hevc")
    write_film(film, tmp_path / "film")
    seen = look(tmp_path / "film")
    greys = [float(frame.mean()) for frame in seen.frames]
    assert (len(greys), seen.codec, seen.seconds) == (60, "hevc", 2.5)
    assert greys[20:40] == pytest.approx(greys[:20], abs=1)
    assert greys[50:] == pytest.approx(greys[:10], abs=1)
    assert greys[19] - greys[0] > 150


def test_a_clip_is_turned_the_way_its_camera_was_held(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "c.mp4", (320, 180), 0.25, rotation_degrees=90)
    seen = made(clip, noise=0.1)
    assert seen.size == (360, 640)
    upright = np.rot90(look(clip).frames[0])
    assert difference(halved(seen.frames[0]), upright) < 6


# What the options do


# Sizes


@pytest.mark.soak
@pytest.mark.spec("4.13")
@pytest.mark.parametrize("model", INEXACT)
def test_a_starlight_model_makes_at_least_720p(tmp_path: Path, model: str) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 0.25)
    assert made(clip, model=model).size == (1280, 720)


@pytest.mark.spec("4.13")
def test_the_exact_starlight_model_stays_below_720p(clip: Path) -> None:
    small = make_mp4(clip.with_name("small.mp4"), (320, 180), 0.25)
    assert made(small, model="starlight-precise-2.6").size == (640, 360)


@pytest.mark.soak
@pytest.mark.spec("4.13")
@pytest.mark.parametrize(
    ("source", "factor", "size"),
    [
        ((1280, 720), 2, (2560, 1440)),
        ((1920, 1080), 4, (3840, 2160)),
        ((1080, 1920), 4, (2160, 3840)),
        ((1440, 1080), 4, (3326, 2494)),
        ((3840, 2160), 2, (3840, 2160)),
        ((180, 320), 2, (720, 1280)),
    ],
)
def test_a_starlight_model_is_held_at_4k(
    source: tuple[int, int], factor: int, size: tuple[int, int]
) -> None:
    assert output_size(Size(*source), factor, "starlight-hq") == size


def sizes() -> st.SearchStrategy[Size]:
    sides = st.integers(min_value=32, max_value=3840)
    return st.builds(Size, sides, sides).filter(
        lambda size: size.pixels <= PIXELS_4K and max(size) <= 4 * min(size)
    )


@pytest.mark.soak
@given(source=sizes(), factor=st.sampled_from([2, 4]))
def test_a_bounded_size_keeps_the_shape_and_its_bounds(
    source: Size, factor: int
) -> None:
    size = output_size(source, factor, "starlight-mini")
    assert size.width % 2 == size.height % 2 == 0
    assert min(size) >= 720
    assert size.pixels <= PIXELS_4K + sum(size) + 1
    assert abs(size.width / size.height * source.height / source.width - 1) < 0.003
    exact = Size(source.width * factor, source.height * factor)
    if min(exact) >= 720 and exact.pixels <= PIXELS_4K:
        assert size == exact


# What is refused


def test_the_exact_starlight_model_refuses_more_than_4k(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "c.mp4", (1280, 720), 0.5)
    fields = {"model": "starlight-precise-2.6", "upscale_factor": "x4"}
    asked = order(clip, fields)
    assert refusal(asked) == (
        "video_url: 1280x720 pixels become 5120x2880 with x4; starlight-precise-2.6 "
        "makes at most 4K, 8,294,400 pixels."
    )


@pytest.mark.spec("4.13")
def test_a_source_that_is_too_fast_for_the_model_is_refused(tmp_path: Path) -> None:
    clip = make_mp4(tmp_path / "c.mp4", (320, 180), 0.5, 60)
    limits = MediaLimits(max_fps=30)
    message = refusal(order(clip, {"model": "starlight-hq"}, limits=limits))
    assert message == (
        "video_url: got 60 frames per second, accepted are at most 30 frames per "
        "second."
    )


def test_frames_beyond_what_is_encoded_are_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    clip = make_mp4(tmp_path / "c.mp4", (1920, 1080), 0.1)
    assert refusal(order(clip, {"upscale_factor": "x4"})) == (
        "video_url: 1920x1080 pixels become 7680x4320, 33.2 megapixels; the sandbox "
        "encodes at most 9.4 megapixels and 8192 pixels a side as H.265. Ask for a "
        "smaller factor or for H.264."
    )
    strip = make_mp4(tmp_path / "s.mp4", (2176, 64), 0.1)
    fields = {"upscale_factor": "x4", "h264_output": True}
    assert refusal(order(strip, fields)) == (
        "video_url: 2176x64 pixels become 8704x256, 2.2 megapixels; the sandbox "
        "encodes at most 35.0 megapixels and 8192 pixels a side as H.264."
    )


@pytest.mark.parametrize(
    ("size", "duration_s", "fps", "words"),
    [
        ((64, 64), 61, 4, "lasts 61 s; the sandbox upscales at most 60 s."),
        ((64, 64), 0.5, 240, "has 240 frames per second; the sandbox .* most 120."),
        (
            (1920, 1080),
            50,
            60,
            "lasts 50 s; the sandbox upscales at most 30.1 s to 3840x2160 at 60 frames",
        ),
    ],
)
def test_more_work_than_the_sandbox_does_is_refused(
    tmp_path: Path, size: tuple[int, int], duration_s: float, fps: int, words: str
) -> None:
    frames = round(duration_s * fps)
    clip = tmp_path / "clip.mp4"
    write_film(Film(Size(*size), [Grey(frames, 6)], fps=Fraction(fps)), clip)
    message = refusal(order(clip))
    assert message.startswith("video_url: the clip ")
    assert _matches(words, message)


def _matches(words: str, message: str) -> bool:
    first, _, last = words.partition(" .* ")
    return first in message and last in message


BROKEN = {
    "empty": b"",
    "text": b"this is no media file at all",
    "playlist": b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n",
    "picture": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_file_is_more_than_an_invalid_input(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    assert refusal(order(path)).startswith("video_url: the file cannot be decoded")


def test_a_clip_whose_coded_frames_are_noise_is_refused(clip: Path) -> None:
    whole = clip.read_bytes()
    start = whole.index(b"mdat") + 4
    clip.write_bytes(whole[:start] + bytes(range(256)) * 500 + whole[start + 128_000 :])
    assert refusal(order(clip)).startswith("video_url: the file")
