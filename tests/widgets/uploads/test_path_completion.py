"""Paths complete as people type them, off the threads that answer people."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mediakit.widgets.form.controller import Form
from mediakit.widgets.uploads.path_completion import (
    MOST_OPTIONS,
    VOILA,
    PathCompleter,
    completions,
)
from tests.support.widgets import box, until

VIDEOS = (".mp4", ".mov")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("cat.mp4", "Car.MOV", "cab.png", ".cache.mp4", "dog.mp4"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "calm").mkdir()
    (tmp_path / "calm" / "sea.mp4").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("ca", ("calm/", "Car.MOV", "cat.mp4")),
        ("calm/", ("calm/sea.mp4",)),
        ("{folder}/d", ("{folder}/dog.mp4",)),
        ("~", ("~/",)),
        ("~/do", ("~/dog.mp4",)),
        (".", (".cache.mp4",)),  # hidden files come where a dot was typed
        ("dog.mp4", ()),
        ("", ()),
        ("https://a.test/c", ()),
        ("no/such/folder/", ()),
        ("~nobody-here/x", ()),
        ("a\0b/c", ()),
    ],
)
def test_files_of_the_wanted_type_and_folders_complete_a_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    wanted = tuple(each.format(folder=folder) for each in options)
    assert completions(text.format(folder=folder), VIDEOS) == wanted


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
