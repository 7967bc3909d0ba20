"""Files from a real file chooser, and paths typed into the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Locator, expect

from tests.browser.harness import Lab
from tests.support.samples.media_samples import make_mp4
from tests.support.waiting import until

pytestmark = pytest.mark.browser

LARGE_BYTES = 30_000_000
MAX_GROWTH_BYTES = 15_000_000
CONNECT = "import mediakit as mk\nclient = mk.connect(home={!r})"
FORM = 'form = client.form("{}")\nform'
VALUES = "print(form.as_python())"
LEAVES = """() => {
    const event = new Event("beforeunload", { cancelable: true });
    window.dispatchEvent(event);
    return !event.defaultPrevented;
}"""
# The connection is dead: no further piece of a file is read.
STALLS = "() => { Blob.prototype.arrayBuffer = () => new Promise(() => {}); }"


def grown_mp4(path: Path, size_bytes: int) -> Path:
    """Write a playable clip of this file size, padded behind its end."""
    make_mp4(path)
    free = size_bytes - path.stat().st_size
    with path.open("ab") as file:
        # A box of this kind is skipped by whoever reads the file.
        file.write(free.to_bytes(4, "big") + b"free")
        block = bytes(range(256)) * 4096
        while (left := size_bytes - file.tell()) > 0:
            file.write(block[:left])
    assert path.stat().st_size == size_bytes
    return path


def opened(lab: Lab, name: str, function: str) -> Locator:
    """Open a notebook with a form, run all of it, and return the form."""
    cells = [CONNECT.format(f"home-{name}"), FORM.format(function), VALUES]
    lab.begin(f"{name}.ipynb", *cells, height_px=1200)
    lab.run_all()
    return lab.cell(1).locator(".mk-form")


def memory_bytes(lab: Lab) -> int:
    """Return the memory use of the kernel's process."""
    return int(lab.kernel_process().memory_info().rss)


def upload_button(form: Locator, field: str) -> Locator:
    """Return the field's button whose name contains this word."""
    return form.get_by_role("button", name=re.compile(f"^Upload: .*{field}", re.I))


def choose(lab: Lab, form: Locator, field: str, *files: Path) -> None:
    """Press the button of a field and choose files in the browser's dialog."""
    with lab.page.expect_file_chooser() as dialog:
        upload_button(form, field).click()
    dialog.value.set_files(files)


@pytest.mark.soak
def test_30_mb_are_uploaded_through_the_page_and_the_kernel_stays_small(
    lab: Lab, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    clip = grown_mp4(tmp_path / "dunes at dawn.mp4", LARGE_BYTES)
    form = opened(lab, "large", "r1")
    choose(lab, form, "video", make_mp4(tmp_path / "small.mp4"))
    expect(form.get_by_label("@Video1").first).to_have_value("small.mp4")
    expect(form).to_contain_text(
        "Uploaded · 854 \N{MULTIPLICATION SIGN} 480"
    )  # what reads clips is loaded by now
    before = memory_bytes(lab)

    choose(lab, form, "video", clip)
    bar = form.get_by_role("progressbar", name="Upload of dunes at dawn.mp4")
    expect(bar).to_be_visible()
    lab.screenshot("upload-under-way", form)
    most = before
    while bar.is_visible():
        most = max(most, memory_bytes(lab))
    expect(form.get_by_label("@Video2").first).to_have_value(clip.name)
    expect(form).to_contain_text("30.0 MB")
    most = max(most, memory_bytes(lab))
    tell(f"30 MB from the browser: {(most - before) / 1e6:.1f} MB more in the kernel")
    assert most - before < MAX_GROWTH_BYTES
    lab.screenshot("upload-arrived", form)
    assert lab.console_errors() == []
    lab.theme("dark")
    lab.screenshot("upload-arrived-dark", form)
    lab.theme("light")

    (kept,) = (lab.server.root / "home-large").rglob(clip.name)
    assert kept.read_bytes() == clip.read_bytes()
    lab.run_cell(2)
    lab.see(2, str(kept))


@pytest.mark.soak
def test_leaving_a_page_during_an_upload_asks_first_and_names_the_missing_file(
    lab: Lab, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "dunes.mp4")
    form = opened(lab, "left", "r1")
    lab.save()
    assert lab.page.evaluate(LEAVES)
    lab.page.evaluate(STALLS)
    choose(lab, form, "video", clip)
    expect(form.get_by_role("progressbar", name="Upload of dunes.mp4")).to_be_visible()
    folder = lab.server.root / "home-left"
    until(lambda: list(folder.rglob("*.part")))
    assert not lab.page.evaluate(LEAVES)

    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    lab.page.once("dialog", leave)
    lab.reload()
    assert asked == ["beforeunload"]
    form = lab.cell(1).locator(".mk-form")
    expect(form).to_contain_text("dunes.mp4 did not arrive, because the page was left")
    expect(form).to_contain_text("Choose the file again.")
    lab.screenshot("upload-cut-off", form)
    until(lambda: not list(folder.rglob("*.part")))
    assert lab.page.evaluate(LEAVES)

    choose(lab, form, "video", clip)
    expect(form.get_by_label("@Video1").first).to_have_value("dunes.mp4")
    expect(form).not_to_contain_text("did not arrive")
