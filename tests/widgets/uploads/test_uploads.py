"""Files from the browser: in pieces, under their own names, never lost in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mediakit.clock import SystemClock
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.html import values_html
from mediakit.widgets.uploads import upload_folder as folder_module
from mediakit.widgets.uploads.chunked_upload import PIECE_BYTES
from mediakit.widgets.uploads.upload_folder import (
    DAY_S,
    KEPT_DAYS,
    IncomingFile,
    UploadFolder,
    own_name,
)
from tests.support import zygote
from tests.support.samples.media_samples import make_png
from tests.support.widgets import (
    box,
    edit,
    generate_button,
    hear,
    press,
    press_generate,
    say,
    shown,
    until,
)
from tests.support.widgets import page as shown_page
from tests.widgets.form.test_return import Kernels, kernels

__all__ = ["kernels"]


class Page:
    """The page's half of an upload.

    Args:
        form: The form.
        path: The field whose button is used.
        waits: Send a piece only when the test says so.
    """

    def __init__(self, form: Form, path: str, *, waits: bool = False) -> None:
        self.form, self.path, self.waits = form, path, waits
        self.count = 0
        self.said: list[dict[str, Any]] = []
        self.content = b""
        hear(form, "upload", lambda said, _: self.hear(said["upload"]))

    def offer(self, name: str, content: bytes, content_type: str = "") -> None:
        self.content = content
        self.offer_size(name, len(content), content_type)

    def offer_size(self, name: str, size_bytes: int, content_type: str = "") -> None:
        about = {"name": name, "size": size_bytes, "type": content_type}
        self.tell({"kind": "offer", "path": self.path, "count": self.count, **about})

    def tell(self, message: dict[str, Any], *buffers: bytes) -> None:
        views = [memoryview(each) for each in buffers]
        say(self.form, "upload", *views, id="1", **message)  # type: ignore[arg-type]

    def hear(self, message: dict[str, Any]) -> None:
        self.said.append(message)
        if message["kind"] == "want" and not self.waits:
            self.give(message["at"], message["length"])
        if message["kind"] == "done":
            self.count += 1
            before = self.form.values[self.path]
            is_list = "media_list" in str(before) or isinstance(before, list)
            taken = [*(before or []), message["path"]] if is_list else message["path"]
            edit(self.form, **{self.path: taken})

    def give(self, at: int, length: int) -> None:
        self.tell({"kind": "piece", "at": at}, self.content[at : at + length])

    @property
    def kinds(self) -> list[str]:
        return [message["kind"] for message in self.said]

    def ends(self, kind: str) -> dict[str, Any]:
        """Wait for an answer of a kind, and return it."""
        until(lambda: self.said and self.said[-1]["kind"] == kind)
        return self.said[-1]


@pytest.fixture
def folder(tmp_path: Path) -> UploadFolder:
    return UploadFolder(tmp_path / "home")


def files_in(home: Path) -> list[Path]:
    return [path for path in (home / "uploads").rglob("*") if path.is_file()]


def noisy_png(folder: Path) -> bytes:
    """Return a picture of several pieces."""
    from PIL import Image

    path = folder / "noise.png"
    Image.effect_noise((1200, 1000), 80).save(path)
    content = path.read_bytes()
    assert len(content) > 2 * PIECE_BYTES
    return content


# -- arriving --------------------------------------------------------------------------


def test_a_file_arrives_in_pieces_under_its_own_name(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    content = noisy_png(tmp_path)
    form = make_form("image-upscale")
    page = Page(form, "image_url")

    page.offer("my cat.png", content, "image/png")
    until(lambda: form.state.submit_reason is None, form)
    kept = Path(str(form.request()["image_url"]))
    assert kept.parent.parent == tmp_path / "home" / "uploads"
    assert kept.name == "my cat.png"
    assert kept.read_bytes() == content
    assert page.kinds[-1] == "done"
    assert page.said[-1]["name"] == "my cat.png"
    assert shown_page(form)["names"] == {str(kept): "my cat.png"}
    assert "Uploaded · 1200 \N{MULTIPLICATION SIGN} 1000" in shown(form)
    kept_html = values_html(form.state)
    assert "my cat.png" in kept_html
    assert str(kept) not in kept_html


def test_one_piece_is_under_way_at_a_time(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    page = Page(make_form("image-upscale"), "image_url", waits=True)
    page.offer("noise.png", bytes(2 * PIECE_BYTES + 5))

    wanted: list[tuple[int, int]] = []
    while len(wanted) < 3:
        until(lambda: len(page.said) > len(wanted))
        message = page.said[-1]
        wanted.append((message["at"], message["length"]))
        page.give(*wanted[-1])
    page.ends("done")
    assert wanted == [
        (0, PIECE_BYTES),
        (PIECE_BYTES, PIECE_BYTES),
        (2 * PIECE_BYTES, 5),
    ]
    assert page.kinds == ["want", "want", "want", "done"]
    (kept,) = files_in(tmp_path / "home")
    assert kept.stat().st_size == 2 * PIECE_BYTES + 5


def test_a_list_takes_files_until_it_is_full(make_form: Callable[..., Form]) -> None:
    form = make_form("keyframes")
    page = Page(form, "images")
    page.count = 5
    page.offer("5.png", b"6")
    refused = "5.png was not uploaded: this field takes 5 files."
    assert page.ends("refused")["text"] == refused
    page.count = 4
    page.offer("4.png", b"5")
    assert own_name(page.ends("done")["path"]) == "4.png"


# -- refused and ended -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size_bytes", "content_type", "sentence"),
    [
        (
            "long.mp4",
            240_000_000,
            "video/mp4",
            "long.mp4 is 240.0 MB. This field takes files of up to 200 MB.",
        ),
        (
            "notes.txt",
            10,
            "text/plain",
            "notes.txt is not a video that this field accepts (mp4 or mov).",
        ),
        (
            "film.mkv",
            10,
            "",
            "film.mkv is not a video that this field accepts (mp4 or mov).",
        ),
        ("none.mov", 0, "", "none.mov is empty. Choose another file."),
        (
            "much.mov",
            3,
            "",
            "much.mov was not uploaded: the disk has no room for it (3 bytes).",
        ),
    ],
)
def test_a_file_that_will_not_do_is_refused_before_a_byte_is_sent(
    make_form: Callable[..., Form],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    size_bytes: int,
    content_type: str,
    sentence: str,
) -> None:
    page = Page(make_form("r1"), "video_urls")
    if name == "much.mov":
        monkeypatch.setattr(folder_module, "MIN_FREE_BYTES", 1 << 62)

    page.offer_size(name, size_bytes, content_type)
    assert page.ends("refused")["text"] == sentence
    assert page.kinds == ["refused"]
    assert files_in(tmp_path / "home") == []


def test_an_upload_that_is_cancelled_wrong_or_closed_leaves_nothing(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    form = make_form("image-upscale")
    page = Page(form, "image_url", waits=True)
    page.offer("cat.png", bytes(PIECE_BYTES + 1))
    page.ends("want")
    page.give(0, PIECE_BYTES)
    until(lambda: len(page.said) == 2)
    assert len(files_in(home)) == 1

    page.tell({"kind": "cancel"})
    until(lambda: files_in(home) == [])
    page.give(PIECE_BYTES, 1)  # it was on its way
    assert page.kinds == ["want", "want"]
    page.offer("cat.png", b"content")
    until(lambda: len(page.said) == 3)
    page.tell({"kind": "piece", "at": 3}, b"tent")  # not asked for
    assert "cat.png was not uploaded" in page.ends("refused")["text"]
    until(lambda: files_in(home) == [])
    page.waits = False
    page.offer("cat.png", b"another")
    page.ends("done")
    page.waits = True
    page.offer("dog.png", bytes(PIECE_BYTES + 1))
    page.ends("want")
    page.give(0, PIECE_BYTES)
    until(lambda: len(files_in(home)) == 2)
    form.close()
    until(lambda: [path.name for path in files_in(home)] == ["cat.png"])


# -- staying ---------------------------------------------------------------------------


def give_cat(form: Form, folder: Path) -> Path:
    """Upload a picture to a form, and return where it is kept."""
    content = make_png(folder / "cat.png", (64, 48)).read_bytes()
    Page(form, "image_url").offer("my cat.png", content, "image/png")
    until(lambda: form.state.submit_reason is None, form)
    return Path(str(form.request()["image_url"]))


def test_copied_code_runs_in_another_process_with_an_uploaded_file(
    make_form: Callable[..., Form], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    form = make_form("image-upscale")
    give_cat(form, tmp_path)
    code = form.as_python()
    assert "my cat.png" in code
    form.close()
    form.client.close()
    another = tmp_path / "another"
    another.mkdir()
    lines = [
        "import os, mediakit as mk",
        f"os.chdir({str(another)!r})",
        f"client = mk.connect({sandbox.base_url!r}, {sandbox.api_key!r}, home='here')",
        f"job = {code}",
        "print(job.wait().status)",
    ]
    said, errors = zygote.start("\n".join(lines)).finish()
    assert "completed" in said, errors


def test_an_upload_comes_back_after_a_restart_under_its_name_while_it_is_kept(
    kernels: Kernels, tmp_path: Path
) -> None:
    form = kernels.form(kind="image-upscale")
    path = give_cat(form, tmp_path)
    press_generate(form)
    before = form.request()

    kernels.restart()
    again = kernels.form(kind="image-upscale")
    until(lambda: again.state.submit_reason is None, again)
    assert again.request() == before
    assert shown_page(again)["names"][box(again, "image_url").value] == "my cat.png"
    assert "Uploaded · 64 \N{MULTIPLICATION SIGN} 48" in shown(again)
    until(lambda: "my cat.png" in again.jobs[0].card_html)

    kernels.restart()
    path.unlink()
    last = kernels.form(kind="image-upscale")
    gone = "my cat.png: the upload is no longer kept; upload it again"
    until(lambda: gone in shown(last), last)
    assert generate_button(last).disabled


def test_vary_brings_the_file_back_or_else_the_url_that_the_service_has(
    make_form: Callable[..., Form], tmp_path: Path
) -> None:
    form = make_form("image-upscale")
    path = give_cat(form, tmp_path)
    press_generate(form)
    (view,) = form.jobs
    assert str(view.state.body["image_url"]).startswith("http")
    until(lambda: "my cat.png" in view.card_html)

    box(form, "image_url").value = "another.png"
    press(view, "vary")
    assert form.request()["image_url"] == str(path)
    assert box(form, "image_url").value == str(path)
    until(lambda: form.state.submit_reason is None, form)
    assert form.state.is_another_take
    path.unlink()
    press(view, "vary")
    assert form.request()["image_url"] == view.state.body["image_url"]


def keep(folder: UploadFolder, name: str, content: bytes) -> Path:
    file = IncomingFile(folder, name, len(content))
    file.begin()
    path = file.write(content)
    assert path is not None
    return path


def age(path: Path, seconds: float) -> None:
    import os

    at_s = SystemClock().now().timestamp() - seconds
    os.utime(path, (at_s, at_s))


def test_the_same_file_is_kept_once_and_each_name_is_its_own(
    folder: UploadFolder, tmp_path: Path
) -> None:
    first = keep(folder, "a.png", b"same")
    assert keep(folder, "a.png", b"same") == first
    assert keep(folder, "b.png", b"same").parent == first.parent
    assert keep(folder, "a.png", b"other") != first
    assert len(files_in(tmp_path / "home")) == 3
    assert (tmp_path / "home" / "uploads").stat().st_mode & 0o077 == 0


def test_what_was_not_used_for_long_goes_when_another_file_comes(
    folder: UploadFolder, tmp_path: Path
) -> None:
    old, used = keep(folder, "old.png", b"old"), keep(folder, "used.png", b"used")
    for path in (old, used):
        age(path.parent, (KEPT_DAYS + 1) * DAY_S)
    left = tmp_path / "home" / "uploads" / "left.part"
    left.write_bytes(b"half")
    age(left, 2 * DAY_S)

    folder_module.note_use(str(used))
    keep(folder, "new.png", b"new")
    assert not old.exists()
    assert not left.exists()
    assert used.exists()


def test_the_longest_unused_go_when_all_is_too_much(tmp_path: Path) -> None:
    folder = UploadFolder(tmp_path / "home", max_bytes=250)
    kept = [keep(folder, f"{n}.png", bytes([n]) * 100) for n in range(3)]
    for days, path in zip((4, 3, 2), kept, strict=True):
        age(path.parent, days * DAY_S)

    keep(folder, "new.png", b"n" * 100)
    assert [path.exists() for path in kept] == [False, False, True]
    today = [keep(folder, f"today{n}.png", bytes([n + 9]) * 100) for n in range(4)]
    assert all(path.exists() for path in today)
