"""What each family of reference-to-video renders from its own fields."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.scene_selection import render
from tests.sandbox.render.test_scenes import (
    CATALOG,
    MEASURED_WORKER,
    Seen,
    Studio,
    difference,
    look,
    middle,
    pitch_hz,
    pixels,
)
from tests.support.samples.media_samples import (
    make_jpeg,
    make_mp3,
    make_mp4,
    make_png,
    make_wav,
)

PICTURES = {
    "r1": "image_urls",
    "r2": "image_urls",
    "r3": "reference_image_urls",
    "r4": "image_urls",
    "r5": "image_urls",
    "r6": "reference_image_urls",
    "r3b": "reference_image_urls",
    "r5b": "image_urls",
}

# The smallest and shortest that each family renders.
SMALL: Mapping[str, Mapping[str, Any]] = {
    "r1": {"duration": 4, "resolution": "480p", "generate_audio": False},
    "r2": {"duration": 4, "resolution": "480p", "generate_audio": False},
    "r3": {"duration": 3, "resolution": "720P"},
    "r4": {"duration": 3},
    "r5": {"duration": 4, "resolution": "768P"},
    "r6": {"duration": 1, "resolution": "480p"},
    "r3b": {"duration": 3, "resolution": "720P"},
    "r5b": {"duration": 4, "resolution": "768P"},
}


def families(usual: str, *others: str) -> pytest.MarkDecorator:
    """Draw one family, and in the soak the others too: one scene draws all of them."""
    rest = [pytest.param(kind, marks=pytest.mark.soak) for kind in others]
    return pytest.mark.parametrize("kind", [usual, *rest])


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


def plain(studio: Studio, *colours: str) -> list[Path]:
    return [
        make_png(studio.folder / f"{index}-{colour}.png", (320, 180), colour, "plain")
        for index, colour in enumerate(colours)
    ]


def urls(*files: Path) -> list[str]:
    return [Studio.url(path) for path in files]


def body_of(kind: str, *pictures: Path, **fields: object) -> dict[str, object]:
    return {
        "prompt": "a kite over dunes",
        **SMALL[kind],
        PICTURES[kind]: urls(*pictures),
        **fields,
    }


# Sizes, lengths, sound


@pytest.mark.soak
@pytest.mark.spec("4.4", "4.5", "4.6", "4.8", "4.9", "4.10")
@pytest.mark.parametrize(
    ("kind", "fields", "size", "frames", "heard"),
    [
        ("r1", {"duration": 4, "resolution": "480p"}, (854, 480), 96, True),
        ("r1", {"duration": 5, "generate_audio": False}, (1280, 720), 120, False),
        (
            "r2",
            {"duration": 4, "resolution": "1080p", "ratio": "9:16"},
            (1080, 1920),
            96,
            True,
        ),
        ("r3", {"duration": 3, "resolution": "720P"}, (1280, 720), 72, False),
        ("r3", {"ratio": "5:4"}, (1350, 1080), 120, False),
        ("r4", {"duration": 3, "aspect_ratio": "9:16"}, (720, 1280), 72, False),
        ("r4", {}, (1280, 720), 240, False),
        ("r5", {"duration": 4, "resolution": "768P"}, (1366, 768), 96, True),
        ("r5", {"ratio": "1:1"}, (1440, 1440), 120, True),
        ("r6", {"duration": 1, "aspect_ratio": "2:3"}, (480, 720), 24, False),
        ("r6", {"resolution": "720p"}, (1280, 720), 192, False),
    ],
)
def test_every_family_keeps_size_length_codec_and_sound(
    studio: Studio,
    kind: str,
    fields: Mapping[str, object],
    size: tuple[int, int],
    frames: int,
    *,
    heard: bool,
) -> None:
    rendered = studio.sketch(kind, {"prompt": "a kite", **fields})
    seconds = frames / 24
    assert rendered == Rendered(
        "video/mp4", *size, round(seconds * 1000), frames, seconds
    )
    seen = look(studio.output, every=frames)
    assert (seen.size, seen.codec) == (size, "h264")
    assert seen.seconds == pytest.approx(seconds, abs=1 / 24)
    assert (seen.loudness > 0.02) is heard
    assert (seen.sound is not None) is heard


@pytest.mark.spec("4.5", "4.6", "4.9")
@families("r3", "r2", "r5", "r3b", "r5b")
@pytest.mark.parametrize("ratio", [{}, {"ratio": "adaptive"}])
def test_an_adaptive_ratio_follows_the_first_picture(
    studio: Studio, kind: str, ratio: dict[str, object]
) -> None:
    tall = make_png(studio.folder / "tall.png", (90, 120), "navy", "plain")
    wide = make_png(studio.folder / "wide.png", (300, 100), "navy", "plain")
    rendered = studio.sketch(kind, body_of(kind, tall, wide, **ratio), tall, wide)
    assert rendered.width is not None
    assert rendered.height is not None
    assert rendered.height * 3 == rendered.width * 4


@pytest.mark.spec("4.5", "4.9")
@families("r5b", "r2", "r5")
def test_an_adaptive_ratio_follows_the_clip_where_there_is_no_picture(
    studio: Studio, kind: str
) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (240, 240), 0.25)
    body = body_of(kind, video_urls=urls(clip))
    rendered = studio.sketch(kind, body, clip)
    assert rendered.width == rendered.height
    seen, source = look(studio.output, every=96), look(clip, every=96)
    given = pixels(Image.fromarray(source.frames[0]), seen.size)
    assert difference(middle(seen.frames[0]), middle(given)) < 5


# References


@pytest.mark.spec("4.5", "4.9")
@families("r2", "r5", "r5b")
def test_the_sounds_that_are_given_are_heard_one_after_the_other(
    studio: Studio, kind: str
) -> None:
    wav = make_wav(studio.folder / "a.wav", 2.0, 330)
    mp3 = make_mp3(studio.folder / "b.mp3", 2.0, 880)
    body = body_of(kind, audio_urls=urls(wav, mp3))
    studio.sketch(kind, body, wav, mp3)
    sound = look(studio.output, every=96).sound
    assert sound is not None
    assert pitch_hz(sound[:, 10_000:80_000]) == pytest.approx(330, abs=2)
    assert pitch_hz(sound[:, 110_000:180_000]) == pytest.approx(880, abs=2)


@pytest.mark.spec("4.5", "4.9")
@families("r2", "r5", "r5b")
def test_limits_are_those_of_the_order(studio: Studio, kind: str) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (320, 180), 0.25)
    order = studio.order(kind, body_of(kind, video_urls=urls(clip)), clip)
    assert render(replace(order, sketch=True)).frames == 96
    limits = {"video_urls": MediaLimits(min_s=3)}
    with pytest.raises(RenderError, match=r"video_urls\[0\]: .* 3 s") as refusal:
        render(_limited(order, limits))
    assert refusal.value.code == "invalid_input"


def _limited(order: RenderRequest, limits: Mapping[str, MediaLimits]) -> RenderRequest:
    return replace(order, limits=limits)


@pytest.mark.spec("4.6", "4.10")
@families("r6", "r3")
def test_a_broken_picture_is_named_by_the_family_s_own_field(
    studio: Studio, kind: str
) -> None:
    good = plain(studio, "navy")[0]
    broken = studio.folder / "broken.png"
    broken.write_bytes(good.read_bytes()[:60])
    with pytest.raises(RenderError, match=r"^reference_image_urls\[1\]: "):
        studio.sketch(kind, body_of(kind, good, broken), good, broken)


# Fields of the families


@pytest.mark.spec("4.5")
@pytest.mark.parametrize(
    ("prompt", "duration"),
    [
        pytest.param("replace the sky", "auto", marks=pytest.mark.soak),
        ("continue the walk", 5),
    ],
)
def test_only_r1_edits_and_extends(
    studio: Studio, prompt: str, duration: str | int
) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (854, 480), 0.25)
    body = body_of("r2", video_urls=urls(clip), prompt=prompt, duration=duration)
    studio.sketch("r2", body, clip)
    shown, source = look(studio.output, every=96), look(clip, every=96)
    assert shown.seconds >= 4
    assert difference(middle(shown.frames[0]), middle(source.frames[0])) < 4


@pytest.mark.spec("4.4")
@pytest.mark.parametrize("task", ["edit", "extend"])
def test_there_is_nothing_to_edit_or_extend_without_a_clip(
    studio: Studio, task: str
) -> None:
    body = body_of("r1", omni_reference_task_type=task)
    with pytest.raises(RenderError, match=f"^video_urls: {task} needs") as refusal:
        studio.make("r1", body)
    assert refusal.value.code == "invalid_input"


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("r3", {"resolution": "8K"}, "resolution"),
        ("r5", {"ratio": "wide"}, "ratio"),
        ("r4", {"aspect_ratio": 5}, "aspect_ratio"),
        ("r6", {"duration": "long"}, "duration"),
        ("r2", {"generate_audio": "yes"}, "generate_audio"),
        ("r5", {"image_urls": "https://media.test/a.png"}, "image_urls"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_before_it_is_rendered(
    studio: Studio, kind: str, fields: dict[str, object], field: str
) -> None:
    picture = plain(studio, "navy")[0]
    body = {**body_of(kind, picture), **fields}
    problems = CATALOG.function(kind).check(body)
    assert [problem.field for problem in problems] == [field]


# R3b tolerates what it does not know


@pytest.mark.spec("4.7")
@pytest.mark.parametrize(
    ("fields", "size", "seconds"),
    [
        ({}, (1920, 1080), 5),
        ({"resolution": "1080P", "ratio": "9:16", "duration": 3}, (1080, 1920), 3),
        ({"resolution": "720p", "duration": 2}, (1280, 720), 2),
        ({"resolution": "huge", "ratio": "wide", "duration": -1}, (1920, 1080), 5),
        ({"resolution": "480p", "ratio": "0:0", "duration": -4}, (854, 480), 5),
        ({"resolution": "480p", "duration": True}, (854, 480), 5),
    ],
)
def test_r3b_falls_back_where_a_value_is_unknown(
    studio: Studio, fields: dict[str, object], size: tuple[int, int], seconds: int
) -> None:
    picture = plain(studio, "navy")[0]
    body = {**fields, "reference_image_urls": urls(picture)}
    rendered = studio.sketch("r3b", body, picture)
    assert (rendered.width, rendered.height) == size
    assert rendered.output_seconds == seconds
    seen: Seen = look(studio.output, every=1000)
    assert seen.size == size
    assert seen.sound is None


# Bounds


@pytest.mark.soak
@pytest.mark.spec("4.5")
def test_pictures_at_4k_are_shown_in_bounded_memory(studio: Studio) -> None:
    files = [
        make_jpeg(studio.folder / f"{index}.jpg", (1920, 1080), colour, "stripes")
        for index, colour in enumerate(("navy", "teal", "darkred", "darkgreen"))
    ]
    body = body_of("r2", *files, resolution="4k")
    worker = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED_WORKER],
        input=studio.order("r2", body, *files).line(),
        capture_output=True,
        check=True,
    )
    assert json.loads(worker.stdout)["width"] == 3840
    assert int(worker.stderr) < 280 * 1024
