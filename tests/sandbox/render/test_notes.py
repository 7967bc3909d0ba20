"""A sweep over any field is visible: no two values give the same picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mediakit.sandbox.render.captions import font_for, note_of, wrap
from mediakit.sandbox.render.film import Film, render_frames
from mediakit.sandbox.render.images import Picture
from mediakit.sandbox.render.protocol import RenderRequest
from mediakit.sandbox.render.renderers import scene_of
from mediakit.schema import FieldSpec
from tests.sandbox.render.studio import CATALOG, Studio, difference
from tests.support.samples.media_samples import make_mp4, make_png, make_wav

QUICK = ("keyframes", "image-upscale", "text-to-video")
KINDS = sorted({function.kind for function in CATALOG} - {"compose-video"})
REQUIRED: dict[str, Any] = {"prompt": "a kite", "duration": 4, "resolution": "480p"}
# The first kinds are drawn in each run, the others only in the soak.
BY_KIND = [
    kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.soak)
    for kind in KINDS
]


def media_of(folder: Path) -> dict[str, list[Path]]:
    return {
        "image": [
            make_png(folder / "a.png", (640, 360), "teal"),
            make_png(folder / "b.png", (640, 360), "teal", "stripes"),
        ],
        "video": [
            make_mp4(folder / f"{name}.mp4", (320, 180), 0.25, rotation_degrees=turned)
            for name, turned in (("c", 0), ("d", 180))
        ],
        "audio": [make_wav(folder / f"{name}.wav", 0.25) for name in "ef"],
    }


def values_of(field: FieldSpec, urls: dict[str, list[str]]) -> list[Any]:
    """Return some values of a field, each different from its default."""
    match field.kind:
        case "choice":
            values: list[Any] = [*field.choices]
        case "boolean":
            values = [True, False]
        case "integer" | "number":
            low = 2 if field.low is None else field.low
            values = [low, low + 1 if field.kind == "integer" else (field.high or 1)]
        case "media":
            values = urls[field.media_kind or "image"]
        case "list":
            assert field.item is not None
            items = values_of(field.item, urls)
            if field.item.kind == "media":
                return [items, items[::-1]]
            return [[item] for item in items]
        case _:
            values = ["one", "two"]
    return [value for value in values if value != field.default][:3]


def bodies_of(
    kind: str, urls: dict[str, list[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return a body, and the same with other values of each field, which is named."""
    fields = CATALOG.function(kind).fields
    base = {
        name: REQUIRED[name] if name in REQUIRED else values_of(field, urls)[0]
        for name, field in fields.items()
        if field.required
    }
    if kind == "r1":  # an edit needs a clip
        base |= {"video_urls": urls["video"]}
    if kind == "region-replace":
        base |= {"modify_region_roi": "sky"}
    base |= {"resolution": "720p"} if "resolution" in fields and kind != "r6" else {}
    yield "", base
    for name, field in fields.items():
        for value in values_of(field, urls):
            if value != base.get(name):
                yield name, base | {name: value}


def first_picture(asked: RenderRequest) -> bytes:
    """Draw the first picture of a film, or the one picture that is asked for."""
    match scene_of(asked):
        case Film() as film:
            drawing = render_frames(film.layers, film.size, 1)
            return bytes(next(drawing).to_ndarray().tobytes())
        case Picture(image, _):
            return image.tobytes()
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("kind", BY_KIND)
def test_no_two_values_of_a_field_give_the_same_picture(
    studio: Studio, kind: str
) -> None:
    media = media_of(studio.folder)
    files = [path for paths in media.values() for path in paths]
    urls = {name: [studio.url(path) for path in paths] for name, paths in media.items()}
    seen: dict[bytes, dict[str, Any]] = {}
    for name, body in bodies_of(kind, urls):
        asked = studio.order(kind, body, *files)
        picture = first_picture(asked)
        assert picture not in seen, (body, seen[picture])
        seen[picture] = body
        if name and not CATALOG.function(kind).fields[name].required:
            assert any(line.startswith(f"{name} ") for line in note_of(asked))


def test_a_note_names_what_is_not_a_default_and_shortens_it(studio: Studio) -> None:
    picture = make_png(studio.folder / "cat.png")
    body = {
        "prompt": "a kite",
        "images": [studio.url(picture)],
        "loop": True,
        "transition_duration_s": 5,
        "seed": 7,
        "negative_prompt": "no people " * 20,
    }
    note = note_of(studio.order("keyframes", body, picture), caption="a kite")
    assert {"loop true", "seed 7"} <= {*note}
    assert not any(line.startswith(("prompt", "images", "transition")) for line in note)
    shortened = next(line for line in note if line.startswith("negative_prompt"))
    assert len(shortened) < 70
    longer = studio.order(
        "keyframes", {**body, "negative_prompt": "no people " * 21}, picture
    )
    assert shortened not in note_of(longer)


def test_a_note_leaves_the_words_of_a_given_picture_as_they_are(
    studio: Studio,
) -> None:
    words = {"prompt": "a paper boat at dawn on a quiet lake", "seed": 7}
    studio.make("text-to-image", words)
    given = studio.folder / "given.png"
    given.write_bytes(studio.output.read_bytes())
    body = {"image_url": studio.url(given), "upscale_factor": "x2", "sharpen": 0}
    studio.make("image-upscale", {**body, "output_format": "png"}, given)
    with Image.open(given) as before, Image.open(studio.output) as after:
        small = after.resize(before.size, Image.Resampling.BOX)
        top = (0, 0, before.width, before.height // 6)
        seen, source = (np.asarray(p.convert("RGB").crop(top)) for p in (small, before))
    assert source.max() > 240  # the words
    assert difference(seen, source) < 2


def test_a_medium_is_noted_by_its_name(studio: Studio) -> None:
    sound = make_wav(studio.folder / "song.wav")
    body = {"prompt": "a", "duration": 4, "audio_urls": [studio.url(sound)]}
    assert "audio_urls song.wav" in note_of(studio.order("r1", body, sound))


def test_long_captions_that_begin_alike_end_in_another_checksum() -> None:
    font = font_for("a", 32)
    one, two = (wrap("a kite " * 60 + end, font, 600, 2) for end in ("red", "blue"))
    assert len(one) == 2
    assert all(font.getlength(line) <= 600 for line in one)
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_a_tiny_picture_has_no_room_for_a_note(studio: Studio) -> None:
    picture = make_png(studio.folder / "p.png", (8, 6))
    body = {"image_url": studio.url(picture), "sharpen": 0.5}
    made = studio.make("image-upscale", body, picture)
    assert (made.width, made.height) == (16, 12)
