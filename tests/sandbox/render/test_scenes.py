"""The renderer's output for a body and its media; each film is opened once."""

import wave
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mediakit.sandbox.render.fields import OpenBody
from mediakit.sandbox.render.film import Film, Layer, still, write_film
from mediakit.sandbox.render.prompted_films import task_of
from mediakit.sandbox.render.protocol import (
    SHORT_SIDES_PX,
    RenderRequest,
    Size,
    frame_size,
)
from tests.sandbox.render.studio import (
    Made,
    Studio,
    difference,
    fitted,
    greys,
    level,
    look,
    middle,
    picture_of,
    pitch_hz,
)
from tests.support.rows import assert_each
from tests.support.samples.media_samples import (
    make_jpeg,
    make_mp3,
    make_mp4,
    make_picture,
    make_png,
    make_wav,
)

NAVY = (0, 0, 128)
R1 = {"prompt": "at the lake", "duration": 4, "resolution": "480p"}


# Films


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


@pytest.mark.parametrize(
    "codec", ["h264", pytest.param("hevc", marks=pytest.mark.soak)]
)
def test_every_frame_of_a_film_is_seen_once_and_decodes_clean(
    tmp_path: Path, codec: Any
) -> None:
    write_film(greys(Size(320, 180), 60, codec=codec), tmp_path / "film")
    seen = look(tmp_path / "film")
    levels = [float(frame.mean()) for frame in seen.frames]
    assert len(levels) == 60
    assert (seen.codec, seen.seconds) == (codec, 2.5)
    assert levels == pytest.approx([8 * (n % 20) for n in range(60)], abs=2)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_picture_that_stays_for_long_is_seen_in_each_of_its_frames(
    tmp_path: Path, codec: Any
) -> None:
    size, layers, shades, first = Size(320, 180), [], [], 0
    for shade, frames in ((200, 125), (20, 3), (120, 49), (60, 96)):
        picture = Image.new("RGB", size, (shade, shade, shade))
        stop = first + frames
        layers.append(Layer(still(picture), start=first, stop=stop, fills=True))
        shades += [shade] * frames
        first = stop
    film = Film(size, layers, first, codec=codec)
    write_film(film, tmp_path / "film")
    levels = [float(frame.mean()) for frame in look(tmp_path / "film").frames]
    assert levels == pytest.approx(shades, abs=2)


def test_a_sketch_has_length_and_sound_and_the_first_frame(tmp_path: Path) -> None:
    def silence() -> Any:
        return iter([np.zeros((2, 120_000), np.float32)])

    size = Size(320, 180)
    film = greys(size, 60, sound=silence())
    rendered = write_film(film, tmp_path / "film", sketch=True)
    seen = look(tmp_path / "film")
    assert rendered == write_film(greys(size, 60, sound=silence()), tmp_path / "full")
    assert (len(seen.frames), seen.seconds) == (60, 2.5)
    assert {round(float(frame.mean())) for frame in seen.frames} == {0}
    assert seen.sound is not None


# Text


def test_prompt_and_seed_decide_the_film(studio: Studio) -> None:
    def first_frame(prompt: str, seed: int) -> Any:
        body = {"prompt": prompt, "duration": 3}
        studio.make("text-to-video", body, seed=seed)
        return look(studio.output, every=1000).frames[0]

    first = first_frame("somewhere", 7)
    assert difference(first, first_frame("somewhere", 7)) == 0
    assert difference(first, first_frame("somewhere", 8)) > 5
    assert difference(first, first_frame("a night at sea", 7)) > 5


@pytest.mark.spec("4.11")
def test_the_prompt_is_a_caption_and_a_watermark_is_drawn(studio: Studio) -> None:
    studio.make("text-to-image", {"prompt": "night", "watermark": True})
    seen = picture_of(studio.output)
    white = seen.min(axis=2) > 225
    assert white[40:100, 40:200].mean() > 0.02
    assert white[900:].sum() == 0
    assert (seen[40:90, 700:].min(axis=2) > 170).sum() > 200


# References


@pytest.mark.spec("4.4", "4.5", "4.9")
def test_pictures_clips_and_sounds_that_are_given_are_seen_and_heard(
    studio: Studio,
) -> None:
    picture = make_png(studio.folder / "p.png", (300, 300), NAVY, "plain")
    clip = make_mp4(studio.folder / "c.mp4", (320, 320), 1)
    wav = make_wav(studio.folder / "a.wav", 2.0, 440)
    mp3 = make_mp3(studio.folder / "b.mp3", 2.0, 660)
    body = {
        **R1,
        "image_urls": [studio.url(picture)],
        "video_urls": [studio.url(clip)],
        "audio_urls": [studio.url(wav), studio.url(mp3)],
    }
    rendered = studio.film("r1", body, picture, clip, wav, mp3)
    assert rendered == Made("video/mp4", 480, 480, 4.0)
    seen, source = look(studio.output, shrink=2), look(clip)
    shown = middle(seen.frames[6])
    assert shown.mean(axis=(0, 1)) == pytest.approx(NAVY, abs=5)
    moving = fitted(source.frames[12], Size(240, 240))
    assert difference(middle(seen.frames[60]), middle(moving)) < 6
    assert pitch_hz(seen.heard(0.3, 1.7)) == pytest.approx(440, abs=2)
    assert pitch_hz(seen.heard(2.3, 3.7)) == pytest.approx(660, abs=2)


@pytest.mark.spec("4.4")
def test_an_edit_keeps_length_ratio_and_sound_of_its_source(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "c.mp4", (240, 240), 2.5, fps=25, audio=True)
    body = {
        **R1,
        "duration": "auto",
        "omni_reference_task_type": "edit",
        "video_urls": [studio.url(clip)],
    }
    rendered = studio.make("r1", body, clip)
    assert rendered == Made("video/mp4", 480, 480, 2.5)
    seen, source = look(studio.output, every=60), look(clip, every=63)
    assert pitch_hz(seen.heard(0, 2.5)) == pytest.approx(440, abs=2)
    shown = middle(fitted(source.frames[0], seen.size))
    assert 3 < difference(middle(seen.frames[0]), shown) < 40


@pytest.mark.spec("4.4")
def test_an_extension_begins_with_the_last_frame_of_its_source(studio: Studio) -> None:
    clip = make_mp4(studio.folder / "clip.mp4", (854, 480), 0.5)
    body = {
        **R1,
        "omni_reference_task_type": "extend",
        "video_urls": [studio.url(clip)],
    }
    assert studio.make("r1", body, clip).seconds == 4.0
    seen, source = look(studio.output, every=96), look(clip)
    bar = slice(165, 235)
    assert difference(seen.frames[0][bar], source.frames[-1][bar]) < 5
    assert difference(seen.frames[0][bar], source.frames[0][bar]) > 20


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


@pytest.mark.spec("4.4", "4.9")
@pytest.mark.parametrize("kind", ["r1", pytest.param("r5b", marks=pytest.mark.soak)])
def test_an_automatic_duration_is_the_same_each_time(studio: Studio, kind: str) -> None:
    body = {**R1, "duration": "auto"}
    first, second = (studio.make(kind, body, seed=seed) for seed in (1, 2))
    assert first.seconds == second.seconds
    assert 4 <= (first.seconds or 0) <= 10


@pytest.mark.spec("4.5", "4.6", "4.7", "4.9")
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("r3", "reference_image_urls"),
        pytest.param("r2", "image_urls", marks=pytest.mark.soak),
    ],
)
def test_an_adaptive_ratio_follows_the_first_picture_or_else_the_clip(
    studio: Studio, kind: str, field: str
) -> None:
    tall = make_png(studio.folder / "tall.png", (90, 120), "navy", "plain")
    wide = make_png(studio.folder / "wide.png", (300, 100), "navy", "plain")
    body = {"prompt": "a kite", field: [studio.url(tall), studio.url(wide)]}
    rendered = studio.make(kind, body, tall, wide)
    assert (rendered.height or 0) * 3 == (rendered.width or 0) * 4
    if field == "image_urls":
        clip = make_mp4(studio.folder / "c.mp4", (240, 240), 0.25)
        body = {"prompt": "a kite", "video_urls": [studio.url(clip)]}
        rendered = studio.make(kind, body, clip)
        assert rendered.width == rendered.height


# Keyframes


@pytest.mark.spec("4.15")
def test_a_transition_goes_from_one_picture_to_the_next(studio: Studio) -> None:
    colours = [(200, 30, 30), (30, 30, 200)]
    files = [
        make_png(studio.folder / f"{n}.png", (64, 64), colour, "plain")
        for n, colour in enumerate(colours)
    ]
    urls = [studio.url(path) for path in files]
    body = {"images": urls, "resolution": "720p", "transition_duration_s": 1}
    rendered = studio.film("keyframes", body, *files)
    assert rendered == Made("video/mp4", 720, 720, 1.0)
    seen = look(studio.output, shrink=4)
    means = [middle(frame).mean(axis=(0, 1)) for frame in seen.frames]
    reds, _, blues = np.array(means).T
    assert (reds[0], blues[0]) == pytest.approx((200, 30), abs=6)
    assert (reds[-1], blues[-1]) == pytest.approx((30, 200), abs=6)
    assert all(later <= earlier + 1 for earlier, later in pairwise(reds))


# Pictures


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
    assert rendered == Made("image/png", 123 * factor, 77 * factor)
    with Image.open(studio.output) as large, Image.open(path) as small:
        assert (large.format, large.size) == ("PNG", (123 * factor, 77 * factor))
        back = large.resize(small.size, Image.Resampling.BOX)
        assert difference(middle(np.asarray(back)), middle(np.asarray(small))) < 1.5


@pytest.mark.spec("4.12")
def test_the_default_output_is_a_jpeg_turned_upright(studio: Studio) -> None:
    path = make_jpeg(studio.folder / "p.jpg", (120, 80), orientation=6)
    body = {"image_url": studio.url(path), "upscale_factor": "x2"}
    rendered = studio.make("image-upscale", body, path)
    assert rendered == Made("image/jpeg", 160, 240)
    with Image.open(studio.output) as large:
        assert (large.format, large.size) == ("JPEG", (160, 240))
        assert large.getexif().get(274) is None
        upright = Image.open(path).transpose(Image.Transpose.ROTATE_270)
        back = large.resize(upright.size, Image.Resampling.BOX)
        assert difference(np.asarray(back), np.asarray(upright)) < 3


@pytest.mark.spec("4.11", "4.12")
@pytest.mark.parametrize(
    ("kind", "field"), [("image-upscale", "image_url"), ("image-to-image", "image")]
)
def test_transparency_is_kept_in_png_and_lies_on_white_in_jpeg(
    studio: Studio, kind: str, field: str
) -> None:
    path = make_png(studio.folder / "p.png", (40, 40), (200, 30, 30, 0), "plain")
    modes = {}
    for output_format in ("png", "jpeg"):
        body = {field: studio.url(path), "output_format": output_format, "prompt": "a"}
        studio.make(kind, body, path)
        with Image.open(studio.output) as picture:
            modes[output_format] = picture.mode
            pixel: Any = picture.getpixel((picture.width - 2, 20))
        assert pixel[3] == 0 if output_format == "png" else min(pixel) > 240
    assert modes == {"png": "RGBA", "jpeg": "RGB"}


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


@pytest.mark.spec("4.11")
def test_a_given_picture_is_recoloured_at_its_size_wherever_it_is_given(
    studio: Studio,
) -> None:
    path = make_jpeg(studio.folder / "p.jpg", (300, 200), "teal", "stripes")
    url = studio.url(path)
    for field in (url, ["x", url], {"a": [{"b": url}]}):
        body = {"prompt": "a rose", "picture": field, "width": 64, "height": 64}
        made = studio.make("image-to-image", body, path)
        assert made == Made("image/png", 300, 200)
        seen, source = picture_of(studio.output), picture_of(path)
        light = [picture[120:].mean(axis=2).ravel() for picture in (seen, source)]
        assert np.corrcoef(light[0], light[1])[0, 1] > 0.95
        assert difference(seen, source) > 15


@pytest.mark.spec("4.11")
@pytest.mark.parametrize(
    ("word", "content_type", "name"),
    [
        ("jpeg", "image/jpeg", "JPEG"),
        ("JPG", "image/jpeg", "JPEG"),
        ("image/jpeg", "image/jpeg", "JPEG"),
        ("png", "image/png", "PNG"),
        (5, "image/png", "PNG"),
    ],
)
def test_a_picture_is_png_unless_jpeg_is_asked_for(
    studio: Studio, word: object, content_type: str, name: str
) -> None:
    body = {"prompt": "a kite", "size": "201x151", "output_format": word}
    assert studio.make("text-to-image", body) == Made(content_type, 201, 151)
    with Image.open(studio.output) as picture:
        assert (picture.format, picture.size, picture.mode) == (name, (201, 151), "RGB")


# functions without a table, and custom functions


@pytest.mark.spec("4.4", "4.7", "4.11")
@pytest.mark.parametrize(
    ("kind", "media_type", "rendered"),
    [
        ("r1-finalize", "video", Made("video/mp4", 1920, 1080, 5.0)),
        ("text-to-image", "image", Made("image/png", 1024, 1024)),
        ("mine", "video", Made("video/mp4", 1280, 720, 5.0)),
        ("mine", "image", Made("image/png", 1024, 1024)),
        ("mine", "audio", Made("audio/wav", None, None, 5.0)),
    ],
)
def test_an_empty_body_is_rendered(
    studio: Studio, kind: str, media_type: str, rendered: Made
) -> None:
    assert studio.make(kind, {}, media_type=media_type) == rendered
    assert studio.output.stat().st_size > 10_000


def open_body(body: dict[str, Any]) -> OpenBody:
    return OpenBody(RenderRequest("mine", body, {}, Path("none"), 1))


def test_size_length_and_sound_are_read_in_their_common_spellings() -> None:
    def check(row: tuple[dict[str, Any], str, object]) -> None:
        body, what, wanted = row
        found = open_body(body)
        values: dict[str, object] = {
            "picture": found.picture_size(),
            "frame": (found.short_side_px, found.ratio),
            "seconds": found.seconds,
            "audible": [found.audible(default=default) for default in (False, True)],
        }
        assert values[what] == wanted

    rows: list[tuple[dict[str, Any], str, object]] = [
        ({"width": 641, "height": 359}, "picture", (641, 359)),
        ({"size": "800*600", "width": 5}, "picture", (800, 600)),
        ({"image_size": "1536 x 1024"}, "picture", (1536, 1024)),
        ({"aspect_ratio": "16:9"}, "picture", (1365, 768)),
        ({"resolution": "4k", "aspect_ratio": "16:9"}, "picture", (4096, 2304)),
        ({"width": 10**4, "height": 10**4}, "picture", (4096, 4096)),
        ({"width": 10_000, "height": 1}, "picture", (4096, 64)),
        ({"width": "512", "height": True}, "picture", (1024, 1024)),
        ({"size": "landscape", "aspect_ratio": "1:0"}, "picture", (1024, 1024)),
        ({"resolution": "1080P"}, "frame", (1080, None)),
        ({"resolution": "4K", "ratio": "9:16"}, "frame", (2160, Fraction(9, 16))),
        ({"resolution": "1280x720"}, "frame", (720, Fraction(16, 9))),
        ({"resolution": "vast", "aspect_ratio": "adaptive"}, "frame", (None, None)),
        ({"duration_s": 2.5}, "seconds", 2.5),
        ({"seconds": "8"}, "seconds", 8),
        ({"duration": "4.5 s"}, "seconds", 4.5),
        ({"duration": "long", "seconds": 3}, "seconds", 3),
        ({"duration": -1}, "seconds", None),
        ({"duration": True}, "seconds", None),
        ({"duration": 10**3}, "seconds", 60),
        ({}, "audible", [False, True]),
        ({"audio": "native"}, "audible", [True, True]),
        ({"generate_audio": False, "audio": True}, "audible", [False, False]),
        ({"audio": "https://media.test/a.wav"}, "audible", [False, True]),
    ]
    assert_each(rows, check)


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
def test_any_accepted_body_can_be_rendered(body: dict[str, Any]) -> None:
    found = open_body(body)
    width, height = found.picture_size()
    assert 64 <= width <= 4096
    assert 64 <= height <= 4096
    assert found.seconds is None or 0.5 <= found.seconds <= 60
    assert found.short_side_px is None or 64 <= found.short_side_px <= 2160
    assert found.ratio is None or found.ratio > 0
    assert isinstance(found.prompt, str)
    assert list(found.media()) == []


def test_media_are_found_at_any_depth_in_the_order_of_the_body(studio: Studio) -> None:
    picture = make_png(studio.folder / "p.png")
    clip = make_mp4(studio.folder / "c.mp4", (64, 64), 0.5)
    sound = make_mp3(studio.folder / "s.mp3", 0.5)
    body: dict[str, Any] = {
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
        ("image", "input.scenes[0].still"),
        ("video", "input.scenes[1].clip"),
        ("audio", "input.voice"),
        ("image", "last"),
    ]


@pytest.mark.spec("4.4")
@pytest.mark.parametrize("audio", [True, False])
def test_a_draft_is_finalized_at_1080p_with_its_sound_and_length(
    studio: Studio, *, audio: bool
) -> None:
    draft = make_mp4(studio.folder / "d.mp4", (160, 120), 1.5, audio=audio)
    body = {"source": {"draft": studio.url(draft)}, "resolution": "480p", "prompt": "x"}
    rendered = studio.make("r1-finalize", body, draft)
    assert rendered == Made("video/mp4", 1440, 1080, 1.5)
    seen, source = look(studio.output, every=36), look(draft, every=36)
    assert seen.seconds == pytest.approx(1.5, abs=1 / 24)
    whole = fitted(source.frames[0], seen.size)
    assert difference(middle(seen.frames[0]), middle(whole)) < 5
    assert (seen.sound is not None) is audio


def test_a_sound_of_a_custom_function_is_the_given_one_or_a_melody_of_that_length(
    studio: Studio,
) -> None:
    def heard(body: dict[str, Any], *files: Path) -> Any:
        studio.make("mine", body, *files, media_type="audio")
        with wave.open(str(studio.output), "rb") as file:
            assert (file.getnchannels(), file.getframerate()) == (2, 48_000)
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples.reshape(-1, 2)[:, 0] / 32768

    melody = heard({"prompt": "night", "seconds": 2.5})
    assert len(melody) == 120_000
    assert 0.02 < level(melody) < 0.5
    one = make_wav(studio.folder / "a.wav", 1, 330)
    two = make_mp3(studio.folder / "b.mp3", 1, 880)
    body = {"voices": [studio.url(one), studio.url(two)], "duration": 2}
    sound = heard(body, one, two)
    assert pitch_hz(sound[2_000:46_000]) == pytest.approx(330, abs=2)
    assert pitch_hz(sound[54_000:94_000]) == pytest.approx(880, abs=2)
    assert len(heard({**body, "duration": 0.5}, one, two)) == 24_000
