"""What the renderer writes: every output is opened and looked at."""

import dataclasses
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from mediakit.catalog import Catalog
from mediakit.media_limits import MediaLimits
from mediakit.sandbox.jobs.renderer import render_request
from mediakit.sandbox.render.__main__ import response_line
from mediakit.sandbox.render.film.film_file import Film, write_film
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.inputs.containers import Deadline
from mediakit.sandbox.render.protocol import (
    Rendered,
    RenderError,
    RenderRequest,
    parse_request,
)
from mediakit.sandbox.render.scenes.r1 import task_of
from mediakit.sandbox.render.scenes.scene_selection import render
from mediakit.sandbox.render.sizes import (
    SHORT_SIDES_PX,
    Size,
    cover_box,
    frame_size,
    parse_ratio,
)
from tests.support.samples.media_samples import (
    make_jpeg,
    make_mp3,
    make_mp4,
    make_picture,
    make_png,
    make_sound,
    make_wav,
)

Rgb = NDArray[np.uint8]

CATALOG = Catalog.default()
DECLARED = {function.kind for function in CATALOG}

# Spec 4.4.
R1_LIMITS = {
    "video_urls": MediaLimits(
        formats=("mp4", "mov"),
        min_s=2,
        max_s=30,
        total_s=30,
        max_size_bytes=200_000_000,
        min_fps=24,
        max_fps=60,
        min_pixels=407_696,
        max_pixels=8_295_044,
    ),
    "audio_urls": MediaLimits(
        formats=("wav", "mp3"), min_s=2, max_s=30, total_s=30, max_size_bytes=15_000_000
    ),
}


@dataclass(frozen=True)
class Seen:
    """A file as a player would see and hear it."""

    size: Size
    codec: str
    frames: list[Rgb]
    seconds: float
    sound: NDArray[np.float32] | None

    @property
    def loudness(self) -> float:
        """The root mean square of the sound; 0 without one."""
        if self.sound is None:
            return 0.0
        return float(np.sqrt((self.sound**2).mean()))


def look(path: Path, *, every: int = 1) -> Seen:
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        size = Size(video.codec_context.width, video.codec_context.height)
        codec = video.codec_context.name
        # Nothing is decoded after the last frame that is looked at.
        last = (video.frames - 1) // every * every
        frames = [
            frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
            for frame in islice(file.decode(video), 0, last + 1, every)
        ]
        seconds = (file.duration or 0) / 1e6
    return Seen(size, codec, frames, seconds, listen(path))


def listen(path: Path) -> NDArray[np.float32] | None:
    with av.open(str(path)) as file:
        if not file.streams.audio:
            return None
        parts = [frame.to_ndarray() for frame in file.decode(audio=0)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def pitch_hz(sound: NDArray[np.float32]) -> float:
    spectrum = np.abs(np.fft.rfft(sound[0]))
    return float(np.argmax(spectrum) * 48_000 / sound.shape[1])


def middle(picture: Rgb) -> NDArray[np.float32]:
    """The part of a frame that no caption and no label covers."""
    height, width = picture.shape[:2]
    inner = picture[height // 5 : height * 7 // 10, width // 10 : width * 9 // 10]
    return inner.astype(np.float32)


def difference(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Mean absolute difference of two pictures, from 0 to 255."""
    return float(np.abs(one.astype(np.float32) - other.astype(np.float32)).mean())


def pixels(picture: Image.Image, size: Size) -> Rgb:
    box = cover_box(Size(*picture.size), size)
    fitted = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS, box)
    return np.asarray(fitted)


class Studio:
    """Renders bodies whose media are given as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out.part"

    def order(
        self, kind: str, body: Mapping[str, object], *files: Path, seed: int = 1
    ) -> RenderRequest:
        inputs = {self.url(path): path for path in files}
        if kind not in DECLARED:
            return RenderRequest("media_1", kind, body, inputs, self.output, seed)
        function = CATALOG.function(kind)
        canonical = function.canonical_body(body)
        order = render_request(
            "media_1", function, canonical, inputs, self.output, seed
        )
        limits = R1_LIMITS if kind == "r1" else {}
        return dataclasses.replace(order, limits=limits)

    def make(
        self, kind: str, body: Mapping[str, object], *files: Path, seed: int = 1
    ) -> Rendered:
        return render(self.order(kind, body, *files, seed=seed))

    def sketch(
        self, kind: str, body: Mapping[str, object], *files: Path, seed: int = 1
    ) -> Rendered:
        """Draw a frame of each shot, of clips that may be smaller than real ones."""
        order = self.order(kind, body, *files, seed=seed)
        return render(dataclasses.replace(order, sketch=True, limits={}))

    @staticmethod
    def url(path: Path) -> str:
        return f"https://media.test/{path.name}"


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


# Sizes


@given(
    short=st.sampled_from(sorted(SHORT_SIDES_PX.values())),
    ratio=st.fractions(min_value=Fraction(1, 500), max_value=500),
)
def test_every_ratio_gives_an_even_frame_of_bounded_size(
    short: int, ratio: Fraction
) -> None:
    size = frame_size(short, ratio)
    assert size.width % 2 == size.height % 2 == 0
    assert min(size) == short
    assert max(size) <= 3 * short
    if Fraction(1, 3) <= ratio <= Fraction(3):
        assert abs(size.width - size.height * ratio) <= max(ratio, Fraction(1))


@pytest.mark.parametrize("text", ["", "16", "16:", "a:b", "16:0", "-16:9", "1.5:1"])
def test_what_is_no_ratio_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ratio"):
        parse_ratio(text)


# Films


@dataclass(frozen=True)
class Grey:
    """A shot whose frames are even greys, lighter from frame to frame."""

    frames: int
    unit: int

    def draw(self, planes: Planes, index: int) -> None:
        planes.y[:], planes.u[:], planes.v[:] = 16 + 8 * index, 128, 128


def test_a_looped_shot_repeats_its_frames_and_decodes_clean(tmp_path: Path) -> None:
    film = Film(Size(320, 180), [Grey(50, 20), Grey(10, 10)])
    rendered = write_film(film, tmp_path / "film")
    seen = look(tmp_path / "film")
    greys = [float(frame.mean()) for frame in seen.frames]
    assert rendered.frames == len(greys) == 60
    assert seen.seconds == 2.5
    assert greys[20:40] == pytest.approx(greys[:20], abs=1)
    assert greys[40:50] == pytest.approx(greys[:10], abs=1)
    assert greys[50:] == pytest.approx(greys[:10], abs=1)
    assert greys[19] - greys[0] > 150


def test_a_sketch_shows_the_first_frame_of_each_shot_for_its_whole_length(
    tmp_path: Path,
) -> None:
    sound = np.zeros((2, 120_000), np.float32)
    film = Film(Size(320, 180), [Grey(50, 20), Grey(10, 10)], sound)
    rendered = write_film(film, tmp_path / "film", sketch=True)
    seen = look(tmp_path / "film")
    assert rendered == write_film(film, tmp_path / "full")
    assert len(seen.frames) == 60
    assert seen.seconds == 2.5
    assert {round(float(frame.mean())) for frame in seen.frames} == {0}
    assert seen.sound is not None


# Text to video


def test_a_seed_repeats_a_scene_and_another_one_changes_it(studio: Studio) -> None:
    first, again, other = (_first_frame(studio, seed) for seed in (7, 7, 8))
    assert difference(first, again) == 0
    assert difference(first, other) > 5


def _first_frame(studio: Studio, seed: int) -> Rgb:
    studio.sketch("text-to-video", {"prompt": "somewhere", "duration": 3}, seed=seed)
    return look(studio.output, every=1000).frames[0]


# References to video


R1 = {
    "prompt": "@Image1 at the lake",
    "duration": 4,
    "resolution": "480p",
    "generate_audio": False,
}


@pytest.mark.spec("4.4")
def test_a_reference_sound_becomes_the_sound_track(studio: Studio) -> None:
    wav = make_wav(studio.folder / "a.wav", 2.0, 440)
    mp3 = make_mp3(studio.folder / "b.mp3", 2.0, 660)
    body = {**R1, "audio_urls": [studio.url(wav), studio.url(mp3)]}
    studio.sketch("r1", body, wav, mp3)
    seen = look(studio.output, every=96)
    assert seen.size == (854, 480)
    assert seen.sound is not None
    assert pitch_hz(seen.sound[:, 10_000:80_000]) == pytest.approx(440, abs=2)
    assert pitch_hz(seen.sound[:, 110_000:180_000]) == pytest.approx(660, abs=2)


@pytest.mark.spec("4.4")
def test_audio_is_generated_when_asked_for(studio: Studio) -> None:
    studio.sketch("r1", {**R1, "generate_audio": True})
    assert look(studio.output, every=96).loudness > 0.02
    studio.sketch("r1", {**R1, "generate_audio": False})
    assert look(studio.output, every=96).sound is None


@pytest.mark.spec("4.4")
def test_an_edit_keeps_length_ratio_and_sound_of_its_source(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (240, 240), 2.5, fps=25, audio=True)
    body = {
        **R1,
        "duration": "auto",
        "generate_audio": True,
        "omni_reference_task_type": "edit",
        "video_urls": [studio.url(clip)],
    }
    rendered = studio.sketch("r1", body, clip)
    assert rendered == Rendered("video/mp4", 480, 480, 2500, 60, 2.5)
    seen, source = look(studio.output, every=60), look(clip, every=63)
    assert seen.sound is not None
    assert pitch_hz(seen.sound) == pytest.approx(440, abs=2)
    fitted = pixels(Image.fromarray(source.frames[0]), seen.size)
    assert 3 < difference(middle(seen.frames[0]), middle(fitted)) < 40


@pytest.mark.spec("4.4")
def test_an_extension_begins_with_the_last_frame_of_its_source(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (854, 480), 0.5)
    body = {
        **R1,
        "omni_reference_task_type": "extend",
        "video_urls": [studio.url(clip)],
    }
    rendered = studio.sketch("r1", body, clip)
    assert rendered.output_seconds == 4.0
    seen, source = look(studio.output, every=96), look(clip)
    bar = slice(165, 235)
    assert difference(seen.frames[0][bar], source.frames[-1][bar]) < 5
    assert difference(seen.frames[0][bar], source.frames[0][bar]) > 20


def test_a_clip_is_turned_the_way_its_camera_was_held(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (854, 480), 0.25, rotation_degrees=90)
    rendered = studio.sketch("r1", {**R1, "video_urls": [studio.url(clip)]}, clip)
    assert (rendered.width, rendered.height) == (480, 854)
    shown = look(studio.output, every=96).frames[0]
    upright = np.rot90(look(clip, every=96).frames[0])
    assert difference(middle(shown), middle(upright)) < 4


def test_an_hevc_clip_can_be_a_reference(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (320, 180), 0.25, codec="libx265")
    studio.sketch("r1", {**R1, "video_urls": [studio.url(clip)]}, clip)
    shown, source = look(studio.output, every=96), look(clip, every=6)
    fitted = pixels(Image.fromarray(source.frames[0]), shown.size)
    assert difference(middle(shown.frames[0]), middle(fitted)) < 4


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("fields", "task"),
    [
        ({"prompt": "replace the sky", "duration": "auto"}, "edit"),
        ({"prompt": "continue the walk", "duration": 5}, "extend"),
        ({"prompt": "replace the sky", "duration": 5}, "reference"),
        ({"prompt": "continue the walk", "duration": "auto"}, "reference"),
        ({"prompt": "continue", "duration": 5, "ratio": "16:9"}, "reference"),
        ({"prompt": "continue", "duration": 5, "video_urls": []}, "reference"),
        ({"prompt": "walk", "omni_reference_task_type": "extend"}, "extend"),
        ({"prompt": "edit", "omni_reference_task_type": "reference"}, "reference"),
    ],
)
def test_the_task_is_read_from_the_prompt_unless_it_is_given(
    studio: Studio, fields: dict[str, object], task: str
) -> None:
    body = {"video_urls": ["https://media.test/clip.mp4"], **fields}
    assert task_of(studio.order("r1", body)) == task


@pytest.mark.spec("4.4")
def test_an_automatic_duration_is_the_same_each_time(studio: Studio) -> None:
    body = {**R1, "duration": "auto"}
    first, second = (studio.sketch("r1", body, seed=seed) for seed in (1, 2))
    assert first.output_seconds == second.output_seconds
    assert 4 <= (first.output_seconds or 0) <= 10


# Broken and forbidden inputs of references


def _clip_body(url: str) -> dict[str, object]:
    return {**R1, "video_urls": [url]}


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("size", "duration_s", "fps", "words"),
    [
        ((854, 480), 1.0, 24, "got 1 s, accepted are 2 to 30 s"),
        ((854, 480), 2.0, 12, "got 12 frames per second, accepted are 24 to 60"),
        ((640, 480), 2.0, 24, "640x480 = 307,200 pixels, accepted are 407,696"),
    ],
)
def test_a_clip_outside_the_limits_is_refused_with_what_was_found(
    studio: Studio, size: tuple[int, int], duration_s: float, fps: int, words: str
) -> None:
    clip = make_mp4(studio.folder / "c.mp4", size, duration_s, fps)
    with pytest.raises(RenderError, match=words) as refusal:
        studio.make("r1", _clip_body(studio.url(clip)), clip)
    assert refusal.value.code == "invalid_input"
    assert refusal.value.message.startswith("video_urls[0]: ")


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("kind", "field", "size_bytes", "words"),
    [
        ("r1", "video_urls", 201_000_000, "got 201 MB, accepted are at most 200 MB"),
        ("r1", "audio_urls", 15_100_000, "got 15.1 MB, accepted are at most 15 MB"),
        ("r1", "image_urls", 100_100_000, "100.1 MB, accepted are at most 100 MB"),
    ],
)
def test_files_with_too_many_bytes_are_refused(
    studio: Studio, kind: str, field: str, size_bytes: int, words: str
) -> None:
    path = studio.folder / "large"
    makers: dict[str, Callable[[Path], Path]] = {
        "video_urls": make_mp4,
        "audio_urls": make_wav,
        "image_urls": make_png,
    }
    makers[field](path)
    os.truncate(path, size_bytes)  # no block on the disk holds the zeros
    with pytest.raises(RenderError, match=words) as refusal:
        studio.make(kind, {**R1, field: [studio.url(path)]}, path)
    assert refusal.value.code == "invalid_input"


def _make_m4a(path: Path) -> Path:
    """Write two seconds of a tone of 440 Hz into an mp4 file without a picture."""
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=48_000, layout="stereo")
        frame = av.AudioFrame.from_ndarray(make_sound(2.0), "fltp", "stereo")
        frame.sample_rate = 48_000
        file.mux([*stream.encode(frame), *stream.encode(None)])
    return path


def test_an_m4a_is_a_sound_where_no_format_is_asked_for(studio: Studio) -> None:
    path = _make_m4a(studio.folder / "a.m4a")
    order = studio.order("r1", {**R1, "audio_urls": [studio.url(path)]}, path)
    with pytest.raises(RenderError) as refusal:
        render(order)
    assert refusal.value.message == (
        "audio_urls[0]: got audio/mp4, accepted are wav or mp3."
    )
    render(dataclasses.replace(order, limits={}, sketch=True))
    sound = look(studio.output, every=96).sound
    assert sound is not None
    assert pitch_hz(sound[:, 10_000:80_000]) == pytest.approx(440, abs=2)


def test_a_container_without_a_picture_is_no_clip(studio: Studio) -> None:
    path = _make_m4a(studio.folder / "sound.mp4")
    with pytest.raises(RenderError, match="the file has no video track") as refusal:
        studio.make("r1", {**R1, "video_urls": [studio.url(path)]}, path)
    assert refusal.value.code == "invalid_input"


@pytest.mark.spec("4.4")
def test_clips_that_are_too_long_together_are_refused(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (854, 480), 2)
    body = {**R1, "video_urls": [studio.url(clip)] * 16}
    with pytest.raises(RenderError, match=r"video_urls: got 32 s together"):
        studio.make("r1", body, clip)


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    ("lengths_s", "words"),
    [
        ([1.0], r"audio_urls\[0\]: got 1 s, accepted are 2 to 30 s"),
        ([35.0], r"audio_urls\[0\]: got 35 s, accepted are 2 to 30 s"),
        ([16.0, 16.0], r"audio_urls: got 32 s together, accepted are at most 30 s in"),
    ],
)
def test_sounds_outside_the_limits_are_refused(
    studio: Studio, lengths_s: list[float], words: str
) -> None:
    files = [
        make_wav(studio.folder / f"{index}.wav", length_s)
        for index, length_s in enumerate(lengths_s)
    ]
    body = {**R1, "audio_urls": [studio.url(path) for path in files]}
    with pytest.raises(RenderError, match=words) as refusal:
        studio.make("r1", body, *files)
    assert refusal.value.code == "invalid_input"


@pytest.fixture(scope="module")
def broken_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files that are not what their field wants, by what they are."""
    tmp_path = tmp_path_factory.mktemp("broken")
    whole = make_mp4(tmp_path / "whole.mp4", (854, 480), 2).read_bytes()
    picture = make_png(tmp_path / "picture.png")
    contents = {
        "empty": b"",
        "text": b"this is no media file at all",
        "playlist": b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n",
        "head of an mp4": whole[:4000],
        "mp4 with noise": whole[:40] + bytes(range(256)) * 40,
        "mp4 of an unknown codec": whole.replace(b"avc1", b"zz9z"),
        "avif with noise": _noisy_avif(tmp_path / "a.avif"),
        "head of a png": picture.read_bytes()[:200],
        "head of a wav": make_wav(tmp_path / "a.wav").read_bytes()[:20],
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    }
    files = {}
    for number, (name, content) in enumerate(contents.items()):
        files[name] = tmp_path / f"broken{number}"
        files[name].write_bytes(content)
    return files


def _noisy_avif(path: Path) -> bytes:
    make_picture().save(path, "AVIF")
    whole = path.read_bytes()
    return whole[:-200] + bytes(range(200))


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("r1", "image_urls"),
        ("r1", "video_urls"),
        ("r1", "audio_urls"),
        ("keyframes", "images"),
        ("image-upscale", "image_url"),
    ],
)
def test_no_broken_file_is_more_than_an_invalid_input(
    studio: Studio, broken_files: dict[str, Path], kind: str, field: str
) -> None:
    for name, path in broken_files.items():
        url = studio.url(path)
        value = url if kind == "image-upscale" else [url]
        with pytest.raises(RenderError) as refusal:
            studio.make(kind, {**R1, "loop": True, field: value}, path)
        assert refusal.value.code == "invalid_input", name
        assert refusal.value.message.startswith(field), name


def test_decoding_ends_when_its_time_is_over() -> None:
    now_s = 0.0
    deadline = Deadline("video_urls[0]", 60, lambda: now_s)
    deadline.check()
    now_s = 60.5
    with pytest.raises(RenderError, match=r"video_urls\[0\]: .* longer than 60 s"):
        deadline.check()


# Keyframes


@pytest.mark.spec("4.15")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "images: one picture alone needs loop = true"),
        ({"loop": True, "transition_durations_s": [1, 1]}, "got 2 lengths, .* are 1"),
    ],
)
def test_transitions_that_do_not_fit_the_pictures_are_refused(
    studio: Studio, fields: dict[str, object], words: str
) -> None:
    picture = make_png(studio.folder / "a.png")
    body = {"images": [studio.url(picture)], "resolution": "720p", **fields}
    with pytest.raises(RenderError, match=words):
        studio.make("keyframes", body, picture)


def test_a_strip_of_a_picture_is_cut_to_a_frame_of_three_to_one(studio: Studio) -> None:
    strip = make_png(studio.folder / "strip.png", (5000, 10))
    body = {
        "images": [studio.url(strip)],
        "resolution": "720p",
        "transition_duration_s": 1,
        "loop": True,
    }
    rendered = studio.sketch("keyframes", body, strip)
    assert (rendered.width, rendered.height) == (2160, 720)


# Image upscale


@pytest.mark.spec("4.12")
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_a_picture_grows_by_exactly_its_factor(studio: Studio, factor: int) -> None:
    path = make_png(studio.folder / "p.png", (123, 77), "teal", "stripes")
    body = {
        "image_url": studio.url(path),
        "upscale_factor": f"x{factor}",
        "output_format": "png",
    }
    rendered = studio.make("image-upscale", body, path)
    assert rendered == Rendered("image/png", 123 * factor, 77 * factor)
    with Image.open(studio.output) as large, Image.open(path) as small:
        assert (large.format, large.size) == ("PNG", (123 * factor, 77 * factor))
        back = large.resize(small.size, Image.Resampling.BOX)
        assert difference(np.asarray(back), np.asarray(small)) < 1.5


@pytest.mark.spec("4.12")
def test_the_default_output_is_a_jpeg_turned_upright(studio: Studio) -> None:
    path = make_jpeg(studio.folder / "p.jpg", (120, 80), orientation=6)
    body = {"image_url": studio.url(path), "upscale_factor": "x2"}
    rendered = studio.make("image-upscale", body, path)
    assert rendered == Rendered("image/jpeg", 160, 240)
    with Image.open(studio.output) as large:
        assert (large.format, large.size) == ("JPEG", (160, 240))
        assert large.getexif().get(274) is None
        upright = Image.open(path).transpose(Image.Transpose.ROTATE_270)
        back = large.resize(upright.size, Image.Resampling.BOX)
        assert difference(np.asarray(back), np.asarray(upright)) < 3


@pytest.mark.spec("4.12")
@pytest.mark.parametrize(
    ("output_format", "pixel"),
    [("png", (200, 30, 30, 100)), ("jpeg", (233, 167, 167))],
)
def test_transparency_is_kept_in_png_and_lies_on_white_in_jpeg(
    studio: Studio, output_format: str, pixel: tuple[int, ...]
) -> None:
    path = make_png(studio.folder / "p.png", (40, 40), (200, 30, 30, 100), "plain")
    body = {"image_url": studio.url(path), "output_format": output_format}
    studio.make("image-upscale", body, path)
    with Image.open(studio.output) as large:
        found = large.getpixel((40, 40))
    assert isinstance(found, tuple)
    assert found == pytest.approx(pixel, abs=2)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "I;16"])
def test_pictures_of_every_mode_are_accepted(studio: Studio, mode: str) -> None:
    picture = make_picture((60, 40)).convert(
        "L" if mode == "I;16" else mode, dither=Image.Dither.NONE
    )
    wanted = np.asarray(picture.convert("L"))
    if mode == "I;16":
        picture = Image.fromarray(wanted.astype(np.uint16) * 257)
    path = studio.folder / "p"
    picture.save(path, "JPEG" if mode == "CMYK" else "PNG")
    studio.make("image-upscale", {"image_url": studio.url(path)}, path)
    with Image.open(studio.output) as large:
        back = large.convert("L").resize((60, 40), Image.Resampling.BOX)
    assert difference(np.asarray(back), wanted) < 25


@pytest.mark.spec("4.12")
def test_more_than_24_megapixels_are_refused_with_the_sizes(studio: Studio) -> None:
    path = make_png(studio.folder / "p.png", (3000, 2001), "teal", "plain")
    with pytest.raises(RenderError) as refusal:
        studio.make("image-upscale", {"image_url": studio.url(path)}, path)
    assert refusal.value.code == "invalid_input"
    assert refusal.value.message == (
        "image_url: 3000x2001 pixels become 6000x4002 with x2, 24.0 megapixels; "
        "accepted are at most 24 megapixels."
    )


@pytest.mark.parametrize("side", [9_000, 50_000])
def test_a_decompression_bomb_is_not_decoded(studio: Studio, side: int) -> None:
    bomb = _png_header_of(side)
    path = studio.folder / "bomb.png"
    path.write_bytes(bomb)
    for kind, body in (
        ("image-upscale", {"image_url": studio.url(path)}),
        ("keyframes", {"images": [studio.url(path)], "loop": True}),
    ):
        with pytest.raises(RenderError) as refusal:
            studio.make(kind, body, path)
        assert refusal.value.code == "invalid_input"


def _png_header_of(side: int) -> bytes:
    """A png file that says it is huge."""
    png = b"\x89PNG\r\n\x1a\n"
    for name, content in (
        (b"IHDR", side.to_bytes(4) * 2 + bytes([8, 2, 0, 0, 0])),
        (b"IDAT", b""),
        (b"IEND", b""),
    ):
        check = zlib.crc32(name + content).to_bytes(4)
        png += len(content).to_bytes(4) + name + content + check
    return png


# The worker


def test_the_worker_answers_each_line_with_a_line_and_leaves(studio: Studio) -> None:
    path = make_png(studio.folder / "p.png", (20, 10))
    good = studio.order("image-upscale", {"image_url": studio.url(path)}, path).line()
    lines = [b"{not json", b"[]", b'{"job": "a"}', b"\xff\xfe", good]
    worker = subprocess.run(
        [sys.executable, "-P", "-m", "mediakit.sandbox.render"],
        input=b"\n".join(lines),
        capture_output=True,
        check=True,
    )
    answers = [json.loads(line) for line in worker.stdout.splitlines()]
    assert len(answers) == 5
    for answer in answers[:4]:
        assert (answer["ok"], answer["code"]) == (False, "internal")
        assert "not a render request" in answer["message"]
    assert answers[4] == {
        "job": "media_1",
        "ok": True,
        "content_type": "image/jpeg",
        "width": 40,
        "height": 20,
        "duration_ms": None,
        "frames": None,
        "output_seconds": None,
    }
    assert worker.stderr == b""


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"null", b'{"job": "a"}', b'{"job": 1, "kind": 2}', b"\xff"],
)
def test_a_malformed_line_is_answered(line: bytes) -> None:
    answer = json.loads(response_line(line))
    assert (answer["job"], answer["ok"], answer["code"]) == (None, False, "internal")


def test_an_order_brings_its_limits_and_its_media_type(studio: Studio) -> None:
    order = dataclasses.replace(studio.order("r1", R1), media_type="audio")
    read = parse_request(order.line())
    assert read == order
    assert read.limits_of("video_urls") == R1_LIMITS["video_urls"]
    assert read.limits_of("image_urls") == MediaLimits()


@pytest.mark.parametrize(
    "limits", [[], {"video_urls": 3}, {"video_urls": {"colour": "red"}}]
)
def test_an_order_with_malformed_limits_is_an_internal_failure(
    studio: Studio, limits: object
) -> None:
    fields = json.loads(studio.order("r1", R1).line()) | {"limits": limits}
    answer = json.loads(response_line(json.dumps(fields).encode()))
    assert (answer["ok"], answer["code"]) == (False, "internal")


@pytest.mark.parametrize("medium", ["image", "opera", 5, None])
def test_only_clips_and_sounds_have_a_length(studio: Studio, medium: object) -> None:
    order = studio.order("probe", {studio.url(studio.folder / "a"): medium})
    order = dataclasses.replace(order, inputs={studio.url(studio.folder / "a"): Path()})
    answer = json.loads(response_line(order.line()))
    assert (answer["ok"], answer["code"]) == (False, "internal")


def test_an_input_that_is_gone_cannot_be_measured(studio: Studio) -> None:
    nowhere = studio.folder / "gone.mp4"
    order = studio.order("probe", {studio.url(nowhere): "video"}, nowhere)
    answer = json.loads(response_line(order.line()))
    assert (answer["ok"], answer["code"]) == (False, "internal")


def test_only_decoding_counts_against_the_time_for_decoding() -> None:
    now_s = 0.0
    deadline = Deadline("video_urls[0]", 60, lambda: now_s)
    now_s = 50.0
    with deadline.paused():
        now_s = 500.0
    deadline.check()
    now_s = 511.0
    with pytest.raises(RenderError):
        deadline.check()


def test_a_worker_says_when_it_is_warm(studio: Studio) -> None:
    answer = json.loads(response_line(studio.order("warm", {}).line()))
    assert answer == {"job": "media_1", "ok": True}


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("text-to-video", {"prompt": 5}, "invalid_input"),
        ("text-to-video", {"prompt": "a", "resolution": "8k"}, "invalid_input"),
        ("text-to-video", {"prompt": "a", "aspect_ratio": "0:0"}, "invalid_input"),
        ("text-to-video", {"prompt": "a", "duration": "5"}, "invalid_input"),
        ("keyframes", {"images": "https://a.test"}, "invalid_input"),
        ("image-upscale", {"image_url": "https://a.test"}, "internal"),
        ("keyframes", {"images": []}, "invalid_input"),
    ],
)
def test_an_order_that_cannot_be_followed_is_answered(
    studio: Studio, kind: str, body: dict[str, object], code: str
) -> None:
    answer = json.loads(response_line(studio.order(kind, body).line()))
    assert (answer["job"], answer["ok"], answer["code"]) == ("media_1", False, code)
    assert answer["message"].endswith(".")


def test_a_failed_order_leaves_no_half_file(studio: Studio) -> None:
    picture = make_png(studio.folder / "good.png")
    broken = studio.folder / "bad.png"
    broken.write_bytes(picture.read_bytes()[:100])
    body = {**R1, "image_urls": [studio.url(picture), studio.url(broken)]}
    order = studio.order("r1", body, picture, broken)
    answer = json.loads(response_line(dataclasses.replace(order, sketch=True).line()))
    assert answer["code"] == "invalid_input"
    assert "image_urls[1]" in answer["message"]
    assert not studio.output.exists()


def test_an_output_that_cannot_be_written_is_an_internal_failure(
    studio: Studio,
) -> None:
    order = studio.order("text-to-video", {"prompt": "a", "duration": 3})
    nowhere = dataclasses.replace(order, output=studio.folder / "none" / "out.part")
    answer = json.loads(response_line(nowhere.line()))
    assert (answer["ok"], answer["code"]) == (False, "internal")


MEASURED_WORKER = """
import re, sys
from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.__main__ import main
main()
status = open("/proc/self/status").read()
sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""


@pytest.mark.soak
@pytest.mark.spec("4.17")
def test_4k_is_rendered_in_bounded_memory(studio: Studio) -> None:
    body = {"prompt": "night at sea", "duration": 5, "resolution": "4k"}
    worker = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED_WORKER],
        input=studio.order("text-to-video", body).line(),
        capture_output=True,
        check=True,
    )
    assert int(worker.stderr) < 260 * 1024
    with av.open(str(studio.output)) as file:
        times = [frame.time for frame in file.decode(video=0)]
        codec = file.streams.video[0].codec_context
        assert (codec.name, codec.width, codec.height) == ("h264", 3840, 2160)
    assert times == pytest.approx([index / 24 for index in range(120)])
