"""Timelines: the frames and the sound of every film are checked (spec 4.14)."""

import math
import wave
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.sandbox.render.edits import TimelineFile, film_frames
from mediakit.sandbox.render.film import FPS
from mediakit.sandbox.render.input_files import InputFile
from mediakit.sandbox.render.protocol import RenderRequest, Size
from mediakit.sandbox.render.renderers import render
from mediakit.sandbox.render.sound import decoded
from tests.sandbox.render.studio import (
    SAMPLE_RATE_HZ,
    Made,
    Rgb,
    Seen,
    Sound,
    difference,
    fitted,
    level,
    look,
    made_of,
    make_m4a,
    refusal,
)
from tests.sandbox.render.test_worker import measured_worker
from tests.support.samples.media_samples import (
    Colour,
    make_jpeg,
    make_mp3,
    make_mp4,
    make_png,
    make_wav,
)

pytestmark = pytest.mark.spec("4.14")

Part = tuple[float, float, Path]
Track = tuple[str, Sequence[Part]]

RED, GREEN, BLUE, BLACK = (220, 30, 30), (30, 200, 40), (30, 40, 220), (0, 0, 0)


def strength(sound: Sound, frequency_hz: float) -> float:
    """The height of one tone in a sound."""
    time_s = np.arange(len(sound)) / SAMPLE_RATE_HZ
    turns = np.exp(-2j * math.pi * frequency_hz * time_s)
    return float(2 * np.abs((sound * turns).mean()))


def shows(frame: Rgb, colour: Sequence[float], x: float = 0.5, y: float = 0.5) -> bool:
    """Tell the colour at a place; 0, 0 is the upper left corner, 1, 1 the lower."""
    height, width = frame.shape[:2]
    row, column = round(y * (height - 1)), round(x * (width - 1))
    near = frame[max(row - 2, 0) : row + 3, max(column - 2, 0) : column + 3]
    return tuple(near.mean(axis=(0, 1))) == pytest.approx(colour, abs=14)


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
        return RenderRequest("compose-video", body, inputs, self.output, 1)

    def make(self, *tracks: Track) -> Made:
        """Draw the first frame of each shot, and mix all of the sound."""
        rendered = render(replace(self.order(*tracks), sketch=True))
        return made_of(rendered, self.output)

    def stills(self, *tracks: Track) -> Seen:
        self.make(*tracks)
        return look(self.output, shrink=4)

    def film(self, *tracks: Track) -> Seen:
        render(self.order(*tracks))
        return look(self.output, shrink=4)

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


def test_later_tracks_cover_earlier_ones_except_where_they_are_transparent(
    desk: Desk,
) -> None:
    square = desk.plain((*BLUE, 128), (100, 100))
    seen = desk.stills(
        ("image", [(0, 1000, desk.plain(RED))]),
        ("image", [(500, 500, square)]),
        ("image", [(1000, 500, desk.plain(GREEN, (90, 180)))]),
    )
    assert [shows(seen.at(0.2), RED, x) for x in (0.02, 0.5, 0.98)] == [True] * 3
    half = [(red + blue) / 2 for red, blue in zip(RED, BLUE, strict=True)]
    assert shows(seen.at(0.7), half)
    assert [shows(seen.at(0.7), RED, x) for x in (0.1, 0.9)] == [True] * 2
    tall = seen.at(1.2)
    assert [shows(tall, GREEN, 0.5, y) for y in (0.01, 0.5, 0.99)] == [True] * 3
    assert shows(tall, GREEN, 0.37)
    assert [shows(tall, BLACK, x) for x in (0.34, 0.66)] == [True] * 2


def test_a_clip_moves_at_its_own_speed_under_a_picture_and_is_held_on_its_last_frame(
    desk: Desk,
) -> None:
    fps = 30
    clip = make_mp4(desk.folder / "clip.mp4", (640, 360), 1.0, fps)
    source = look(clip, shrink=4)
    picture = desk.plain(RED, (12, 180))
    seen = desk.film(("video", [(500, 1500, clip)]), ("image", [(500, 1500, picture)]))
    beside = np.delete(np.arange(160), slice(74, 87))
    small = [fitted(frame, Size(160, 90))[:, beside] for frame in seen.frames]
    whole = [frame[:, beside] for frame in source.frames]
    assert shows(seen.at(0.4), BLACK)
    for time_s in (0.0, 0.25, 0.5, 0.75):
        frame = small[12 + int(time_s * FPS)]
        apart = [difference(frame, other) for other in whole]
        nearest = apart.index(min(apart))
        assert abs(nearest / fps - time_s) <= 1 / fps + 1 / FPS, time_s
    for time_s in (1.46, 1.5, 1.95):
        assert difference(small[int(time_s * FPS)], whole[-1]) < 4
    assert all(shows(frame, RED) for frame in seen.frames[12:])
    assert len(seen.frames) == 48


def test_a_clip_is_cut_to_its_duration(desk: Desk) -> None:
    clip = make_mp4(desk.folder / "clip.mp4", (640, 360), 1.0)
    seen = desk.film(
        ("video", [(0, 500, clip)]), ("image", [(1000, 250, desk.plain(RED))])
    )
    last = look(clip, shrink=4).at(0.45)
    assert difference(fitted(seen.at(0.45), Size(160, 90)), last) < 4
    assert shows(seen.at(0.5), BLACK)
    assert shows(seen.at(1.1), RED)


# Size and length


@pytest.mark.parametrize(
    ("first", "size"),
    [
        ((320, 180), (1280, 720)),
        ((90, 160), (720, 1280)),
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
    seen = desk.stills(("image", [(*part, picture) for part in parts]))
    assert len(seen.frames) == frames
    assert seen.seconds == pytest.approx(frames / FPS)
    assert shows(seen.frames[-1], RED)


times_ms = st.one_of(
    st.integers(0, 600_000), st.floats(0, 600_000), st.sampled_from([0.1, 41.67])
)
spans_ms = st.tuples(times_ms, times_ms.map(lambda length: length + 1))


def _keyframe(start_ms: float, length_ms: float) -> TimelineFile:
    start = Fraction(start_ms)
    source = InputFile(Path("p.png"), "p")
    return TimelineFile("image", source, start, start + Fraction(length_ms))


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


# What is heard


def test_a_sound_is_heard_at_its_time_and_lengthens_the_film_with_black(
    desk: Desk,
) -> None:
    low = make_wav(desk.folder / "low.wav", 0.5, 440)
    high = make_mp3(desk.folder / "high.mp3", 1, 1000)
    seen = desk.stills(
        ("image", [(0, 1000, desk.plain(RED))]),
        ("audio", [(500, 1000, low), (2000, 1000, high)]),
    )
    for start_s, stop_s in ((0, 0.45), (1.05, 1.95)):
        assert level(seen.heard(start_s, stop_s)) < 0.003
    first, second = seen.heard(0.55, 0.95), seen.heard(2.1, 2.9)
    assert strength(first, 440) == pytest.approx(0.4, abs=0.04)
    assert strength(first, 1000) < 0.01
    assert strength(second, 1000) == pytest.approx(0.4, abs=0.04)
    assert strength(second, 440) < 0.01
    assert len(seen.frames) == 72
    assert shows(seen.at(2.9), BLACK)


def test_clips_bring_their_own_sound_into_the_mix(desk: Desk) -> None:
    clip = make_mp4(desk.folder / "clip.mp4", (64, 48), 2.0, audio=True)
    sound = make_wav(desk.folder / "high.wav", 2, 1000)
    seen = desk.stills(("video", [(500, 1500, clip)]), ("audio", [(1000, 500, sound)]))
    assert level(seen.heard(0, 0.45)) < 0.003
    for start_s, both in {0.55: False, 1.05: True, 1.55: False}.items():
        heard = seen.heard(start_s, start_s + 0.4)
        assert strength(heard, 440) == pytest.approx(0.4, abs=0.05)
        assert strength(heard, 1000) == pytest.approx(0.4 if both else 0, abs=0.05)


def test_a_sound_that_begins_late_in_its_file_is_heard_late(desk: Desk) -> None:
    sound = make_m4a(desk.folder / "late.m4a", 1.0, start_s=0.5)
    heard = np.concatenate([*decoded(InputFile(sound, "url"))], axis=1)[0]
    heard = heard[:SAMPLE_RATE_HZ]
    assert level(heard[: round(0.45 * SAMPLE_RATE_HZ)]) < 0.003
    assert level(heard[round(0.55 * SAMPLE_RATE_HZ) :]) > 0.2


def test_a_film_has_a_sound_track_only_if_an_input_has_sound(desk: Desk) -> None:
    silent = make_mp4(desk.folder / "silent.mp4", (64, 48), 0.5)
    m4a = make_m4a(desk.folder / "a.m4a", 1.0)
    picture: Track = ("image", [(0, 500, desk.plain(RED))])
    assert desk.stills(picture, ("video", [(0, 500, silent)])).sound is None
    heard = desk.stills(picture, ("audio", [(0, 500, m4a)])).heard(0.1, 0.4)
    assert strength(heard, 440) == pytest.approx(0.4, abs=0.05)


def test_many_loud_sounds_stay_below_full_level_without_flat_tops(desk: Desk) -> None:
    tracks: list[Track] = [("image", [(0, 1000, desk.plain(RED))])]
    for number in range(4):
        sound = make_wav(desk.folder / f"{number}.wav", 1, 300 + 170 * number)
        tracks.append(("audio", [(0, 1000, sound)]))
    heard = desk.stills(*tracks).heard(0.1, 0.9)
    assert 0.85 < float(np.abs(heard).max()) < 1.05
    assert all(strength(heard, 300 + 170 * number) > 0.2 for number in range(4))


# Bounds


@pytest.mark.soak
def test_twenty_minutes_are_rendered_in_bounded_memory(desk: Desk) -> None:
    sound = make_wav(desk.folder / "a.wav", 30)
    order = desk.order(
        ("image", [(0, 1_200_000, desk.plain(RED))]),
        ("audio", [(start, 30_000, sound) for start in range(0, 1_200_000, 300_000)]),
    )
    answer, peak_kib = measured_worker(order)
    assert answer["result"] == ["video/mp4", 1_200_000]
    assert peak_kib < 160 * 1024
    with av.open(str(desk.output)) as file:
        assert file.duration == 1_200_000_000
        file.seek(1_199_000_000)
        late = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert shows(late[-1].astype(np.float32), RED)


# What is refused


def _files(folder: Path) -> dict[str, Path]:
    text = folder / "notes.txt"
    text.write_text("not a medium")
    silence = folder / "none.wav"
    with wave.open(str(silence), "wb") as file:
        file.setparams((2, 2, SAMPLE_RATE_HZ, 0, "NONE", ""))
    files = {
        "picture": make_png(folder / "p.png"),
        "clip": make_mp4(folder / "c.mp4", (64, 48), 0.2, audio=True),
        "sound": make_wav(folder / "s.wav", 0.2),
        "m4a": make_m4a(folder / "s.m4a", 1.0),
        "text": text,
        "no samples": silence,
    }
    for name in ("picture", "clip"):
        half = files[f"half a {name}"] = folder / f"half-{name}"
        content = files[name].read_bytes()
        half.write_bytes(content[: len(content) // 2])
    return files


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("image", ["clip", "sound", "m4a", "text", "half a picture"]),
        ("video", ["picture", "sound", "m4a", "text", "half a clip"]),
        ("audio", ["picture", "clip", "text", "no samples"]),
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
        message = refusal(replace(desk.order(*tracks), sketch=True))
        assert message.startswith("tracks[1].keyframes[2].url: the file"), name
