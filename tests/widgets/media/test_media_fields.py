"""Media in a form: rows, what is known of them, and files from the browser."""

from __future__ import annotations

import pytest

from mediakit.catalog import Catalog
from mediakit.media import write_kernel_file
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.media.media_fields import MediaControl
from mediakit.widgets.media.media_row import facts_text, found_html
from tests.support.widgets import make_context

CATALOG = Catalog.default()
A_URL = "https://a.test/1.png"


def control_of(kind: str, field: str) -> MediaControl:
    context = make_context(
        prompts="Cite references as @Image1." if kind == "r1" else ""
    )
    control = build(CATALOG.function(kind).fields[field], context)
    assert isinstance(control, MediaControl)
    return control


def names(control: MediaControl) -> list[str]:
    return [row.box.description for row in control.rows]


def below(control: MediaControl, index: int = 0) -> str:
    """Return what stands below a row, as HTML."""
    return str(control.rows[index].widget.children[1].value)


def test_a_field_that_must_have_pictures_begins_with_an_empty_row() -> None:
    images = control_of("keyframes", "images")
    assert names(images) == ["new"]
    images.value = images.spec.default  # as an untouched form does that runs again
    assert names(images) == ["new"]
    assert names(control_of("r1", "image_urls")) == []


def test_rows_are_numbered_as_prompts_cite_them() -> None:
    references, keyframes = (
        control_of("r1", "image_urls"),
        control_of("keyframes", "images"),
    )

    references.value = ["a.png", "b.png"]
    keyframes.value = ["a.png", "b.png"]
    assert names(references) == ["@Image1", "@Image2"]
    assert names(keyframes) == ["Image 1", "Image 2"]
    references.rows[0].box.value = " "  # it has no number and is not sent
    assert references.value == ["b.png"]
    assert names(references) == ["new", "@Image1"]
    keyframes.value = [f"{n}.png" for n in range(5)]
    assert all(part.disabled for part in keyframes.parts[-2:])
    assert "5 of 5" in keyframes.named.value
    keyframes.rows[0].buttons[2].click()
    assert not keyframes.parts[-2].disabled


def test_rows_move_and_go_by_their_buttons() -> None:
    images = control_of("r1", "image_urls")
    images.value = ["a.png", "b.png", "c.png"]
    values: list[object] = []
    images.listen(lambda: values.append(images.value))

    first_up, first_down, _ = images.rows[0].buttons
    assert first_up.disabled
    first_down.click()
    _, _, second_remove = images.rows[1].buttons
    second_remove.click()
    assert values == [["b.png", "a.png", "c.png"], ["b.png", "c.png"]]
    assert names(images) == ["@Image1", "@Image2"]


def test_a_local_picture_shows_itself_and_its_facts() -> None:
    picture = control_of("image-upscale", "image_url")
    picture.value = "cat.png"
    info = MediaInfo("image", "image/png", 12_345, width=640, height=360)

    picture.show_found({})
    assert "checking the file" in below(picture)
    picture.show_found({("image", "cat.png"): Inspection(info, thumbnail=b"\xff\xd8")})
    assert '<img src="data:image/jpeg;base64,/9g="' in below(picture)
    assert "640 \N{MULTIPLICATION SIGN} 360 · 12 kB" in below(picture)
    picture.rows[0].box.value = "dog.png"  # what was found goes with its value
    assert below(picture) == ""


def test_what_stands_behind_a_url_shows_its_facts_once_they_are_known() -> None:
    clip = MediaInfo("video", "video/mp4", 2_500_000, 1280, 720, 7.5, 24.0)
    facts = "1280 \N{MULTIPLICATION SIGN} 720 · 2.5 MB · 7.5 s · 24 fps"
    assert facts_text(clip) == facts
    url = "https://a.test/1.mp4"
    for unknown in (None, Inspection()):
        assert "length unknown" in found_html("video", url, unknown)
    assert f"remote · {facts}" in found_html("video", url, Inspection(clip))
    assert f'src="{A_URL}"' in found_html("image", A_URL, None)


def test_the_problem_of_one_medium_stands_in_its_row_and_escaped() -> None:
    images = control_of("keyframes", "images")
    images.value = ["a.png", "", "<b>.png"]
    whole = Problem("images", ["a"], "more of them")

    rest = images.place_problems(
        (whole, Problem("images[1]", None, "<b>.png: no such file"))
    )
    assert rest == (whole,)
    assert "&lt;b&gt;.png: no such file" in below(images, 2)
    assert below(images, 0) == below(images, 1) == ""
    images.place_problems(())
    assert below(images, 2) == ""


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\pictures\\cat.png", "cat.png"),
        ("a;b|<c>.png", "a_b__c_.png"),
        ("..", "file"),
        ("x" * 300 + ".png", "x" * 76 + ".png"),
    ],
)
def test_a_file_from_the_browser_is_kept_under_a_plain_name(
    name: str, kept: str
) -> None:
    path = write_kernel_file(name, b"bytes")

    assert path.name == kept
    assert path.read_bytes() == b"bytes"
    assert write_kernel_file(name, b"bytes") == path
    assert write_kernel_file(name, b"others") != path
