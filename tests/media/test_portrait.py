"""Clips and pictures that a phone stored sideways are seen upright everywhere."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from mediakit import Client
from mediakit.media import poster_jpeg, probe
from mediakit.media.previews import write_preview
from mediakit.media_limits import MediaName
from tests.support.samples.media_samples import make_jpeg, make_mp4
from tests.support.servers.file_server import FileServer

# Stored as 128 x 64; a player turns it clockwise and shows 64 x 128.
STORED = (128, 64)
SHOWN = (64, 128)


def stored_sideways(path: Path, rotation_degrees: int = -90) -> Path:
    """Write a clip whose background is dark at the left and light at the right."""
    return make_mp4(path, STORED, 2.0, rotation_degrees=rotation_degrees)


def pixels(jpeg: bytes) -> Any:
    with Image.open(BytesIO(jpeg)) as image:
        return np.asarray(image.convert("L"), dtype=float)


def stored_frame(path: Path, at: int = 0) -> Any:
    """Return a frame as it is stored: PyAV does not turn frames."""
    with av.open(str(path)) as clip:
        for index, frame in enumerate(clip.decode(video=0)):
            if index == at:
                return frame.to_ndarray(format="gray").astype(float)
    raise AssertionError("the clip is shorter")


def difference(one: Any, other: Any) -> float:
    assert one.shape == other.shape
    return float(np.abs(one - other).mean())


@pytest.mark.parametrize(
    ("rotation_degrees", "size"), [(-90, SHOWN), (90, SHOWN), (180, STORED)]
)
def test_a_turned_clip_has_the_size_and_the_poster_that_a_player_shows(
    tmp_path: Path, rotation_degrees: int, size: tuple[int, int]
) -> None:
    clip = stored_sideways(tmp_path / "a.mp4", rotation_degrees)

    info = probe(clip, "video", "video")
    assert (info.width, info.height) == size
    upright = np.rot90(stored_frame(clip, at=24), rotation_degrees // 90)
    assert difference(pixels(poster_jpeg(clip)), upright) < 4


def test_a_turned_picture_has_an_upright_poster(tmp_path: Path) -> None:
    picture = make_jpeg(tmp_path / "a.jpg", (100, 50), orientation=6)

    with Image.open(picture) as stored:
        upright = np.rot90(np.asarray(stored.convert("L"), dtype=float), -1)
    assert difference(pixels(poster_jpeg(picture)), upright) < 4


def test_the_small_copy_of_a_turned_clip_is_upright(tmp_path: Path) -> None:
    clip = stored_sideways(tmp_path / "a.mp4")
    write_preview(clip, tmp_path / "copy.mp4")

    assert probe(tmp_path / "copy.mp4", "video", "video").width == SHOWN[0]
    copy = stored_frame(tmp_path / "copy.mp4")
    assert difference(copy, np.rot90(stored_frame(clip), -1)) < 8


def test_a_turned_clip_at_a_url_is_checked_at_the_size_that_is_shown(
    client: Client, tmp_path: Path
) -> None:
    clip = stored_sideways(tmp_path / "a.mp4")
    with FileServer({"a.mp4": clip.read_bytes()}) as server:
        key: tuple[MediaName, str] = ("video", server.url("a.mp4"))
        remote = client.components.remote_media
        info = client.io.call(remote.probe, [key])[key]
        jpeg = client.io.call(remote.poster, key[1], 320)

    assert info is not None
    assert jpeg is not None
    assert (info.width, info.height) == SHOWN
    assert pixels(jpeg).shape == SHOWN[::-1]
