"""A form on a page: each kind of field, media, and the paid buttons."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Locator, expect

from mediakit import Client
from mediakit.catalog import Function
from mediakit.client.recipes import Recipe
from mediakit.widgets.form.controller import Form
from tests.browser.geometry import box_of, layout_faults, middle
from tests.browser.harness.wait import rest, until
from tests.browser.modules.bare_page import BarePage
from tests.support.job_states import HOSTILE
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.samples.sample_requests import MADE_UP
from tests.support.widgets import finish

pytestmark = pytest.mark.browser

DROP = """(field, [name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([window.toBytes(text)], name, { type: "image/png" }));
    const fire = (kind) => field.dispatchEvent(new DragEvent(
        kind, { dataTransfer: data, bubbles: true, cancelable: true }));
    fire("dragover");
    const marked = Boolean(field.closest(".mk-upload-over"));
    fire("drop");
    return marked && !field.closest(".mk-upload-over");
}"""
ONE_LINE_PX, TWO_LINES_PX = 24, 70
# A key that is held down repeats.
HOLD = """(element, [key, times]) => {
    for (let n = 0; n < times; n += 1)
        element.dispatchEvent(new KeyboardEvent(
            "keydown", { key, bubbles: true, cancelable: true, repeat: n > 0 }));
}"""


class Shown:
    """A form on a page."""

    def __init__(self, bare: BarePage, form: Form) -> None:
        self.bare, self.page, self.form = bare, bare.page, form
        self.page.set_viewport_size({"width": 1000, "height": 1400})
        self.el = bare.show(form.widget).locator(".mk-form")

    def field(self, name: str) -> Locator:
        return self.el.get_by_label(name).first

    def press(self, name: str) -> None:
        self.el.get_by_role("button", name=name, exact=True).first.click()

    def becomes(self, **values: object) -> None:
        """Wait until the kernel has these values."""

        def held() -> dict[str, object]:
            return {name: self.form.values[name] for name in values}

        until(self.page, lambda: held() == values, lambda: held())

    def said(self, do: str) -> list[dict[str, Any]]:
        """Return the page's messages of a kind."""
        return [each for each in self.bare.heard if each.get("do") == do]


@pytest.fixture
def show(bare: BarePage, client: Client) -> Iterator[Callable[..., Shown]]:
    forms: list[Form] = []

    def make(kind: str | Function, **values: object) -> Shown:
        function = client.catalog.function(kind) if isinstance(kind, str) else kind
        forms.append(Form(client, function, values, name=f"page {len(forms)}"))
        until(bare.page, lambda: forms[-1].state.funds.balance is not None)
        return Shown(bare, forms[-1])

    yield make
    for form in forms:
        finish(form)


# -- fields ---------------------------------------------------------------------------


def test_a_number_is_typed_or_dragged_and_a_cleared_box_returns_to_its_last_valid_one(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    box, slider = shown.field("Duration"), shown.el.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    shown.becomes(duration=6)
    expect(box).to_have_value("6")
    expect(shown.el.locator(".mk-price b")).to_have_text("$0.408")
    assert box_of(shown.el.locator(".mk-funds > span"))["height"] < ONE_LINE_PX
    box.fill("45")
    expect(shown.el).to_contain_text("Must be a whole number from 3 to 15 seconds")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(slider).to_have_value("15")
    box.fill("")
    box.press("Tab")
    expect(box).to_have_value("6")
    shown.becomes(duration=6)
    box.press("ArrowUp")
    shown.becomes(duration=7)


def test_fast_typing_arrives_completely_in_few_messages_and_keeps_the_cursor(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video")
    prompt = shown.field("Prompt")
    prompt.press_sequentially("a kite over dunes", delay=15)
    for _ in range(5):
        prompt.press("ArrowLeft")
    prompt.press_sequentially("high ")
    shown.becomes(prompt="a kite over high dunes")
    expect(prompt).to_have_value("a kite over high dunes")
    expect(shown.el).to_contain_text("22 of 3,072 characters")
    assert len(shown.said("edit")) <= 22
    shown.form.values.prompt = "from code"
    expect(prompt).to_have_value("from code")


def test_choices_and_switches_work_and_a_rule_disables_fields(
    show: Callable[..., Shown],
) -> None:
    shown = show("image-upscale", model="wonder")
    shown.press("More settings")
    crop = shown.field("Crop to fill")
    crop.select_option("Yes")
    shown.becomes(crop_to_fill=True)
    crop.select_option("Service default")
    shown.becomes(crop_to_fill=None)
    sharpen = shown.el.get_by_role("checkbox", name="Sharpen")
    sharpen.check()
    shown.becomes(sharpen=0.5)
    sharpen.uncheck()
    shown.becomes(sharpen=None)
    model = shown.el.get_by_label("Model").first
    model.select_option(index=1)
    off = shown.el.locator(".mk-field.mk-off").first
    expect(off).to_contain_text("Applies only when")
    assert off.locator("[inert]").count() > 0


def test_a_list_that_replaces_a_field_starts_with_its_value_and_says_so(
    show: Callable[..., Shown],
) -> None:
    pictures = [f"https://a.example/{n}.png" for n in range(3)]
    shown = show("keyframes", images=pictures, transition_duration_s=4)
    price = shown.el.locator(".mk-price b")
    expect(price).to_have_text("$0.48")
    if shown.el.get_by_text("Duration of each transition").first.is_hidden():
        shown.press("More settings")
    each = shown.el.locator(".mk-items", has_text="Duration of each transition").last
    field = shown.el.locator(".mk-field.mk-items", has_text="Duration of each").last
    field.get_by_role("button", name="Add").click()
    expect(each.locator("input")).to_have_count(2)
    shown.becomes(transition_durations_s=[4, 4])
    expect(price).to_have_text("$0.48")
    expect(field.get_by_role("button", name="Add")).to_be_disabled()
    off = shown.el.locator(".mk-field.mk-off")
    expect(off).to_contain_text("Not used, because Duration of each transition is set")
    assert off.locator("[inert]").count() > 0
    shown.form.values.images = [*pictures, "https://a.example/3.png"]
    shown.becomes(transition_durations_s=[4, 4, 4])
    field.get_by_role("button", name="Remove all").click()
    shown.becomes(transition_durations_s=None)
    expect(off).to_have_count(0)


def test_rows_are_added_moved_folded_and_removed(show: Callable[..., Shown]) -> None:
    shown = show(MADE_UP)
    shown.press("More settings")
    shown.press("Add source")
    shown.press("Add source")
    sources = shown.el.locator(".mk-fields > .mk-rows", has_text="Add source")
    rows = sources.locator(".mk-entry")
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_role("button", name="Clip").click()
    rows.nth(1).get_by_label("name").fill("dawn")
    rows.nth(1).get_by_role("button", name="Up", exact=True).click()
    expect(rows.nth(0).get_by_label("name")).to_have_value("dawn")
    rows.nth(0).locator(".mk-title").click()
    expect(rows.nth(0).locator(".mk-title")).to_have_text("Source 1 · clip · dawn")
    until(
        shown.page,
        lambda: (
            [each["type"] for each in shown.form.values["sources"] or ()]
            == ["clip", "still"]
        ),
        lambda: shown.form.values["sources"],
    )
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    shown.becomes(sources=[{"type": "clip", "name": "dawn", "size": "m"}])


def test_changing_the_kind_keeps_the_values_of_common_fields(
    show: Callable[..., Shown],
) -> None:
    shown = show(MADE_UP)
    shown.press("More settings")
    source = shown.el.locator(".mk-fields > .mk-variants").first
    chooser = source.get_by_role("combobox").first
    chooser.select_option("Still")
    source.get_by_label("name").fill("dawn")
    source.get_by_label("picture").first.fill("https://a.test/1.png")
    chooser.select_option("Clip")
    expect(source.get_by_label("name")).to_have_value("dawn")
    shown.becomes(source={"type": "clip", "name": "dawn", "size": "m"})
    source.get_by_role("button", name="L", exact=True).click()
    chooser.select_option("Still")
    expect(source.get_by_label("picture").first).to_have_value("https://a.test/1.png")
    pressed = source.get_by_role("button", name="L", exact=True)
    expect(pressed).to_have_attribute("aria-pressed", "true")
    chooser.select_option("Service default")
    shown.becomes(source=None)


def test_an_object_is_switched_on_and_off_and_json_is_typed(
    show: Callable[..., Shown],
) -> None:
    shown = show(MADE_UP)
    shown.press("More settings")
    camera = shown.el.locator(".mk-fields > .mk-object", has_text="Camera").last
    camera.get_by_role("checkbox", name="Camera").check()
    shown.becomes(camera={"lens": "wide"})
    camera.get_by_role("checkbox", name="Camera").uncheck()
    shown.becomes(camera=None)
    stage = shown.el.get_by_role("group", name="Stage")
    stage.get_by_label("Place").fill("a quay")
    further = stage.get_by_label("Additional fields (JSON)").first
    further.fill('{"fog": 0.5')
    expect(stage).to_contain_text("this is not valid JSON")
    further.fill('{"fog": 0.5}')
    shown.becomes(stage={"place": "a quay", "fog": 0.5})


def test_words_from_outside_stay_words(show: Callable[..., Shown]) -> None:
    shown = show("r1", prompt=HOSTILE, image_urls=[HOSTILE])
    shown.press("Copy as Python")
    expect(shown.el.locator("pre.mk-code")).to_contain_text("img src=x")
    until(shown.page, lambda: bool(shown.form.state.problems))
    shown.form._model.say(HOSTILE)
    expect(shown.el.get_by_role("alert").first).to_contain_text(HOSTILE)
    assert shown.page.evaluate("() => window.canary") is None
    assert shown.el.locator("script, img[onerror]").count() == 0


def test_typed_text_runs_in_the_direction_of_its_script(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    prompt = shown.el.get_by_label("Prompt")
    expect(prompt).to_have_css("direction", "ltr")
    prompt.fill("\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED} kite")
    expect(prompt).to_have_css("direction", "rtl")


BACKGROUND = "element => getComputedStyle(element).backgroundColor"


def test_a_choice_and_the_balance_are_visible_in_forced_colours(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    few = shown.el.get_by_role("group", name="Audio", exact=True)
    chosen = few.locator("[aria-pressed=true]").first
    other = few.locator("[aria-pressed=false]").first
    try:
        shown.page.emulate_media(forced_colors="active")
        assert shown.page.evaluate("matchMedia('(forced-colors: active)').matches")
        assert chosen.evaluate(BACKGROUND) != other.evaluate(BACKGROUND)
        bar = shown.el.locator(".mk-bar").first
        share = bar.locator("i").first
        assert share.evaluate(BACKGROUND) != bar.evaluate(BACKGROUND)
    finally:
        shown.page.emulate_media(forced_colors="none")


def test_help_on_a_field_opens_by_click_and_by_keys(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    field = shown.el.get_by_role("group", name="Audio", exact=True)
    mark = field.get_by_role("button", name="Help")
    words = shown.el.get_by_text("Audio made with the video.")
    expect(words).to_be_hidden()
    mark.click()
    expect(words).to_be_visible()
    expect(mark).to_have_attribute("aria-expanded", "true")
    mark.press("Enter")
    expect(words).to_be_hidden()
    mark.press("Space")
    expect(words).to_be_visible()
    # It is large enough for a finger, and the field keeps its name.
    x, y = middle(mark)
    at = "([x, y]) => document.elementFromPoint(x, y).textContent"
    assert shown.page.evaluate(at, [x + 11, y + 11]) == "?"


def test_a_draft_shows_the_resolution_that_counts_and_keeps_the_other(
    show: Callable[..., Shown],
) -> None:
    shown = show("r1", prompt="a kite", duration=5)
    group = shown.el.get_by_role("group", name="Resolution")
    pressed = group.locator("[aria-pressed=true]")
    expect(pressed).to_have_text("720p")
    draft = shown.el.get_by_label("Draft (480p preview)")
    draft.click()
    expect(pressed).to_have_text("480p")
    expect(shown.el).to_contain_text("Set to 480p by Draft (480p preview)")
    assert shown.form.values.resolution == "720p"
    until(shown.page, lambda: shown.form.state.submit_reason is None)
    draft.click()
    expect(pressed).to_have_text("720p")


@pytest.mark.parametrize(("width_px", "is_beside"), [(820, False), (870, True)])
def test_results_have_most_of_the_width_as_soon_as_there_is_room(
    show: Callable[..., Shown], width_px: int, *, is_beside: bool
) -> None:
    shown = show("text-to-video", prompt="a kite")
    shown.page.set_viewport_size({"width": width_px, "height": 1400})
    shown.form._take_in(shown.form.client.submit("text-to-image", prompt="a").core)
    expect(shown.el.locator(".mk-job")).to_be_visible()

    def boxes() -> list[FloatRect]:
        return [box_of(shown.el.locator(f".mk-{n}")) for n in ("controls", "results")]

    def is_placed() -> bool:
        fields, results = boxes()
        return (results["y"] < fields["y"] + fields["height"]) is is_beside

    until(shown.page, is_placed, boxes)
    if is_beside:
        fields, results = boxes()
        assert fields["width"] == 340
        assert results["width"] > 470
    assert layout_faults(shown.el) == []


def test_a_saved_file_that_is_dropped_fills_in_the_form_and_sends_nothing(
    show: Callable[..., Shown], client: Client
) -> None:
    shown = show("text-to-video", prompt="before")
    path = client.catalog.function("text-to-video").path
    fields = {"prompt": "<b>dropped</b>", "duration": 7, "image_urls": ["http://x/"]}
    theirs = Recipe(function=path, fields=fields, job_id="media_theirs")
    head = shown.el.locator(".mk-heading")
    place = "Nothing has been sent."

    def drop(name: str, content: bytes) -> None:
        head.evaluate(DROP, [name, b64encode(content).decode()])

    drop("theirs.png", theirs.packet)
    expect(shown.field("Prompt")).to_have_value("<b>dropped</b>")
    shown.becomes(prompt="<b>dropped</b>", duration=7)
    expect(shown.el).to_contain_text(place)
    assert shown.form.jobs == ()
    drop("other.png", theirs.model_copy(update={"function": "a/b/c"}).packet)
    expect(shown.el).to_contain_text("'other.png' was made by 'a/b/c'")
    drop("<img src=x onerror=window.canary=1>.png", b"nothing")
    expect(shown.el).to_contain_text("has no request that mediakit saved")
    assert shown.page.evaluate("() => window.canary") is None
    shown.becomes(prompt="<b>dropped</b>", duration=7)


# -- paying ---------------------------------------------------------------------------


@pytest.mark.parametrize("width_px", [330, 600, 1300])
def test_nothing_moves_when_a_job_holds_money_and_the_button_label_changes(
    show: Callable[..., Shown], width_px: int
) -> None:
    shown = show("text-to-video", prompt="a kite")
    shown.page.set_viewport_size({"width": width_px, "height": 1400})
    funds, refresh = (
        shown.form.state.funds,
        shown.el.get_by_role("button", name="Read the balance again"),
    )
    go = shown.el.locator("button.mk-go")
    expect(go).to_have_text(re.compile("^Generate"))
    still = [go, refresh]
    before = [each.bounding_box() for each in still]
    shown.form._take_funds(replace(funds, held_micro_usd=204_000, held_jobs=12))
    expect(shown.el).to_contain_text("$0.20 held")
    assert [each.bounding_box() for each in still] == before
    go.click()
    expect(go).to_have_text(re.compile("^Another take"))
    assert go.bounding_box() == before[0]


def test_a_click_sends_all_values_and_the_shown_price(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite", duration=3)
    go = shown.el.locator("button.mk-go")
    expect(go).to_have_text("Generate · $0.204")
    rest(shown.page)
    shown.field("Prompt").fill("a kite, typed last")
    go.click()
    until(shown.page, lambda: len(shown.form.jobs) == 1)
    [said] = shown.said("generate")
    assert said["values"]["prompt"] == "a kite, typed last"
    assert said["values"]["duration"] == "3"
    assert said["price"] == [204_000, 204_000]
    assert shown.form.jobs[0].state.body["prompt"] == "a kite, typed last"
    expect(shown.el.locator(".mk-job")).to_have_count(1)
    expect(go).to_have_text("Another take · $0.204")
    rest(shown.page)
    go.press("Enter")
    until(shown.page, lambda: len(shown.form.jobs) == 2)


def test_price_lines_and_code_are_shown_on_demand(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    shown.press("Price breakdown")
    expect(shown.el.locator("table.mk-lines .mk-num")).to_have_count(3)
    shown.press("Price breakdown")
    expect(shown.el.locator("table.mk-lines")).to_have_count(0)
    shown.press("Copy as Python")
    code = shown.el.locator("pre.mk-code")
    call = 'client.submit("text-to-video", prompt="a kite", max_price="$0.34")'
    expect(code).to_have_text(call)
    shown.press("Copy")
    expect(shown.el.get_by_role("button", name="Copied")).to_be_visible()
    assert shown.page.evaluate("navigator.clipboard.readText()") == code.inner_text()


# -- media ----------------------------------------------------------------------------


def choose(shown: Shown, field: str, *files: Path) -> None:
    with shown.page.expect_file_chooser() as dialog:
        shown.el.get_by_role("button", name=f"Upload: {field}").click()
    dialog.value.set_files(files)


def test_files_are_uploaded_listed_moved_and_cited(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    shown = show("r1", prompt="a kite", duration=5)
    files = [make_png(tmp_path / f"{name}.png", (320, 320)) for name in ("cat", "dog")]
    choose(shown, "Reference images", *files)
    expect(shown.field("@Image2")).to_have_value("dog.png")
    images = shown.el.get_by_role("group", name="Reference images")
    expect(images.locator("img")).to_have_count(2)
    # However narrow the column is, the buttons of a row stand in one line.
    rows = images.locator(".mk-mediarow")
    tops = [box_of(each)["y"] for each in rows.first.get_by_role("button").all()]
    assert len(tops) == 4
    assert len(set(tops)) == 1
    assert box_of(rows.first)["height"] < TWO_LINES_PX
    images.get_by_role("button", name="Down").first.click()
    expect(shown.field("@Image1")).to_have_value("dog.png")
    images.get_by_role("button", name="Cite").nth(1).click()
    expect(shown.field("Prompt")).to_have_value("a kite @Image2")
    shown.becomes(prompt="a kite @Image2")
    paths = shown.form.values["image_urls"]
    assert [Path(path).name for path in paths] == ["dog.png", "cat.png"]
    # Further typing goes into the prompt; a citation follows its picture.
    shown.page.keyboard.type(" in rain")
    images.get_by_role("button", name="Cite").first.click()
    expect(shown.field("Prompt")).to_have_value("a kite @Image2 in rain @Image1")
    images.get_by_role("button", name="Up", exact=True).nth(1).click()
    expect(images.get_by_role("button", name="Down").first).to_be_focused()
    shown.becomes(prompt="a kite @Image1 in rain @Image2", image_urls=paths[::-1])
    images.get_by_role("button", name="Remove").first.click()
    expect(images.get_by_role("button", name="Remove").first).to_be_focused()
    shown.becomes(prompt="a kite in rain @Image1", image_urls=paths[:1])
    said = "@Image1 was removed from the prompt, too"
    expect(shown.el).to_contain_text(said)
    shown.field("Prompt").press("End")
    shown.page.keyboard.type("!")
    expect(shown.el).not_to_contain_text(said)


def test_a_rejected_file_is_not_sent_and_a_dropped_file_is_accepted(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    shown = show("image-upscale")
    notes = tmp_path / "notes.txt"
    notes.write_text("no picture")
    choose(shown, "Image", notes)
    expect(shown.el.get_by_role("alert").first).to_contain_text(
        "notes.txt is not a picture that this field accepts"
    )
    assert [each["kind"] for each in shown.said("upload")] == ["offer"]
    content = b64encode(make_png(tmp_path / "a.png", (64, 48)).read_bytes()).decode()
    assert shown.el.locator(".mk-media input").first.evaluate(DROP, ["a.png", content])
    expect(shown.field("Image")).to_have_value("a.png")
    expect(shown.el).to_contain_text("Uploaded · 64")


def test_the_list_of_earlier_results_says_when_it_has_none(
    show: Callable[..., Shown],
) -> None:
    shown = show("image-upscale")
    button = shown.el.get_by_role("button", name="From history").first
    button.click()
    expect(shown.el).to_contain_text("No pictures yet. Completed results appear here.")
    expect(button).to_have_attribute("aria-expanded", "true")
    button.click()
    expect(shown.el.locator(".mk-pick").first).to_be_hidden()


class Mask:
    """A mask that is painted on a frame of a clip of 640 x 360."""

    def __init__(
        self, show: Callable[..., Shown], folder: Path, duration_s: float = 0.5
    ) -> None:
        self.clip = make_mp4(folder / "clip.mp4", (640, 360), duration_s)
        self.shown = show("region-replace", video=str(self.clip), prompt="a tent")
        self.open()

    def open(self) -> None:
        self.shown.press("Paint…")
        self.canvas = self.shown.el.locator(".mk-mask-canvas")
        self.status = self.shown.el.locator(".mk-mask-says[role=status]")
        expect(self.status).not_to_be_empty()

    def drag(self, *shares: tuple[float, float]) -> None:
        self.canvas.scroll_into_view_if_needed()
        box = self.canvas.bounding_box()
        assert box is not None
        places = [
            (box["x"] + x * box["width"], box["y"] + y * box["height"])
            for x, y in shares
        ]
        mouse = self.shown.page.mouse
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=3)
        mouse.up()

    def used(self, before: object = None) -> Any:
        """Close the painting with its mask; return the mask's pixels."""
        self.shown.press("Use this mask")
        values = self.shown.form.values
        until(
            self.shown.page,
            lambda: values["modify_region_mask"] not in (None, before),
        )
        content = Path(str(values["modify_region_mask"])).read_bytes()
        with Image.open(BytesIO(content)) as mask:
            assert mask.size == (640, 360)
            return np.asarray(mask.convert("L"))


def test_a_mask_is_painted_by_mouse_in_pixels_of_the_clip_and_can_be_continued(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    mask = Mask(show, tmp_path)
    expect(mask.shown.el.get_by_role("button", name="Use this mask")).to_be_disabled()
    mask.drag((0.1, 0.2), (0.4, 0.6))
    expect(mask.status).to_have_text("12% of the frame is painted.")
    mask.shown.press("Brush")
    mask.drag((0.6, 0.3), (0.8, 0.3), (0.8, 0.5))
    mask.shown.press("Undo")
    expect(mask.status).to_have_text("12% of the frame is painted.")
    pixels = mask.used()
    assert set(np.unique(pixels)) == {0, 255}
    assert (pixels[76:212, 68:252] == 255).all()
    assert (pixels == 255).sum() == pytest.approx(192 * 144, rel=0.03)
    expect(mask.shown.el.get_by_role("button", name="Paint…")).to_be_focused()

    before = mask.shown.form.values["modify_region_mask"]
    mask.open()
    expect(mask.status).to_have_text("12% of the frame is painted.")
    mask.shown.press("Invert")
    again = mask.used(before)
    assert (again == 255 - pixels).all()


def test_undo_affects_only_the_painting_and_a_closed_painting_is_kept(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    mask = Mask(show, tmp_path)
    mask.drag((0.1, 0.2), (0.4, 0.6))
    shown, prompt = mask.shown, mask.shown.field("Prompt")
    prompt.click()
    shown.page.keyboard.type(" and a gull")
    said = prompt.input_value()
    shown.press("Clear")
    expect(mask.status).to_have_text("Nothing is painted yet.")
    shown.page.keyboard.press("Control+z")
    expect(mask.status).to_have_text("12% of the frame is painted.")
    shown.press("Paint…")
    expect(mask.canvas).to_have_count(0)
    mask.open()
    expect(mask.status).to_have_text("12% of the frame is painted.")
    shown.press("Undo")
    expect(mask.canvas).to_be_focused()
    shown.page.keyboard.press("Control+z")
    expect(prompt).to_have_value(said)


def test_a_mask_is_painted_with_the_keyboard(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    mask = Mask(show, tmp_path)
    mask.canvas.focus()
    for key in ("-", "ArrowRight", "ArrowDown"):
        mask.shown.page.keyboard.press(key)
    mask.canvas.evaluate(HOLD, ["ArrowRight", 39])
    mask.canvas.evaluate(HOLD, ["ArrowDown", 39])
    mask.shown.page.keyboard.press("Alt+ArrowUp")
    expect(mask.status).to_contain_text("Rectangle of 128 by ")
    mask.shown.page.keyboard.press("Enter")
    expect(mask.status).to_contain_text("% of the frame is painted.")
    pixels = mask.used()
    assert pixels[300, 600] == 255
    assert pixels[10, 10] == 0


LOWER_HALF = """canvas => {
    const { width, height } = canvas;
    const context = canvas.getContext("2d");
    const { data } = context.getImageData(0, height / 2, width, height / 2);
    let text = "";
    for (const level of data) text += String.fromCharCode(level);
    return btoa(text);
}"""


def test_the_frame_under_a_mask_is_chosen_by_slider_and_keys_and_the_mask_stays(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    mask = Mask(show, tmp_path, duration_s=2.0)
    with av.open(str(mask.clip)) as clip:
        frames = [each.to_ndarray(format="rgb24") for each in clip.decode(video=0)]

    def nearest_frame() -> int:
        """Return which frame of the clip the lower half of the canvas shows."""
        data = np.frombuffer(b64decode(mask.canvas.evaluate(LOWER_HALF)), np.uint8)
        lower = data.reshape(180, 640, 4)[..., :3].astype(int)
        distances = [np.abs(each[180:] - lower).mean() for each in frames]
        return int(np.argmin(distances))

    page, slider = (
        mask.shown.page,
        mask.shown.el.get_by_role("slider", name="Frame of the video"),
    )
    expect(slider).to_have_value("1")
    until(page, lambda: nearest_frame() == 24, nearest_frame)
    mask.drag((0.1, 0.1), (0.4, 0.4))
    expect(mask.status).to_have_text("9% of the frame is painted.")
    slider.focus()
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "2.0 s of 2.0 s")
    until(page, lambda: nearest_frame() == 47, nearest_frame)
    for _ in range(3):
        slider.press("ArrowLeft")
    until(page, lambda: nearest_frame() == 40, nearest_frame)  # 1.7 s at 24 fps
    mask.canvas.focus()
    mask.canvas.press(",")
    expect(slider).to_have_value("1.6")
    until(page, lambda: nearest_frame() == 38, nearest_frame)
    expect(mask.shown.el).to_contain_text("same in every frame of the video")

    mask.shown.press("Paint…")
    mask.open()
    expect(slider).to_have_value("1.6")
    expect(mask.status).to_have_text("9% of the frame is painted.")
    pixels = mask.used()
    assert (pixels[40:140, 68:252] == 255).all()
    assert (pixels == 255).mean() == pytest.approx(0.09, abs=0.005)


def test_an_unreadable_frame_is_reported_and_the_last_one_stays(
    show: Callable[..., Shown], tmp_path: Path
) -> None:
    mask = Mask(show, tmp_path, duration_s=2.0)
    before = mask.canvas.evaluate(LOWER_HALF)
    mask.clip.unlink()
    slider = mask.shown.el.get_by_role("slider", name="Frame of the video")
    slider.press("End")
    expect(mask.shown.el).to_contain_text("This frame of the video cannot be read.")
    assert mask.canvas.evaluate(LOWER_HALF) == before
    mask.drag((0.1, 0.1), (0.4, 0.4))
    expect(mask.status).to_have_text("9% of the frame is painted.")


def test_a_form_lists_its_keyboard_shortcuts_and_they_work(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite", duration=5)
    keys = shown.el.get_by_role("button", name="Keys", exact=True)
    keys.focus()
    keys.press("Enter")
    expect(keys).to_have_attribute("aria-expanded", "true")
    listed = shown.el.locator(".mk-keys b")
    expect(listed.first).to_be_visible()
    prompt, duration = shown.field("Prompt"), shown.field("Duration")
    duration.press("ArrowUp")
    shown.becomes(duration=6)
    prompt.press("Control+End")
    prompt.press("Enter")
    expect(prompt).to_have_value("a kite\n")
    for key in ("Shift+Enter", "Control+Enter"):
        prompt.press(key)
    prompt.press("Control+z")
    expect(prompt).to_have_value("a kite")
    assert shown.said("generate") == []
    keys.press("Enter")
    expect(listed.first).to_be_hidden()


def test_the_message_that_draws_a_form_is_small(client: Client) -> None:
    form = client.form("text-to-video", prompt="a kite", name="small")
    state = {n: getattr(form.widget, n) for n in form.widget.keys if n != "comm"}
    assert len(json.dumps(state, default=str)) < 150_000
    finish(form)


def test_a_form_looks_the_same_beside_any_other_widget(
    show: Callable[..., Shown],
) -> None:
    shown = show("text-to-video", prompt="a kite")
    shown.press("More settings")
    expect(shown.el.locator(".mk-price b")).to_have_text("$0.34")
    assert shown.bare.redrawn(shown.el, "form.css") == {}
