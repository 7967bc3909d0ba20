"""Masks: from strokes to a PNG, and from the canvas into the form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from mediakit import Client
from mediakit.widgets.form.controller import Form
from mediakit.widgets.inputs.masks.painter import EMPTY, NO_CLIP
from mediakit.widgets.inputs.masks.strokes import is_empty, mask_png, smaller_png
from mediakit.widgets.media.media_fields import MediaControl
from tests.support.samples.media_samples import make_mp4
from tests.support.widgets import control, every, finish, shown, until

SIZE = (64, 48)
RECTANGLE = {"tool": "rectangle", "points": [8, 4, 40, 20]}
INVERT = {"tool": "invert"}


def pixels(png: bytes) -> Any:
    with Image.open(BytesIO(png)) as image:
        assert image.format == "PNG"
        assert image.mode == "L"
        return np.asarray(image)


def painted(*strokes: dict[str, Any], base: bytes | None = None) -> Any:
    return pixels(mask_png(SIZE, strokes, base))


def test_a_rectangle_is_white_to_the_pixel_and_all_else_is_black() -> None:
    mask = painted(RECTANGLE)

    assert mask.shape == (48, 64)
    assert (mask[4:20, 8:40] == 255).all()
    assert mask.sum() == 255 * 16 * 32
    backwards = {"tool": "rectangle", "points": [40, 20, 8, 4]}
    assert (painted(backwards) == mask).all()
    beyond = painted({"tool": "rectangle", "points": [-1e9, -1e9, 1e9, 24]})
    assert beyond[:24].all()
    assert not beyond[24:].any()


def test_a_brush_paints_a_band_as_wide_as_itself_and_an_eraser_takes_it_away() -> None:
    brush = {"tool": "brush", "size": 10, "points": [10, 24, 50, 24]}
    mask = painted(brush)

    assert mask[24, 10:50].all()
    assert 9 <= (mask[:, 30] == 255).sum() <= 11
    assert not painted(brush, brush | {"tool": "erase", "size": 14}).any()
    aslant = painted({"tool": "brush", "size": 6, "points": [5, 5, 59, 43]})
    for share in np.linspace(0, 1, 50):  # without a gap
        assert aslant[round(5 + 38 * share), round(5 + 54 * share)] == 255


def test_inverting_twice_and_clearing_do_what_they_say() -> None:
    once = painted(RECTANGLE, INVERT)

    assert (once == 255 - painted(RECTANGLE)).all()
    assert (painted(RECTANGLE, INVERT, INVERT) == painted(RECTANGLE)).all()
    assert is_empty(mask_png(SIZE, [RECTANGLE, {"tool": "clear"}]))
    assert not is_empty(mask_png(SIZE, [RECTANGLE]))


def test_an_earlier_mask_is_continued_also_in_another_size() -> None:
    earlier = mask_png((128, 96), [{"tool": "rectangle", "points": [0, 0, 32, 32]}])
    mask = painted(RECTANGLE, base=earlier)

    assert mask[2, 2] == 255
    assert mask[19, 39] == 255
    assert mask[40, 60] == 0
    assert pixels(smaller_png(earlier, 64)).shape == (48, 64)  # for the page
    out = BytesIO()
    Image.new("RGBA", SIZE, (255, 255, 255, 0)).save(out, "PNG")
    assert not painted(base=out.getvalue()).any()  # what is transparent is no mask


def test_what_is_no_stroke_changes_nothing() -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"tool": "rectangle"},
        {"tool": "rectangle", "points": [1, 2, 3]},
        {"tool": "rectangle", "points": ["a", None, math.nan, True]},
        {"tool": "rectangle", "points": [5, 5, 5, 30]},
        {"tool": "brush", "points": [10, 10]},
        {"tool": "brush", "points": {}, "size": 5},
        {"tool": "__class__", "points": [1, 2]},
    ]
    assert not painted(*wrong).any()


@pytest.fixture
def form(client: Client) -> Iterator[Form]:
    made = Form(client, client.catalog.function("region-replace"), {}, name="masks")
    until(lambda: made.state.funds.balance is not None, made)
    yield made
    finish(made)


def paint_button(form: Form) -> Any:
    mask = control(form, "modify_region_mask")
    assert isinstance(mask, MediaControl)
    (button,) = (each for each in mask.beside if each.description == "Paint…")
    return button


def canvas_of(form: Form) -> Any:
    found = (each for each in every(form.widget) if each.has_trait("strokes"))
    return next(found, None)


def test_only_the_mask_is_painted_and_only_on_a_clip_that_can_be_read(
    form: Form, tmp_path: Path
) -> None:
    picture = control(form, "image")
    assert isinstance(picture, MediaControl)
    assert [each.description for each in picture.beside] == ["From history"]
    paint_button(form).value = True
    assert NO_CLIP in shown(form)
    assert canvas_of(form) is None
    paint_button(form).value = False

    (tmp_path / "clip.mp4").write_bytes(b"no clip")
    form.values.update(video=str(tmp_path / "clip.mp4"))
    paint_button(form).value = True
    until(lambda: "No frame of the video can be read" in shown(form), form)


def test_a_painted_mask_becomes_the_fields_value_and_is_painted_on_again(
    form: Form, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=0.5)
    form.values.update(video=str(clip), prompt="a tree")
    paint_button(form).value = True
    until(lambda: canvas_of(form), form)
    canvas = canvas_of(form)
    size = (canvas.width, canvas.height)
    assert Image.open(BytesIO(canvas.frame)).format == "JPEG"

    def done(*strokes: dict[str, Any]) -> None:
        canvas_of(form)._handle_custom_msg({"done": True, "strokes": [*strokes]}, [])

    done()
    until(lambda: EMPTY in shown(form), form)
    done({"tool": "rectangle", "points": [0, 0, 20, 10]})
    until(lambda: form.values["modify_region_mask"], form)
    first = Path(form.values["modify_region_mask"])
    assert pixels(first.read_bytes()).shape == size[::-1]
    assert pixels(first.read_bytes())[:10, :20].all()
    assert not paint_button(form).value
    assert canvas_of(form) is None

    paint_button(form).value = True
    until(lambda: canvas_of(form), form)
    assert canvas_of(form).base
    done({"tool": "rectangle", "points": [30, 30, 40, 40]})
    until(lambda: form.values["modify_region_mask"] != str(first), form)
    second = pixels(Path(form.values["modify_region_mask"]).read_bytes())
    assert second[:10, :20].all()
    assert second[30:40, 30:40].all()
    assert (second == 255).sum() == 10 * 20 + 100


def test_the_mask_of_a_portrait_phone_clip_marks_what_the_service_replaces(
    form: Form, client: Client, tmp_path: Path
) -> None:
    # Stored as 854 x 480, with the rotation of a phone that was held upright.
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=0.5, rotation_degrees=-90)
    with av.open(str(clip)) as stored:
        first = next(stored.decode(video=0)).to_ndarray(format="rgb24")
    shown_frame = np.rot90(first, -1).astype(int)
    form.values.update(video=str(clip), prompt="a red tent")
    paint_button(form).value = True
    until(lambda: canvas_of(form), form)
    canvas = canvas_of(form)
    assert (canvas.width, canvas.height) == (480, 854)
    with Image.open(BytesIO(canvas.frame)) as frame:
        assert frame.size == (480, 854)

    # The upper left quarter of what is shown.
    strokes = [{"tool": "rectangle", "points": [0, 0, 240, 427]}]
    canvas._handle_custom_msg({"done": True, "strokes": strokes}, [])
    until(lambda: form.values["modify_region_mask"], form)
    mask = form.values["modify_region_mask"]
    job = client.run(
        "region-replace",
        video=clip,
        prompt="a red tent",
        modify_region_mask=mask,
        resolution="720p",
    )
    with av.open(str(job.download(tmp_path / "replaced.mp4"))) as replaced:
        after = next(replaced.decode(video=0)).reformat(480, 854, "rgb24")
    changed = np.abs(after.to_ndarray().astype(int) - shown_frame).max(axis=2)
    painted_px = pixels(Path(mask).read_bytes()) == 255
    assert changed[painted_px].mean() > 30
    assert changed[~painted_px].mean() < 10
