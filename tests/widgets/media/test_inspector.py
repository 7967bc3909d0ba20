"""Looking at media."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mediakit.client.http import HttpClient
from mediakit.client.loop import io_thread
from mediakit.client.media_inputs import RemoteMedia
from mediakit.clock import SystemClock
from mediakit.schema import MediaName
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.media.inspector import Inspector
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.servers.file_server import FileServer


def an_inspector() -> Inspector:
    return Inspector(RemoteMedia(HttpClient(), SystemClock()))


def look(inspector: Inspector, kind: MediaName, path: Path | str) -> Inspection:
    key = (kind, str(path))
    return io_thread().call(inspector.look, [key])[key]


def test_a_picture_a_clip_and_a_sound_are_what_they_are(tmp_path: Path) -> None:
    inspector = an_inspector()
    picture = look(inspector, "image", make_png(tmp_path / "a.png", (64, 48)))
    clip = look(inspector, "video", make_mp4(tmp_path / "a.mp4", (320, 180), 0.5))
    sound = look(inspector, "audio", make_wav(tmp_path / "a.wav"))

    assert picture.info is not None
    assert (picture.info.width, picture.info.height) == (64, 48)
    for seen in (picture, clip):
        assert seen.thumbnail is not None
        assert seen.thumbnail.startswith(b"\xff\xd8")
    assert sound.info is not None
    assert sound.thumbnail is None


def test_each_version_of_a_file_is_read_once(tmp_path: Path) -> None:
    inspector = an_inspector()
    path = make_png(tmp_path / "a.png", (64, 48))

    first = look(inspector, "image", path)
    assert look(inspector, "image", path) is first
    make_png(path, (32, 24))
    os.utime(path, ns=(1, 1))
    again = look(inspector, "image", path)
    assert again.info is not None
    assert again.info.width == 32


def test_a_file_that_vanished_is_missed_at_the_next_look(tmp_path: Path) -> None:
    inspector = an_inspector()
    path = make_png(tmp_path / "a.png")
    assert look(inspector, "image", path).problem is None

    path.unlink()
    problem = look(inspector, "image", path).problem
    assert problem is not None
    assert problem.accepted.startswith(f"{path}: no such file")


@pytest.mark.parametrize("name", ["~nobody-at-all/a.png", "a\0b.png", "a" * 5_000])
def test_a_name_that_no_file_can_have_is_no_file(name: str) -> None:
    problem = look(an_inspector(), "image", name).problem

    assert problem is not None
    assert "no such file" in problem.accepted


def test_a_file_that_is_something_else_says_what_is_needed(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a picture")

    problem = look(an_inspector(), "image", notes).problem
    assert problem is not None
    assert problem.accepted.startswith("notes.txt: ")
    assert "a picture that can be read" in problem.accepted
    assert str(tmp_path) not in problem.accepted


def test_nothing_to_look_at_is_nothing_found() -> None:
    assert io_thread().call(an_inspector().look, []) == {}


def test_a_clip_behind_a_url_is_measured_and_one_that_is_gone_is_not_remembered(
    tmp_path: Path,
) -> None:
    clip = make_mp4(tmp_path / "a.mp4", (64, 48), 1.5).read_bytes()
    with FileServer({"a.mp4": clip}) as server:
        here, gone = server.url("a.mp4"), server.url("gone.mp4")
        keys: list[MediaKey] = [("video", here), ("video", gone)]
        found = io_thread().call(an_inspector().measure, keys)

    info = found["video", here].info
    assert info is not None
    assert info.duration_s == 1.5
    assert ("video", gone) not in found
