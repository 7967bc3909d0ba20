"""Small pictures of results, kept beside the history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mediakit import Client
from mediakit.client.preview_cache import PreviewCache
from tests.support.samples.media_samples import make_png


def test_what_is_kept_is_found_again_and_forgotten_when_dropped(tmp_path: Path) -> None:
    preview_cache = PreviewCache(tmp_path / "looks")
    assert preview_cache.read("media_1", ".mp4") is None
    preview_cache.keep("media_1", ".mp4", b"one")
    preview_cache.keep("media_1", ".json", b"{}")
    preview_cache.keep("media_2", ".mp4", b"two")
    assert PreviewCache(tmp_path / "looks").read("media_1", ".mp4") == b"one"
    preview_cache.drop("media_1")
    assert preview_cache.read("media_1", ".mp4") is None
    assert preview_cache.read("media_1", ".json") is None
    assert preview_cache.read("media_2", ".mp4") == b"two"


def test_an_id_from_outside_names_no_path_and_only_the_user_can_read_its_file(
    tmp_path: Path,
) -> None:
    preview_cache = PreviewCache(tmp_path / "home" / "looks")
    preview_cache.keep("../../up/*", ".mp4", b"one")
    (path,) = tmp_path.rglob("*.mp4")
    assert path.parent == tmp_path / "home" / "looks"
    assert preview_cache.read("../../up/*", ".mp4") == b"one"
    private = (tmp_path / "home", path.parent, path)
    assert not any(each.stat().st_mode & 0o077 for each in private)


def test_the_longest_unused_go_first_and_no_part_is_left(tmp_path: Path) -> None:
    preview_cache = PreviewCache(tmp_path, max_bytes=250)
    for name in ("a", "b"):
        preview_cache.keep(name, ".mp4", bytes(100))
    for at_s, path in enumerate(tmp_path.iterdir()):
        os.utime(path, (at_s, at_s))
    preview_cache.read("a", ".mp4")
    preview_cache.keep("c", ".mp4", bytes(100))
    kept = [name for name in "abc" if preview_cache.read(name, ".mp4") is not None]
    assert kept == ["a", "c"]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("has_folder", [False, True])
def test_without_a_folder_that_can_be_written_nothing_is_kept(
    tmp_path: Path,
    has_folder: bool,  # noqa: FBT001
) -> None:
    (tmp_path / "file").write_text("in the way")
    preview_cache = PreviewCache(tmp_path / "file" if has_folder else None)
    preview_cache.keep("media_1", ".mp4", b"one")
    preview_cache.drop("media_1")
    assert preview_cache.read("media_1", ".mp4") is None


def test_what_is_erased_at_the_service_is_forgotten_here(
    client: Client, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "in.png", (96, 64))
    job = client.run("image-upscale", image_url=str(picture), timeout_s=60)
    job.core.preview_cache.keep(job.id, ".json", b"{}")
    job.erase()
    assert job.core.preview_cache.read(job.id, ".json") is None
