"""Files from a real file chooser, and paths typed into the page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped] # it ships no types
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Lab, LabServer
from tests.support.samples.media_samples import make_mp4, make_png

pytestmark = pytest.mark.browser

LARGE_BYTES = 30_000_000
MAX_GROWTH_BYTES = 15_000_000
ARRIVES_MS = 120_000
READ_MS = 1_000  # a person reads what the button says
JOB_S = 240.0
CONNECT = "import mediakit as mk\nclient = mk.connect(home={!r})"
FORM = 'form = client.form("{}")\nform'
VALUES = "print(form.as_python())"


def grown_mp4(path: Path, size_bytes: int) -> Path:
    """Write a clip that plays and is as long as this, behind its end as it is."""
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


def opened(lab: Lab, lab_server: LabServer, name: str, function: str) -> Locator:
    """Open a notebook with a form, run all of it, and return the form."""
    cells = [CONNECT.format(f"home-{name}"), FORM.format(function), VALUES]
    lab.open(lab_server.add_notebook(f"{name}.ipynb", cells))
    lab.resize(1280, 1200)
    lab.hide_sidebar()
    lab.run_all()
    return lab.cell(1).locator(".mk-form")


def memory_bytes(lab: Lab) -> int:
    """Return how much memory the kernel's process has."""
    kernel = lab.kernel_id()
    processes = psutil.Process(lab.server.pid).children(recursive=True)
    (found,) = [each for each in processes if kernel in " ".join(each.cmdline())]
    return int(found.memory_info().rss)


def upload_button(form: Locator, field: str) -> Locator:
    """Return the button of a field that has this word in its name."""
    return form.get_by_role("button", name=re.compile(f"^Upload: .*{field}", re.I))


def choose(lab: Lab, form: Locator, field: str, *files: Path) -> None:
    """Press the button of a field and choose files in the browser's dialog."""
    with lab.page.expect_file_chooser() as dialog:
        upload_button(form, field).click()
    dialog.value.set_files(files)


@pytest.mark.soak
def test_30_mb_arrive_through_the_page_and_the_kernel_stays_small(
    lab: Lab, lab_server: LabServer, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    clip = grown_mp4(tmp_path / "dunes at dawn.mp4", LARGE_BYTES)
    form = opened(lab, lab_server, "large", "r1")
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
    expect(form.get_by_label("@Video2").first).to_have_value(
        clip.name, timeout=ARRIVES_MS
    )
    expect(form).to_contain_text("30.0 MB")
    most = max(most, memory_bytes(lab))
    tell(f"30 MB from the browser: {(most - before) / 1e6:.1f} MB more in the kernel")
    assert most - before < MAX_GROWTH_BYTES
    lab.screenshot("upload-arrived", form)
    assert lab.console_errors() == []
    lab.theme("dark")
    lab.screenshot("upload-arrived-dark", form)
    lab.theme("light")

    (kept,) = (lab_server.root / "home-large").rglob(clip.name)
    assert kept.read_bytes() == clip.read_bytes()
    lab.run_cell(2)
    lab.see(2, str(kept))


DROP = """(field, [name, text]) => {
    const data = new DataTransfer();
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    data.items.add(new File([bytes], name, { type: "image/png" }));
    const fire = (kind) => field.dispatchEvent(new DragEvent(
        kind, { dataTransfer: data, bubbles: true, cancelable: true }));
    fire("dragover");
    const marked = Boolean(field.closest(".mk-upload-over"));
    fire("drop");
    return marked && !field.closest(".mk-upload-over");
}"""


@pytest.mark.soak
def test_a_typed_path_is_found_and_a_dropped_file_arrives_and_comes_back(
    lab: Lab, lab_server: LabServer, tmp_path: Path
) -> None:
    folder = lab_server.root / "pictures"
    folder.mkdir(exist_ok=True)
    make_png(folder / "cat.png", (96, 48))
    form = opened(lab, lab_server, "dropped", "image-upscale")
    content = make_png(tmp_path / "cat.png", (64, 48)).read_bytes()
    box = form.get_by_role("textbox", name=re.compile("image", re.I)).first
    box.press_sequentially("pictures/cat.png")
    expect(form).to_contain_text("96 \N{MULTIPLICATION SIGN} 48")

    assert box.evaluate(DROP, ["my cat.png", b64encode(content).decode()])
    expect(box).to_have_value("my cat.png")
    expect(form).to_contain_text("Uploaded · 64 \N{MULTIPLICATION SIGN} 48")
    generate = form.get_by_role("button", name=re.compile("^Generate"))
    lab.page.wait_for_timeout(READ_MS)
    generate.click()
    lab.see(1, "as estimated", timeout_s=JOB_S)
    expect(form.locator(".mk-job")).to_contain_text("my cat.png")

    lab.restart_kernel()
    lab.run_all()
    form = lab.cell(1).locator(".mk-form")
    box = form.get_by_role("textbox", name=re.compile("image", re.I)).first
    expect(box).to_have_value("my cat.png")
    expect(form).to_contain_text("Uploaded · 64 \N{MULTIPLICATION SIGN} 48")
    expect(form.locator(".mk-job")).to_contain_text("my cat.png")
    lab.screenshot("upload-returned", form)
    saved = json.dumps(lab.save()["cells"][1]["outputs"])
    assert "my cat.png" in saved
    assert "/uploads/" not in saved
