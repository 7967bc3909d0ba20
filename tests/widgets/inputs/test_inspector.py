"""Looking at media."""

from __future__ import annotations

import os
from pathlib import Path

from mediakit.client.http import HttpClient
from mediakit.client.io_thread import io_thread
from mediakit.client.media_inputs import RemoteMedia
from mediakit.clock import SystemClock
from mediakit.media_limits import MediaName
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.inputs.inspector import Inspector
from tests.support.samples.media_samples import make_png


def an_inspector() -> Inspector:
    return Inspector(RemoteMedia(HttpClient(), SystemClock()))


def look(inspector: Inspector, kind: MediaName, path: Path | str) -> Inspection:
    key = (kind, str(path))
    return io_thread().call(inspector.look, [key])[key]


def test_each_version_of_a_file_is_read_once_and_missed_once_it_is_gone(
    tmp_path: Path,
) -> None:
    inspector = an_inspector()
    path = make_png(tmp_path / "a.png", (64, 48))

    first = look(inspector, "image", path)
    assert look(inspector, "image", path) is first
    make_png(path, (32, 24))
    os.utime(path, ns=(1, 1))
    again = look(inspector, "image", path)
    assert again.info is not None
    assert again.info.width == 32
    path.unlink()
    for name in (str(path), "~nobody-at-all/a.png", "a\0b.png", "a" * 5_000):
        problem = look(inspector, "image", name).problem
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
