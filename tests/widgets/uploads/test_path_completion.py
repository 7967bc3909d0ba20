"""Paths complete as people type them, off the threads that answer people."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.form.controller import Form
from mediakit.widgets.media.media_fields import MediaControl
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from mediakit.widgets.uploads.path_completion import (
    MOST_OPTIONS,
    VOILA,
    PathCompleter,
    completions,
)
from tests.widgets.form.test_form import box, make_form, until
from tests.widgets.media.test_media_fields import fail

__all__ = ["make_form"]

VIDEOS = (".mp4", ".mov")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("cat.mp4", "Car.MOV", "cab.png", ".cache.mp4", "dog.mp4"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "calm").mkdir()
    (tmp_path / "calm" / "sea.mp4").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_of_the_wanted_type_and_folders_complete_a_path(folder: Path) -> None:
    assert completions("ca", VIDEOS) == ("calm/", "Car.MOV", "cat.mp4")
    assert completions("calm/", VIDEOS) == ("calm/sea.mp4",)
    assert completions(f"{folder}/d", VIDEOS) == (f"{folder}/dog.mp4",)
    assert completions("c", (".png",)) == ("cab.png", "calm/")


def test_the_home_folder_is_completed_as_it_was_typed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert completions("~", VIDEOS) == ("~/",)
    assert completions("~/do", VIDEOS) == ("~/dog.mp4",)


@pytest.mark.parametrize(
    "text", ["", "https://a.test/c", "no/such/folder/", "~nobody-here/x", "a\0b/c"]
)
def test_what_names_no_folder_completes_to_nothing(folder: Path, text: str) -> None:
    assert completions(text, VIDEOS) == ()


def test_hidden_files_come_where_a_dot_was_typed(folder: Path) -> None:
    assert completions(".", VIDEOS) == (".cache.mp4",)
    assert not any("cache" in path for path in completions("./", VIDEOS))


def test_a_path_that_is_complete_is_no_option(folder: Path) -> None:
    assert completions("dog.mp4", VIDEOS) == ()


def test_a_long_folder_gives_a_bounded_number_of_options(folder: Path) -> None:
    for n in range(3 * MOST_OPTIONS):
        (folder / f"frame{n:04}.mp4").write_bytes(b"x")
    assert len(completions("frame", VIDEOS)) == MOST_OPTIONS


def test_a_slow_folder_is_read_once_for_many_keys() -> None:
    waiting: list[Callable[[Any], object]] = []
    shown: list[tuple[str, ...]] = []

    def work(do: Callable[[], Any], done: Callable[[Any], object]) -> None:
        waiting.append(done)

    completer = PathCompleter(work, lambda: VIDEOS, shown.append)
    for text in ("c", "ca", "cat"):
        completer.typed(text)
    assert len(waiting) == 1
    waiting.pop()(("car.mp4",))  # for "c", which nobody wants any more
    assert shown == []
    assert len(waiting) == 1
    waiting.pop()(("cat.mp4",))
    assert shown == [("cat.mp4",)]
    assert waiting == []


def test_a_box_offers_what_its_field_takes(folder: Path) -> None:
    (folder / "song.mp3").write_bytes(b"x")
    (folder / "song.flac").write_bytes(b"x")
    context = WidgetContext(
        WidgetFactory(),
        guarded(fail),
        lambda *_: None,
        work=lambda do, done: done(do()),
    )
    control = build(Catalog.default().function("r1").fields["audio_urls"], context)
    assert isinstance(control, MediaControl)
    control.value = ["x"]

    control.rows[0].box.value = "so"
    assert control.rows[0].box.options == ("song.mp3",)


def test_a_visitor_of_voila_is_shown_no_folders(
    make_form: Callable[..., Form], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VOILA, "http://127.0.0.1/voila")
    form = make_form("image-upscale")

    box(form, "image_url").value = "ca"
    until(lambda: not form._tasks._tasks and form.state.submit_reason, form)
    assert box(form, "image_url").options == ()


def test_a_form_completes_paths_without_blocking_its_kernel(
    make_form: Callable[..., Form], folder: Path
) -> None:
    os.mkfifo(folder / "cable.png")  # its name is read, it is not opened
    form = make_form("image-upscale")
    image = box(form, "image_url")

    image.value = "ca"
    assert image.options == ()
    until(lambda: image.options, form)
    assert image.options == ("cab.png", "cable.png", "calm/")
