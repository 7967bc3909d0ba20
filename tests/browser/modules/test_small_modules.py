"""The mask, uploads, and what helps a page."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from mediakit.widgets.form.code_view import CopyButton
from mediakit.widgets.inputs.masks.painter import MaskWidget
from mediakit.widgets.media.upload_button import UploadWidget
from mediakit.widgets.toolkit.accessible_names import Namer
from mediakit.widgets.toolkit.focus import Focuser
from tests.browser.modules.bare_page import BarePage, until

pytestmark = pytest.mark.browser

SIZE = (640, 360)
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

# A key that is held down comes again and again.
HOLD = """(element, [key, times]) => {
    for (let n = 0; n < times; n += 1)
        element.dispatchEvent(new KeyboardEvent(
            "keydown", { key, bubbles: true, cancelable: true, repeat: n > 0 }));
}"""


def jpeg(size: tuple[int, int], colour: str = "teal") -> bytes:
    out = BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()


class Mask:
    """A mask that is painted on a page.

    Args:
        bare: The page.
    """

    def __init__(self, bare: BarePage) -> None:
        self.page, self.done = bare.page, list[Any]()
        width, height = SIZE
        widget = MaskWidget(frame=jpeg(SIZE), width=width, height=height)
        widget.on_msg(lambda _, content, __: self.done.append(content))
        self.el = bare.show(widget)
        self.canvas = self.el.locator(".mk-mask-canvas")
        self.status = self.el.locator(".mk-mask-says[role=status]")
        expect(self.status).to_have_text("Nothing is painted yet.")

    def press(self, name: str) -> None:
        self.el.get_by_role("button", name=name, exact=True).click()

    def drag(self, *shares: tuple[float, float]) -> None:
        box = self.canvas.bounding_box()
        assert box is not None
        places = [
            (box["x"] + x * box["width"], box["y"] + y * box["height"])
            for x, y in shares
        ]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=3)
        self.page.mouse.up()

    def stroke_by_finger(self) -> None:
        box = self.canvas.bounding_box()
        assert box is not None
        touch = self.page.context.new_cdp_session(self.page)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind, by in (("touchStart", 0), ("touchMove", 40), ("touchMove", 80)):
            points = {"touchPoints": [{"x": x + by, "y": y}]}
            touch.send("Input.dispatchTouchEvent", {"type": kind, **points})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def hold(self, key: str, times: int) -> None:
        """Hold a key down, which sends it again and again."""
        self.canvas.evaluate(HOLD, [key, times])

    def used(self) -> list[dict[str, Any]]:
        """Take the mask; return the strokes that Python gets."""
        self.press("Use this mask")
        until(self.page, lambda: bool(self.done))
        strokes: list[dict[str, Any]] = self.done[-1]["strokes"]
        return strokes


def test_a_mask_is_painted_by_mouse_and_finger_in_pixels_of_the_clip(
    bare: BarePage,
) -> None:
    mask = Mask(bare)
    expect(mask.el.get_by_role("button", name="Use this mask")).to_be_disabled()
    mask.drag((0.1, 0.2), (0.4, 0.6))
    expect(mask.status).to_have_text("12% of the frame is painted.")
    mask.press("Brush")
    mask.drag((0.6, 0.3), (0.8, 0.3), (0.8, 0.5))
    mask.press("Undo")
    expect(mask.status).to_have_text("12% of the frame is painted.")
    mask.stroke_by_finger()

    rectangle, stroke = mask.used()
    assert rectangle["tool"] == "rectangle"
    assert rectangle["points"] == pytest.approx([64, 72, 256, 216], abs=2)
    assert stroke["tool"] == "brush"


def test_a_mask_is_painted_by_keys(bare: BarePage) -> None:
    mask = Mask(bare)
    mask.canvas.focus()
    for key in ("-", "ArrowRight", "ArrowDown"):
        mask.page.keyboard.press(key)
    mask.hold("ArrowRight", 39)
    mask.hold("ArrowDown", 39)
    mask.page.keyboard.press("Alt+ArrowUp")
    expect(mask.status).to_contain_text("Rectangle of 128 by ")
    mask.page.keyboard.press("Enter")
    expect(mask.status).to_contain_text("% of the frame is painted.")

    assert len(mask.used()) == 1


class Upload:
    """An upload button on a page, and the kernel's half as a list of messages.

    Args:
        bare: The page.
        traits: Of the button.
    """

    def __init__(self, bare: BarePage, **traits: object) -> None:
        self.page = bare.page
        self.said: list[tuple[dict[str, Any], list[Any]]] = []
        self.widget = UploadWidget(label="Video", _dom_classes=["mk-upload"], **traits)
        self.widget.on_msg(lambda _, content, data: self.said.append((content, data)))
        bare.page.evaluate("document.body.innerHTML = '<div class=mk-media></div>'")
        self.el = bare.show(self.widget, into=".mk-media")

    @property
    def kinds(self) -> list[str]:
        return [content["kind"] for content, _ in self.said]

    def choose(self, *files: Path) -> None:
        with self.page.expect_file_chooser() as dialog:
            self.el.get_by_role("button", name="Upload: Video").click()
        dialog.value.set_files(files)

    def has_piece(self, at: int) -> bool:
        return self.said[-1][0].get("at") == at

    def hears(self, kind: str) -> dict[str, Any]:
        """Wait for a message of a kind; return the last one."""
        until(self.page, lambda: kind in self.kinds, lambda: self.kinds)
        return [content for content, _ in self.said if content["kind"] == kind][-1]


def test_a_file_is_given_piece_by_piece_as_the_kernel_asks(
    bare: BarePage, tmp_path: Path
) -> None:
    upload = Upload(bare)
    clip = tmp_path / "dunes at dawn.mp4"
    clip.write_bytes(bytes(range(256)) * 40)
    upload.choose(clip)
    offer = upload.hears("offer")
    assert (offer["name"], offer["size"]) == (clip.name, 10_240)
    assert upload.kinds == ["offer"], "nothing is sent before it is wanted"
    for at, length in ((0, 10_000), (10_000, 240)):
        want = {"kind": "want", "id": offer["id"], "at": at, "length": length}
        upload.widget.send(want)
        until(upload.page, partial(upload.has_piece, at))
    expect(upload.el.get_by_role("progressbar")).to_be_visible()
    pieces = [bytes(data[0]) for content, data in upload.said if data]
    assert b"".join(pieces) == clip.read_bytes()

    upload.widget.send({"kind": "done", "id": offer["id"]})
    expect(upload.el.get_by_role("progressbar")).to_be_hidden()


def test_a_file_that_is_refused_is_not_sent_and_an_upload_can_be_cancelled(
    bare: BarePage, tmp_path: Path
) -> None:
    upload = Upload(bare)
    file = tmp_path / "notes.txt"
    file.write_text("no clip")
    upload.choose(file)
    offer = upload.hears("offer")
    text = "<b>notes.txt</b> is not a video."
    upload.widget.send({"kind": "refused", "id": offer["id"], "text": text})
    expect(upload.el.get_by_role("alert")).to_have_text(text)
    assert upload.el.locator("b").count() == 0
    assert upload.kinds == ["offer"]

    content = b64encode(b"a picture").decode()
    assert bare.page.locator(".mk-media").evaluate(DROP, ["cat.png", content])
    upload.el.get_by_role("button", name="Cancel the upload of cat.png").click()
    upload.hears("cancel")

    upload.choose(file)
    upload.el.get_by_role("button", name="Cancel the upload of notes.txt").click()
    upload.hears("cancel")
    expect(upload.el.get_by_role("button", name="Upload: Video")).to_be_focused()


def test_a_copy_button_fills_the_clipboard(bare: BarePage) -> None:
    code = 'client.run("text-to-video", prompt="a <kite>")'
    el = bare.show(CopyButton(code=code))
    el.get_by_role("button", name="Copy").click()

    expect(el.get_by_role("button")).to_have_text("Copied")
    assert bare.page.evaluate("navigator.clipboard.readText()") == code


FORM = """{
document.body.insertAdjacentHTML("beforeend", `
<div class="mk-form"><div class="mk-controls">
  <div class="mk-list"><div id="items"></div>
    <button class="mk-adds" id="add">Add</button></div>
  <div class="mk-row mk-number"><label class="widget-label">Seconds</label>
    <div class="widget-slider"><div role="slider" aria-valuemin="3" aria-valuemax="15"
      aria-valuenow="5"></div></div>
    <input type="number" id="box" value="5"></div>
  <button class="widget-toggle-button mod-active" title="null" id="on">On</button>
  <div class="mk-live" id="live"></div></div><div id="helper"></div></div>`);
const items = document.getElementById("items");
document.getElementById("add").addEventListener("click", () =>
    setTimeout(() => { items.innerHTML = "<input id=added>"; }, 50));
}"""


def test_controls_have_names_add_moves_the_focus_and_a_cleared_number_comes_back(
    bare: BarePage,
) -> None:
    page = bare.page
    page.evaluate(FORM)
    bare.show(Namer(), into="#helper")

    expect(page.get_by_role("slider")).to_have_accessible_name("Seconds")
    expect(page.locator("#on")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#on")).to_have_attribute("title", "")
    expect(page.locator("#live")).to_have_attribute("role", "status")
    page.locator("#add").click()
    expect(page.locator("#added")).to_be_focused()

    box = page.locator("#box")
    box.focus()
    box.fill("")
    page.locator("#on").focus()

    expect(box).to_have_value("5")


def test_the_focus_goes_into_the_first_control_once(bare: BarePage) -> None:
    bare.page.evaluate(FORM.replace('"mk-adds"', '"mk-adds" disabled'))
    widget = Focuser(wanted=True)
    bare.show(widget, into="#helper")

    expect(bare.page.locator("#box")).to_be_focused()
    until(bare.page, lambda: widget.wanted is False)
