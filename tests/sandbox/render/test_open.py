"""What the renderer makes of bodies that no table describes."""

import json
import wave
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from mediakit.media_limits import MediaLimits
from mediakit.sandbox.render.__main__ import response_line
from mediakit.sandbox.render.film.common_fields import OpenBody
from mediakit.sandbox.render.frames.planes import rgb_of
from mediakit.sandbox.render.landscapes.palettes import PALETTES, Palette
from mediakit.sandbox.render.protocol import Rendered, RenderError, RenderRequest
from mediakit.sandbox.render.scenes.default_picture import recolour
from mediakit.sandbox.render.scenes.scene_selection import render
from tests.sandbox.render.test_scenes import (
    Rgb,
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
    make_picture,
    make_png,
    make_wav,
)


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


def open_body(body: Mapping[str, object]) -> OpenBody:
    return OpenBody(RenderRequest("media_1", "mine", body, {}, Path("none"), 1))


def make(
    studio: Studio,
    body: Mapping[str, object],
    *files: Path,
    media_type: str = "video",
    limits: Mapping[str, MediaLimits] | None = None,
    sketch: bool = True,
) -> Rendered:
    """Render with a function that nobody declared."""
    inputs = {studio.url(path): path for path in files}
    order = RenderRequest(
        "media_1", "mine", body, inputs, studio.output, 1, limits or {}, media_type
    )
    return render(replace(order, sketch=sketch))


def seen_picture(studio: Studio) -> Rgb:
    with Image.open(studio.output) as picture:
        return np.asarray(picture.convert("RGB"))


# Nothing is asked


@pytest.mark.spec("4.4", "4.7", "4.11")
@pytest.mark.parametrize(
    ("kind", "rendered"),
    [
        ("r1-finalize", Rendered("video/mp4", 1920, 1080, 5000, 120, 5.0)),
        ("text-to-image", Rendered("image/png", 1024, 1024)),
        pytest.param(
            *("image-to-image", Rendered("image/png", 1024, 1024)),
            marks=pytest.mark.soak,
        ),
    ],
)
def test_an_open_function_renders_an_empty_body(
    studio: Studio, kind: str, rendered: Rendered
) -> None:
    assert studio.sketch(kind, {}) == rendered
    assert studio.output.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("media_type", "rendered"),
    [
        ("video", Rendered("video/mp4", 1280, 720, 5000, 120, 5.0)),
        ("image", Rendered("image/png", 1024, 1024)),
        ("audio", Rendered("audio/wav", None, None, 5000, None, 5.0)),
    ],
)
def test_a_function_of_one_s_own_renders_an_empty_body(
    studio: Studio, media_type: str, rendered: Rendered
) -> None:
    assert make(studio, {}, media_type=media_type) == rendered


def test_the_answer_for_a_sound_has_no_size(studio: Studio) -> None:
    fields = json.loads(studio.order("mine", {"seconds": 1}).line())
    line = json.dumps({**fields, "media_type": "audio"}).encode()
    answer = json.loads(response_line(line))
    assert answer == {
        "job": "media_1",
        "ok": True,
        "content_type": "audio/wav",
        "width": None,
        "height": None,
        "duration_ms": 1000,
        "frames": None,
        "output_seconds": 1.0,
    }


def test_a_medium_that_the_sandbox_cannot_make_is_an_internal_failure(
    studio: Studio,
) -> None:
    with pytest.raises(RenderError, match="video") as refusal:
        make(studio, {}, media_type="smell")
    assert refusal.value.code == "internal"


# What is understood of a body


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ({}, (1024, 1024)),
        ({"width": 640, "height": 360}, (640, 360)),
        ({"width": 641, "height": 359}, (641, 359)),
        ({"size": "800x600"}, (800, 600)),
        ({"size": "800*600", "width": 5, "height": 5}, (800, 600)),
        ({"size": {"width": 300, "height": 200}}, (300, 200)),
        ({"image_size": "1536 x 1024"}, (1536, 1024)),
        ({"aspect_ratio": "16:9"}, (1365, 768)),
        ({"resolution": "2K", "ratio": "1:1"}, (2048, 2048)),
        ({"resolution": "4k", "aspect_ratio": "16:9"}, (4096, 2304)),
        ({"resolution": "720p", "aspect_ratio": "9:16"}, (720, 1280)),
        ({"width": 10**400, "height": 10**400}, (4096, 4096)),
        ({"width": 8192, "height": 4096}, (4096, 2048)),
        ({"width": 10_000, "height": 1}, (4096, 64)),
        ({"width": 0, "height": 500}, (1024, 1024)),
        ({"width": "512", "height": True}, (1024, 1024)),
        ({"size": "0x10"}, (1024, 1024)),
        ({"size": "landscape"}, (1024, 1024)),
        ({"size": [1024, 1024], "aspect_ratio": "tall"}, (1024, 1024)),
        ({"aspect_ratio": "1:0", "resolution": 5}, (1024, 1024)),
    ],
)
def test_the_size_of_a_picture_is_read_in_its_common_spellings(
    body: dict[str, object], size: tuple[int, int]
) -> None:
    assert open_body(body).picture_size() == size


@pytest.mark.parametrize(
    ("body", "short_side_px", "ratio"),
    [
        ({}, None, None),
        ({"resolution": "1080P"}, 1080, None),
        ({"resolution": "4K", "ratio": "9:16"}, 2160, Fraction(9, 16)),
        ({"resolution": "1280x720"}, 720, Fraction(16, 9)),
        ({"width": 9000, "height": 9000}, 2160, Fraction(1)),
        ({"resolution": "vast", "aspect_ratio": "adaptive"}, None, None),
        ({"video": {"resolution": "480p", "ratio": "1:1"}}, 480, Fraction(1)),
    ],
)
def test_the_frame_of_a_video_is_read_in_its_common_spellings(
    body: dict[str, object], short_side_px: int | None, ratio: Fraction | None
) -> None:
    found = open_body(body)
    assert (found.short_side_px, found.ratio) == (short_side_px, ratio)


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"duration": 7}, 7),
        ({"duration_s": 2.5}, 2.5),
        ({"seconds": "8"}, 8),
        ({"duration": "4.5 s"}, 4.5),
        ({"duration": "5s"}, 5),
        ({"duration": "long", "seconds": 3}, 3),
        ({"duration": 0}, None),
        ({"duration": -1}, None),
        ({"duration": True}, None),
        ({"duration": [5]}, None),
        ({"duration": 0.001}, 0.5),
        ({"duration": 10**400}, 60),
        ({"parameters": {"duration": 6}}, 6),
    ],
)
def test_a_length_is_read_in_its_common_spellings(
    body: dict[str, object], seconds: float | None
) -> None:
    assert open_body(body).seconds == seconds


@pytest.mark.parametrize(
    ("body", "audible"),
    [
        ({}, None),
        ({"audio": "native"}, True),
        ({"audio": True}, True),
        ({"audio": "off"}, False),
        ({"generate_audio": False, "audio": True}, False),
        ({"audio": "https://media.test/a.wav"}, None),
        ({"audio": 5}, None),
    ],
)
def test_sound_is_wanted_or_not_or_left_open(
    body: dict[str, object], *, audible: bool | None
) -> None:
    found = {open_body(body).audible(default=default) for default in (False, True)}
    assert found == ({False, True} if audible is None else {audible})


NAMES = st.sampled_from(
    ["prompt", "duration", "size", "width", "height", "resolution", "ratio", "audio"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["1024x768", "4K", "16:9", "adaptive", "auto", "5 s"])
)
INNER = LEAVES | st.lists(LEAVES, max_size=3)
VALUES = INNER | st.lists(INNER, max_size=3) | st.dictionaries(NAMES, INNER)


@given(body=st.dictionaries(NAMES | st.text(max_size=5), VALUES))
def test_any_body_asks_for_something_that_can_be_made(body: dict[str, Any]) -> None:
    found = open_body(body)
    width, height = found.picture_size()
    assert 64 <= width <= 4096
    assert 64 <= height <= 4096
    assert found.seconds is None or 0.5 <= found.seconds <= 60
    assert found.short_side_px is None or 64 <= found.short_side_px <= 2160
    assert found.ratio is None or found.ratio > 0
    assert isinstance(found.prompt, str)
    assert isinstance(found.audible(default=False), bool)
    assert list(found.media()) == []


def test_media_are_found_at_any_depth_in_the_order_of_the_body(
    studio: Studio,
) -> None:
    picture = make_png(studio.folder / "p.png")
    clip = make_mp4(studio.folder / "c.mp4", (64, 64), 0.5)
    sound = make_mp3(studio.folder / "s.mp3", 0.5)
    body = {
        "note": "https://media.test/elsewhere.png",
        "input": {
            "scenes": [{"still": studio.url(picture)}, {"clip": studio.url(clip)}],
            "voice": studio.url(sound),
        },
        "last": studio.url(picture),
    }
    order = studio.order("mine", body, picture, clip, sound)
    found = [(medium, given.field) for medium, given in OpenBody(order).media()]
    assert found == [
        ("picture", "input.scenes[0].still"),
        ("video", "input.scenes[1].clip"),
        ("sound", "input.voice"),
        ("picture", "last"),
    ]


@pytest.mark.parametrize("depth", [50_000])
def test_a_deep_body_is_no_trouble(depth: int) -> None:
    body: dict[str, Any] = {"duration": 3}
    for _ in range(depth):
        body = {"a": body}
    assert open_body(body).seconds == 3


@pytest.mark.parametrize(
    "content", [b"", b"a text that is no medium", b"<svg/>", b"\xff\xd8\xff\xe0JFIF"]
)
@pytest.mark.parametrize("kind", ["r5b", "r1-finalize", "image-to-image"])
def test_a_file_that_is_no_medium_is_refused_with_its_place(
    studio: Studio, kind: str, content: bytes
) -> None:
    path = studio.folder / "what"
    path.write_bytes(content)
    with pytest.raises(RenderError, match=r"^input\.files\[0\]: ") as refusal:
        studio.make(kind, {"input": {"files": [studio.url(path)]}}, path)
    assert refusal.value.code == "invalid_input"


# Draft finalization


@pytest.mark.spec("4.4")
@pytest.mark.parametrize("audio", [True, False])
def test_a_draft_is_finalized_at_1080p_with_its_sound_and_length(
    studio: Studio, *, audio: bool
) -> None:
    draft = make_mp4(studio.folder / "d.mp4", (160, 120), 1.5, audio=audio)
    body = {"source": {"draft": studio.url(draft)}, "resolution": "480p", "prompt": "x"}
    rendered = studio.sketch("r1-finalize", body, draft)
    assert rendered == Rendered("video/mp4", 1440, 1080, 1500, 36, 1.5)
    seen, source = look(studio.output, every=36), look(draft, every=36)
    assert seen.seconds == pytest.approx(1.5, abs=1 / 24)
    drafted = pixels(Image.fromarray(source.frames[0]), seen.size)
    assert difference(seen.frames[0], drafted) < 5
    assert (seen.sound is not None) is audio
    if seen.sound is not None:
        assert pitch_hz(seen.sound) == pytest.approx(440, abs=2)


@pytest.mark.spec("4.4")
def test_a_draft_that_is_known_by_a_name_only_becomes_a_scene(studio: Studio) -> None:
    body = {
        "draft_id": "media_1",
        "prompt": "night",
        "resolution": "480p",
        "seconds": 1,
    }
    rendered = studio.sketch("r1-finalize", body)
    assert rendered == Rendered("video/mp4", 1920, 1080, 1000, 24, 1.0)
    assert look(studio.output, every=24).loudness > 0.01


def test_a_draft_longer_than_a_minute_is_refused(studio: Studio) -> None:
    draft = make_mp4(studio.folder / "d.mp4", (64, 64), 61, fps=1)
    with pytest.raises(RenderError, match=r"^draft: .* lasts 61.0 s;") as refusal:
        studio.make("r1-finalize", {"draft": studio.url(draft)}, draft)
    assert refusal.value.code == "invalid_input"


# Videos of one's own


def test_a_video_of_one_s_own_shows_what_its_body_names(studio: Studio) -> None:
    picture = make_png(studio.folder / "p.png", (300, 300), "navy", "plain")
    clip = make_mp4(studio.folder / "c.mp4", (320, 320), 1)
    sound = make_wav(studio.folder / "s.wav", 3, 550)
    body = {
        "input": {"text": "unknown", "first": studio.url(picture)},
        "then": [studio.url(clip)],
        "music": studio.url(sound),
        "duration": 2,
        "resolution": "480p",
    }
    rendered = make(studio, body, picture, clip, sound, sketch=False)
    assert rendered == Rendered("video/mp4", 480, 480, 2000, 48, 2.0)
    seen, source = look(studio.output), look(clip)
    assert middle(seen.frames[3]).mean(axis=(0, 1)) == pytest.approx([0, 0, 128], abs=5)
    moving = pixels(Image.fromarray(source.frames[12]), seen.size)
    assert difference(middle(seen.frames[36]), middle(moving)) < 5
    assert seen.sound is not None
    assert pitch_hz(seen.sound) == pytest.approx(550, abs=2)


@pytest.mark.parametrize(
    ("fields", "heard"),
    [({}, False), ({"audio": "native"}, True), ({"generate_audio": True}, True)],
)
def test_a_video_of_one_s_own_is_silent_unless_sound_is_wanted(
    studio: Studio, fields: dict[str, object], *, heard: bool
) -> None:
    make(studio, {"prompt": "night", "seconds": 1, "resolution": "480p", **fields})
    assert (look(studio.output, every=24).sound is not None) is heard


def test_declared_limits_hold_for_a_function_of_one_s_own(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (64, 64), 1)
    sound = make_wav(studio.folder / "s.wav", 1)
    body = {"shots": [{"clip": studio.url(clip)}], "voice": studio.url(sound)}
    for field, place in (("shots", "shots[0].clip"), ("voice", "voice")):
        with pytest.raises(RenderError, match="2 s") as refusal:
            make(studio, body, clip, sound, limits={field: MediaLimits(min_s=2)})
        assert refusal.value.message.startswith(f"{place}: ")


def test_r5b_leaves_the_length_to_the_prompt(studio: Studio) -> None:
    body = {"prompt": "a walk", "duration": "auto", "resolution": "480p"}
    body |= {"audio": "off"}
    seconds = [studio.sketch("r5b", body, seed=seed).output_seconds for seed in (1, 2)]
    assert seconds[0] == seconds[1]
    assert 4 <= (seconds[0] or 0) <= 10


# Sounds of one's own


def heard_wav(path: Path) -> NDArray[np.float32]:
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getframerate()) == (2, 48_000)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return (samples.reshape(-1, 2).T / 32768).astype(np.float32)


def test_a_melody_has_the_asked_length(studio: Studio) -> None:
    rendered = make(studio, {"prompt": "night", "seconds": 2.5}, media_type="audio")
    sound = heard_wav(studio.output)
    assert rendered.output_seconds == 2.5
    assert sound.shape == (2, 120_000)
    assert 0.02 < float(np.sqrt((sound**2).mean())) < 0.5


def test_a_sound_that_is_given_is_the_sound_that_is_heard(studio: Studio) -> None:
    one = make_wav(studio.folder / "a.wav", 1, 330)
    two = make_mp3(studio.folder / "b.mp3", 1, 880)
    body = {"voices": [studio.url(one), studio.url(two)], "duration": 2}
    make(studio, body, one, two, media_type="audio")
    sound = heard_wav(studio.output)
    assert pitch_hz(sound[:, 2_000:46_000]) == pytest.approx(330, abs=2)
    assert pitch_hz(sound[:, 54_000:94_000]) == pytest.approx(880, abs=2)
    make(studio, {**body, "duration": 0.5}, one, two, media_type="audio")
    short = heard_wav(studio.output)
    assert short.shape == (2, 24_000)
    assert pitch_hz(short) == pytest.approx(330, abs=3)


# Pictures


@pytest.mark.spec("4.11")
@pytest.mark.parametrize(
    ("word", "content_type", "name"),
    [
        ("jpeg", "image/jpeg", "JPEG"),
        ("JPG", "image/jpeg", "JPEG"),
        ("image/jpeg", "image/jpeg", "JPEG"),
        ("png", "image/png", "PNG"),
        ("tiff", "image/png", "PNG"),
        (5, "image/png", "PNG"),
    ],
)
def test_a_picture_is_png_unless_jpeg_is_asked_for(
    studio: Studio, word: object, content_type: str, name: str
) -> None:
    body = {"prompt": "a kite", "size": "201x151", "output_format": word}
    rendered = studio.make("text-to-image", body)
    assert rendered == Rendered(content_type, 201, 151)
    with Image.open(studio.output) as picture:
        assert (picture.format, picture.size, picture.mode) == (name, (201, 151), "RGB")


@pytest.mark.spec("4.11")
def test_prompt_and_seed_decide_the_picture(studio: Studio) -> None:
    pictures: dict[tuple[str, int], Rgb] = {}
    for prompt, seed in (("night", 1), ("night", 2), ("snow", 1), ("snow", 1)):
        studio.make("text-to-image", {"prompt": prompt, "size": "320x240"}, seed=seed)
        again = pictures.get((prompt, seed))
        pictures[prompt, seed] = seen_picture(studio)
        if again is not None:
            assert difference(again, pictures[prompt, seed]) == 0
    assert difference(pictures["night", 1], pictures["night", 2]) > 1
    assert pictures["night", 1].mean() + 50 < pictures["snow", 1].mean()


@pytest.mark.spec("4.11")
def test_the_prompt_is_a_caption_and_a_watermark_is_drawn(studio: Studio) -> None:
    studio.make("text-to-image", {"prompt": "night", "watermark": True})
    seen = seen_picture(studio)
    white = seen.min(axis=2) > 225
    assert white[950:1000, 40:200].mean() > 0.02
    assert white[950:1000, 300:].sum() == 0
    assert (seen[40:90, 700:].min(axis=2) > 170).sum() > 200


@pytest.mark.spec("4.11")
@pytest.mark.parametrize(
    "kind", ["image-to-image", pytest.param("text-to-image", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("place", ["text", "list", "nested"])
def test_a_given_picture_is_recoloured_at_its_size(
    studio: Studio, kind: str, place: str
) -> None:
    path = make_jpeg(studio.folder / "p.jpg", (300, 200), "teal", "stripes")
    url = studio.url(path)
    field = {"text": url, "list": ["x", url], "nested": {"a": [{"b": url}]}}[place]
    body = {"prompt": "a rose", "picture": field, "width": 64, "height": 64}
    assert studio.make(kind, body, path) == Rendered("image/png", 300, 200)
    seen, source = seen_picture(studio), np.asarray(Image.open(path))
    light = [picture.mean(axis=2).ravel() for picture in (seen, source)]
    assert np.corrcoef(light[0], light[1])[0, 1] > 0.95
    assert difference(seen, source) > 15


@given(palette=st.sampled_from(PALETTES), height=st.sampled_from([1, 255, 256, 700]))
def test_recolouring_dyes_every_row_with_the_palette(
    palette: Palette, height: int
) -> None:
    grey = Image.new("RGBA", (3, height), (0, 0, 0, 70))
    recolour(grey, palette)
    wanted = np.rint(rgb_of(palette.near) * 255 * 0.6)
    found = np.asarray(grey)
    assert np.abs(found[..., :3] - wanted).max() <= 2
    assert (found[..., 3] == 70).all()


@pytest.mark.spec("4.11")
@pytest.mark.parametrize(("output_format", "mode"), [("png", "RGBA"), ("jpeg", "RGB")])
def test_transparency_stays_in_png_and_lies_on_white_in_jpeg(
    studio: Studio, output_format: str, mode: str
) -> None:
    path = make_png(studio.folder / "p.png", (40, 40), (200, 30, 30, 0), "plain")
    body = {"image": studio.url(path), "output_format": output_format, "prompt": "snow"}
    studio.make("image-to-image", body, path)
    with Image.open(studio.output) as picture:
        assert picture.mode == mode
        pixel = picture.getpixel((20, 20))
    assert isinstance(pixel, tuple)
    if mode == "RGBA":
        assert pixel[3] == 0
    else:
        assert min(pixel) > 240


@pytest.mark.spec("4.11")
def test_a_picture_too_long_for_jpeg_is_refused(studio: Studio) -> None:
    path = studio.folder / "p.png"
    make_picture((65_501, 2), "navy", "plain").save(path, "PNG")
    body = {"image": studio.url(path), "output_format": "jpeg"}
    with pytest.raises(RenderError, match=r"^image: .* 65501x2 .* Ask for png"):
        studio.make("image-to-image", body, path)
    rendered = studio.make("image-to-image", {"image": studio.url(path)}, path)
    assert rendered == Rendered("image/png", 65_501, 2)
