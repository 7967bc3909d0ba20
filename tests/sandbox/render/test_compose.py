"""Timelines: every film is opened, looked at and listened to."""

import json
import math
import subprocess
import sys
import tracemalloc
import wave
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.film.film_file import FPS
from mediakit.sandbox.render.film.layers import ClipLayer, PictureLayer, Place, segments
from mediakit.sandbox.render.film.timeline import Keyframe, film_frames, read_keyframes
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.inputs.clips import read_clip
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.compose_video import render
from mediakit.sandbox.render.sizes import Size
from mediakit.sandbox.render.sound.mixing import Mix, SoundFile, Voice, softened
from tests.support.samples.media_samples import (
    SAMPLE_RATE_HZ,
    Colour,
    make_jpeg,
    make_mp3,
    make_mp4,
    make_png,
    make_sound,
    make_wav,
)
from tests.support.soak import IS_SOAK, trials

pytestmark = pytest.mark.spec("4.14")

Rgb = NDArray[np.float32]
Sound = NDArray[np.float32]
Part = tuple[float, float, Path]
Track = tuple[str, Sequence[Part]]

RED, GREEN, BLUE, BLACK = (220, 30, 30), (30, 200, 40), (30, 40, 220), (0, 0, 0)


@dataclass(frozen=True)
class Seen:
    """A film as a player would see and hear it."""

    size: Size
    seconds: float
    frames: list[Rgb]
    sound: Sound | None

    def at(self, time_s: float) -> Rgb:
        """The frame that is shown at a time."""
        return self.frames[int(time_s * FPS + 1e-6)]

    def heard(self, start_s: float, stop_s: float) -> Sound:
        """The first channel of the sound between two times."""
        assert self.sound is not None
        return self.sound[0, round(start_s * 48_000) : round(stop_s * 48_000)]


def look(path: Path) -> Seen:
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        size = Size(video.codec_context.width, video.codec_context.height)
        seconds = float((video.duration or 0) * (video.time_base or 0))
        frames = [
            # A quarter of each side is enough to tell colours and places.
            frame.reformat(size.width // 4, size.height // 4)
            .to_ndarray(format="rgb24")
            .astype(np.float32)
            for frame in file.decode(video)
        ]
    return Seen(size, seconds, frames, listen(path))


def listen(path: Path) -> Sound | None:
    with av.open(str(path)) as file:
        if not file.streams.audio:
            return None
        parts = [frame.to_ndarray() for frame in file.decode(audio=0)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def level(sound: Sound) -> float:
    return float(np.sqrt((sound**2).mean()))


def strength(sound: Sound, frequency_hz: float) -> float:
    """The height of one tone in a sound."""
    time_s = np.arange(len(sound)) / SAMPLE_RATE_HZ
    turns = np.exp(-2j * math.pi * frequency_hz * time_s)
    return float(2 * np.abs((sound * turns).mean()))


def colour_at(frame: Rgb, x: float, y: float) -> tuple[float, ...]:
    """The mean colour around a place; 0, 0 is the upper left corner, 1, 1 the lower."""
    height, width = frame.shape[:2]
    row, column = round(y * (height - 1)), round(x * (width - 1))
    near = frame[max(row - 2, 0) : row + 3, max(column - 2, 0) : column + 3]
    return tuple(near.mean(axis=(0, 1)))


def shows(frame: Rgb, colour: Sequence[float], x: float = 0.5, y: float = 0.5) -> bool:
    return colour_at(frame, x, y) == pytest.approx(colour, abs=14)


def difference(one: Rgb, other: Rgb) -> float:
    """Mean absolute difference of two pictures, from 0 to 255."""
    return float(np.abs(one - other).mean())


class Desk:
    """Composes tracks whose media are given as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out.part"

    def plain(self, colour: Colour, size: tuple[int, int] = (320, 180)) -> Path:
        name = f"{'-'.join(map(str, (*colour, *size)))}.png"
        return make_png(self.folder / name, size, colour, "plain")

    def order(self, *tracks: Track) -> RenderRequest:
        body = {
            "tracks": [
                {
                    "id": f"track {number}",
                    "type": kind,
                    "keyframes": [
                        {"timestamp": at, "duration": length, "url": self.url(path)}
                        for at, length, path in parts
                    ],
                }
                for number, (kind, parts) in enumerate(tracks)
            ]
        }
        files = [path for _, parts in tracks for _, _, path in parts]
        inputs = {self.url(path): path for path in files}
        return RenderRequest("media_1", "compose-video", body, inputs, self.output, 1)

    def sounds(self, *tracks: Track) -> Seen:
        """Compose what is listened to, and not looked at."""
        rendered = render(replace(self.order(*tracks), sketch=True))
        size = Size(rendered.width or 0, rendered.height or 0)
        return Seen(size, rendered.output_seconds or 0, [], listen(self.output))

    def make(self, *tracks: Track) -> Rendered:
        return render(self.order(*tracks))

    def stills(self, *tracks: Track) -> Seen:
        """Compose pictures; only the soak draws more than the first frame of a shot."""
        render(replace(self.order(*tracks), sketch=not IS_SOAK))
        return look(self.output)

    def film(self, *tracks: Track) -> Seen:
        self.make(*tracks)
        return look(self.output)

    @staticmethod
    def url(path: Path) -> str:
        return f"https://media.test/{path.name}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# What is seen


def test_pictures_are_shown_at_their_times_and_gaps_are_black(desk: Desk) -> None:
    parts = [(1500, 1000, desk.plain(BLUE)), (500, 500, desk.plain(RED))]
    seen = desk.stills(("image", parts))
    expected = {0: BLACK, 0.45: BLACK, 0.5: RED, 0.95: RED, 1: BLACK, 1.45: BLACK}
    expected |= {1.5: BLUE, 2.45: BLUE}
    for time_s, colour in expected.items():
        assert shows(seen.at(time_s), colour), time_s
    assert len(seen.frames) == 60


def test_keyframes_that_touch_between_two_frames_leave_no_black(desk: Desk) -> None:
    first, second = desk.plain(RED), desk.plain(GREEN)
    seen = desk.film(("image", [(0, 333.3, first), (333.3, 412.9, second)]))
    reds = [shows(frame, RED) for frame in seen.frames]
    greens = [shows(frame, GREEN) for frame in seen.frames]
    assert reds == [True] * 8 + [False] * 10
    assert greens == [False] * 8 + [True] * 10


def test_later_tracks_lie_above_and_their_bars_are_clear(desk: Desk) -> None:
    wide, square = desk.plain(RED), desk.plain(BLUE, (100, 100))
    tall = desk.plain(GREEN, (20, 100))
    seen = desk.stills(
        ("image", [(0, 1500, wide)]),
        ("image", [(500, 1000, square)]),
        ("image", [(1000, 500, tall)]),
    )
    assert [shows(seen.at(0.2), RED, x) for x in (0.02, 0.5, 0.98)] == [True] * 3
    for time_s, middle in {0.7: BLUE, 1.2: GREEN}.items():
        frame = seen.at(time_s)
        assert shows(frame, RED, 0.1)
        assert shows(frame, BLUE, 0.3)
        assert shows(frame, middle, 0.5)
        assert shows(frame, BLUE, 0.7)
        assert shows(frame, RED, 0.9)


def test_a_picture_is_shown_whole_between_black_bars(desk: Desk) -> None:
    first, tall = desk.plain(RED), desk.plain(GREEN, (90, 180))
    seen = desk.stills(("image", [(0, 500, first), (500, 500, tall)]))
    frame = seen.at(0.7)
    assert [shows(frame, GREEN, 0.5, y) for y in (0.01, 0.5, 0.99)] == [True] * 3
    assert shows(frame, GREEN, 0.37)
    assert shows(frame, BLACK, 0.34)
    assert shows(frame, BLACK, 0.66)


def test_what_is_transparent_shows_the_layers_below(desk: Desk) -> None:
    below, above = desk.plain(RED), desk.plain((*BLUE, 128), (100, 100))
    seen = desk.stills(("image", [(0, 500, below)]), ("image", [(0, 500, above)]))
    half = tuple((red + blue) / 2 for red, blue in zip(RED, BLUE, strict=True))
    assert shows(seen.at(0.2), half)
    assert shows(seen.at(0.2), RED, 0.1)


def test_a_clip_moves_at_its_own_speed_and_is_held_on_its_last_frame(
    desk: Desk,
) -> None:
    fps = 30
    clip = make_mp4(desk.folder / "clip.mp4", (640, 360), 1.0, fps)
    source = look(clip)
    seen = desk.film(("video", [(500, 1500, clip)]))
    small = [_halved(frame) for frame in seen.frames]
    assert shows(seen.at(0.4), BLACK)
    for time_s in (0.0, 0.25, 0.5, 0.75):
        frame = small[12 + int(time_s * FPS)]
        apart = [difference(frame, other) for other in source.frames]
        nearest = apart.index(min(apart))
        assert abs(nearest / fps - time_s) <= 1 / fps + 1 / FPS, time_s
    last = source.frames[-1]
    for time_s in (1.46, 1.5, 1.95):
        assert difference(small[int(time_s * FPS)], last) < 3
    assert difference(small[12], last) > 5
    assert len(seen.frames) == 48


def test_a_clip_is_cut_to_its_duration(desk: Desk) -> None:
    clip = make_mp4(desk.folder / "clip.mp4", (640, 360), 1.0)
    seen = desk.film(
        ("video", [(0, 500, clip)]), ("image", [(1000, 250, desk.plain(RED))])
    )
    assert difference(_halved(seen.at(0.45)), look(clip).at(0.45)) < 3
    assert shows(seen.at(0.5), BLACK)
    assert shows(seen.at(1.1), RED)


def test_a_picture_lies_still_over_a_moving_clip(desk: Desk) -> None:
    clip = make_mp4(desk.folder / "clip.mp4", (640, 360), 1.0)
    seen = desk.film(
        ("video", [(0, 1000, clip)]),
        ("image", [(0, 1000, desk.plain(RED, (50, 100)))]),
    )
    assert all(shows(frame, RED) for frame in seen.frames)
    assert difference(seen.at(0.0)[:, :40], seen.at(0.5)[:, :40]) > 1


def _halved(frame: Rgb) -> Rgb:
    """A frame of 720p at the size at which one of 360p is looked at."""
    height, width = frame.shape[:2]
    halved: Rgb = frame.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))
    return halved


# Size and length


@pytest.mark.parametrize(
    ("first", "size"),
    [
        ((320, 180), (1280, 720)),
        ((90, 160), (720, 1280)),
        ((400, 400), (720, 720)),
        ((400, 300), (960, 720)),
        ((4000, 40), (2160, 720)),
    ],
)
def test_the_first_picture_gives_the_ratio(
    desk: Desk, first: tuple[int, int], size: tuple[int, int]
) -> None:
    later, earlier = desk.plain(RED, (64, 48)), desk.plain(RED, first)
    rendered = desk.make(
        ("audio", [(0, 200, make_wav(desk.folder / "a.wav", 0.2))]),
        ("image", [(100, 100, later), (0, 99, earlier)]),
        ("image", [(0, 200, desk.plain(RED, (300, 100)))]),
    )
    assert (rendered.width, rendered.height) == size


def test_the_first_medium_counts_as_it_is_shown(desk: Desk) -> None:
    turned = make_jpeg(desk.folder / "p.jpg", (320, 180), orientation=6)
    clip = make_mp4(desk.folder / "c.mp4", (320, 180), 0.2, rotation_degrees=90)
    for kind, path in {"image": turned, "video": clip}.items():
        rendered = desk.make((kind, [(0, 100, path)]))
        assert (rendered.width, rendered.height) == (720, 1280)


@pytest.mark.parametrize(
    ("parts", "frames"),
    [([(0, 1)], 1), ([(0, 1020.84)], 25), ([(0.5, 62.25)], 2), ([(10.1, 999.9)], 24)],
)
def test_a_film_ends_with_its_latest_keyframe(
    desk: Desk, parts: list[tuple[float, float]], frames: int
) -> None:
    picture = desk.plain(RED)
    rendered = desk.make(("image", [(*part, picture) for part in parts]))
    seen = look(desk.output)
    assert rendered.frames == len(seen.frames) == frames
    assert seen.seconds == pytest.approx(frames / FPS)
    assert shows(seen.frames[-1], RED)


def test_sound_alone_lengthens_a_film_with_black(desk: Desk) -> None:
    sound = make_wav(desk.folder / "a.wav", 2)
    seen = desk.stills(
        ("image", [(0, 500, desk.plain(RED))]), ("audio", [(250, 1250, sound)])
    )
    assert len(seen.frames) == 36
    assert shows(seen.at(1.4), BLACK)


times_ms = st.one_of(
    st.integers(0, 600_000), st.floats(0, 600_000), st.sampled_from([0.1, 41.67])
)
spans_ms = st.tuples(times_ms, times_ms.map(lambda length: length + 1))


@given(st.lists(spans_ms, min_size=1, max_size=32))
def test_every_keyframe_is_seen_and_the_length_is_right_within_a_frame(
    spans: list[tuple[float, float]],
) -> None:
    keyframes = [_keyframe(start, length) for start, length in spans]
    frames = film_frames(keyframes)
    latest_s = max(keyframe.end_ms for keyframe in keyframes) / 1000
    assert abs(Fraction(frames, FPS) - latest_s) <= Fraction(1, FPS)
    for keyframe in keyframes:
        span = keyframe.span(frames)
        assert 0 <= span.start < span.stop <= frames
        # The shortest one at the very end is pulled back into the film.
        late_s = Fraction(span.start, FPS) - keyframe.start_ms / 1000
        assert abs(late_s) <= Fraction(3, 2 * FPS)


@given(st.lists(spans_ms, min_size=1, max_size=12))
def test_segments_cover_the_film_and_show_what_is_due(
    spans: list[tuple[float, float]],
) -> None:
    keyframes = [_keyframe(start, length) for start, length in spans]
    frames = film_frames(keyframes)
    layers = [
        PictureLayer(each.path, each.field, Size(64, 36), each.span(frames))
        for each in keyframes
    ]
    parts = segments(layers, frames)
    assert sum(part.frames for part in parts) == frames
    assert [part.span.start for part in parts[1:]] == [p.span.stop for p in parts[:-1]]
    for part in parts:
        for frame in (part.span[0], part.span[-1]):
            assert part.layers == [each for each in layers if frame in each.span]
        assert part.unit <= 2 * FPS


def _keyframe(start_ms: float, length_ms: float) -> Keyframe:
    start = Fraction(start_ms)
    return Keyframe("image", Path("p.png"), "p", start, start + Fraction(length_ms))


@given(
    source=st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
    film=st.sampled_from([(1280, 720), (720, 1280), (720, 720), (2160, 720)]),
)
def test_a_place_is_even_in_the_middle_and_inside_the_frame(
    source: tuple[int, int], film: tuple[int, int]
) -> None:
    place = Place.of(Size(*source), Size(*film))
    for offset, length, room in zip(
        (place.left, place.top), place.size, film, strict=True
    ):
        assert offset % 2 == length % 2 == 0
        assert offset >= 0
        assert 2 <= length <= room
        assert 0 <= room - length - 2 * offset <= 2
    assert place.size.width == film[0] or place.size.height == film[1]


# What is heard


def test_a_sound_is_heard_at_its_time_and_then_there_is_silence(desk: Desk) -> None:
    low = make_wav(desk.folder / "low.wav", 0.5, 440)
    high = make_mp3(desk.folder / "high.mp3", 1, 1000)
    seen = desk.sounds(
        ("image", [(0, 3000, desk.plain(RED))]),
        ("audio", [(500, 1000, low), (2000, 500, high)]),
    )
    for start_s, stop_s in ((0, 0.45), (1.05, 1.95), (2.55, 3)):
        assert level(seen.heard(start_s, stop_s)) < 0.003
    first, second = seen.heard(0.55, 0.95), seen.heard(2.1, 2.45)
    assert strength(first, 440) == pytest.approx(0.4, abs=0.04)
    assert strength(first, 1000) < 0.01
    assert strength(second, 1000) == pytest.approx(0.4, abs=0.04)
    assert strength(second, 440) < 0.01
    assert seen.sound is not None
    assert seen.sound.shape[1] / SAMPLE_RATE_HZ == pytest.approx(3, abs=0.03)


def test_clips_bring_their_own_sound_into_the_mix(desk: Desk) -> None:
    clip = make_mp4(desk.folder / "clip.mp4", (64, 48), 2.0, audio=True)
    sound = make_wav(desk.folder / "high.wav", 2, 1000)
    seen = desk.sounds(("video", [(500, 1500, clip)]), ("audio", [(1000, 500, sound)]))
    assert level(seen.heard(0, 0.45)) < 0.003
    for start_s, both in {0.55: False, 1.05: True, 1.55: False}.items():
        heard = seen.heard(start_s, start_s + 0.4)
        assert strength(heard, 440) == pytest.approx(0.4, abs=0.05)
        assert strength(heard, 1000) == pytest.approx(0.4 if both else 0, abs=0.05)


def test_the_sound_of_an_m4a_file_is_heard(desk: Desk) -> None:
    sound = _make_m4a(desk.folder / "a.m4a", 0.0)
    seen = desk.sounds(
        ("image", [(0, 1000, desk.plain(RED))]), ("audio", [(0, 1000, sound)])
    )
    assert strength(seen.heard(0.1, 0.9), 440) == pytest.approx(0.4, abs=0.05)


def test_a_sound_that_begins_late_in_its_file_is_heard_late(desk: Desk) -> None:
    sound = _make_m4a(desk.folder / "late.m4a", 0.5)
    heard = SoundFile(sound, "url", "video").read(SAMPLE_RATE_HZ)[0]
    assert level(heard[: round(0.45 * SAMPLE_RATE_HZ)]) < 0.003
    assert level(heard[round(0.55 * SAMPLE_RATE_HZ) :]) > 0.2


def _make_m4a(path: Path, start_s: float) -> Path:
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(make_sound(1.0), "fltp", "stereo")
        frame.sample_rate = SAMPLE_RATE_HZ
        frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
        frame.pts = round(start_s * SAMPLE_RATE_HZ)
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def test_there_is_a_sound_track_only_where_something_sounds(desk: Desk) -> None:
    silent = make_mp4(desk.folder / "silent.mp4", (64, 48), 0.5)
    loud = make_mp4(desk.folder / "loud.mp4", (64, 48), 0.5, audio=True)
    sound = make_wav(desk.folder / "a.wav", 0.5)
    picture: Track = ("image", [(0, 500, desk.plain(RED))])
    assert desk.sounds(picture, ("video", [(0, 500, silent)])).sound is None
    assert desk.sounds(picture, ("video", [(0, 500, loud)])).sound is not None
    assert desk.sounds(picture, ("audio", [(0, 500, sound)])).sound is not None


def test_many_loud_sounds_stay_below_full_level_without_flat_tops(desk: Desk) -> None:
    tracks: list[Track] = [("image", [(0, 1000, desk.plain(RED))])]
    for number in range(4):
        sound = make_wav(desk.folder / f"{number}.wav", 1, 300 + 170 * number)
        tracks.append(("audio", [(0, 1000, sound)]))
    heard = desk.sounds(*tracks).heard(0.1, 0.9)
    assert 0.85 < float(np.abs(heard).max()) < 1.05
    assert all(strength(heard, 300 + 170 * number) > 0.2 for number in range(4))


@given(st.lists(st.floats(-40, 40, width=32), min_size=1, max_size=50))
def test_bending_keeps_order_and_quiet_samples_and_never_exceeds_one(
    heights: list[float],
) -> None:
    mixed = np.sort(np.array([heights, heights], dtype=np.float32))
    soft = softened(mixed)
    assert float(np.abs(soft).max()) <= 1
    assert bool((np.diff(soft) >= 0).all())
    quiet = np.abs(mixed) <= 0.8
    assert np.array_equal(soft[quiet], mixed[quiet])


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=trials(5, soak=20),
)
@given(pieces=st.lists(st.integers(0, 30_000), min_size=1, max_size=6))
def test_a_mix_does_not_depend_on_the_pieces_it_is_read_in(
    desk: Desk, pieces: list[int]
) -> None:
    whole = _mix(desk).read(sum(pieces))
    mix = _mix(desk)
    parts = [mix.read(samples) for samples in pieces]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)


def _mix(desk: Desk) -> Mix:
    wav, mp3 = desk.folder / "a.wav", desk.folder / "b.mp3"
    if not mp3.exists():
        make_wav(wav, 1.0, 440)
        make_mp3(mp3, 0.5, 1000)
    return Mix(
        [
            Voice(range(1000, 40_000), SoundFile(wav, "a", "sound")),
            Voice(range(20_000, 90_000), SoundFile(mp3, "b", "sound")),
        ]
    )


# Bounds


@pytest.mark.soak
def test_twenty_minutes_of_sound_are_never_in_memory_at_once(desk: Desk) -> None:
    path = make_wav(desk.folder / "a.wav", 30)
    voices = [
        Voice(range(start, start + 30 * SAMPLE_RATE_HZ), SoundFile(path, "a", "sound"))
        for start in range(0, 1200 * SAMPLE_RATE_HZ, 300 * SAMPLE_RATE_HZ)
    ]
    mix = Mix(voices)
    tracemalloc.start()
    try:
        levels = [level(mix.read(SAMPLE_RATE_HZ)) for _ in range(1200)]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [second for second in range(1200) if levels[second] > 0.1] == [
        start + second for start in range(0, 1200, 300) for second in range(30)
    ]
    assert peak_bytes < 10e6


MEASURED_WORKER = """
import re, sys
from mediakit.sandbox.render.__main__ import main
main()
status = open("/proc/self/status").read()
sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""


@pytest.mark.soak
def test_twenty_minutes_of_a_still_are_rendered_in_bounded_memory(desk: Desk) -> None:
    order = desk.order(("image", [(0, 1_200_000, desk.plain(RED))]))
    line = json.dumps(
        {
            "job": order.job,
            "kind": order.kind,
            "body": order.body,
            "inputs": {url: str(path) for url, path in order.inputs.items()},
            "output": str(order.output),
            "seed": order.seed,
        }
    )
    worker = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED_WORKER],
        input=line.encode(),
        capture_output=True,
        check=True,
    )
    answer = json.loads(worker.stdout)
    assert (answer["frames"], answer["duration_ms"]) == (28_800, 1_200_000)
    assert int(worker.stderr) < 160 * 1024
    with av.open(str(desk.output)) as file:
        assert file.duration == 1_200_000_000
        file.seek(1_199_000_000)
        late = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert shows(late[-1].astype(np.float32), RED)


def test_a_file_is_open_only_while_it_is_seen(desk: Desk) -> None:
    paths = [
        make_mp4(desk.folder / f"{name}.mp4", (64, 48), 0.5) for name in ("one", "two")
    ]
    size = Size(64, 48)
    layers = [
        ClipLayer(read_clip(path, path.name, MediaLimits()), size, span)
        for path, span in zip(paths, (range(10), range(6, 20)), strict=True)
    ]
    planes = Planes.blank(size)
    opened = []
    for part in segments(layers, 20):
        part.draw(planes, 0)
        opened.append(_open_files() & {path.name for path in paths})
        for index in range(1, part.unit):
            part.draw(planes, index)
    assert opened == [{"one.mp4"}, {"one.mp4", "two.mp4"}, {"two.mp4"}, set()]


def _open_files() -> set[str]:
    links = Path("/proc/self/fd").iterdir()
    return {link.readlink().name for link in links if link.is_symlink()}


# What is refused


def _files(folder: Path) -> dict[str, Path]:
    text = folder / "notes.txt"
    text.write_text("not a medium")
    silence = folder / "none.wav"
    with wave.open(str(silence), "wb") as file:
        file.setparams((2, 2, SAMPLE_RATE_HZ, 0, "NONE", ""))
    empty = folder / "empty.bin"
    empty.touch()
    return {
        "picture": make_png(folder / "p.png"),
        "clip": make_mp4(folder / "c.mp4", (64, 48), 0.2, audio=True),
        "sound": make_wav(folder / "s.wav", 0.2),
        "m4a": _make_m4a(folder / "s.m4a", 0.0),
        "text": text,
        "empty": empty,
        "no samples": silence,
    }


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("image", ["clip", "sound", "m4a", "text", "empty"]),
        ("video", ["picture", "sound", "m4a", "text", "empty"]),
        ("audio", ["picture", "clip", "text", "empty", "no samples"]),
    ],
)
def test_a_file_of_another_kind_is_refused_by_its_place(
    desk: Desk, kind: str, wrong: list[str]
) -> None:
    files = _files(desk.folder)
    right = {"image": "picture", "video": "clip", "audio": "sound"}[kind]
    parts = [(0, 100, files[right]), (100, 100, files[right])]
    for name in wrong:
        tracks: list[Track] = [
            ("image", [(0, 300, files["picture"])]),
            (kind, [*parts, (200, 100, files[name])]),
        ]
        with pytest.raises(RenderError) as refusal:
            desk.make(*tracks)
        assert refusal.value.code == "invalid_input"
        assert refusal.value.message.startswith("tracks[1].keyframes[2].url: the file")
        assert refusal.value.message.endswith(".")
        assert not desk.output.exists()


@pytest.mark.parametrize(("kind", "name"), [("image", "p.png"), ("video", "c.mp4")])
def test_a_file_that_breaks_off_is_refused_by_its_place(
    desk: Desk, kind: str, name: str
) -> None:
    _files(desk.folder)
    path = desk.folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(RenderError) as refusal:
        desk.make((kind, [(0, 300, path)]))
    assert refusal.value.code == "invalid_input"
    assert refusal.value.message.startswith("tracks[0].keyframes[0].url: the file")


URL = "https://media.test/p.png"
KEYFRAME = {"timestamp": 0, "duration": 100, "url": URL}


@pytest.mark.parametrize(
    ("tracks", "field"),
    [
        (None, "tracks"),
        ([], "tracks"),
        ("all", "tracks"),
        ([5], "tracks"),
        ([{"type": "text", "keyframes": [KEYFRAME]}], "tracks[0].type"),
        ([{"type": "image"}], "tracks[0].keyframes"),
        ([{"type": "audio", "keyframes": [KEYFRAME]}], "tracks"),
        ([{"type": "image", "keyframes": [KEYFRAME] * 17}] * 2, "tracks"),
    ],
)
def test_a_body_without_usable_tracks_is_refused(
    desk: Desk, tracks: object, field: str
) -> None:
    _refused(desk, tracks, field)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", None),
        ("timestamp", None),
        ("timestamp", -0.1),
        ("timestamp", math.nan),
        ("timestamp", math.inf),
        ("timestamp", "0"),
        ("timestamp", True),
        ("duration", 0.9),
        ("duration", 1_200_001),
        ("duration", 1e300),
    ],
)
def test_a_keyframe_that_has_no_place_is_refused(
    desk: Desk, name: str, value: object
) -> None:
    keyframes = [KEYFRAME, {**KEYFRAME, name: value}]
    tracks = [{"type": "image", "keyframes": keyframes}]
    _refused(desk, tracks, f"tracks[0].keyframes[1].{name}")


def test_a_keyframe_may_end_with_the_twentieth_minute_but_not_later(desk: Desk) -> None:
    picture = desk.plain(RED)
    order = desk.order(("image", [(1_199_999, 1, picture)]))
    assert [keyframe.end_ms for keyframe in read_keyframes(order)] == [1_200_000]
    late = desk.order(("image", [(1_199_999, 1.5, picture)]))
    with pytest.raises(RenderError, match=r"duration: .*1,200,000.5 ms.*1,200,000 ms"):
        read_keyframes(late)


def _refused(desk: Desk, tracks: object, field: str) -> None:
    picture = make_png(desk.folder / "p.png")
    inputs = {URL: picture}
    order = RenderRequest(
        "media_1", "compose-video", {"tracks": tracks}, inputs, desk.output, 1
    )
    with pytest.raises(RenderError) as refusal:
        render(order)
    assert refusal.value.code == "invalid_input"
    assert refusal.value.message.startswith(f"{field}: ")
