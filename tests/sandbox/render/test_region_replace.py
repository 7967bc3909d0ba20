"""Clips changed in a region: every output is held against its source."""

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.scene_selection import render
from mediakit.sandbox.render.sizes import Size
from tests.support.samples.media_samples import make_mp4, make_png, make_wav

SIZE = Size(1280, 720)
RED = (220, 20, 30)

Rgb = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Set:
    """A clip, and what it becomes."""

    def __init__(self, folder: Path, clip: Path) -> None:
        self.folder = folder
        self.clip = clip
        self.output = folder / "out.part"

    def order(self, seed: int = 1, /, **fields: object) -> RenderRequest:
        """Ask for an edit; fields that are paths become URLs."""
        files = {"video": self.clip} | {
            name: value for name, value in fields.items() if isinstance(value, Path)
        }
        urls = {name: f"https://media.test/{path.name}" for name, path in files.items()}
        body = {"prompt": "a lantern", "resolution": "720p", "duration_s": 5}
        return RenderRequest(
            job="media_1",
            kind="region-replace",
            body={**body, **fields, **urls},
            inputs={urls[name]: path for name, path in files.items()},
            output=self.output,
            seed=seed,
            sketch=True,
        )

    def made(self, seed: int = 1, /, **fields: object) -> list[Rgb]:
        render(replace(self.order(seed, **fields), sketch=False))
        return frames_of(self.output)

    def first_frame(self, **fields: object) -> Rgb:
        render(self.order(**fields))
        return frames_of(self.output)[0]

    def source(self) -> list[Rgb]:
        """The clip's own frames, at the size of what is made of them."""
        return [
            np.asarray(
                Image.fromarray(frame.astype(np.uint8)).resize(SIZE), dtype=np.float32
            )
            for frame in frames_of(self.clip)
        ]

    def mask(self, box: tuple[int, int, int, int]) -> Path:
        """Write a mask of half the frame's size; `box` is in the frame's pixels."""
        mask = Image.new("L", (SIZE.width // 2, SIZE.height // 2), 0)
        left, top, right, bottom = (length // 2 for length in box)
        ImageDraw.Draw(mask).rectangle((left, top, right - 1, bottom - 1), fill=255)
        path = self.folder / "mask.png"
        mask.save(path)
        return path


def frames_of(path: Path, every: int = 12) -> list[Rgb]:
    with av.open(str(path)) as file:
        return [
            frame.to_ndarray(format="rgb24").astype(np.float32)
            for index, frame in enumerate(file.decode(video=0))
            if index % every == 0
        ]


def changed(one: Rgb, other: Rgb, where: Mask) -> float:
    """Mean absolute difference of two frames in a part of them, from 0 to 255."""
    return float(np.abs(one - other)[where].mean())


def inside(box: tuple[float, float, float, float]) -> Mask:
    """The part of a frame between left, top, right and bottom, as shares of it."""
    left, top, right, bottom = box
    rows = np.linspace(0, 1, SIZE.height)[:, None]
    columns = np.linspace(0, 1, SIZE.width)[None, :]
    across = (columns >= left) & (columns <= right)
    down = (rows >= top) & (rows <= bottom)
    whole: Mask = across & down
    return whole


@pytest.fixture
def stage(tmp_path: Path) -> Set:
    """A clip of half that size, with sound, that lasts three quarters of a second."""
    clip = make_mp4(tmp_path / "clip.mp4", (640, 360), 0.75, audio=True)
    return Set(tmp_path, clip)


def refusal(order: RenderRequest) -> str:
    with pytest.raises(RenderError) as refused:
        render(order)
    assert refused.value.code == "invalid_input"
    return refused.value.message


# The region


@pytest.mark.spec("4.16")
def test_a_mask_says_what_changes_and_the_rest_stays(stage: Set) -> None:
    mask = stage.mask((320, 180, 640, 540))
    region = inside((0.26, 0.26, 0.49, 0.74))
    rest = ~inside((0.24, 0.24, 0.51, 0.76))
    made, source = stage.made(modify_region_mask=mask), stage.source()
    assert len(made) == len(source) == 2
    for after, before in zip(made, source, strict=True):
        assert changed(after, before, region) > 25
        assert changed(after, before, rest) < 2
    assert changed(source[0], source[-1], rest) > 4


def test_a_mask_counts_for_more_than_words(stage: Set) -> None:
    mask = stage.mask((0, 0, 320, 720))
    made = stage.first_frame(modify_region_mask=mask, modify_region_roi="the right")
    source = stage.source()[0]
    assert changed(made, source, inside((0.02, 0, 0.22, 1))) > 20
    assert changed(made, source, inside((0.3, 0, 1, 1))) < 4


def test_a_transparent_mask_marks_nothing(stage: Set) -> None:
    path = stage.folder / "mask.png"
    clear = Image.new("RGBA", (100, 100), (255, 255, 255, 0))
    clear.paste((255, 255, 255, 255), (0, 0, 50, 100))
    clear.save(path)
    made, source = stage.first_frame(modify_region_mask=path), stage.source()[0]
    assert changed(made, source, inside((0.05, 0, 0.45, 1))) > 20
    assert changed(made, source, inside((0.55, 0, 1, 1))) < 4


# What comes in its place


@pytest.mark.spec("4.16")
def test_a_reference_picture_fills_the_region(stage: Set) -> None:
    picture = make_png(stage.folder / "red.png", (300, 900), RED, "plain")
    made = stage.first_frame(modify_region_roi="the left", image=picture)
    region = inside((0.02, 0.02, 0.35, 0.98))
    assert made[region].mean(axis=0) == pytest.approx(RED, abs=6)


# The film


@pytest.mark.soak
@pytest.mark.spec("4.16")
@pytest.mark.parametrize(
    ("source", "fields", "size"),
    [
        ((640, 360), {"resolution": "720p"}, (1280, 720)),
        ((640, 360), {"resolution": "1080p"}, (1920, 1080)),
        ((640, 360), {}, (1920, 1080)),
        ((360, 640), {"resolution": "720p"}, (720, 1280)),
        ((500, 500), {"resolution": "720p"}, (720, 720)),
    ],
)
def test_the_resolution_names_the_short_side_and_the_ratio_stays(
    tmp_path: Path,
    source: tuple[int, int],
    fields: dict[str, object],
    size: tuple[int, int],
) -> None:
    stage = Set(tmp_path, make_mp4(tmp_path / "clip.mp4", source, 0.5))
    asked = stage.order(modify_region_roi="sky")
    body = {name: asked.body[name] for name in ("video", "prompt", "modify_region_roi")}
    asked = RenderRequest(
        "media_1", asked.kind, {**body, **fields}, asked.inputs, asked.output, 1
    )
    assert render(asked) == Rendered("video/mp4", *size, 500, 12, 0.5)
    with av.open(str(stage.output)) as file:
        context = file.streams.video[0].codec_context
        assert (context.width, context.height, context.name) == (*size, "h264")


@pytest.mark.spec("4.16")
@pytest.mark.parametrize(
    ("source_s", "duration_s", "frames"),
    [
        (6.5, 5, 120),
        pytest.param(6.5, 10, 156, marks=pytest.mark.soak),
        (1.3, 5, 31),
    ],
)
def test_the_length_is_the_source_s_but_at_most_what_was_asked(
    tmp_path: Path, source_s: float, duration_s: int, frames: int
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (128, 128), source_s, 30, audio=True)
    stage = Set(tmp_path, clip)
    rendered = render(stage.order(modify_region_roi="sky", duration_s=duration_s))
    assert rendered.frames == frames
    with av.open(str(stage.output)) as file:
        video, sound = file.streams.video[0], file.streams.audio[0]
        assert video.average_rate == 24
        assert video.duration is not None
        assert video.time_base is not None
        assert float(video.duration * video.time_base) == pytest.approx(
            min(source_s, duration_s), abs=1 / 24
        )
        assert sound.duration is not None
        assert sound.time_base is not None
        assert float(sound.duration * sound.time_base) == pytest.approx(
            min(source_s, duration_s), abs=0.05
        )


def test_the_sound_of_the_source_is_kept(stage: Set) -> None:
    render(stage.order(modify_region_roi="sky"))
    with av.open(str(stage.output)) as file:
        parts = [frame.to_ndarray() for frame in file.decode(audio=0)]
    sound = np.concatenate(parts, axis=1)
    spectrum = np.abs(np.fft.rfft(sound[0]))
    pitch_hz = np.argmax(spectrum) * 48_000 / sound.shape[1]
    assert pitch_hz == pytest.approx(440, abs=2)


def test_a_silent_source_stays_silent(tmp_path: Path) -> None:
    stage = Set(tmp_path, make_mp4(tmp_path / "clip.mp4", (128, 128), 0.5))
    render(stage.order(modify_region_roi="sky"))
    with av.open(str(stage.output)) as file:
        assert not file.streams.audio


# What is refused


@pytest.mark.spec("4.16")
def test_a_region_is_needed(stage: Set) -> None:
    assert refusal(stage.order()) == (
        "modify_region_roi: missing; accepted are words for the region here, or a mask "
        "in modify_region_mask."
    )


def test_a_mask_without_white_is_refused(stage: Set) -> None:
    mask = make_png(stage.folder / "black.png", (64, 36), "black", "plain")
    assert refusal(stage.order(modify_region_mask=mask)) == (
        "modify_region_mask: the mask is black all over; accepted is a mask whose "
        "white part is the region to change."
    )


@pytest.mark.parametrize("field", ["video", "modify_region_mask", "image"])
def test_a_sound_in_place_of_a_picture_or_a_clip_is_refused(
    stage: Set, field: str
) -> None:
    wav = make_wav(stage.folder / "a.wav")
    fields: dict[str, object] = {"modify_region_roi": "sky"}
    if field == "video":
        stage.clip = wav
    else:
        fields[field] = wav
    message = refusal(stage.order(1, **fields))
    assert message.startswith(f"{field}: the file cannot be decoded as a ")


def test_a_resolution_that_is_not_known_is_refused(stage: Set) -> None:
    order = stage.order(modify_region_roi="sky", resolution="8k")
    assert refusal(order).startswith("resolution: got '8k', accepted are ")
